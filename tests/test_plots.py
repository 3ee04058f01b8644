"""`plots/make.py` makes every committed figure, the same bytes each time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PLOTS = Path(__file__).parent.parent / "plots"


def made(folder: Path) -> dict[str, bytes]:
    """All figures, made in a folder of their own."""
    plots = folder / "plots"
    plots.mkdir(parents=True)
    for script in PLOTS.glob("*.py"):
        (plots / script.name).write_bytes(script.read_bytes())
    (folder / "scenarios").symlink_to(PLOTS.parent / "scenarios")
    subprocess.run([sys.executable, str(plots / "make.py")], check=True, capture_output=True)
    return {path.name: path.read_bytes() for path in plots.iterdir() if path.suffix in (".svg", ".png")}


def test_every_figure_is_made_and_is_the_same_each_time(tmp_path: Path) -> None:
    first, second = made(tmp_path / "first"), made(tmp_path / "second")
    assert first == second
    assert first.keys() == {path.name for path in PLOTS.iterdir() if path.suffix in (".svg", ".png")}


def test_gallery_shows_every_figure() -> None:
    gallery = (PLOTS / "README.md").read_text()
    assert all(f"({path.name})" in gallery for path in PLOTS.glob("*.svg"))
