"""The committed figures are what `plots/make.py` draws from the scenario files today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PLOTS = Path(__file__).parent.parent / "plots"


def test_every_figure_is_made_again_to_the_byte(tmp_path: Path) -> None:
    committed = {path.name: path.read_bytes() for path in PLOTS.glob("*.svg")}
    copy = tmp_path / "plots"
    copy.mkdir()
    for script in PLOTS.glob("*.py"):
        (copy / script.name).write_bytes(script.read_bytes())
    (tmp_path / "scenarios").symlink_to(PLOTS.parent / "scenarios")
    subprocess.run([sys.executable, str(copy / "make.py")], check=True, capture_output=True)
    made = {path.name: path.read_bytes() for path in copy.glob("*.svg")}
    assert made.keys() == committed.keys()
    assert [name for name in made if made[name] != committed[name]] == []


def test_gallery_shows_every_figure() -> None:
    gallery = (PLOTS / "README.md").read_text()
    assert all(f"({path.name})" in gallery for path in PLOTS.glob("*.svg"))
