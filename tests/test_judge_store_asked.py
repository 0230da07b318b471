"""From a line of answers to what was really sent and came back."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from argue_report import scripted, write_files
from chat_server import ChatServer
from pnyx.core.errors import PnyxError
from pnyx.judging.answers import Judged, Provenance, Unscored, after, answer_of_row, asked_of
from pnyx.judging.store.store import Store
from pnyx.web.results.texts import exchange_at, replies_of

pytestmark = pytest.mark.usefixtures("own_place")

HOSTILE = "<script>alert(1)</script> fares fell \u202e[1]"


def rows_of(folder: str | Path) -> list[dict]:
    lines = (Path(folder) / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def items(path: str, texts: list[str]) -> str:
    rows = [{"id": str(n), "text": t, "statement": "Cheaper."} for n, t in enumerate(texts, 1)]
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def store_of(folder: str | Path) -> Store:
    manifest = json.loads((Path(folder) / "manifest.json").read_text(encoding="utf-8"))
    return Store(manifest["store"]["path"], read_only=True)


def test_a_row_leads_to_the_request_and_the_reply_as_they_were(call):
    said = json.dumps({"reason": "r", "evidence": "", "answer": "yes", "confidence": 0.75})
    with ChatServer(reply=said) as server:
        made = items("a.jsonl", [HOSTILE])
        assert call("judge", "support", made, "--judge", server.spec, "--out", "out")[0] == 0
        (sent,) = server.asked()
    (row,) = rows_of("out")
    with store_of("out") as store:
        (found,) = replies_of(row, store)
    assert [{"role": m.role, "content": m.content} for m in found.messages] == sent["messages"]
    assert "fares fell" in found.messages[-1].content
    assert (found.reply, found.model, found.problem) == (said, "test", "")
    assert found.usage["prompt_tokens"] > 0
    assert found.created_at.endswith("+00:00")
    assert found.parameters["temperature"] == 0.0


def test_what_was_behind_an_answer_is_all_there_in_its_order(call):
    texts = ["one [[prose_unrepaired]]", "two", "three [[prose]]"]
    with ChatServer() as server:
        made = items("a.jsonl", texts)
        status, _, said = call("judge", "support", made, "--judge", server.spec, "--out", "out")
        assert status == 3, said
    first, second, third = rows_of("out")
    with store_of("out") as store:
        repaired = replies_of(first, store)
        assert len(repaired) == 2
        assert first["notes"] == {"repaired": True}
        assert repaired[1].messages[: len(repaired[0].messages)] == repaired[0].messages
        assert repaired[1].messages[-2].content == repaired[0].reply
        assert len(replies_of(second, store)) == 1
        failed = replies_of(third, store)
        assert third["unscored"].startswith("schema:")
        assert len(failed) == 2
        assert not any(one.problem for one in failed)
    assert len({key for row in (first, second, third) for key in row["asked"]}) == 5


def test_calls_that_failed_are_there_with_their_reason(call):
    with ChatServer() as server:
        made = items("a.jsonl", ["one [[400]]", "two"])
        call("judge", "support", made, "--judge", server.spec, "--out", "out")
    failed, _ = rows_of("out")
    assert failed["value"] is None
    with store_of("out") as store:
        (found,) = replies_of(failed, store)
    assert found.problem.startswith("no reply came: ")
    assert found.problem.removeprefix("no reply came: ") == failed["unscored"]


def test_several_judges_repeats_and_batches(call):
    with ChatServer() as server:
        made = items("a.jsonl", ["one", "two"])
        other = server.spec.replace("#test", "#other")
        spec = ("--judge", server.spec, "--judge", other)
        assert call("judge", "support", made, *spec, "--out", "panel")[0] in (0, 3)
        again = ("--judge", server.spec, "--out", "quality", "--set", "samples=3")
        rated = Path("rated.jsonl")
        rated.write_text('{"id": "1", "text": "Fares fell.", "dimensions": ["cogency", "clarity"]}')
        status, _, said = call("judge", "quality", str(rated), *again)
        assert status in (0, 3), said
    for row in rows_of("panel"):
        with store_of("panel") as store:
            assert [one.model for one in replies_of(row, store)] == ["test", "other"]
    for row in rows_of("quality"):
        with store_of("quality") as store:
            found = replies_of(row, store)
        assert [one.parameters["sample"] for one in found] == [0, 1, 2]


def test_a_report_in_batches_by_way_of_its_findings(tmp_path, call):
    run, bank = write_files(tmp_path)
    with ChatServer(reply=scripted) as server:
        given = ("judge", "report", run, "--nuggets", bank, "--judge", server.spec)
        assert call(*given, "--set", "batch=50", "--out", "out")[0] == 3
        with_text = rows_of("out")
        assert call(*given, "--set", "batch=50", "--out", "hidden", "--no-text")[0] == 3
    assert all(row["asked"] for row in with_text)
    assert len({key for row in with_text for key in row["asked"]}) < len(with_text)
    assert [row["asked"] for row in rows_of("hidden")] == [row["asked"] for row in with_text]


def test_without_a_model_nothing_was_asked_and_a_former_run_is_led_back_to(call):
    made = items("a.jsonl", ["Fares fell."])
    assert call("judge", "support", made, "--out", "packaged")[0] == 0
    (row,) = rows_of("packaged")
    assert "asked" not in row
    assert asked_of(row) == ()
    with ChatServer() as server:
        call("judge", "support", made, "--judge", server.spec, "--out", "llm")
    call("judge", "support", made, "--judge", "llm", "--out", "again")
    assert rows_of("again")[0]["asked"] == rows_of("llm")[0]["asked"]


def test_a_missing_damaged_or_false_entry_is_said(call):
    with ChatServer() as server:
        made = items("a.jsonl", ["Fares fell."])
        call(
            "judge", "support", made, "--judge", server.spec, "--out", "out", "--store", "s.sqlite"
        )
    (row,) = rows_of("out")
    (key,) = row["asked"]
    with Store("s.sqlite", read_only=True) as store:
        assert exchange_at("0" * 64, store).problem == "it is not in this store"
        assert replies_of({"asked": "nonsense"}, store) == []
        assert replies_of({"asked": [1, key]}, store) == replies_of(row, store)
    shutil.copy("s.sqlite", "t.sqlite")
    with contextlib.closing(sqlite3.connect("t.sqlite", isolation_level=None)) as connection:
        connection.execute("UPDATE replies SET reply_text = 'another'")
    with Store("t.sqlite", read_only=True) as store:
        assert "damaged" in exchange_at(key, store).problem
    with Store("u.sqlite") as store:
        with Store("s.sqlite", read_only=True) as source:
            (stored,) = source.rows()
        store.put("1" * 64, "another", stored.request, stored.reply)
        assert "key" in exchange_at("1" * 64, store).problem
    with pytest.raises(PnyxError):
        Store("nowhere.sqlite", read_only=True)


def test_keys_stay_in_their_order_and_once():
    answer = Judged(True, Provenance("j", asked=("b", "c")))
    assert after(("a", "b"), answer).provenance.asked == ("a", "b", "c")
    row = {"judge": "j", "prompt_hash": "", "method": "", "notes": None, "unscored": "x: y"}
    assert answer_of_row({**row, "asked": ["k"]}) == Unscored(
        "x: y", Provenance("j", asked=("k",)), notes={}
    )
