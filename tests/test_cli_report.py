"""`pnyx report` as it is called: quoted with the packaged encoder, and written over real HTTP."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from case_fixture import HOSTILE
from chat_server import ChatServer
from command import write_rows
from pnyx.cases.limits import Limits, limits_of
from pnyx.core.errors import InputError
from pnyx.core.records import Document, Sentence
from pnyx.formats import ReportRequest, read_responses, track_rules
from pnyx.formats.bundled_example import load_example
from pnyx.formats.text.citations import without_notes
from pnyx.formats.text.segment import count_length
from pnyx.judging.answers import Judged, Provenance, Unscored
from pnyx.judging.base import ask
from pnyx.judging.questions import Support
from pnyx.judging.students.rules import RuleJudge
from pnyx.reports.writing.report import _helps, of_parts
from pnyx.search.build import build_index

pytestmark = [pytest.mark.usefixtures("run_once"), pytest.mark.usefixtures("own_place")]

ZOOS = {
    "request_id": "zoos",
    "title": "Should zoos be phased out?",
    "problem_statement": "What do zoos do for endangered species? How do their animals fare?",
    "background": "I am on the council of a small town that owns a zoo.",
    "limit": 900,
}
VOTING = {"request_id": "voting", "title": "Should voting be compulsory?", "limit": 600}
NOTHING = {"request_id": "nothing", "title": "Should xyzzy be plugh?", "limit": 500}

IDS = {
    "shard": "shard_00459_{}",
    "marco": "msmarco_v2.1_doc_16_{0}#4_{0}",
    "uuid": "0c9edf97-e549-4983-b212-9a3241a616ea_{}",
}
TRACKS = {
    "rag24": "marco", "rag25": "marco", "rag26": "shard", "rag25-autojudge": "marco",
    "ragtime25": "uuid", "ragtime26": "uuid", "neuclir": "uuid", "dragun25": "marco",
    "kiddie": "shard",
}  # fmt: skip


@pytest.fixture(scope="module")
def indexes(tmp_path_factory):
    """Return what makes the index of the example with ids of a collection."""
    made: dict[str, tuple[str, dict[str, str]]] = {}
    folder = tmp_path_factory.mktemp("indexes")

    def index(kind: str) -> tuple[str, dict[str, str]]:
        if kind not in made:
            some = [a for a in load_example().arguments if a.id.startswith(("zoos", "compulsory"))]
            records = [
                dataclasses.replace(one, id=IDS[kind].format(1000 + n))
                for n, one in enumerate(some)
            ]
            build_index(records, folder / kind)
            made[kind] = str(folder / kind), {one.id: one.text for one in records}
        return made[kind]

    return index


@pytest.fixture
def asked(tmp_path):
    def asked(*rows: object) -> str:
        path = tmp_path / "requests.jsonl"
        write_rows(path, rows)
        return str(path)

    return asked


def texts_of(path: object) -> dict[str, list[str]]:
    return {r.topic_id: [s.text for s in r.sentences] for r in read_responses(str(path))}


@pytest.mark.parametrize("track", TRACKS)
def test_what_is_written_passes_the_track_without_a_word(track, indexes, asked, tmp_path, call):
    index, _ = indexes(TRACKS[track])
    requests, run = asked(ZOOS, VOTING), tmp_path / "run.jsonl"
    command = ("report", index, "--requests", requests, "--out", run)
    code, out, err = call(*command, "--track", track, "--team", "t", "--run-id", "r")
    assert (code, out) == (0, "")
    assert "warning" not in err
    code, out, err = call("files", "validate", run, "--track", track, "--topics", requests)
    assert (code, err) == (0, "")
    assert "2 records" in out
    assert call("files", "validate", run)[0] == 0
    assert all(texts_of(run).values())


def test_sentences_are_quoted_under_the_limit_and_never_twice(indexes, asked, tmp_path, call):
    index, known = indexes("shard")
    requests = asked(ZOOS, VOTING)
    command = ("report", index, "--requests", requests, "--embed-texts")
    for name in ("one", "two"):
        markdown = tmp_path / f"{name}.md"
        assert call(*command, "--out", tmp_path / name, "--markdown", markdown)[0] == 0
        text = markdown.read_text()
        markdown.write_text(re.sub("index: .*", "", text))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (tmp_path / "one.md").read_text() == (tmp_path / "two.md").read_text()
    for response, limit in zip(read_responses(str(tmp_path / "one")), (900, 600), strict=True):
        texts = [s.text for s in response.sentences]
        assert len(set(texts)) == len(texts) >= 3
        assert limit // 2 < len(" ".join(texts)) <= limit
        for sentence in response.sentences:
            assert 1 <= len(sentence.citations) <= 3
            for citation in sentence.citations:
                assert sentence.text in known[citation.doc_id]
                assert citation.score == 1.0
        cited = {c.doc_id for s in response.sentences for c in s.citations}
        assert set(response.references) == cited == set(response.documents)
    assert (tmp_path / "one.md").read_text().startswith("# Should zoos be phased out?\n")


@pytest.mark.parametrize(("layout", "style"), [("rag25", "indices"), ("ragtime", "ids")])
def test_layout_and_style_without_a_track(layout, style, indexes, asked, tmp_path, call):
    run = tmp_path / "run.jsonl"
    command = ("report", indexes("shard")[0], "--requests", asked(VOTING), "--out", run)
    assert call(*command, "--layout", layout, "--style", style, "--json")[0] == 0
    row = json.loads(run.read_text())
    assert ("responses" in row) == (layout == "ragtime")
    (first, *_) = row["responses" if layout == "ragtime" else "answer"]
    assert isinstance(first["citations"][0], int if style == "indices" else str)
    assert "documents" not in row
    assert call("files", "validate", run)[0] == 0


MISSING = 'No evidence was found in the collection on "{}".'


def test_where_there_is_no_evidence_the_report_says_so_and_invents_nothing(
    indexes, asked, tmp_path, call
):
    run, markdown = tmp_path / "run.jsonl", tmp_path / "report.md"
    command = ("report", indexes("uuid")[0], "--requests", asked(NOTHING, VOTING), "--out", run)
    code, _, err = call(*command, "--markdown", markdown, "--track", "ragtime26")
    assert code == 0
    found = texts_of(run)
    assert found["nothing"] == [MISSING.format("Should xyzzy be plugh?")]
    assert found["voting"]
    assert not any("No evidence" in text for text in found["voting"])
    assert "nothing: no evidence was found, the report says so" in err
    assert "1 of 2 reports from evidence; no evidence was found for 1" in err
    assert 'evidence was found in the collection on "Should xyzzy be plugh?".' in (
        markdown.read_text().replace("\\", "")
    )
    assert call("files", "validate", run, "--track", "ragtime26")[0] == 0


@pytest.mark.parametrize("track", TRACKS)
def test_a_negative_statement_is_accepted_by_each_track(track, indexes, asked, tmp_path, call):
    run, requests = tmp_path / "run.jsonl", asked(NOTHING)
    command = ("report", indexes(TRACKS[track])[0], "--requests", requests, "--out", run)
    assert call(*command, "--track", track, "--team", "t", "--run-id", "r")[0] == 0
    code, out, err = call("files", "validate", run, "--track", track, "--topics", requests)
    assert (code, err) == (0, "")
    assert "1 record" in out


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (500, [MISSING.format("Should xyzzy be plugh?"), MISSING.format("Is glorp plugh?")]),
        (100, [MISSING.format("Should xyzzy be plugh?")]),
        (60, ["No evidence on this request was found in the collection."]),
        (25, ["No evidence was found."]),
        (12, []),
    ],
)
def test_a_negative_statement_keeps_to_the_limit(limit, said, indexes, asked, tmp_path, call):
    run = tmp_path / "run.jsonl"
    request = {**NOTHING, "limit": limit, "problem_statement": "Is glorp plugh?"}
    code, _, err = call("report", indexes("shard")[0], "--requests", asked(request), "--out", run)
    assert (code, texts_of(run)) == (0, {"nothing": said})
    assert ("the limit is too short to say so" in err) is (not said)
    judge = RuleJudge()
    answers = ask(judge, [Support(one, "R.", one, task="negative") for one in said])
    assert all(answer.value is True for answer in answers)


def test_parts_of_a_request_without_evidence_are_named(indexes, asked, tmp_path, call):
    run, markdown = tmp_path / "run.jsonl", tmp_path / "report.md"
    problem = (
        "How do their animals fare? How many pandas does the zoo in Vienna keep? "
        "I have lived in Vienna for years."
    )
    command = ("report", indexes("shard")[0], "--out", run, "--markdown", markdown, "--json")
    request = {**ZOOS, "problem_statement": problem}
    code, out, err = call(*command, "--requests", asked(request))
    assert code == 0
    vienna = "How many pandas does the zoo in Vienna keep?"
    (shown,) = json.loads(out)["reports"]
    assert shown["without_evidence"] == [vienna]
    assert not shown["no_evidence"]
    *written, last = texts_of(run)["zoos"]
    assert last == MISSING.format(vienna)
    assert len(" ".join([*written, last])) <= 900
    assert len(written) >= 3
    assert f"no evidence on 1 parts: {vienna}" in err
    assert "(cites nothing)" not in markdown.read_text()
    short = {**request, "limit": 300}  # a quarter is for what is missing: it does not fit
    assert call(*command, "--requests", asked(short))[0] == 0
    assert not any("No evidence" in text for text in texts_of(run)["zoos"])


@pytest.mark.parametrize(("limit", "count"), [(211, 0), (212, 1), (427, 1), (428, 2)])
def test_what_is_missing_has_a_quarter_of_the_limit(limit, count):
    """A sentence on a part of 7 characters has 53, two have 107 with the space between."""
    assert len(of_parts(["Prices?", "Safety?"], Limits((("chars", limit),)))) == count


def test_a_document_may_help_from_a_probability_of_0_2_or_if_none_is_known():
    by = Provenance("p")
    answers = [*(Judged(False, by, probability=p) for p in (0.2, 0.19, 0.0)), Unscored("x", by)]
    assert [_helps(answer) for answer in answers] == [True, False, False, True]


def test_footnote_marks_of_sources_are_left_out(tmp_path, asked, call):
    text = (
        "Zoos keep many endangered animals alive today.[3] Zoos, it is said,[ii] also breed "
        "endangered animals each year\u00b9. Zoos cost their towns a lot of money every year [4]. "
        "Zoos in [2019] had some 700 million guests in all."
    )
    documents = [Document("d1", text), Document("d2", text.replace("[3]", "[12]"))]
    documents += [Document(f"x{n}", f"Bread number {n} is baked with flour.") for n in range(9)]
    build_index(documents, tmp_path / "index")
    request = {"request_id": "1", "title": "What do zoos do for endangered animals?", "limit": 900}
    run = tmp_path / "run.jsonl"
    command = ("report", tmp_path / "index", "--requests", asked(request), "--out", run, "--json")
    code, out, _ = call(*command)
    assert code == 0
    (response,) = read_responses(str(run))
    found = {one.text: [c.doc_id for c in one.citations] for one in response.sentences}
    assert {*found["Zoos keep many endangered animals alive today."]} == {"d1", "d2"}
    assert not any(re.search(r"\[(?!2019)|\u00b9", text) for text in found)
    assert all(c.score == 1.0 for one in response.sentences for c in one.citations)
    assert json.loads(out)["reports"][0]["measures"] == {}  # quoted, as before


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("It grew.[4][5]", "It grew."),
        ("It grew. [12]", "It grew."),
        ("It grew [3, 4].", "It grew."),
        ("It grew.[1\u20133]", "It grew."),
        ("It grew by half.12", "It grew by half."),
        ("They grew\u00b2.", "They grew."),
        ("It grew[note 2], he said.[citation needed]", "It grew, he said."),
        ("As [3] shows, 10 km\u00b2 of CO\u00b2 in [2019].", None),
        ("[i]t was [a] man, as shown in [3].", None),
        ("No.5 cost 3.12 in 2012.", None),
    ],
)
def test_footnote_marks(text, clean):
    assert without_notes(text) == (clean or text)


@given(st.text("a\u00e9 .[]1i,\u00b9\u2020\n%"))  # \u00e9: "[b]" would be a mark
def test_what_has_no_marks_stays_and_words_are_never_lost(text):
    clean = without_notes(text)
    assert without_notes(clean).strip() == without_notes(clean)
    assert text.count("\u00e9") == clean.count("\u00e9")


def test_a_limit_smaller_than_a_sentence_leaves_none(indexes, asked, tmp_path, call):
    run = tmp_path / "run.jsonl"
    command = ("report", indexes("shard")[0], "--requests", asked({**VOTING, "limit": 12}))
    code, _, err = call(*command, "--out", run)
    assert (code, texts_of(run)) == (0, {"voting": []})
    assert "no sentence fits: the limit is 12 characters" in err


@pytest.mark.parametrize(
    ("more", "request_", "problem"),
    [
        ((), {"request_id": "1", "title": "T", "limit": 0}, ":1: '1': limit: found 0, expected"),
        ((), {"request_id": "1"}, ":1: no text or query or title"),
        (("--track", "rag26", "--run-id", "r" * 21), ZOOS, "run_id has 21 characters"),
        (("--track", "rag26", "--run-id", ".r"), ZOOS, "not first a full stop"),
        (("--track", "rag26", "--style", "scores"), ZOOS, "expected indices or ids"),
        (("--track", "rag26", "--layout", "ragtime"), ZOOS, "expected rag25"),
        (("--track", "nope"), ZOOS, "no track 'nope'"),
        (("--metadata", "type"), ZOOS, "--metadata type: expected KEY=VALUE"),
        (("--metadata", "topic_id=2"), ZOOS, "topic_id is filled in"),
        (("--writer", "llm"), ZOOS, "--writer llm requires --llm"),
        (("--max-length", "0"), ZOOS, "--max-length"),
    ],
)
def test_bad_input_is_one_line(more, request_, problem, indexes, asked, tmp_path, call):
    out = tmp_path / "run.jsonl"
    command = ("report", indexes("shard")[0], "--requests", asked(request_), "--out", out)
    code, _, err = call(*command, *more)
    assert code == 2
    assert problem in err
    assert err.count("\n") == 1
    assert not out.exists()


def test_files_that_would_be_lost_and_out_that_is_missing(indexes, asked, call):
    requests = asked(ZOOS)
    command = ("report", indexes("shard")[0], "--requests", requests)
    assert "names the same file" in call(*command, "--out", requests)[2]
    assert "Missing option '--out'" in call(*command)[2]
    assert json.loads(Path(requests).read_text()) == ZOOS


FLAGS = re.MULTILINE | re.DOTALL

# A language model ---------------------------------------------------------------------------


def told(
    *sentences: tuple[str, list[int]],
    questions: tuple[str, ...] = ("Do zoos breed?",),
    evidence: Callable[[str], float] = lambda _: 0.9,
):
    """Return what replies to all prompts of a writer; citations are judged by the server.

    `evidence` says how likely a document is some.
    """

    def reply(prompt: str) -> str | None:
        if "You check the citations" in prompt:
            return None
        if "Name the questions" in prompt:
            return json.dumps({"questions": list(questions)})
        if "You choose evidence" in prompt:
            shown = re.findall(r"^Document (\d+):\n<<<\w+ (\w+)\n(.*?)\n\w+ \2>>>", prompt, FLAGS)
            chances = {int(number): evidence(text) for number, _, text in shown}
            listed = [
                {"id": number, "evidence": p >= 0.5, "confidence": max(p, 1 - p)}
                for number, p in chances.items()
                if p >= 0
            ]
            return json.dumps({"documents": listed})
        return json.dumps({"sentences": [{"text": t, "citations": c} for t, c in sentences]})

    return reply


@pytest.mark.all
def test_a_model_writes_and_is_asked_once(indexes, asked, tmp_path, call):
    index, known = indexes("uuid")
    run = tmp_path / "run.jsonl"
    command = ("report", index, "--requests", asked(ZOOS, VOTING), "--track", "ragtime26")
    reply = told(("Zoos keep animals [2]. They breed some.", [1]), ("No source.", []))
    with ChatServer(reply=reply) as server:
        more = ("--llm", server.spec, "--out", run)
        code, out, err = call(*command, *more, "--json")
        assert code == 0, err
        # For each request sub-questions, the report and its citations; for the evidence 2 and 1.
        assert len(server.asked()) == 9
        first = run.read_bytes()
        assert call(*command, *more)[0] == 0
        assert len(server.asked()) == 9
        prompts = [m["content"] for body in server.asked() for m in body["messages"]]
    assert run.read_bytes() == first
    zoos, _ = read_responses(str(run))
    assert [s.text for s in zoos.sentences] == [
        "Zoos keep animals.",
        "They breed some.",
        "No source.",
    ]
    assert [len(s.citations) for s in zoos.sentences] == [2, 2, 0]
    assert {c.doc_id for s in zoos.sentences for c in s.citations} <= set(known)
    assert all(0 <= c.score <= 1 for s in zoos.sentences for c in s.citations)
    shown = json.loads(out)["reports"][0]
    assert "Do zoos breed?" in shown["queries"]
    assert shown["measures"]["sentence_precision"]["asked"] == 3
    assert any("council of a small town" in prompt for prompt in prompts)
    assert any("at most 900 characters" in prompt for prompt in prompts)
    assert call("files", "validate", run, "--track", "ragtime26")[0] == 0


def read_by_writer(server: ChatServer) -> list[str]:
    """Return the documents that the writer was given."""
    (prompt,) = (str(body["messages"]) for body in server.asked() if "short report" in str(body))
    return re.findall(r"<<<DOCUMENT \w+\\n(.*?)\\nDOCUMENT", prompt)


def test_what_a_model_calls_evidence_reaches_the_writer(indexes, asked, tmp_path, call):
    index, _ = indexes("uuid")
    command = ("report", index, "--requests", asked(VOTING), "--out", tmp_path / "run.jsonl")

    def zoos(text: str) -> float:
        return 0.9 if "zoo" in text.lower() else 0.1

    with ChatServer(reply=told(("Zoos breed.", [1]), questions=("Are zoos good?",),
                               evidence=zoos)) as server:  # fmt: skip
        assert call(*command, "--llm", server.spec)[0] == 0
        texts = read_by_writer(server)
    assert len(texts) >= 5
    assert all("zoo" in text.lower() for text in texts)


def test_a_document_is_evidence_from_one_half(indexes, asked, tmp_path, call):
    index, _ = indexes("uuid")
    for share, expected in ((0.5, True), (0.49, False)):
        request = {**VOTING, "background": f"I vote {share} times."}  # not in the store
        command = ("report", index, "--requests", asked(request), "--out", tmp_path / f"{share}")
        judged: list[str] = []

        def chance(text: str, share: float = share, judged: list[str] = judged) -> float:
            judged.append(text)
            return 0.9 if text == judged[0] else share

        with ChatServer(reply=told(("Zoos breed.", [1]), evidence=chance)) as server:
            assert call(*command, "--llm", server.spec)[0] == 0
            assert (len(read_by_writer(server)) > 1) == expected
        assert len(judged) == 24


def test_the_ranking_decides_where_a_model_says_nothing(indexes, asked, tmp_path, call):
    index, _ = indexes("uuid")
    shown = []
    for share, said in (
        (0.1, "test found no evidence in 20 documents: the ranking decides"),
        (-1.0, "did not say of 20 of 20 documents whether they are evidence"),
    ):
        request = {**VOTING, "background": f"I vote {share} times."}  # not in the store
        command = ("report", index, "--requests", asked(request), "--out", tmp_path / f"{share}")
        reply = told(("Zoos breed.", [1]), questions=(), evidence=lambda _, share=share: share)
        with ChatServer(reply=reply) as server:
            code, _, err = call(*command, "--llm", server.spec)
            shown.append(read_by_writer(server))
        assert code == 0
        assert said in err
    assert shown[0] == shown[1] != []


def test_what_a_model_says_twice_in_different_ways_is_not_said(indexes, asked, tmp_path, call):
    index, _ = indexes("uuid")
    once = told(("Zoos breed.", [1]), evidence=lambda _: 0.9)

    def twice(prompt: str) -> str:
        said = json.loads(once(prompt) or "{}")
        rows = said.get("documents", [])
        said |= {"documents": [*rows, {**rows[0], "evidence": False}]} if rows else {}
        return json.dumps(said)

    command = ("report", index, "--requests", asked(VOTING), "--out", tmp_path / "run.jsonl")
    with ChatServer(reply=twice) as server:
        _, _, err = call(*command, "--llm", server.spec, "--citation-judge", "packaged")
    assert "did not say of 1 of 24 documents whether they are evidence" in err


def test_what_a_model_may_not_do_is_removed_and_reported(indexes, asked, tmp_path, call):
    run = tmp_path / "run.jsonl"
    command = ("report", indexes("uuid")[0], "--requests", asked({**ZOOS, "limit": 60}))
    reply = told(("Zoos breed animals.", [1, 99, 2, 3, 4]), ("x" * 50 + ".", [1]), ("Late.", [1]))
    with ChatServer(reply=reply) as server:
        code, _, err = call(*command, "--llm", server.spec, "--out", run, "--track", "ragtime26")
    assert code == 0
    (report,) = read_responses(str(run))
    assert [s.text for s in report.sentences] == ["Zoos breed animals."]
    assert len(report.sentences[0].citations) == 3
    assert "removed a citation of document 99 from 'Zoos breed animals.'" in err
    assert "left out the last 2 of 3 sentences: over 60 characters" in err
    assert "a sentence has at most 3" in err


def test_a_plan_asks_nothing_and_a_budget_is_kept(indexes, asked, tmp_path, call):
    run = tmp_path / "run.jsonl"
    command = ("report", indexes("uuid")[0], "--requests", asked(ZOOS, VOTING))
    with ChatServer(reply=told(("Zoos breed.", [1]))) as server:
        code, out, _ = call(*command, "--llm", server.spec, "--plan", "--json")
        assert (code, len(server.asked())) == (0, 0)
        assert json.loads(out)["models"][0]["calls"] == 9
        code, _, err = call(
            *command, "--llm", server.spec, "--out", run, "--set", "budget-tokens=1"
        )
        assert code == 3
        assert not server.asked()
        assert "budget" in err
    assert texts_of(run) == {"zoos": [], "voting": []}
    code, out, _ = call(*command, "--plan")
    assert (code, "no language model is asked" in out) == (0, True)


def test_where_a_model_finds_no_answer_the_report_says_so(indexes, asked, tmp_path, call):
    run = tmp_path / "run.jsonl"
    command = ("report", indexes("uuid")[0], "--requests", asked(VOTING), "--out", run, "--json")
    with ChatServer(reply=told()) as server:
        code, out, _ = call(*command, "--llm", server.spec)
    assert code == 0
    assert texts_of(run) == {"voting": [MISSING.format("Should voting be compulsory?")]}
    (shown,) = json.loads(out)["reports"]
    assert (shown["failed"], shown["measures"]) == (False, {})


def test_negative_statements_do_not_count_in_precision(indexes, asked, tmp_path, call):
    problem = "How do their animals fare? How many pandas does the zoo in Vienna keep?"
    request = asked({**ZOOS, "problem_statement": problem})
    run = tmp_path / "run.jsonl"
    command = ("report", indexes("uuid")[0], "--requests", request, "--out", run, "--json")
    with ChatServer(reply=told(("Zoos keep animals.", [1]))) as server:
        code, out, _ = call(*command, "--llm", server.spec)
        prompts = [m["content"] for body in server.asked() for m in body["messages"]]
    assert code == 0
    assert len(texts_of(run)["zoos"]) == 2
    (shown,) = json.loads(out)["reports"]
    assert shown["measures"]["sentence_precision"]["asked"] == 1
    room = 900 - len(MISSING.format("How many pandas does the zoo in Vienna keep?")) - 1
    assert any(f"at most {room} characters" in prompt for prompt in prompts)


@pytest.mark.parametrize("behaviour", ["prose", "refusal", "length"])
def test_an_unusable_model_leaves_reports_unwritten(behaviour, indexes, asked, tmp_path, call):
    run = tmp_path / "run.jsonl"
    command = ("report", indexes("uuid")[0], "--requests", asked(VOTING), "--out", run)
    with ChatServer(default=behaviour) as server:
        code, _, err = call(*command, "--llm", server.spec, "--markdown", tmp_path / "r.md")
    assert code == 3
    assert "returned nothing usable" in err
    assert texts_of(run) == {"voting": []}
    assert "nothing usable was written" in (tmp_path / "r.md").read_text()


def test_a_dead_endpoint_is_one_line_and_leaves_nothing(indexes, asked, tmp_path, call):
    run = tmp_path / "run.jsonl"
    command = ("report", indexes("uuid")[0], "--requests", asked(VOTING), "--out", run)
    code, _, err = call(*command, "--llm", "http://127.0.0.1:9/v1#m")
    assert (code, err.count("\n"), "cannot be reached" in err) == (2, 1, True)
    assert not run.exists()


def test_hostile_documents_and_requests_stay_text(tmp_path, asked, call):
    documents = [
        Document(f"d{n}<b>", f"Zoos should be phased out, says page {n}. {HOSTILE}", "<i>t</i>")
        for n in range(3)
    ]
    build_index(documents, tmp_path / "index")
    request = {**ZOOS, "title": "Should zoos be phased out?\n# <script>", "limit": 4000}
    run, markdown = tmp_path / "run.jsonl", tmp_path / "r.md"
    command = ("report", tmp_path / "index", "--requests", asked(request), "--out", run)
    code, _, err = call(*command, "--markdown", markdown)
    assert code == 0
    shown = markdown.read_text()
    assert not re.search(r"(?<!\\)<(script|img|b|i)\b", shown)
    assert "\x1b" not in shown + err
    assert "\u202e" not in shown + err
    assert sum(line.startswith("# ") for line in shown.splitlines()) == 1
    with ChatServer(reply=told(("Zoos\n# should </s> go. <b>", [1]))) as server:
        assert call(*command, "--llm", server.spec, "--markdown", markdown)[0] == 0
        prompts = [m["content"] for body in server.asked() for m in body["messages"]]
    shown = markdown.read_text()
    assert "\n# should" not in shown
    hostile = next(p for p in prompts if "IGNORE YOUR INSTRUCTIONS" in p)
    opened = re.findall(r"^<<<DOCUMENT (\w+)$", hostile, re.MULTILINE)
    assert opened
    assert all(f"DOCUMENT {mark}>>>" in hostile for mark in opened)


# Limits ---------------------------------------------------------------------------------------

words = st.lists(st.text("ab \u00b4\ufb01\u3000", max_size=12), max_size=12)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(words, st.integers(1, 40), st.integers(1, 12))
def test_what_is_cut_fits_and_nothing_more_would(texts, chars, count):
    limits = Limits((("chars", chars), ("words", count), ("nfkc-words", count)))
    sentences = [Sentence(text) for text in texts]
    kept = [s.text for s in limits.cut(sentences)]
    assert kept == texts[: len(kept)]
    assert not kept or count_length(kept, "chars") <= chars
    assert count_length(kept, "nfkc-words") <= count
    if len(kept) < len(texts):
        more = texts[: len(kept) + 1]
        assert (
            count_length(more, "chars") > chars
            or max(count_length(more, "words"), count_length(more, "nfkc-words")) > count
        )


def test_lengths_by_hand():
    assert count_length(["a b", "c"], "words") == 3
    assert count_length(["a\u00b4b"], "words") == 1
    assert count_length(["a\u00b4b"], "nfkc-words") == 2  # a, then an accent and b
    assert count_length(["\ufb01ve", "x"], "chars") == 6  # "five x"


def test_all_limits_hold():
    request = ReportRequest("1", "T", limit=900, word_limit=50)
    assert str(limits_of(request)) == "900 characters and 50 words"
    assert str(limits_of(ReportRequest("1", "T"))) == "2000 characters"
    found = limits_of(request, track_rules("rag26"), 80)
    assert str(found) == "80 words and 1024 words and 900 characters and 50 words"
    with pytest.raises(InputError):
        limits_of(request, None, 0)


PAGE = Path(__file__).parents[1] / "docs" / "recipes" / "writing-reports.md"


@pytest.mark.all
@pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not in this copy")
def test_the_page_of_the_documentation_works_as_printed(tmp_path):
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text("utf-8"), flags=re.S | re.M)
    place = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e"], input="".join(blocks), cwd=tmp_path, text=True, capture_output=True,
        env={**os.environ, "PATH": place}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "moon: no evidence was found, the report says so" in done.stderr
    assert "submission.jsonl: ok (neuclir by the rules of pnyx, 2 records" in done.stdout
    texts = texts_of(tmp_path / "run.jsonl")
    assert texts["zoos"]
    assert texts["moon"] == [MISSING.format("How are craters on the far side of the moon named?")]
    assert len(" ".join(texts["zoos"])) <= 900
