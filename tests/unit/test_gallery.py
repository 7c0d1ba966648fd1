"""The scripts of examples/ run and draw the pictures of the gallery; the notebooks run."""

import ast
import importlib.util
import re
import runpy
import sys
from pathlib import Path

import nbformat
import pytest

pytest.importorskip("altair", reason="altair is not installed here: `make install` brings it")
pytest.importorskip("vl_convert", reason="vl-convert is not installed here: `make install` brings it")

ROOT = Path(__file__).parents[2]
EXAMPLES, GALLERY = ROOT / "examples", ROOT / "docs" / "gallery"
SCRIPTS = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "look")
NOTEBOOKS = sorted((EXAMPLES / "notebooks").glob("*.ipynb"))
NOISY = {"cube", "release", "survey"}
"""Scripts whose pictures have other numbers on every run."""


def texts(svg: str, name: str) -> list[str]:
    """Return the texts of a picture; without numbers if they are drawn at random."""
    found = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    return sorted({text for text in found if not re.search(r"\d", text)} if name in NOISY else found)


@pytest.mark.usefixtures("frozen_noise")
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_draws_its_picture(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    drawn = (tmp_path / f"{name}.svg").read_text()
    assert texts(drawn, name) == texts((GALLERY / f"{name}.svg").read_text(), name)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_short_says_what_one_sees_and_is_in_the_gallery(name):
    source, page = (EXAMPLES / f"{name}.py").read_text(), (GALLERY / "README.md").read_text()
    assert len(source.splitlines()) <= 40
    assert len(ast.get_docstring(ast.parse(source))) > 80
    assert f"]({name}.svg)" in page
    assert f"[{name}.py](../../examples/{name}.py)" in page


def test_every_picture_is_small_and_has_a_script():
    pictures = sorted(GALLERY.glob("*.svg"))
    assert [each.stem for each in pictures] == SCRIPTS
    assert all(each.stat().st_size < 60_000 for each in pictures)
    assert not any(re.search(r"<script|<image|href=\"http", each.read_text()) for each in pictures)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_has_the_same_kinds_of_outputs_as_the_kept_one(path, tmp_path):
    spec = importlib.util.spec_from_file_location("gallery_make", GALLERY / "make.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    kept, run = kinds(nbformat.read(path, as_version=4)), kinds(make.executed(path, tmp_path))
    assert run == kept
    assert any("image/svg+xml" in each for cell in kept for each in cell)


def kinds(notebook) -> list[list[set[str]]]:
    """Return the kinds of outputs of each cell of code."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [[{*each.get("data", {each.output_type: 0})} for each in cell.outputs] for cell in cells]


def test_there_are_three_notebooks():
    assert [path.stem for path in NOTEBOOKS] == ["cube", "release", "weights"]
