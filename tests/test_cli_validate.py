"""`pnyx files validate` as it is called: output lines and exit status."""

from __future__ import annotations

import io
import json
import sys

import pytest

from command import caller
from pnyx.formats.recognition import all_formats

call = caller("files", "validate")

FORMATS = all_formats()  # those of plugins, too


@pytest.mark.parametrize("name", [n for n in FORMATS if n not in ("folder", "ir_datasets")])
def test_each_example_passes(name, tmp_path, call):
    path = tmp_path / "f"
    path.write_text(FORMATS[name].example)
    records = "2 records" if name == "berds" else "1 record"
    said = f"pnyx: warning: {path}: topics are read from the columns qid and query\n"
    expected = (0, f"{path}: ok ({name}, {records})\n", said if name == "topics-table" else "")
    assert call(str(path), "--format", name) == expected


def test_every_fault_has_its_line_and_the_status_is_2(tmp_path, call):
    path = tmp_path / "run.trec"
    path.write_text("1 Q0 a 1 2.0 t\n1 Q0 a 2 1.0 t\n1 Q0 b 3 NaN t\n")
    assert call(str(path)) == (
        2,
        f"{path}:2: duplicate topic and document '1 a', first in line 1\n"
        f"{path}:3: score: found 'NaN', expected a finite number\n",
        "",
    )


def test_json(tmp_path, call):
    path = tmp_path / "labels.jsonl"
    path.write_text('{"id": "1", "value": true}\n{"id": "2"}\n')
    code, out, _ = call(str(path), "--format", "labels", "--json")
    result = json.loads(out)
    assert code == 2
    assert (result["ok"], result["records"], result["fault_count"]) == (False, 1, 1)
    assert result["faults"] == [
        {"path": str(path), "line": 2, "problem": "no value (fields found: id)"}
    ]


def test_standard_input_is_recognised_without_losing_a_byte(monkeypatch, call):
    line = '{"id": "%d", "conclusion": "c", "premises": ["p"]}\n'
    content = "".join(line % i for i in range(5000)).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))
    assert call("-") == (0, "standard input: ok (arguments, 5,000 records)\n", "")


@pytest.mark.parametrize(
    ("content", "problem"),
    [("", "is empty"), ("hello\n", "cannot be recognised"), ('{\n"a": 1}\n', "one JSON document")],
)
def test_what_cannot_be_recognised(content, problem, tmp_path, call):
    path = tmp_path / "f"
    path.write_text(content)
    code, out, err = call(str(path))
    assert (code, err) == (2, "")
    assert problem in out
    assert out.count("\n") == 1


def test_missing_file_and_unknown_format(tmp_path, call):
    code, out, _ = call(str(tmp_path / "none"))
    assert (code, out) == (2, f"{tmp_path / 'none'}: cannot be read: No such file or directory\n")
    code, out, _ = call(str(tmp_path), "--format", "nope")
    assert code == 2
    assert "no format 'nope'" in out


def test_control_characters_cannot_break_out_of_a_line(tmp_path, call):
    path = tmp_path / "f"
    path.write_text('{"id": "a\\u001b[2J\\nb", "text": "t"}\n' * 2)
    code, out, _ = call(str(path))
    assert code == 2
    assert out.count("\n") == 1
    assert "\x1b" not in out


def test_an_index_folder_is_verified(tmp_path, call):
    from pnyx.core.records import Document
    from pnyx.search.build import build_index

    folder = tmp_path / "my.index"
    build_index([Document("1", "Tea is healthy."), Document("2", "Tea is not.")], folder)
    assert call(str(folder)) == (
        0,
        f"{folder}: ok (index, 2 documents, no quality, no vectors, no clusters)\n",
        "",
    )
    code, _, err = call(str(folder), "--format", "trec-run")
    assert (code, "require a file, and this is an index" in err) == (2, True)
    result = json.loads(call(str(folder), "--json")[1])
    assert (result["ok"], result["records"], result["features"]["vectors"]) == (True, 2, 0)
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.name != "manifest.json" and file.stat().st_size:
            content = file.read_bytes()
            file.write_bytes(content[:-1])
            code, out, _ = call(str(folder))
            file.write_bytes(content)
            assert code == 2
            assert out.count("\n") == 1
    assert call(str(folder))[0] == 0
