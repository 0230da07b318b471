"""`pnyx.argue` from documents of any kind, and what a case offers: its sides, and files of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pnyx
from command import called
from pnyx.core.errors import InputError

pytestmark = pytest.mark.usefixtures("run_once", "own_place")

QUESTION = "Should voting be compulsory?"
TEXTS = (
    "Voting should be compulsory, because then turnout rises and everyone is represented.",
    "Compulsory voting is wrong, because it violates the freedom of citizens to stay at home.",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "debates"
    made.mkdir()
    for number, text in enumerate(TEXTS):
        (made / f"{number}.txt").write_text(text)
    return made


@pytest.mark.all
def test_a_saved_case_is_what_the_command_writes(folder, capsys):
    case = pnyx.argue("debates", QUESTION)
    assert Path("debates.index").is_dir()
    for name in ("case.html", "case.md", "case.json", "CASE.HTML"):
        case.save(name)
    files = ("--html", "own.html", "--md", "own.md")
    _, out, err = called(capsys, "argue", "debates", QUESTION, *files, "--json")
    assert err.startswith("pnyx: debates: 2 files: 2 read; no file has changed since ")
    assert Path("case.json").read_text() == out
    assert json.loads(out)["settings"]["index"] == "debates (2 documents)"
    for name in ("html", "md"):
        assert Path(f"case.{name}").read_bytes() == Path(f"own.{name}").read_bytes()
    assert Path("CASE.HTML").read_bytes() == Path("own.html").read_bytes()
    assert pnyx.cases.render_json(case) == out


@pytest.mark.parametrize("name", ["case.pdf", "case", "-", "case.json.gz", ""])
def test_a_case_is_saved_by_the_ending_of_a_name(name, folder):
    case = pnyx.argue(folder, QUESTION)
    Path("case.pdf").write_text("mine")
    with pytest.raises(InputError, match=r"expected a name that ends in \.html, \.md, \.json"):
        case.save(name)
    assert Path("case.pdf").read_text() == "mine"
    with pytest.raises(pnyx.PnyxError, match="cannot be written"):
        case.save(folder / "0.txt" / "case.md")


def test_a_case_has_its_sides_by_name(folder):
    case = pnyx.argue(folder, QUESTION)
    assert (case.pro, case.con) == case.sides
    case = pnyx.argue(folder, QUESTION, stance="con")
    assert case.pro is None
    assert case.con is case.sides[0]
    assert case.con.side == "con"


def test_everything_that_holds_documents_can_be_argued_from(folder):
    from_folder = pnyx.argue(folder, QUESTION)
    (folder / "photo.png").write_bytes(b"\x89PNG\0")
    with pytest.warns(UserWarning, match=r"3 files: 2 read, 1 of unknown type \(photo.png\)"):
        pnyx.argue(folder, QUESTION)
    (folder / "photo.png").unlink()
    collection = pnyx.open("debates.index")
    for documents in ("debates.index", Path("debates.index"), collection):
        case = pnyx.argue(documents, QUESTION)
        assert case.rows() == from_folder.rows()
        assert case.settings["index"] == "debates.index (2 documents)"
    for engine in (collection.index, pnyx.Searcher(collection.index)):
        assert pnyx.argue(engine, QUESTION).rows() == from_folder.rows()
        writer = pnyx.ExtractiveWriter()
        assert pnyx.argue(engine, QUESTION, writer=writer).rows() == from_folder.rows()
    assert pnyx.argue(folder, QUESTION, writer=pnyx.ExtractiveWriter()).rows() == from_folder.rows()
    rows = [{"id": f"{number}.txt", "text": text} for number, text in enumerate(TEXTS)]
    assert pnyx.argue(rows, QUESTION).rows() == from_folder.rows()
    assert len(list(Path.cwd().glob("*.index"))) == 1


def test_options_and_parts_of_a_program_exclude_each_other(folder):
    with pytest.raises(InputError, match="per_side cannot be chosen here: it excludes writer"):
        pnyx.argue(folder, QUESTION, writer=pnyx.ExtractiveWriter(), per_side=1)
    index = pnyx.open([{"id": "a", "text": TEXTS[0]}], features=()).index
    with pytest.raises(InputError, match="llm cannot be chosen here: expected documents or a path"):
        pnyx.argue(index, QUESTION, llm="local")
    with pytest.raises(InputError, match="no option 'nosuch'"):
        pnyx.argue(folder, QUESTION, nosuch=1)
    with pytest.raises(InputError, match=r"nothing: expected a file or folder of documents"):
        pnyx.argue("nothing", QUESTION)
