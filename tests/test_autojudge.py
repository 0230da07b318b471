"""Pnyx as a judge of TREC AutoJudge, through `auto-judge run` with the packaged workflow."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from autojudge_campaign import (
    BANKS,
    DOCUMENTS,
    MARK,
    RUNS,
    TOPICS,
    auto_judge,
    auto_judge_here,
    campaign,
    obliging,
    report,
    sentence,
    write_lines,
)
from chat_server import ChatServer
from pnyx.core.errors import InputError
from pnyx.formats import read_leaderboard, read_responses
from pnyx.reports.autojudge import PnyxJudge, Settings, workflow_path

HAS_DATA = any((Path(sys.prefix) / "nltk_data" / "corpora").glob("stopwords*"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not HAS_DATA, reason="needs NLTK's data: python lab/nltk_data.py"),
]

FILES = ("eval.txt", "qrels.txt", "nuggets.jsonl")


@pytest.fixture
def base():
    """autojudge-base, whose import warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import autojudge_base
    return autojudge_base


def cells(path: Path) -> dict[tuple[str, str, str], float]:
    found = read_leaderboard(path, "ir_measures")
    both = (*found.cells, *found.stated)
    return {(one.run_id, one.topic_id, one.measure): one.value for one in both}


@pytest.fixture(scope="module")
def packaged(tmp_path_factory):
    """Outcome and folder of a run without a language model, on given banks."""
    folder = campaign(tmp_path_factory.mktemp("packaged"))
    banks = ("--nugget-banks", str(folder / "banks.jsonl"))
    return auto_judge(folder, folder / "out", *banks), folder / "out"


def test_the_packaged_judges_rank_the_runs(packaged):
    done, out = packaged
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in out.iterdir()) == [
        "default.config.yml",
        "default.eval.measures.yml",
        "default.eval.txt",
        "default.nuggets.jsonl",
        "default.pnyx.json",
        "default.qrels.txt",
    ]
    found = cells(out / "default.eval.txt")
    assert found["good", "whales", "nugget_recall"] == 1
    assert found["poor", "all", "nugget_recall"] == 0
    assert found["good", "all", "f1"] > found["poor", "all", "f1"]
    assert {run for run, _, _ in found} == set(RUNS)


def test_a_missing_report_has_no_cell_and_that_is_said(packaged):
    done, out = packaged
    assert "half has no report on 1 of 2 topics: buses; they count not at all" in done.stderr
    found = cells(out / "default.eval.txt")
    assert ("half", "buses", "nugget_recall") not in found
    assert found["half", "all", "nugget_recall"] == found["half", "whales", "nugget_recall"]
    counts = json.loads((out / "default.pnyx.json").read_text())
    assert counts["on_missing"] == "skip"
    half = next(one for one in counts["runs"] if one["run"] == "half")
    assert half["topics"] == {"asked": 2, "missing": ["buses"]}


def test_nothing_shows_a_text(packaged):
    done, out = packaged
    assert MARK not in done.stdout + done.stderr
    assert [p.name for p in out.iterdir() if MARK in p.read_text()] == []


def test_nuggets_come_through_whole(packaged):
    _, out = packaged
    from pnyx.formats import read_nugget_banks

    banks = list(read_nugget_banks(out / "default.nuggets.jsonl"))
    assert [bank.topic_id for bank in banks] == ["buses", "whales"]
    (nugget,) = banks[0].nuggets
    assert nugget.text == "When did buses become free?"
    assert nugget.answers[0].doc_ids == ("d-fares",)
    assert nugget.importance == "vital"


@pytest.mark.all
def test_a_cached_campaign_needs_no_endpoint_and_no_order(base, tmp_path):
    first, second = (campaign(tmp_path / name, order=o) for name, o in (("a", 1), ("b", -1)))
    env = {"OPENAI_MODEL": "test", "OPENAI_API_KEY": "secret", "CACHE_DIR": str(tmp_path / "c")}
    with ChatServer(reply=obliging) as server:
        env["OPENAI_BASE_URL"] = server.url
        done = auto_judge(first, tmp_path / "1", "--variant", "llm", env=env)
        assert done.returncode == 0, done.stderr
        assert {row["authorization"] for row in server.asked()} == {"Bearer secret"}
        assert {row["parameters"]["model"] for row in server.asked()} == {"test"}
    assert MARK not in done.stdout + done.stderr
    again = auto_judge_here(second, tmp_path / "2", "--variant", "llm", env=env)
    assert again.returncode == 0, again.stderr
    env["OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1"  # the cache does not know addresses
    third = auto_judge_here(first, tmp_path / "3", "--variant", "llm", env=env)
    assert third.returncode == 0, third.stderr
    for name in FILES:
        texts = {(tmp_path / n / f"llm.{name}").read_text() for n in "123"}
        assert len(texts) == 1, name
    found = cells(tmp_path / "1" / "llm.eval.txt")
    assert {name for _, _, name in found} >= {"sentence_precision", "nugget_recall", "f1"}
    assert "created 2 nuggets for 2 of 2 topics" in done.stderr
    qrels = (tmp_path / "1" / "llm.qrels.txt").read_text().split()
    assert qrels[2::4] == ["d-cost", "d-fares", "d-whales", "d-whales"]
    assert set(qrels[3::4]) == {"1"}


@pytest.mark.all
def test_without_cache_and_endpoint_there_is_no_leaderboard(base, tmp_path):
    folder = campaign(tmp_path)
    env = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_MODEL": "test"}
    done = auto_judge_here(
        folder, tmp_path / "out", "--variant", "llm", env={**env, "CACHE_DIR": str(tmp_path / "c")}
    )
    assert done.returncode == 1
    assert "Error: http://127.0.0.1:9/v1 cannot be reached" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out/llm.eval.txt").exists()


def test_a_model_that_nobody_named(base, tmp_path):
    done = auto_judge_here(campaign(tmp_path), tmp_path / "out", "--variant", "llm")
    assert done.returncode == 1
    assert "OPENAI_BASE_URL is not set" in done.stderr


@pytest.mark.parametrize(
    ("on_missing", "expected"),
    [pytest.param("zero", 0.5, marks=pytest.mark.all), ("skip", 1.0)],
    ids=["zero", "skip"],
)
def test_what_a_missing_report_counts_as(base, on_missing, expected):
    board = judged(base, on_missing=on_missing)
    found = {(one.run_id, one.topic_id): one.values for one in board.entries}
    assert found["half", "all"]["nugget_recall"] == expected
    board.verify(on_missing="fix_aggregate", expected_topic_ids=["buses", "whales"])


def test_a_missing_report_can_be_refused(base):
    import click

    with pytest.raises(
        click.ClickException, match=r"has no report on 1 of 2 .* setting on_missing"
    ):
        judged(base, on_missing="error")


def judged(base, llm=None, rows=None, **settings):
    from autojudge_base.nugget_data import NuggetBank

    rows = rows or [row for rows in RUNS.values() for row in rows]
    reports = [base.Report.model_validate(row) for row in rows]
    topics = [base.Request.model_validate(row) for row in TOPICS]
    kind = PnyxJudge.nugget_banks_type
    banks = kind.from_banks_list([NuggetBank.model_validate(row) for row in BANKS])
    llm = llm or base.LlmConfigBase()
    return PnyxJudge().judge(reports, topics, llm, nugget_banks=banks, **settings)


@pytest.mark.all
def test_what_had_no_answer_has_none_again_where_the_endpoint_is_gone(base, tmp_path, capsys):
    import click

    bad = report("bad", "whales", sentence("[[echo]] whales eat krill.", "d-whales"))
    rows = [RUNS["good"][0], bad]
    with ChatServer() as server:
        llm = base.LlmConfigBase("test", tmp_path / "cache", "key", server.url)
        first = judged(base, llm, rows, uses_llm=True)
        asked = len(server.asked())
    assert asked
    found = {(one.run_id, one.topic_id): one.values for one in first.entries}
    assert "sentence_precision" in found["good", "buses"]
    assert "sentence_precision" not in found["bad", "whales"]
    capsys.readouterr()
    again = judged(base, llm, rows, uses_llm=True)
    assert again == first
    said = capsys.readouterr().err
    assert "was finished earlier: reading it from" in said
    assert MARK not in said
    with pytest.raises(click.ClickException, match="cannot be reached"):
        judged(base, llm, [*rows, *RUNS["half"]], uses_llm=True)


STYLES = {
    "ids": [["b", "a"], []],
    "scores": [{"b": 0.9, "a": 0.1}, {}],
    "indices": [[1, 0], []],
}


@pytest.mark.parametrize("style", STYLES)
def test_reports_are_read_as_from_their_file(base, tmp_path, style):
    from autojudge_base.report import load_report

    from pnyx.reports.autojudge import response_of

    sentences = [
        {"text": f"Sentence {n}.", "citations": cited} for n, cited in enumerate(STYLES[style])
    ]
    row = {
        "metadata": {"team_id": "t", "run_id": "r", "topic_id": "1", "run_desc": "x"},
        "references": ["a", "b"],
        "responses": sentences,
        "documents": {"a": {"id": "a", "text": "A.", "title": "T", "url": "http://a"}},
    }
    path = write_lines(tmp_path / "run.jsonl", [row])
    (own,), (theirs,) = read_responses(str(path)), map(response_of, load_report(path))
    assert theirs.sentences == own.sentences
    assert theirs.documents == own.documents
    assert (theirs.run_id, theirs.topic_id, theirs.team_id) == ("r", "1", "t")
    assert theirs.references == own.references
    assert theirs.metadata["run_desc"] == "x"


def test_a_reference_twice_stops_no_campaign(base, tmp_path):
    from pnyx.reports.autojudge import response_of

    row = {
        "metadata": {"team_id": "t", "run_id": "r", "topic_id": "1"},
        "references": ["a", "b", "a"],
        "answer": [{"text": "S.", "citations": [2, 1]}],
    }
    found = response_of(base.Report.model_validate(row))
    assert [one.doc_id for one in found.sentences[0].citations] == ["a", "b"]
    assert found.references == ("a", "b")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"on_missing": "ignore"}, "settings.on_missing: found 'ignore', expected one of skip"),
        ({"no_text": 1}, "settings.no_text: found 1, expected true or false"),
        ({"judge": "llm"}, "settings: found 'judge', expected allow_text_in_banks, "),
        ({"thresholds": [0.5, 0.2]}, "expected increasing numbers"),
        ({"most_nuggets": 0}, "expected a whole number from 1"),
        ({"unknown_documents": True}, "found True, expected one of no, unscored"),
        ({"min_scored": 2}, r"expected a number in \[0, 1\]"),
    ],
)
def test_settings_that_are_wrong(given, said):
    with pytest.raises(InputError, match=said):
        Settings.of(given)


def test_a_bare_no_of_yaml_is_no():
    assert Settings.of({"unknown_documents": False}).unknown_documents == "no"


def test_made_up_citations_and_texts_gain_nothing_once_there_is_a_corpus(base, tmp_path, capsys):
    corpus = write_lines(
        tmp_path / "corpus.jsonl", [{"id": one, "text": text} for one, text in DOCUMENTS.items()]
    )
    true = sentence("the city made all buses free in 2019.", "d-fares")
    false = [sentence(f"the moon has {n} cities of cheese.") for n in range(3)]
    ghosts = [{**one, "citations": [f"ghost-{n}"]} for n, one in enumerate(false)]
    honest = [{**one, "citations": ["d-cost"]} for one in false[:2]]
    runs = {
        "honest": report("honest", "buses", true, *honest),
        "ghost": {**report("ghost", "buses", true), "responses": [true, *ghosts]},
        "own": report("own", "buses", sentence("the moon has 9 cities.", "d-cost")),
    }
    runs["ghost"]["references"] = ["d-fares", *(f"ghost-{n}" for n in range(3))]
    runs["ghost"]["documents"] = {f"ghost-{n}": {"id": f"ghost-{n}", "text": ghosts[n]["text"]}
                                  for n in range(3)}  # fmt: skip
    runs["own"]["documents"]["d-cost"]["text"] = f"{MARK} the moon has 9 cities."
    board = judged(base, rows=list(runs.values()), corpus=str(corpus))
    found = {one.run_id: one.values for one in board.entries if one.topic_id == "buses"}
    assert found["honest"]["sentence_precision"] == 1 / 3
    assert found["ghost"]["sentence_precision"] == 1 / 4  # each of the three is a no
    assert found["own"]["sentence_precision"] == 0  # judged by the corpus's text
    assert found["honest"]["f1"] > found["ghost"]["f1"] > found["own"]["f1"]
    said = capsys.readouterr().err
    assert "ghost: 3 citations to 3 documents that the corpus does not hold, each a no" in said
    assert "own embeds texts of 1 documents that differ from" in said
    assert MARK not in said

    for run in runs.values():
        del run["documents"]
    runs["ghost"]["documents"] = {"d-fares": {"id": "d-fares", "text": DOCUMENTS["d-fares"]}}
    board = judged(base, rows=[runs["ghost"]])
    (entry,) = (one for one in board.entries if one.topic_id == "buses")
    assert "sentence_precision" not in entry.values  # 1 of 4 is scored: too few
    assert "are based on less than 80% of their items and are left out" in capsys.readouterr().err
    loose = judged(base, rows=[runs["ghost"]], min_scored=0)
    (entry,) = (one for one in loose.entries if one.topic_id == "buses")
    assert entry.values["sentence_precision"] == 1
    board = judged(
        base, rows=[runs["ghost"]], corpus=str(corpus), unknown_documents="unscored", min_scored=0
    )
    (entry,) = (one for one in board.entries if one.topic_id == "buses")
    assert entry.values["sentence_precision"] == 1


@pytest.mark.parametrize("allowed", [False, True])
def test_restricted_banks_hold_no_sentence_and_are_judged_by_all_the_same(base, allowed):
    text = "All buses of the city of Halden became free in the spring of 2019."
    row = report("good", "buses", sentence("", "d-fares"))
    row["responses"][0]["text"], row["documents"]["d-fares"]["text"] = text, text
    reports = [base.Report.model_validate(row)]
    topics = [base.Request.model_validate(TOPICS[0])]
    more = {"allow_text_in_banks": allowed, "llm_config": base.LlmConfigBase()}
    banks = PnyxJudge().create_nuggets(reports, topics, **more)
    assert banks is not None
    shown = json.dumps([one.model_dump(mode="json") for one in banks.banks.values()])
    assert ("Halden" in shown) is allowed
    assert "d-fares" in shown
    board = PnyxJudge().judge(reports, topics, nugget_banks=banks, answers="lookup", **more)
    assert {one.values["nugget_recall"] for one in board.entries} == {1}


def test_the_workflow_is_read_by_the_runner(base):
    from autojudge_base.workflow import load_workflow, resolve_variant

    workflow = load_workflow(workflow_path())
    assert set(workflow.variants) == {"packaged", "llm"}
    for name in workflow.variants:
        resolved = resolve_variant(workflow, name)
        found = Settings.of({**resolved.judge_settings, "outdir": Path()})
        assert found.uses_llm is (name == "llm")
        assert found.no_text


def test_the_core_knows_nothing_of_it():
    code = (
        "import sys, pnyx.cli, pnyx.reports.autojudge; pnyx.reports.autojudge.PnyxJudge(); "
        "assert not {'autojudge_base', 'nltk', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
