"""Who judges citations, with how many calls, and what the pages say of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chat_server import ChatServer
from command import called, rows_of, run, write_rows
from pnyx.cases.open_citations import citation_judge
from pnyx.formats.bundled_example import load_example
from pnyx.judging.answers import Judged
from pnyx.judging.base import ask
from pnyx.judging.questions import Support
from pnyx.judging.store.completions import StoredModel
from pnyx.judging.store.store import Store
from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.search.build import build_index

pytestmark = pytest.mark.usefixtures("own_place")

QUESTION = "Should zoos be phased out?"
WRITERS = ("You write one side of a debate", "You write a short report")
JUDGE = "You check the citations of a written text"
DOCUMENT = re.compile(r"^<<<document (\w+)\n(.*?)\ndocument \1>>>$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("citations") / "example.index"
    build_index(load_example().arguments, path)
    return str(path)


def _sentences(count: int, documents: int) -> list[dict[str, Any]]:
    return [
        {"text": f"Reason number {n} holds.", "citations": [n % documents + 1]}
        for n in range(count)
    ]


def _writes(count: int, documents: int = 1) -> Callable[[str], str | None]:
    """Return what answers writers with `count` sentences that cite the first documents in turn."""

    def answer(prompt: str) -> str | None:
        written = _sentences(count, documents)
        if WRITERS[0] in prompt:
            points = [
                {"conclusion": written[n], "premises": written[n + 1 : n + 4]}
                for n in range(0, count, 4)
            ]
            return json.dumps({"points": points})
        return json.dumps({"sentences": written}) if WRITERS[1] in prompt else None

    return answer


def _asked(server: ChatServer, start: str) -> list[str]:
    prompts = [one["messages"] for one in server.asked()]
    return [p[-1]["content"] for p in prompts if p[0]["content"].startswith(start)]


def _argue(index: str, tmp_path: Path, *more: object) -> tuple[object, ...]:
    command = ("argue", index, QUESTION, "--stance", "pro", "--json", *more)
    return (*command, "--store", tmp_path / "store.sqlite", "--points", "20")


@pytest.mark.parametrize(("documents", "calls"), [(3, 1), (4, 1)])
def test_sentences_that_cite_a_few_documents_are_judged_in_one_call(
    index: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], documents: int, calls: int
) -> None:
    with ChatServer(reply=_writes(20, documents)) as server:
        status, out, _ = called(capsys, *_argue(index, tmp_path), "--llm", server.spec)
        asked = _asked(server, JUDGE)
    assert status == 0
    assert len(asked) == calls
    assert all("Should zoos" in call.partition("<<<document")[0] for call in asked)
    shown = [len(DOCUMENT.findall(call)) for call in asked]
    assert (sum(shown), max(shown)) == (documents, documents)
    cited = [re.findall(r"^Sentence \d+, which cites document (\d):$", c, re.M) for c in asked]
    assert sum(map(len, cited)) == 20
    for count, numbers in zip(shown, cited, strict=True):  # each document has 20 / documents
        assert (
            sorted(map(numbers.count, set(numbers))) == [20 // documents] * count or documents == 3
        )
    (side,) = json.loads(out)["sides"]
    verdicts = [row for row in side["verdicts"] if row["task"] == "support"]
    assert len(verdicts) == 20
    assert all(row["unscored"] is None for row in verdicts)


@pytest.mark.parametrize(("documents", "calls"), [(8, 1), (9, 2), (17, 3)])
def test_no_call_shows_more_than_eight_documents(
    tmp_path: Path, documents: int, calls: int
) -> None:
    questions = [
        Support(str(n), f"Document {n % documents}.", f"Sentence {n}.", cites=True)
        for n in range(18)
    ]
    with ChatServer() as server, Store(tmp_path / "s.sqlite") as store:
        judge = citation_judge(StoredModel(ChatEndpoint(server.url, "test"), store))
        answers = ask(judge, questions)
        asked = _asked(server, JUDGE)
    assert len(asked) == calls
    assert max(len(DOCUMENT.findall(call)) for call in asked) == min(documents, 8)
    assert all(isinstance(answer, Judged) for answer in answers)


def test_each_sentence_is_judged_by_the_document_it_cites(
    index: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def reply(prompt: str) -> str | None:
        if JUDGE not in prompt:
            return _writes(12, 3)(prompt)
        cited = re.findall(r"^Sentence (\d+), which cites document (\d):$", prompt, re.M)
        verdicts = {
            number: {"reason": "", "evidence": "", "answer": "yes" if document == "2" else "no",
                     "confidence": 0.9}
            for number, document in cited
        }  # fmt: skip
        return json.dumps(verdicts)

    with ChatServer(reply=reply) as server:
        _, out, _ = called(capsys, *_argue(index, tmp_path), "--llm", server.spec)
        (call,) = _asked(server, JUDGE)
    second = DOCUMENT.findall(call)[1][1]
    (side,) = json.loads(out)["sides"]
    verdicts = [row for row in side["verdicts"] if row["task"] == "support"]
    known = {one.id: one.text for one in load_example().arguments}
    right = [row["value"] for row in verdicts]
    assert right.count(True) == 4
    assert all(
        (known[row["doc_id"]] in second or second in known[row["doc_id"]]) == row["value"]
        for row in verdicts
    )


@pytest.mark.parametrize(("count", "calls"), [(20, 1), (21, 2)])
def test_no_call_judges_more_than_twenty_sentences(
    index: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    count: int,
    calls: int,
) -> None:
    with ChatServer(reply=_writes(count)) as server:
        called(capsys, *_argue(index, tmp_path), "--llm", server.spec)
        asked = [len(re.findall("^Sentence", one, re.MULTILINE)) for one in _asked(server, JUDGE)]
    assert len(asked) == calls
    assert (sum(asked), max(asked) - min(asked)) == (count, count % calls)


def test_the_page_says_that_a_model_judged_its_own_text_and_against_what(
    index: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer(reply=_writes(4)) as server:
        _, out, _ = called(capsys, *_argue(index, tmp_path), "--llm", server.spec)
    printed = json.loads(out)
    assert printed["settings"]["citations"] == (
        "judged by test, which also wrote the text, each against the whole cited passage with "
        "its title"
    )


def test_the_packaged_judge_can_judge_citations(
    index: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ("--citation-judge", "packaged")
    with ChatServer(reply=_writes(4)) as server:
        _, out, _ = called(capsys, *_argue(index, tmp_path, *more), "--llm", server.spec)
        assert _asked(server, JUDGE) == []
    printed = json.loads(out)
    assert printed["settings"]["citations"].startswith("judged by packaged, each against")
    assert {"minilm-int8@1", "test"} <= {name.split("+")[0] for name in printed["judges"]}
    (side,) = printed["sides"]
    judges = {row["judge"] for row in side["verdicts"] if row["task"] == "support"}
    assert [name for name in judges if name == "test"] == []


def test_another_model_can_judge_citations_with_the_same_store_and_budget(
    index: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer(reply=_writes(4)) as server, ChatServer() as other:
        more = ("--citation-judge", f"{other.url}#second", "--llm", server.spec)
        _, out, _ = called(capsys, *_argue(index, tmp_path, *more))
        assert _asked(server, JUDGE) == []
        assert len(other.asked()) == len(_asked(other, JUDGE)) == 1
        before = len(server.asked())
        called(capsys, *_argue(index, tmp_path, *more))
        assert (len(server.asked()), len(other.asked())) == (before, 1)
        status, plan, _ = called(capsys, *_argue(index, tmp_path, *more), "--plan")
    assert status == 0
    assert [one["model"] for one in json.loads(plan)["models"]] == ["test", "second"]
    assert json.loads(out)["settings"]["citations"].startswith("judged by second, each against")


@pytest.mark.parametrize("verb", ["argue", "report"])
def test_a_citation_judge_without_a_model_is_refused(
    index: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    requests = write_rows(tmp_path / "r.jsonl", [{"request_id": "zoos", "title": QUESTION}])
    given: tuple[object, ...] = (QUESTION,)
    if verb == "report":
        given = ("--requests", requests, "--out", tmp_path / "run.jsonl")
    more = ("--citation-judge", "packaged")
    status, _, err = called(capsys, verb, index, *given, *more)
    assert (status, err.count("\n")) == (2, 1)
    assert "--citation-judge requires --llm" in err


def test_reports_are_judged_alike(
    index: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    requests = write_rows(tmp_path / "r.jsonl", [{"request_id": "zoos", "title": QUESTION}])
    command = ("report", index, "--requests", requests, "--questions", "0", "--json")
    command = (*command, "--store", tmp_path / "store.sqlite")
    with ChatServer(reply=_writes(8, 2)) as server:
        llm = ("--llm", server.spec)
        _, out, _ = called(capsys, *command, *llm, "--plan")
        assert json.loads(out)["models"][0]["calls"] > 1  # its citations are counted
        page = tmp_path / "report.md"
        files = ("--out", tmp_path / "run.jsonl", "--markdown", page)
        status, _, _ = called(capsys, *command, *llm, *files)
        assert (status, len(_asked(server, JUDGE))) == (0, 1)
        assert "judged by test, which also wrote the text" in page.read_text("utf-8")
        run(*command, *llm, *files, "--citation-judge", "packaged")
        assert len(server.asked()) == 4  # evidence (2), the report, its citations
    assert "judged by packaged, each against" in page.read_text("utf-8")


def test_a_run_is_written_even_if_a_citation_has_no_verdict(
    index: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    writes = _writes(2)
    requests = write_rows(tmp_path / "r.jsonl", [{"request_id": "zoos", "title": QUESTION}])
    run_file = tmp_path / "run.jsonl"
    command = ("report", index, "--requests", requests, "--questions", "0", "--out", run_file)
    with ChatServer(reply=lambda prompt: writes(prompt) or "I cannot say.") as server:
        more = ("--llm", server.spec, "--track", "ragtime26", "--store", tmp_path / "s.sqlite")
        status, _, err = called(capsys, *command, *more)
    assert status == 3
    assert "zoos: no verdict on 2 citations; their score in the run is 0.5" in err
    (row,) = rows_of(run_file)
    assert [list(one["citations"].values()) for one in row["responses"]] == [[0.5], [0.5]]
