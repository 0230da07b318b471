"""An index is brought up to date with a folder that changed."""

from __future__ import annotations

import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from command import printed
from index_fixture import Fake
from pnyx.core.errors import InputError, PnyxError
from pnyx.core.files import write_jsonl
from pnyx.search.build import add_to_index, build_index
from pnyx.search.features.vectors import document_vectors, embed_documents
from pnyx.search.index import Index
from pnyx.search.index_command import _after_refresh
from pnyx.search.lexical.manifest import read_manifest
from pnyx.search.open_engine import verify_index
from pnyx.search.options import FeatureSpec
from pnyx.search.refresh import is_source, refresh_index

TEXTS = {f"{n}.txt": f"Zoos should be banned, reason {n}." for n in range(1, 5)}


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "files"
    made.mkdir()
    for name, text in TEXTS.items():
        (made / name).write_text(text)
    return made


@pytest.fixture
def index(folder, tmp_path):
    build_index(str(folder), tmp_path / "my.index")
    return tmp_path / "my.index"


def texts(index):
    return {d.id: d.text for d in Index.open(index).documents()}


def change(folder):
    (folder / "2.txt").write_text("Lions need more space.")
    (folder / "3.txt").unlink()
    (folder / "5.md").write_text("# Elephants\n\nThey walk for miles.")


def test_new_changed_and_deleted_files(folder, index):
    change(folder)
    done = refresh_index(index, str(folder))
    assert (done.new, done.changed, done.deleted) == (("5.md",), ("2.txt",), ("3.txt",))
    assert done.line() == ("files refreshed: 1 new (5.md), 1 changed (2.txt), 1 deleted (3.txt)")
    assert done.documents == 4
    expected = {n: t for n, t in TEXTS.items() if n in ("1.txt", "4.txt")}
    assert texts(index) == {
        **expected,
        "2.txt": "Lions need more space.",
        "5.md": "They walk for miles.",  # the heading is its title
    }
    verify_index(index)
    again = refresh_index(index, str(folder))
    assert not again
    assert again.line() == "no file has changed"


def test_a_refreshed_index_ranks_as_one_built_at_once(folder, index, tmp_path):
    change(folder)
    refresh_index(index, str(folder))
    fresh = build_index(str(folder), tmp_path / "fresh")
    for question in ("zoos", "elephants walk", "reason space"):
        hits = [Index.open(where).search(question) for where in (index, fresh.path)]
        assert [(h.doc_id, h.score) for h in hits[0]] == [(h.doc_id, h.score) for h in hits[1]]


def test_a_touched_file_has_not_changed(folder, index):
    before = read_manifest(index)
    (folder / "1.txt").touch()
    assert not refresh_index(index, str(folder))
    assert read_manifest(index) == before


def test_files_that_were_skipped_are_compared_too(folder, index):
    (folder / "6.txt").write_text(" ")
    assert refresh_index(index, str(folder)).new == ("6.txt",)
    accounts = []
    assert not refresh_index(index, str(folder), on_account=accounts.append)
    assert accounts[0].line() == "5 files: 4 read, 1 without text (6.txt)"
    (folder / "6.txt").write_text("Now it has text.")
    assert refresh_index(index, str(folder)).changed == ("6.txt",)
    assert texts(index)["6.txt"] == "Now it has text."


def test_an_empty_folder_leaves_the_index_as_it_was(folder, index):
    for path in folder.iterdir():
        path.unlink()
    with pytest.raises(InputError, match="contains no documents"):
        refresh_index(index, str(folder))
    assert len(texts(index)) == 4


def test_rows_of_a_changed_table_are_replaced(folder, index):
    table = folder / "a.csv"
    table.write_text("text\nOne row of it.\nAnother row.\n")
    refresh_index(index, str(folder))
    table.write_text("text\nAnother row.\n")
    assert refresh_index(index, str(folder)).changed == ("a.csv",)
    assert [i for i in texts(index) if i.startswith("a.csv")] == ["a.csv#1"]
    assert texts(index)["a.csv#1"] == "Another row."


def test_documents_of_other_sources_stay(folder, index, tmp_path):
    write_jsonl(tmp_path / "more.jsonl", [{"id": "m", "text": "More on zoos."}])
    add_to_index(str(tmp_path / "more.jsonl"), index)
    add_to_index([{"id": "g", "text": "Given by a program."}], index)
    change(folder)
    refresh_index(index, str(folder))
    assert set(texts(index)) == {"1.txt", "4.txt", "m", "g", "2.txt", "5.md"}
    write_jsonl(tmp_path / "more.jsonl", [{"id": "n", "text": "New on zoos."}])
    assert refresh_index(index, str(tmp_path / "more.jsonl")).changed == ("more.jsonl",)
    assert set(texts(index)) == {"1.txt", "4.txt", "n", "g", "2.txt", "5.md"}
    verify_index(index)


def test_an_index_of_an_older_pnyx_has_no_source(index, folder):
    from pnyx.search.lexical.manifest import contents, write_manifest

    old = contents(read_manifest(index))
    del old["sources"]
    write_manifest(index, old)
    assert not is_source(index, str(folder))
    with pytest.raises(InputError, match="was not made from"):
        refresh_index(index, str(folder))
    add_to_index([{"id": "g", "text": "Given."}], index)
    verify_index(index)


def test_a_manifest_whose_files_do_not_fit_is_damaged(index):
    from pnyx.search.lexical.manifest import contents, write_manifest

    broken = contents(read_manifest(index))
    broken["sources"]["files"][0][3] += 1
    write_manifest(index, broken)
    with pytest.raises(PnyxError, match="its files do not have its documents"):
        Index.open(index)


# The command line ---------------------------------------------------------------------------------


def test_unchanged_documents_keep_their_vectors(folder, tmp_path, capsys):
    where = tmp_path / "i"
    printed(capsys, "index", folder, "--out", where)
    before = Index.open(where)
    rows = dict(zip((d.id for d in before.documents()), document_vectors(before).rows, strict=True))
    change(folder)
    shown = printed(capsys, "index", folder, "--add", where, "--json")
    row = json.loads(shown.out)
    assert row["refreshed"][0]["changed"] == ["2.txt"]
    assert (row["vectors"]["reused"], row["vectors"]["embedded"]) == (2, 2)
    assert row["quality"]["added"] == 2
    after = Index.open(where)
    for document, vector in zip(after.documents(), document_vectors(after).rows, strict=True):
        if document.id in ("1.txt", "4.txt"):
            assert np.array_equal(vector, rows[document.id])
    verify_index(where)


def test_what_was_refreshed_is_said(folder, tmp_path, capsys):
    where = tmp_path / "i"
    printed(capsys, "index", folder, "--out", where, "--words-only")
    shown = printed(capsys, "index", folder, "--add", where, "--words-only")
    assert shown.err.splitlines()[1:] == [f"{where}: no file has changed, 4 documents"]
    change(folder)
    shown = printed(capsys, "index", folder, "--add", where, "--words-only")
    assert shown.err.splitlines() == [
        f"pnyx: {folder}: 4 files: 4 read",
        f"{where}: files refreshed: 1 new (5.md), 1 changed (2.txt), 1 deleted (3.txt), "
        "4 documents",
    ]


def test_a_folder_that_is_added_is_refreshed_later(folder, tmp_path, capsys):
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    for path in other.iterdir():
        path.rename(other / f"o{path.name}")
    where = tmp_path / "i"
    printed(capsys, "index", folder, "--out", where, "--words-only")
    printed(capsys, "index", other, "--add", where, "--words-only")
    (other / "o1.txt").write_text("Another text.")
    printed(capsys, "index", folder, other, "--add", where, "--words-only")
    assert texts(where)["o1.txt"] == "Another text."
    assert len(texts(where)) == 8


def test_topics_are_found_again_rather_than_assigned_after_documents_were_removed():
    refreshed = [SimpleNamespace(dropped=("clusters",))]
    features = _after_refresh("i", FeatureSpec(assign=True), refreshed)
    assert (features.assign, features.clusters) == (False, True)
    unchanged = FeatureSpec(assign=True)
    assert _after_refresh("i", unchanged, [SimpleNamespace(dropped=())]) == unchanged


def test_vectors_of_some_documents_are_carried_while_others_have_none(tmp_path):
    folder, index = tmp_path / "texts", tmp_path / "i"
    folder.mkdir()
    for name in "ab":
        (folder / f"{name}.txt").write_text(f"Zoos are fine, says {name}.")
    build_index(str(folder), index)
    embed_documents(index, Fake())
    for number, name in enumerate("cd", 3):  # added without vectors, one after the other
        (folder / f"{name}.txt").write_text(f"Zoos are fine, says {name}.")
        assert refresh_index(index, str(folder)).documents == number
        opened = Index.open(index)
        assert (len(opened), opened.feature_info("vectors").documents) == (number, 2)
