"""Documents cut into passages, and the dumps of passages that are read."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.cli import main
from pnyx.core.errors import InputError
from pnyx.core.records import Argument, Document, Premise
from pnyx.formats import read_evidence
from pnyx.formats.text.segment import split_evidence, split_passages
from pnyx.search.lexical.record_codec import searched_text

TEXT = "Tea calms. It also keeps people awake at night! Some prefer water. So do I."


def test_words_by_hand():
    assert split_passages(TEXT, 5) == [
        "Tea calms. It also keeps",
        "people awake at night! Some",
        "prefer water. So do I.",
    ]
    assert split_passages("a  b\n\nc", 2) == ["a  b", "c"]
    assert split_passages(" \n", 2) == []


def test_sentences_by_hand():
    # 2, 7, 3 and 3 words: the second sentence alone is longer than 5.
    assert split_passages(TEXT, 5, sentences=True) == [
        "Tea calms.",
        "It also keeps people awake",
        "at night!",
        "Some prefer water.",
        "So do I.",
    ]
    assert split_passages(TEXT, 9, sentences=True) == [
        "Tea calms. It also keeps people awake at night!",
        "Some prefer water. So do I.",
    ]


@pytest.mark.slow
@given(st.text() | st.lists(st.sampled_from(["a", "Bb.", "c!", "\n", "x" * 70])).map(" ".join))
@pytest.mark.parametrize("sentences", [False, True])
def test_passages_are_the_text_in_order_without_a_gap(sentences, text):
    passages = split_passages(text, 3, sentences=sentences)
    at = 0
    for passage in passages:
        at = text.index(passage, at) + len(passage)
        assert 1 <= len(split_passages(passage, 1)) <= 3
        assert passage == passage.strip()
    assert "".join("".join(passages).split()) == "".join(text.split())


def test_passages_keep_what_is_known_of_the_document():
    given_records = [
        Document("d", "one two three", "Title", "https://x.example/", "s", {"lang": "en"}),
        Argument("a", "Tea calms", (Premise("it is warm", "pro"),), "pro", "Tea?"),
    ]
    assert list(split_evidence(given_records, 4)) == [
        Document(
            "d#0", "one two three", "Title", "https://x.example/", "s",
            {"lang": "en", "origin": "d", "passage": 0},
        ),
        Document(
            "a#0", "it is warm.", "Tea calms",
            extra={"topic": "Tea?", "stance": "pro", "origin": "a", "passage": 0},
        ),
    ]  # fmt: skip


def test_a_conclusion_counts_once_in_each_passage():
    premises = (Premise("It is warm"), Premise("Tea calms people"))
    bodies = {
        None: ["It is warm. Tea", "calms people."],
        "Tea calms. It is warm and good": ["It is warm and", "good"],
        "Tea calms: it is warm": ["it is warm"],
        "Tea calmss nobody here": ["Tea calmss nobody here"],
        "We say that: Tea calms all": ["We say that: Tea", "calms all"],
        "Hot Tea calms all": ["Hot Tea calms all"],
        " Tea calms. ": ["Tea calms."],
    }
    for body, texts in bodies.items():
        argument = Argument("a", "Tea calms", premises, "pro", "Tea?", body=body)
        passages = list(split_evidence([argument], 4))
        assert [passage.text for passage in passages] == texts
        for passage in passages:
            assert searched_text(passage).count("Tea calms") == 1
    (alone,) = split_evidence([Argument("a", "Tea calms")], 4)
    assert (alone.text, alone.title) == ("Tea calms.", "")
    (no_title,) = split_evidence([Argument("a", "", body="... and warm")], 4)
    assert (no_title.text, no_title.title) == ("... and warm", "")


def test_passages_are_cut_again_but_a_field_of_another_meaning_is_not_lost():
    once = list(split_evidence([Document("d", "a b c d e")], 4))
    twice = list(split_evidence(once, 2))
    assert [p.id for p in twice] == ["d#0#0", "d#0#1", "d#1#0"]
    assert twice[1].extra == {"origin": "d#0", "passage": 1}
    with pytest.raises(InputError, match="'d' has a field origin"):
        list(split_evidence([Document("d", "a", extra={"origin": "China"})], 4))


@pytest.mark.all
def test_memory_does_not_grow_with_the_corpus():
    def peak(count: int) -> int:
        tracemalloc.start()
        for _ in split_evidence((Document(str(i), "a word " * 500) for i in range(count)), 100):
            pass
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(400) < 400_000  # the documents together have 2.8 MB


# --- the command and the dumps


def pnyx(capsys, *argv: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main([str(a) for a in argv])
    printed = capsys.readouterr()
    return int(caught.value.code or 0), printed.out, printed.err


DUMPS = {
    # Quoting as in DPR's psgs_w100.tsv.
    "psgs_w100.tsv.gz": (
        gzip.compress(
            'id\ttext\ttitle\n1\t"Aaron ""Ahärôn"" is a prophet, high priest"\tAaron\n'.encode()
        ),
        ["1#0", "1#1"],
        "Aaron",
        'Aaron "Ahärôn" is a',
    ),
    "pyserini.jsonl": (
        b'{"id": "7", "contents": "\\"The Tea Act\\"\\nThe act was one of many"}\n',
        ["7#0", "7#1"],
        "The Tea Act",
        "The act was one",
    ),
    "plain.jsonl": (
        b'{"id": "7", "contents": "\\"The Tea Act\\" was one\\nof many"}\n',
        ["7#0", "7#1"],
        "",
        '"The Tea Act" was',
    ),
    "wiki_00": (
        b'{"id": "12", "revid": "9", "url": "https://en.wikipedia.org/wiki?curid=12", '
        b'"title": "Anarchism", "text": "Anarchism is a political movement."}\n',
        ["12#0", "12#1"],
        "Anarchism",
        "Anarchism is a political",
    ),
}


@pytest.mark.parametrize("name", DUMPS)
def test_dumps_are_recognised_and_split(name, tmp_path, capsys):
    content, ids, title, first = DUMPS[name]
    (tmp_path / name).write_bytes(content)
    out = tmp_path / "passages.jsonl"
    code, stdout, _ = pnyx(
        capsys, "files", "split", tmp_path / name, "--words", 4, "--out", out, "--json"
    )
    assert code == 0
    assert json.loads(stdout) == {"documents": 1, "passages": len(ids), "out": str(out)}
    passages = list(read_evidence(str(out)))
    assert [p.id for p in passages] == ids
    assert (passages[0].title, passages[0].text) == (title, first)


def test_sphere_needs_one_column_named(tmp_path, capsys):
    path = tmp_path / "sphere.jsonl"
    path.write_text('{"id": "a-1", "raw": "one two three", "title": "T", "sha": "f0"}\n')
    code, stdout, _ = pnyx(capsys, "files", "split", path, "--column", "text=raw", "--words", 2)
    assert code == 0
    assert [json.loads(line)["text"] for line in stdout.splitlines()] == ["one two", "three"]


def test_a_title_of_its_own_leaves_the_contents_alone(tmp_path):
    path = tmp_path / "f"
    path.write_text('{"id": 1, "title": "T", "contents": "\\"A\\"\\nb"}\n{"id":2,"contents":"x"}\n')
    assert list(read_evidence(str(path))) == [
        Document("1", '"A"\nb', "T"),
        Document("2", "x"),
    ]


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["a.jsonl", "b.jsonl", "--out", "o"], "b.jsonl: duplicate id '1', also in an earlier"),
        (["a.jsonl", "--out", "a.jsonl"], "--out names the same file as IN"),
        (["a.jsonl", "--json"], "--json requires --out FILE"),
        (["a.jsonl", "--words", "0", "--out", "o"], "--words"),
        (["none.jsonl", "--out", "o"], "none.jsonl: cannot be read"),
        (["bad.jsonl", "--out", "o"], "bad.jsonl:2: no text"),
    ],
)
def test_one_line_status_2_and_nothing_written(argv, problem, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text('{"id": "1", "text": "x"}\n')
    (tmp_path / "bad.jsonl").write_text('{"id": "1", "text": "x"}\n{"id": "2"}\n')
    code, stdout, err = pnyx(capsys, "files", "split", *argv)
    assert (code, stdout) == (2, "")
    assert problem in err
    assert err.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.jsonl", "b.jsonl", "bad.jsonl"]
    assert (tmp_path / "a.jsonl").read_text() == '{"id": "1", "text": "x"}\n'


@pytest.mark.all
def test_passages_come_out_while_documents_go_in():
    with subprocess.Popen(
        [sys.executable, "-m", "pnyx", "files", "split", "-", "--words", "2"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        line = json.dumps({"id": "0", "text": "word " * 100_000})
        process.stdin.write(line.encode() + b"\n")
        process.stdin.flush()
        first = json.loads(process.stdout.readline())  # the input is still open
        process.stdin.write(b'{"id": "1", "text": "the last"}\n')
        process.stdin.close()
        rest = process.stdout.read().splitlines()
    assert first["id"] == "0#0"
    assert len(rest) == 50_000
    assert json.loads(rest[-1])["id"] == "1#0"
    assert process.returncode == 0
