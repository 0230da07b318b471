"""The labelled folders of `lab/argue/folders`: their format, and the files made of them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1] / "lab" / "argue"
FOLDERS = sorted(path.parent for path in ROOT.glob("folders/*/*/head.txt"))
WHOLE = [path for path in FOLDERS if path.parent.name != "training"]


def _module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


sources = _module("folder_sources")
_module("shares")
folders = _module("folders")


@pytest.mark.parametrize("path", FOLDERS, ids=lambda path: path.name)
def test_a_folder_is_labelled_throughout(path: Path) -> None:
    folder = sources.read_folder(path)
    paragraphs = [block for file in folder.files for block in file.paragraphs]
    for block in paragraphs:
        assert block.labels in ((".",), ("x",)) or all(
            label[0] in folder.propositions and label[1:] in ("+", "-", "*")
            for label in block.labels
        )
        assert "^" not in block.text
        assert all(reason in block.text for reason in block.reasons)
    assert {question.proposition for question in folder.questions} == set(folder.propositions)
    assert all(folder.sides(question) for question in folder.questions)


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.name)
def test_a_whole_folder_has_files_questions_and_both_sides(path: Path) -> None:
    folder = sources.read_folder(path)
    assert 40 <= len(folder.files) <= 60
    assert len(folder.questions) == 14
    sides = [len(folder.sides(question)) for question in folder.questions]
    assert sides.count(2) >= 10
    assert sides.count(1) >= 2, "a proposition with one side alone is wanted"


def test_stances_follow_proposition_and_polarity() -> None:
    asked = sources.Question("q", "Should it?", "a", "+")
    turned = sources.Question("r", "Is it wrong?", "a", "-")
    block = sources.Block("Text.", labels=("a+", "b-"))
    assert (block.stance(asked), block.stance(turned)) == ("yes", "no")
    assert block.stance(sources.Question("s", "So?", "b", "+")) == "no"
    assert block.stance(sources.Question("s", "So?", "c", "+")) == "none"
    assert sources.Block("Text.", labels=("a*",)).stance(asked) == "mixed"
    assert sources.Block("Text.", labels=("x",)).stance(asked) == "other"


def test_a_quotation_is_found_in_its_paragraph() -> None:
    blocks = [
        sources.Block("Rents have doubled in ten years. A cap would let families stay."),
        sources.Block("A cap would stop new flats. Nobody builds at a loss."),
    ]
    assert sources.paragraph_of("A cap would let families stay.", blocks) is blocks[0]
    assert sources.paragraph_of("Nobody builds at a loss", blocks) is blocks[1]
    assert sources.paragraph_of("The library opens at nine in the morning.", blocks) is None


def test_rendered_files_hold_every_paragraph(tmp_path: Path) -> None:
    folder = sources.read_folder(ROOT / "folders" / "development" / "rent")
    plain = [file for file in folder.files if file.path.endswith((".md", ".rst", ".jsonl"))]
    sources.write_files(
        sources.Folder("plain", "en", folder.propositions, folder.questions, tuple(plain)), tmp_path
    )
    assert len(plain) > 8
    for file in plain:
        text = sources.words_of((tmp_path / file.path).read_text(encoding="utf-8"))
        for block in file.paragraphs:
            assert sources.words_of(block.text) in text


def test_figures_of_two_questions_by_hand() -> None:
    def cited(side: str, stance: str | None, head: bool = False, reason: bool = False) -> dict:
        return {"side": side, "stance": stance, "head": head, "reason": reason}

    spent = {"seconds": 1.0, "cpu": 1.0}
    first = [cited("yes", "yes", head=True, reason=True), cited("no", "yes"), cited("no", "no")]
    other = [cited("yes", "none", head=True), cited("no", "mixed"), cited("no", None)]
    rows = [
        {"sentences": first, "held": ["no", "yes"], "warned": ["yes"], **spent},
        {"sentences": [*other, cited("yes", "other")], "held": ["yes"], "warned": ["no"], **spent},
    ]
    found = folders.figures(rows)
    assert found["sentences"] == 3.5
    assert found["right"] == 2 / 7
    assert found["wrong side"] == found["two-sided"] == found["no side"] == 1 / 7
    assert found["other matter"] == 2 / 7
    assert found["both rightly"] == 1.0  # of the one question of which both sides are there
    assert found["headlines with a reason"] == 0.5
    assert found["missing side argued"] == 1.0
    assert found["without a warning"] == 0.0
    assert found["warned of"] == 1 / 3  # of the sides that are there and argued
