"""Restricted mode: a marker in every text shows up in no output, and in no file of results."""

from __future__ import annotations

import json

import pytest

from chat_server import ChatServer
from pnyx.core.errors import InputError, shorten
from pnyx.core.restricted_mode import HiddenError, hides_text, no_text, textless

pytestmark = pytest.mark.usefixtures("own_place")

CANARY = "Kanarienvogel"
STORE = "store.sqlite"


def write(path, rows) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def marked(said: str, seen: list[str], folder) -> list[str]:
    """Return where the marker is: in what was printed, or in files beside input and store."""
    places = [where for where, text in zip(("stdout", "stderr"), seen, strict=True) if said in text]
    for path in folder.rglob("*"):
        is_input = path.name.startswith(("in-", STORE))
        if path.is_file() and not is_input and said.encode() in path.read_bytes():
            places.append(path.name)
    return places


def quoting(prompt: str) -> str:
    """A model that quotes the text: in a verdict, or in prose that cannot be read."""
    if "prose" in prompt:
        return f"Well, the text says: {CANARY} sings."
    said = f"It says {CANARY} sings."
    return json.dumps({"reason": said, "evidence": said, "answer": "yes", "confidence": 0.9})


def judged(tmp_path) -> str:
    kinds = ("plain", "prose", "[[refusal]]", "[[echo]]", "[[truncated_json]]")
    rows = [
        {"id": f"i{n}", "text": f"{kind} {CANARY}", "statement": f"{CANARY} sings.", "note": CANARY}
        for n, kind in enumerate(kinds)
    ]
    return write(tmp_path / "in-items.jsonl", rows)


def test_a_model_that_quotes_is_asked_the_same_in_either_mode(tmp_path, call):
    with ChatServer(reply=quoting) as server:
        arguments = ["judge", "support", judged(tmp_path), "--judge", server.spec, "--out", "out"]
        status, out, err = call(*arguments)
        assert status == 3
        assert marked(CANARY, [out, err], tmp_path) == ["answers.jsonl"]
        # What could not be read of an earlier run is asked once more, and then no more.
        assert call(*arguments)[0] == 3
        calls = len(server.asked())
        status, out, err = call(*arguments, "--no-text")
        # Repair turns, which quote the reply, are the same; only errors are not stored. Where all
        # that is asked is refused, it is tried in other forms, and a word as well.
        asked = server.asked()[calls:]
        assert {row["behaviour"] for row in asked if "with the word" not in str(row)} == {"echo"}
    assert status == 3
    assert marked(CANARY, [out, err], tmp_path) == []


def test_what_is_left_of_an_answer(tmp_path, call):
    with ChatServer(reply=quoting) as server:
        arguments = ["judge", "support", judged(tmp_path), "--judge", server.spec, "--out", "out"]
        _, out, err = call(*arguments, "--no-text", "--json")
    assert marked(CANARY, [out, err], tmp_path) == []
    rows = [json.loads(line) for line in (tmp_path / "out/answers.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [f"i{n}" for n in range(5)]
    assert rows[0]["value"] is True
    assert rows[0]["probability"] == 0.9
    assert rows[0]["explanation"] == rows[0]["evidence"] == rows[0]["note"] == ""
    assert rows[1]["unscored"] == "schema"
    assert rows[3]["unscored"] == "rejected"
    assert json.loads(out)["no_text"] is True
    measured = call("measure", "out", "--labels", labels(tmp_path), "--no-text")
    assert measured[0] == 3
    assert marked(CANARY, measured[1:], tmp_path) == []


def labels(tmp_path) -> str:
    rows = [{"id": f"i{n}", "value": n % 2 == 0} for n in range(5)]
    return write(tmp_path / "in-labels.jsonl", rows)


BROKEN = {
    "an item without its statement": {"id": "1", "text": CANARY},
    "a text that is a list": {"id": "1", "text": [CANARY], "statement": CANARY},
    "a key twice": {"id": CANARY, "text": "x", "statement": "y", CANARY: 1, "group": [CANARY]},
}


@pytest.mark.parametrize("row", BROKEN.values(), ids=BROKEN)
def test_an_error_names_file_and_line_but_quotes_nothing(tmp_path, call, row):
    path = write(tmp_path / "in-items.jsonl", [row])
    status, out, err = call("judge", "support", path, "--out", "out", "--no-text")
    assert status == 2
    assert "in-items.jsonl:1: " in err
    assert marked(CANARY, [out, err], tmp_path) == []
    assert call("judge", "support", path, "--out", "out")[0] == 2


def test_validate_quotes_nothing(tmp_path, call):
    row = {"metadata": {"run_id": "r", "topic_id": "t"}, "references": [CANARY, CANARY]}
    path = write(tmp_path / "in-run.jsonl", [{**row, "answer": []}, {**row, "answer": CANARY}])
    for option in ([], ["--json"]):
        shown = call("files", "validate", path, *option)
        assert shown[0] == 2
        assert CANARY in "".join(shown[1:])
        status, out, err = call("files", "validate", path, "--no-text", *option)
        assert status == 2
        assert marked(CANARY, [out, err], tmp_path) == []


def test_a_crash_says_where_but_not_what(tmp_path, call, monkeypatch):
    def fail(*_):
        raise KeyError(f"{CANARY} sings")

    monkeypatch.setattr("pnyx.judging.runs.results.tally", fail)
    arguments = ["judge", "support", judged(tmp_path), "--out", "out"]
    with pytest.raises(KeyError, match=CANARY):
        call(*arguments)
    with pytest.raises(HiddenError, match=r"^KeyError at test_no_text\.py:\d+") as crash:
        call(*arguments, "--no-text")
    assert CANARY not in str(crash.value)
    assert crash.value.__suppress_context__
    assert not hides_text()


def test_the_store_is_exported_without_what_was_said(tmp_path, call):
    with ChatServer(reply=quoting) as server:
        call("judge", "support", judged(tmp_path), "--judge", server.spec, "--out", "out")
    assert CANARY in call("store", "--export", "-")[1]
    _, out, err = call("store", "--export", "-", "--no-text")
    assert CANARY not in out + err
    rows = [json.loads(line) for line in out.splitlines()]
    assert {row["model"] for row in rows} == {"test"}
    assert all(row["reply"]["usage"]["prompt_tokens"] > 0 for row in rows)
    assert CANARY not in "".join(call("store")[1:])


def test_the_environment_restricts_every_message(tmp_path, call, monkeypatch):
    monkeypatch.setenv("PNYX_NO_TEXT", "1")
    path = write(tmp_path / "in-corpus.jsonl", [{"id": "d", "text": [CANARY]}])
    status, out, err = call("index", path, "--out", "an.index")
    assert status == 2
    assert "in-corpus.jsonl:1" in err
    assert CANARY not in out + err


def test_what_hides_and_what_stays():
    with no_text():
        assert shorten(CANARY) == "<13 characters>"
        assert shorten(17) == "17"
        assert str(InputError("found a NUL byte", path="a.jsonl", line=3)) == (
            "a.jsonl:3: found a NUL byte"
        )
    assert shorten(CANARY) == CANARY
    row = {"id": "q", "text": "t", "value": "tie", "x": [1, None, "t"], "A text.": {"id": "z"}}
    assert textless(row) == {"id": "q", "text": "", "value": "tie", "x": [1, None, ""]}


# Reports ------------------------------------------------------------------------------------------


def campaign(tmp_path) -> list[str]:
    """Write a report and its bank; the marker is in all texts of the report and its document."""
    said = f"{CANARY} ate 12 seeds in 2019."
    report = {
        "metadata": {"team_id": "t", "run_id": "r", "topic_id": "1"},
        "responses": [
            {"text": said, "citations": ["d"]},
            {"text": f"No evidence that {CANARY} slept.", "citations": []},
            {"text": f"{CANARY} also sang.", "citations": ["no-text"]},
        ],
        "references": ["d", "no-text"],
        "documents": {"d": {"id": "d", "text": f"{said} Then it flew."}},
    }
    answer = {"answer": "12 seeds", "references": ["d"]}
    nugget = {"question": "What was eaten?", "aggregator_type": "OR", "answers": [answer]}
    bank = {
        "metadata": {"team_id": "t", "topic_id": "1", "run_id": "b"},
        "nugget_bank": [nugget, {"question": "Did it sleep?", "answers": []}],
    }
    run, banks = (tmp_path / f"in-{name}.jsonl" for name in ("run", "banks"))
    return [write(run, [report]), "--nuggets", write(banks, [bank])]


@pytest.mark.parametrize("with_model", [False, True], ids=["packaged", "llm"])
def test_a_report_is_judged_and_measured_without_a_text(tmp_path, call, with_model):
    with ChatServer(reply=None) as server:
        model = ["--judge", server.spec] if with_model else []
        arguments = ["judge", "report", *campaign(tmp_path), *model]
        shown = call(*arguments, "--out", "plain")
        hidden = call(*arguments, "--out", "hidden", "--no-text")
    assert hidden[0] == shown[0] == 3  # a document has no text
    assert marked(CANARY, hidden[1:], tmp_path / "hidden") == []
    assert "reports.jsonl" in marked(CANARY, shown[1:], tmp_path / "plain")
    measured = [
        json.loads(call("measure", "report", folder, "--json", *more)[1])["runs"][0]["measures"]
        for folder, more in (("plain", []), ("hidden", ["--no-text"]))
    ]
    lengths = {name: measured[0].pop(name)["value"] for name in ("words", "characters")}
    assert lengths["words"] == 14
    assert [measured[1].pop(name)["value"] for name in lengths] == [None, None]
    assert measured[1] == measured[0]


def test_reports_are_held_against_nuggets_without_their_text(tmp_path, call):
    run, *banks = campaign(tmp_path)
    out = tmp_path / "assigned"
    arguments = ["nuggets", "assign", run, *banks[:2], "--out", str(out)]
    status, *seen = call(*arguments, "--no-text")
    assert status == 0
    assert marked(CANARY, seen, tmp_path) == []
    (row,) = map(json.loads, (out / "assignments.jsonl").read_text().splitlines())
    assert row["answer_text"] == ""
    assert row["nuggets"]


def test_a_broken_report_is_named_but_not_quoted(tmp_path, call):
    run, *banks = campaign(tmp_path)
    path = tmp_path / "in-run.jsonl"
    path.write_text(path.read_text() + f'{{"metadata": "{CANARY}", "responses": []}}\n')
    status, out, err = call("judge", "report", run, *banks, "--out", "out", "--no-text")
    assert status == 2
    assert "in-run.jsonl:2: " in err
    assert marked(CANARY, [out, err], tmp_path) == []


# Which commands -----------------------------------------------------------------------------------

RESTRICTED = (
    *("judge", "judge report", "measure", "nuggets assign", "files validate"),
    "store",
)
"""Commands, and groups, that take documents or responses, and show no more of them than asked."""


def test_every_command_on_documents_and_responses_can_be_restricted():
    from click.testing import CliRunner

    from pnyx.cli import app

    def helped(words: list[str]) -> str:
        return CliRunner().invoke(app, [*words, "--help-all"], prog_name="pnyx").output

    for name in RESTRICTED:
        command = app.get_command(None, name.split()[0])
        inside = getattr(command, "commands", {}) if " " not in name else {}
        for one in [[*name.split(), sub] for sub in inside] or [name.split()]:
            assert "--no-text" in helped(one), one
