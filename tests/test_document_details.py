"""Documents of tables, folders and published corpora, field by field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pnyx
from pnyx.core.errors import InputError
from pnyx.formats import FORMATS
from pnyx.formats.documents.file_readers import content_mark
from pnyx.formats.documents.table_rows import (
    _further,
    _header_index,
    _key_of_list,
    _named,
    _text_column,
)
from pnyx.formats.file_account import FileAccount
from pnyx.formats.reading import check

# Tables of a folder ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "column"),
    [
        ([{"a": "x" * 20, "b": "y" * 21}], ("b", False)),
        ([{"a": "x" * 39, "b": "y" * 41}, {"a": "x" * 3, "b": ""}], ("a", False)),
        ([{"a": "x" * 39}, {}], ("", False)),  # fewer than 20 characters a row
        ([{"a": "x" * 40}, {}], ("a", False)),
        ([{"a": f"   {'x' * 19}   "}], ("", False)),
        ([{"Text ": "", "body": "b"}], ("body", True)),
        ([{"TEXT": "a", "body": "bbbb"}], ("TEXT", True)),
        ([{"text": "a", "Text": "b"}], ("text", True)),
        ([{"a": 5}], ("", False)),
        ([], ("", False)),
    ],
)
def test_the_column_of_texts(rows: list[dict[str, Any]], column: tuple[str, bool]) -> None:
    assert _text_column(rows) == column


def test_the_header_of_a_sheet_fills_more_than_half_of_the_widest_row() -> None:
    assert _header_index([["T"], ["a", "b", "c"], ["1", "2", "3"]]) == 1
    assert _header_index([["T", "n"], ["a", "b", "c", "d"]]) == 1
    assert _header_index([["T", "n", "m"], ["a", "b", "c", "d"]]) == 0
    assert _header_index([[None, ""], ["", 0]]) == 1


def test_further_and_named_cells() -> None:
    cells = {"id": 1, "text": "t", " a\n b ": 2, "e": "", "l": [1], "n": None, "b": True, "": 1}
    assert _further(cells) == {"row_id": 1, "a b": 2, "b": True}
    assert _named({"Author": "", " User": "u\nv", "x": 1}, ("author", "user")) == "u v"
    assert _named({"x": 1}, ("author", "x")) == "1"
    assert _named({}, ("a",)) == ""


@pytest.mark.parametrize(
    ("content", "key"),
    [
        ("[1]", ""),
        (" \ufeff[{}]", ""),
        ('{"a": [1, 2, 3], "b": [{}], "c": [{}, {}]}', "c"),
        ('{"a": 1}', None),
        ('{"a": []}', None),
        ("x", None),
    ],
)
def test_the_list_of_rows_in_json(content: str, key: str | None, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(content)
    assert _key_of_list(tmp_path / "a.json") == key


@pytest.mark.parametrize(
    ("name", "content", "documents", "line"),
    [
        ("a.csv", "text|n\nhello one|2\n|3\n\nb|4|5\n",
         [("a.csv#1", "hello one", {"n": "2"}), ("a.csv#3", "b", {"n": "4"})], "2 read"),
        ("a.csv", "\n\ntext;n\na;1\n", [("a.csv#1", "a", {"n": "1"})], "2 read"),
        ("a.json", '{"posts": [{"body": "a", "title": "t", "author": "A"}], "x": []}',
         [("a.json#1", "a", {"author": "A"})], "2 read"),
        ("a.json", '{"text": "one doc"}', [("a.json#1", "one doc", {})], "2 read"),
        ("a.json", '[{"text": "a"}, 5, {"text": "b"}]',
         [("a.json#1", "a", {}), ("a.json#3", "b", {})], "2 read"),
        ("a.json", "[]", [], "1 read, 1 without text (a.json)"),
        ("a.csv", "", [], "1 read, 1 without text (a.csv)"),
        ("a.csv", "k,v\n", [], "1 read, 1 without text (a.csv)"),
        ("a.csv", "k,v\n1,2\n", [],
         "1 read, 1 unreadable (a.csv: no column of texts; name it text)"),
        ("a.csv", "text\n \n", [], "1 read, 1 without text (a.csv)"),
        ("a.csv", "qid,query\n1,Q\n", [], "1 read, 1 with other data (a.csv: conqret-queries)"),
        ("a.jsonl", '{"id": "1", "text": "T", "statement": "S"}\n', [],
         "1 read, 1 with other data (a.jsonl: support-items)"),
        ("a.jsonl", '{"id": "1", "question": "Is it so?"}\n', [],
         "1 read, 1 with other data (a.jsonl: questions)"),
        ("a.csv", "id,question,comment\n1,Q,hello there\n",
         [("a.csv#1", "hello there", {"row_id": "1", "question": "Q"})], "2 read"),
        ("a.jsonl", '{"conclusion": "c", "premises": ["p"], "id": "x"}\n',
         [("a.jsonl#x", "c. p.", {})], "2 read"),
        ("a.txt", " ", [], "1 read, 1 without text (a.txt)"),
        ("a.heic", "", [], "1 read, 1 of unknown type (a.heic)"),
        ("Thumbs.db", "x", [], ""),
        ("~$a.txt", "x", [], ""),
        (".a.txt", "x", [], ""),
    ],
)  # fmt: skip
def test_rows_of_a_file_in_a_folder(
    name: str, content: str, documents: list[Any], line: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    (tmp_path / "z.txt").write_text("A note.")
    accounts: list[FileAccount] = []
    read = list(pnyx.read_evidence(tmp_path, on_account=accounts.append))
    assert [(d.id, d.text, d.extra) for d in read] == [*documents, ("z.txt", "A note.", {})]
    assert accounts[0].line() == (f"2 files: {line}" if line else "1 file: 1 read")


def test_one_file_is_read_strictly_and_must_be_known(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(b"x")
    with pytest.raises(InputError, match=r"a\.docx: is not Word"):
        list(pnyx.read_evidence(tmp_path / "a.docx"))
    (tmp_path / "a.heic").write_bytes(b"x")
    with pytest.raises(InputError, match=r"expected a folder, or a file that ends in \.txt, \.rst"):
        list(pnyx.read_evidence(tmp_path / "a.heic", format="folder"))
    with pytest.raises(InputError, match="cannot be read: No such file or directory"):
        list(pnyx.read_evidence(tmp_path / "nothing", format="folder"))


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/b.txt").write_text("Other.")
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_text("A note.")
    for name, target in (("b.txt", "../out/b.txt"), ("c.txt", "a.txt"), ("d", "../out")):
        (folder / name).symlink_to(target)
    (folder / "e.txt").symlink_to("nothing.txt")
    accounts: list[FileAccount] = []
    ids = [d.id for d in pnyx.read_evidence(folder, on_account=accounts.append)]
    assert ids == ["a.txt", "c.txt"]
    assert accounts[0].line() == (
        "5 files: 2 read, 1 unreadable (e.txt: is a link to nothing), "
        "2 links that are not followed (d, b.txt)"
    )
    (folder / "d").unlink()
    list(pnyx.read_evidence(folder, on_account=accounts.append))
    assert accounts[1].line().endswith("1 link that is not followed (b.txt)")


def test_the_mark_of_a_file_is_of_its_content_and_its_ending(tmp_path: Path) -> None:
    for name, content in (("a.txt", "x"), ("b.txt", "y"), ("c.md", "x"), ("d.txt", "x")):
        (tmp_path / name).write_text(content)
    marks = [content_mark(tmp_path / name) for name in ("a.txt", "b.txt", "c.md", "d.txt")]
    assert len(set(marks)) == 3
    assert marks[0] == marks[3]
    assert content_mark(tmp_path / "nothing.txt") == ""


# Published corpora -------------------------------------------------------------------------------


def records(name: str, content: Any, folder: Path, **files: Any) -> tuple[list[Any], list[str]]:
    """Return the records of a file, a problem for each fault, and the warnings."""
    (folder / "f").write_text(content if isinstance(content, str) else json.dumps(content))
    for file, value in files.items():
        (folder / f"{file}_pool_v1.0.json").write_text(json.dumps(value))
    warnings: list[str] = []
    rows = list(check(str(folder / "f"), FORMATS[name], None, warnings.append))
    found = [row.problem if isinstance(row, InputError) else row[1] for row in rows]
    return found, [line.removeprefix(f"{folder / 'f'}: ") for line in warnings]


TREE = """1. T
1.1. Pro: a
more
1.1.1. Con: b
1.1.1.1. Con: c
1.2. d
1.2.1. Pro: e
1.1.2. Pro: f
1.3. -> See 1.1.
1.3.1. Con: g
2. U
2.1. con : h
"""


def test_a_claim_of_kialo_has_its_side_on_the_thesis_and_on_its_parent(tmp_path: Path) -> None:
    claims, _ = records("kialo", TREE, tmp_path)
    shown = [
        (c.id, c.stance, c.topic, c.extra.get("on_parent"), c.premises[0].text) for c in claims
    ]
    assert shown == [
        ("1.1", "pro", "T", "pro", "a more"),
        ("1.1.1", "con", "T", "con", "b"),
        ("1.1.1.1", "pro", "T", "con", "c"),
        ("1.2", None, "T", None, "d"),
        ("1.2.1", None, "T", "pro", "e"),  # the side of its parent is not stated
        ("1.1.2", "pro", "T", "pro", "f"),
        ("1.3.1", None, "T", "con", "g"),
        ("2.1", "con", "U", "con", "h"),
    ]
    assert [c.extra["parent"] for c in claims][:3] == ["1", "1.1", "1.1.1"]


def test_perspectrum_joins_claims_with_texts_and_evidence(tmp_path: Path) -> None:
    views = [
        {"pids": [1, 2], "stance_label_3": "SUPPORT", "evidence": [7, 8]},
        {"pids": [1], "stance_label_3": "not-a-perspective"},
        {"pids": [2], "stance_label_3": "mildly-undermine"},
    ]
    claim = {"cId": 3, "text": "T", "source": "", "perspectives": views}
    texts = [{"pId": 1, "text": "w1"}, {"pId": 2, "text": "w2"}]
    problem = "needs perspective_pool_v1.0.json in the same folder, which has the texts"
    assert records("perspectrum", [claim, claim], tmp_path) == ([problem], [])
    found, warnings = records("perspectrum", [claim], tmp_path, perspective=texts)
    assert warnings == [
        "2 of 2 pieces of evidence are left out, as evidence_pool_v1.0.json is not in the same "
        "folder"
    ]
    evidence = [{"eId": 7, "text": "ev", "source": "s"}]
    found, warnings = records("perspectrum", [claim], tmp_path, evidence=evidence)
    assert [(a.id, a.conclusion, [p.text for p in a.premises], a.stance) for a in found] == [
        ("3-1", "w1", ["ev"], "pro"), ("3-3", "w2", [], "con"),
    ]  # fmt: skip
    assert (found[0].topic, found[0].source) == ("T", "perspectrum")
    assert [a.extra for a in found] == [{"pids": [1, 2], "paraphrases": ["w2"]}, {"pids": [2]}]
    assert warnings == [
        "1 of 2 pieces of evidence are left out, as evidence_pool_v1.0.json is not complete"
    ]
    evidence.append({"eId": 8, "text": "more", "source": ""})
    found, warnings = records("perspectrum", [claim], tmp_path, evidence=evidence)
    assert (len(found[0].premises), warnings) == (2, [])
    odd = {**claim, "perspectives": [{"pids": [9], "stance_label_3": "support"}]}
    none = {**claim, "perspectives": [{"pids": [], "stance_label_3": "support"}]}
    assert records("perspectrum", [odd, none], tmp_path)[0] == [
        "item 1: pids: found 9, expected ids of perspective_pool_v1.0.json",
        "item 2: pids: found none, expected ids of perspective_pool_v1.0.json",
    ]


DEBATE = {
    "url": "https://a.org/tea", "claim_title": " Tea ", "topic": ["x"],
    "perspectives_for": [
        {"perspective_title": "", "argument": {"description": [
            "One (see", "link", ") and two.", "Three", "four.", " "]}},
        {"perspective_title": "P", "argument": {"description": []}, "more": 1, "no": ""},
    ],
    "perspectives_against": [
        {"perspective_title": "", "argument": {"description": []}},
        {"perspective_title": "A", "argument": {"description": ["x , y"], "k": "v"}},
    ],
}  # fmt: skip


def test_points_of_debates_are_paragraphs_or_one_text(tmp_path: Path) -> None:
    found, _ = records("debatewise", [DEBATE, DEBATE], tmp_path)
    assert [(a.id, a.conclusion, [p.text for p in a.premises], a.stance) for a in found[:3]] == [
        ("tea-for-1", "", ["One (see link ) and two.", "Three four."], "pro"),
        ("tea-for-2", "P", [], "pro"),
        ("tea-against-2", "A", ["x, y"], "con"),
    ]
    assert [a.extra for a in found[1:3]] == [
        {"topics": ["x"], "more": 1},
        {"topics": ["x"], "k": "v"},
    ]
    assert (found[0].topic, found[3].id) == ("Tea", "tea~2-for-1")
    rows = check(str(tmp_path / "f"), FORMATS["debatewise"])
    assert [row[0] for row in rows if not isinstance(row, InputError)] == [1, 2, 3, 4, 5, 6]
    found, _ = records("procon", [DEBATE], tmp_path)
    assert [[p.text for p in a.premises] for a in found] == [
        ["One (see link ) and two. Three four."], [], ["x, y"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, (None, "", "")),
        ({"context": {"sourceDomain": "d", "sourceUrl": "u"}}, (None, "d", "u")),
        ({"context": {"sourceDomain": 5}}, (None, "", "")),
        ({"source": "x", "url": "y", "stance": "con", "context": {"sourceDomain": "d"}},
         ("con", "x", "y")),
        ({"premises": [{"text": "p", "stance": "PRO"}]}, ("pro", "", "")),
        ({"premises": [{"text": "p"}]}, (None, "", "")),
        ({"context": 5}, "argument 1: context: found 5, expected an object"),
        ({"premises": [5]}, "argument 1: premise 1: found 5, expected text or an object"),
        ({"premises": [{"text": "p", "stance": "x"}]},
         "argument 1: premise 1: stance: found x, expected one of pro, con"),
    ],
)  # fmt: skip
def test_an_argument_of_args_me(fields: dict[str, Any], expected: Any, tmp_path: Path) -> None:
    premises = [{"text": "p", "stance": "PRO"}, {"text": "q", "stance": "CON"}]
    row = {"id": "a", "conclusion": "C", "premises": premises, **fields}
    ((found,), _) = records("argsme", {"arguments": [row]}, tmp_path)
    assert (
        found if isinstance(found, str) else (found.stance, found.source, found.url)
    ) == expected


def test_points_of_idebate_have_the_title_of_their_debate(tmp_path: Path) -> None:
    row = {"id": "1", "debate": "tea", "split": "s", "theme": "t", "stance": "pro",
           "conclusion": " C ", "premise": " P "}  # fmt: skip
    other = {**row, "id": "4", "debate": "x", "premise": "", "stance": "con"}
    rows = [row, {**row, "id": "2", "split": "z"}, {**row, "id": "3", "stance": None}, other]
    debates = [
        {"split": "s", "theme": "t", "debate": "tea", "title": "Tea?", "url": "u"},
        {"split": "s2", "theme": "t", "debate": "tea", "title": "Tea2?", "url": "u2"},
        {"debate": "x", "title": " X? "},
    ]
    (tmp_path / "debates.jsonl").write_text("\n".join(map(json.dumps, debates)))
    first, second, problem, last = records("idebate", "\n".join(map(json.dumps, rows)), tmp_path)[0]
    assert (first.topic, first.url, first.conclusion, first.premises[0].text) == (
        "Tea?",
        "u",
        "C",
        "P",
    )
    assert (second.topic, second.url) == ("tea", "")  # two debates of this name
    assert problem == "no stance, expected pro or con"
    assert (last.topic, last.premises, last.stance) == ("X?", (), "con")


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ("argument,topic,stance_WA\nA,t,1\nB,t,-1\nC,,0\nD,t,\n",
         [("1", "pro", "t"), ("2", "con", "t"), ("3", "neutral", ""), ("4", None, "t")]),
        ("arg_id,argument,topic,stance\nx,A,t,1\n,B,t,-1\n", [("x", "pro", "t"), ("2", "con",
         "t")]),
        ("topic,retrievedUrl,archivedUrl,annotation,sentence\nt,r,u,NoArgument,A\n"
         "t,r,u,Argument_for,B\n,r,u,Argument_against,C\n",
         [("1", "document", "u"), ("2", "pro", "t"), ("3", "con", "")]),
        ("topic,candidate,label,candidate masked,wikipedia url,wikipedia article name\n"
         "t,A,1,m,u,w\n", [("1", "document", "u")]),
    ],
)  # fmt: skip
def test_rows_of_published_tables(content: str, rows: list[Any], tmp_path: Path) -> None:
    found, _ = records("argument-table", content, tmp_path)
    assert [
        (a.id, a.stance, a.topic) if isinstance(a, pnyx.Argument) else (a.id, "document", a.url)
        for a in found
    ] == rows
