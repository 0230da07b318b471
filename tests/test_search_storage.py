"""The index folder: damaged, foreign, newer, killed, full, read-only, written by two at once."""

import dataclasses
import gc
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pnyx.core.errors import IndexFolderError, InputError, PnyxError
from pnyx.core.folders import locked
from pnyx.core.records import Argument, Document, Premise
from pnyx.search.build import add_to_index, build_index
from pnyx.search.index import Index
from pnyx.search.lexical import record_codec, segments
from pnyx.search.lexical import term_numbers as words
from pnyx.search.lexical.manifest import read_manifest, write_manifest
from pnyx.search.lexical.storage import BLOCK_BYTES, SegmentFile
from pnyx.search.open_engine import verify_index
from tries import tries

QUESTION = "word3 word17 rare299"


def documents(first=0, stop=400):
    for n in range(first, stop):
        words = " ".join(f"word{n * i % 61}" for i in range(1, 120))
        yield Document(f"doc{n}", f"{words} rare{n}", title=f"Title {n}")


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    """An index of two segments, the first of several checksum blocks."""
    folder = tmp_path_factory.mktemp("pristine") / "index"
    build_index(documents(), folder)
    add_to_index(documents(400, 420), folder)
    return folder


@pytest.fixture
def copy(pristine, tmp_path):
    return Path(shutil.copytree(pristine, tmp_path / "index"))


def use(folder):
    """Search and fetch as a user does; returns everything that came out."""
    index = Index.open(folder)
    found = [index.search(QUESTION, model, k=20) for model in ("dirichlet", "bm25")]
    return found, [index.document(hit.doc_id) for hits in found for hit in hits]


def files(folder):
    return sorted(p.name for p in folder.iterdir())


def test_the_index_under_test_is_large_enough(pristine):
    assert files(pristine) == ["manifest.json", "segment-000001.data", "segment-000002.data"]
    assert (pristine / "segment-000001.data").stat().st_size > 4 * BLOCK_BYTES
    verify_index(pristine)
    assert len(use(pristine)[1]) == 40


NAMES = ["manifest.json", "segment-000001.data", "segment-000002.data"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [0, 1, -1])
def test_a_truncated_file_is_refused_at_open(copy, name, size):
    raw = (copy / name).read_bytes()
    (copy / name).write_bytes(raw[:size])
    with pytest.raises(IndexFolderError, match=r"damaged|cannot be read"):
        Index.open(copy)


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_file_is_refused_at_open(copy, name):
    (copy / name).unlink()
    with pytest.raises(IndexFolderError, match=f"not a Pnyx index|{name} cannot be read"):
        Index.open(copy)


@pytest.mark.parametrize("name", NAMES)
def test_an_appended_byte_is_refused_at_open(copy, name):
    with (copy / name).open("ab") as stream:
        stream.write(b"\0")
    with pytest.raises(IndexFolderError):
        Index.open(copy)


@pytest.mark.parametrize("name", NAMES)
def test_a_flipped_bit_anywhere_is_never_scored(pristine, copy, name):
    expected = use(pristine)
    raw = (copy / name).read_bytes()
    step = max(1, len(raw) // 60)
    refused = 0
    for position in [*range(0, len(raw), step), len(raw) - 1]:
        broken = bytearray(raw)
        broken[position] ^= 1 << position % 8
        (copy / name).write_bytes(broken)
        with pytest.raises(IndexFolderError):
            verify_index(copy)
        try:
            # What a query does not read, it need not check; what it reads must be right.
            assert use(copy) == expected
        except IndexFolderError:
            refused += 1
    (copy / name).write_bytes(raw)
    verify_index(copy)
    assert refused > 5


def test_a_position_after_the_last_block_checks_the_last_block(pristine):
    entry = read_manifest(pristine)["segments"][0]
    file = SegmentFile(pristine, entry)
    blocks = file.pending
    file.verify_each(np.array([blocks * BLOCK_BYTES]))
    assert file.pending == blocks - 1
    file.verify_each(np.array([(blocks - 1) * BLOCK_BYTES]))  # it is the one that was checked
    assert file.pending == blocks - 1


def test_every_flip_in_what_a_query_reads_is_refused(copy):
    path = copy / "segment-000001.data"
    sections = json.loads((copy / "manifest.json").read_bytes())["segments"][0]["sections"]
    raw = path.read_bytes()
    read_whole = {"lengths", "terms.hashes", "exceptions.positions"}
    for name in read_whole | {"ids.hashes"}:
        entry = sections[name]
        for position in {entry["offset"], entry["offset"] + entry["bytes"] - 1}:
            if not entry["bytes"]:
                continue
            broken = bytearray(raw)
            broken[position] ^= 0x10
            path.write_bytes(broken)
            with pytest.raises(IndexFolderError, match=r"segment-000001\.data fails its checksum"):
                use(copy)


def test_every_byte_of_the_manifest_counts(copy):
    path = copy / "manifest.json"
    raw = path.read_bytes()
    for position in range(0, len(raw), 23):
        for bit in (0, 5):
            broken = bytearray(raw)
            broken[position] ^= 1 << bit
            path.write_bytes(broken)
            with pytest.raises(IndexFolderError):
                Index.open(copy)


def test_segments_that_changed_places_are_refused(copy):
    (copy / "segment-000002.data").write_bytes((copy / "segment-000001.data").read_bytes())
    with pytest.raises(IndexFolderError, match="bytes, expected"):
        Index.open(copy)


def rewrite(folder, change):
    """Write the manifest anew, with right checksum, after `change`."""
    content = json.loads((folder / "manifest.json").read_bytes())
    del content["checksum"]
    change(content)
    write_manifest(folder, content)


def test_a_newer_format_says_what_to_do(copy):
    rewrite(copy, lambda c: c.update(format_version=3))
    expected = r"written by a newer Pnyx \(format 3, this one reads 2\): upgrade pnyx$"
    for open_it in (Index.open, verify_index, lambda p: add_to_index(documents(900, 901), p)):
        with pytest.raises(IndexFolderError, match=expected):
            open_it(copy)


def test_an_older_format_says_what_to_do(copy):
    rewrite(copy, lambda c: c.update(format_version=1))
    expected = r"written by an older Pnyx \(format 1, this one reads 2\): index the corpus again\."
    for open_it in (Index.open, verify_index, lambda p: add_to_index(documents(900, 901), p)):
        with pytest.raises(IndexFolderError, match=expected):
            open_it(copy)


def test_an_index_of_other_english_words_is_not_searched(copy):
    other = {
        "name": "unicode-words",
        "version": 1,
        "language": "english",
        "stemmer": "porter",
        "stop_words": "lucene-english-33",
    }
    rewrite(copy, lambda c: c.update(tokenizer=other))
    expected = "unknown tokenizer unicode-words .* for language english.*index the corpus again$"
    for open_it in (Index.open, verify_index, lambda p: add_to_index(documents(900, 901), p)):
        with pytest.raises(IndexFolderError, match=expected):
            open_it(copy)
    build_index(documents(0, 3), copy, replace=True)
    assert len(Index.open(copy)) == 3


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["tokenizer"].update(name="sentencepiece"),
        lambda c: c["segments"][0].update(file="../../etc/passwd"),
        lambda c: c["segments"][0].update(documents=1),
        lambda c: c["segments"][0]["sections"].pop("lengths"),
        lambda c: c["segments"][0]["sections"]["lengths"].update(offset=10**9),
        lambda c: c["segments"][0]["sections"]["lengths"].update(dtype="O"),
        lambda c: c["segments"].reverse(),
        lambda c: c["segments"].pop(),
        lambda c: c.update(segments=None),
        lambda c: c.pop("tokenizer"),
        lambda c: c.pop("statistics"),
    ],
)
def test_a_forged_manifest_is_refused(copy, change):
    rewrite(copy, change)
    with pytest.raises(IndexFolderError):
        Index.open(copy)


def test_foreign_folders_are_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "manifest.json").write_text('{"kind": "results"}')
    for name, expected in [
        ("nowhere", "is not there"),
        ("file", "is a file"),
        ("", "is not a Pnyx index .it has no manifest.json"),
        ("other", "is not a Pnyx index .manifest.json is of another kind"),
    ]:
        with pytest.raises(IndexFolderError, match=expected):
            Index.open(tmp_path / name)
    for deep in ("[" * 100_000, "[]", "null", "\0"):
        (tmp_path / "manifest.json").write_text(deep)
        with pytest.raises(IndexFolderError):
            Index.open(tmp_path)


def test_a_folder_that_is_no_index_is_never_replaced(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    for replace in (False, True):
        with pytest.raises(InputError, match="exists"):
            build_index(documents(0, 2), tmp_path, replace=replace)
    assert files(tmp_path) == ["thesis.tex"]


def test_an_index_is_replaced_when_asked(copy):
    with pytest.raises(InputError, match="exists already"):
        build_index(documents(0, 2), copy)
    build_index(documents(0, 2), copy, replace=True)
    assert len(Index.open(copy)) == 2
    assert files(copy.parent) == ["index"]


# Bad records -------------------------------------------------------------------------------------


def failing():
    yield from documents(0, 3)
    raise InputError("line 4 is bad", path="corpus", line=4)


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([], "holds no documents"),
        ([Document(i, "x") for i in "aba"], "records 1 and 3 have the same id 'a'"),
        ([Document("", "x")], "record 1 has no id"),
        ([Document("\ud800", "x")], "record 1 has the id"),
        ([Document("a", "x", extra={"f": math.nan})], r"record 1 \(a\) cannot be stored as JSON"),
        ([Document("a", "x", extra={"f": {1, 2}})], r"record 1 \(a\) cannot be stored as JSON"),
    ],
)
def test_bad_records_leave_nothing_behind(tmp_path, copy, records, expected):
    with pytest.raises(InputError, match=expected):
        build_index(records, tmp_path / "new")
    with pytest.raises(InputError, match=expected):
        add_to_index(records, copy)
    assert files(tmp_path) == ["index"]
    assert files(copy) == NAMES
    verify_index(copy)


def test_a_failing_reader_leaves_nothing_behind(tmp_path, copy):
    with pytest.raises(InputError, match="corpus:4: line 4 is bad"):
        build_index(failing(), tmp_path / "new")
    with pytest.raises(InputError, match="corpus:4: line 4 is bad"):
        add_to_index(failing(), copy)
    assert (files(tmp_path), files(copy)) == (["index"], NAMES)


def test_an_id_that_is_in_the_index_is_not_added_again(copy):
    with pytest.raises(
        InputError, match="record 2 has the id 'doc410', which is in the index already"
    ):
        add_to_index([Document("new", "x"), Document("doc410", "x")], copy)
    assert len(Index.open(copy)) == 420


def test_duplicates_are_found_across_the_segments_of_one_run(tmp_path, monkeypatch):
    monkeypatch.setattr(segments, "_MAX_POSTINGS", 300)
    monkeypatch.setattr(segments, "_CHUNK_CHARACTERS", 500)
    index = build_index(documents(0, 60), tmp_path / "many")
    assert index.statistics.segments > 5
    assert (index.statistics.added, index.statistics.seconds > 0) == (60, True)
    opened = Index.open(tmp_path / "many").statistics
    assert opened == dataclasses.replace(index.statistics, added=0, seconds=0.0)
    assert [d.id for d in index.documents()] == [f"doc{n}" for n in range(60)]
    with pytest.raises(InputError, match="record 61 has the id 'doc3'"):
        build_index([*documents(0, 60), *documents(3, 4)], tmp_path / "twice")


def test_cutting_into_segments_changes_no_score(tmp_path, monkeypatch):
    build_index(documents(), tmp_path / "one")
    monkeypatch.setattr(segments, "_MAX_POSTINGS", 3000)
    monkeypatch.setattr(segments, "_CHUNK_CHARACTERS", 5000)
    monkeypatch.setattr(words, "_REMEMBERED", 50)
    assert build_index(documents(), tmp_path / "many").statistics.segments > 3
    assert use(tmp_path / "one") == use(tmp_path / "many")


# Records and text --------------------------------------------------------------------------------

texts = st.text(max_size=40)
values = st.recursive(st.none() | st.booleans() | st.integers() | texts, st.lists, max_leaves=4)
extras = st.dictionaries(texts, values, max_size=2)
stances = st.sampled_from(["pro", "con", None])
ids = texts.filter(bool)
premises = st.lists(st.builds(Premise, texts, stances, extras), max_size=2).map(tuple)
evidence = st.one_of(
    st.builds(Document, ids, texts, title=texts, url=texts, source=texts, extra=extras),
    st.builds(
        Argument, ids, texts, premises, stances, topic=texts, body=st.none() | texts, extra=extras
    ),
)


@given(evidence)
def test_records_are_stored_without_loss(record):
    assert record_codec.decode(record_codec.encode(record, number=1)) == record


@settings(
    max_examples=tries(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(records=st.lists(evidence, min_size=1, max_size=6, unique_by=lambda r: r.id), question=texts)
def test_any_unicode_can_be_indexed_and_asked(tmp_path, records, question):
    build_index(records, tmp_path / "index", replace=True)
    index = Index.open(tmp_path / "index")
    index.verify()
    assert list(index.documents()) == records
    assert index.doc_ids(np.arange(len(records))) == [record.id for record in records]
    for record in records:
        assert index.document(record.id) == record
    for text in (question, records[0].text):
        for hit in index.search(text):
            assert hit.score >= 0
            assert hit.doc_id in index


def test_ids_are_told_apart_whatever_they_hold(tmp_path):
    ids = ["a", "b\0", "\0", "ä\0ß", "c"]
    index = build_index([Document(one, "tea") for one in ids], tmp_path / "index")
    assert index.doc_ids(np.array([4, 2, 1, 3, 0])) == ["c", "\0", "b\0", "ä\0ß", "a"]
    assert index.doc_ids(np.array([4, 0])) == ["c", "a"]
    assert index.doc_ids(np.zeros(0, dtype=np.int64)) == []


def test_half_characters_become_replacement_characters(tmp_path):
    build_index([Document("a", "half \ud800 done")], tmp_path / "index")
    index = Index.open(tmp_path / "index")
    assert index.document("a").text == "half \ufffd done"
    assert index.search("half \udfff")[0].doc_id == "a"
    assert "\ud800" not in index


def test_fields_say_what_is_searched(tmp_path):
    argument = Argument("a", "Ban it", (Premise("It harms"),), topic="smoking")
    build_index([argument], tmp_path / "plain")
    build_index([argument], tmp_path / "topic", fields=["topic"])
    add_to_index([Argument("b", "Allow it", topic="drinking")], tmp_path / "topic")
    assert Index.open(tmp_path / "plain").search("smoking") == []
    assert [
        h.doc_id for h in Index.open(tmp_path / "topic").search("smoking drinking", "bm25")
    ] == ["b", "a"]
    with pytest.raises(InputError, match="unknown field 'author', expected: topic"):
        build_index([argument], tmp_path / "new", fields=["author"])


# Killed, full, read-only, two at once ------------------------------------------------------------

ADDER = textwrap.dedent(
    """
    import os, signal, sys
    from pnyx.core.records import Document
    from pnyx.search.build import add_to_index

    folder, when = sys.argv[1:]
    calls, real = 0, os.fsync

    def fsync(handle):
        global calls
        calls += 1
        if str(calls) == when:
            os.kill(os.getpid(), signal.SIGKILL)
        real(handle)

    def records():
        for n in range(50):
            if when == "reading" and n == 30:
                os.kill(os.getpid(), signal.SIGKILL)
            yield Document(f"more{n}", "word3 more words " * 2000)

    os.fsync = fsync
    add_to_index(records(), folder)
    """
)


# 1: the new segment is written; 2: the new manifest is, beside the old; 3: it is in place.
@pytest.mark.all
@pytest.mark.parametrize(
    ("when", "after"),
    [
        ("2", 420),
        *(
            pytest.param(when, after, marks=pytest.mark.all)
            for when, after in (("reading", 420), ("1", 420), ("3", 470))
        ),
    ],
)
def test_a_kill_while_adding_leaves_the_old_or_the_new_index(copy, pristine, when, after):
    done = subprocess.run([sys.executable, "-c", ADDER, str(copy), when], timeout=300)
    assert done.returncode == -signal.SIGKILL
    verify_index(copy)
    assert len(Index.open(copy)) == after
    if after == 420:
        assert set(files(copy)) > set(NAMES)  # leftovers, which nothing reads ...
        assert use(copy) == use(pristine)
    add_to_index(documents(420, 421), copy)  # ... and the next add clears away
    assert len(Index.open(copy)) == after + 1
    named = [
        entry["file"] for entry in json.loads((copy / "manifest.json").read_bytes())["segments"]
    ]
    assert files(copy) == ["manifest.json", *named]
    verify_index(copy)


def test_two_cannot_write_at_once(copy):
    with locked(copy):
        for write in (
            lambda: add_to_index(documents(500, 501), copy),
            lambda: build_index(documents(500, 501), copy, replace=True),
        ):
            with pytest.raises(PnyxError, match="another process is writing to this index"):
                write()
        assert len(use(copy)[1]) == 40  # readers need no lock
    assert add_to_index(documents(500, 501), copy).statistics.added == 1


@pytest.fixture
def small_disk(tmp_path):
    """A file system of one megabyte."""
    if os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("mounting a small file system needs root")
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    mounted = subprocess.run(command, capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"cannot mount a tmpfs: {mounted.stderr.strip()}")
    yield folder
    gc.collect()  # an index that a failure still refers to holds its files open
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.all
def test_a_full_disk_is_one_line_and_leaves_nothing(small_disk):
    with pytest.raises(PnyxError, match="cannot be written: No space left on device") as caught:
        build_index(documents(0, 3000), small_disk / "index")
    assert "\n" not in str(caught.value)
    assert files(small_disk) == []
    build_index(documents(0, 100), small_disk / "index")
    with pytest.raises(PnyxError, match="cannot be written: No space left on device"):
        add_to_index(documents(100, 3000), small_disk / "index")
    assert files(small_disk / "index") == NAMES[:2]
    verify_index(small_disk / "index")
    add_to_index(documents(100, 110), small_disk / "index")


def test_a_read_only_disk_can_be_searched_and_not_written(small_disk):
    build_index(documents(0, 100), small_disk / "index")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for write in (
        lambda: add_to_index(documents(100, 110), small_disk / "index"),
        lambda: build_index(documents(0, 10), small_disk / "new"),
        lambda: build_index(documents(0, 10), small_disk / "index", replace=True),
    ):
        with pytest.raises(PnyxError, match="cannot be written: Read-only file system"):
            write()
    verify_index(small_disk / "index")
    assert len(use(small_disk / "index")[1]) == 40


def test_nothing_in_an_index_is_a_pickle(pristine):
    for name in NAMES[1:]:
        assert not re.match(rb"\x80[\x02-\x05]", (pristine / name).read_bytes())
