"""``python -m tests.update_readme``: put the present output of the main job into the README."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

if __name__ == "__main__":
    command = [sys.executable, "-m", "simgather", "run", "scenarios/issue-950.yaml"]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    readme = ROOT / "README.md"
    text = re.sub(r"```text\n.*?```", lambda _: f"```text\n{output}```", readme.read_text(), flags=re.DOTALL)
    readme.write_text(text)
