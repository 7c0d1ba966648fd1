"""Run every script of examples/ and keep its picture here; execute the notebooks and keep their outputs."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
SCRIPTS = sorted(path for path in EXAMPLES.glob("*.py") if path.name != "look.py")
NOTEBOOKS = sorted((EXAMPLES / "notebooks").glob("*.ipynb"))


def main() -> None:
    """Make all pictures and notebooks anew; each in a folder of its own, so that every ledger is new."""
    for script in SCRIPTS:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, str(script)], cwd=folder, check=True)
            shutil.copy(Path(folder) / f"{script.stem}.svg", HERE)
        print(f"wrote {script.stem}.svg")
    for path in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(executed(path, Path(folder)), path)
        print(f"executed {path.name}")


def executed(path: Path, folder: Path) -> nbformat.NotebookNode:
    """Return a notebook with the outputs that its cells have in a folder; an error in a cell is raised."""
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources, record_timing=False).execute()
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return notebook


if __name__ == "__main__":
    main()
