"""Runs against qrels: trec_eval's own numbers, worked examples, and what topics count."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pnyx
from pnyx.core.errors import InputError, MissingExtra
from pnyx.core.records import Qrel, RunEntry
from pnyx.formats.questions import topic_order
from pnyx.formats.runs.rankings import judgements_of, rankings_of
from pnyx.search.measures.irmeasures import DEFAULT_DIVERSITY, DEFAULT_MEASURES, parse_measures
from pnyx.search.measures.retrieval import measure_retrieval
from pnyx.stats.base import Bootstrap
from tries import quick_cases, tries

DATA = Path(os.environ.get("PNYX_DATA", Path(__file__).parents[2] / "shared" / "data")) / "touche"
RUNS = ("in_none", "in_neutral", "in_emotional", "out_none", "out_neutral", "out_emotional")
TREC_EVAL = {
    "nDCG": "ndcg", "nDCG@5": "ndcg_cut_5", "nDCG@10": "ndcg_cut_10", "nDCG@100": "ndcg_cut_100",
    "AP": "map", "AP@10": "map_cut_10", "P@5": "P_5", "P@10": "P_10", "P@100": "P_100",
    "R@10": "recall_10", "R@100": "recall_100", "RR": "recip_rank", "Rprec": "Rprec",
    "Bpref": "bpref", "infAP": "infAP", "IPrec@0.1": "iprec_at_recall_0.10", "Success@5":
    "success_5", "SetP": "set_P", "SetR": "set_recall", "SetF": "set_F",
}  # fmt: skip


def run_of(rankings: dict[str, str]) -> list[RunEntry]:
    """Return a run of topic -> one letter for each document, best first."""
    return [
        RunEntry(topic, doc, n, 100.0 - n)
        for topic, documents in rankings.items()
        for n, doc in enumerate(documents, 1)
    ]


def qrels_of(judged: dict[str, str]) -> list[Qrel]:
    """Return qrels of topic -> letters: capitals are relevant."""
    pairs = [(topic, doc) for topic, documents in judged.items() for doc in documents]
    return [Qrel(topic, doc.lower(), int(doc.isupper())) for topic, doc in pairs]


def values(found: pnyx.search.Retrieval) -> dict[str, dict[str, float | None]]:
    return {run.name: {n: m.value for n, m in run.measures.items()} for run in found.runs}


@pytest.mark.skipif(not DATA.exists(), reason="the Touché runs are not here (PNYX_DATA)")
@pytest.mark.parametrize("name", quick_cases(RUNS, {"in_neutral"}))
def test_the_numbers_are_trec_evals_on_touche_2020(name):
    folder = DATA / "runs_argu_2020"
    published = {}
    for line in (folder / f"res_{name}.txt").read_text().splitlines():
        measure, topic, value = line.split()
        published[measure, topic] = value
    found = measure_retrieval(
        {name: pnyx.read_run(str(folder / f"{name}.txt.gz"))},
        pnyx.read_qrels(str(DATA / "touche2020-task1-relevance-args-me-corpus-version-1.qrels")),
        list(TREC_EVAL),
        topics_of="run",
        bootstrap=Bootstrap(0),
    )
    (run,) = found.runs
    assert len(run.per_topic) == int(published["num_q", "all"]) == 49
    shown = {m: f"{run.measures[m].value:.4f}" for m in TREC_EVAL}
    assert shown == {m: published[theirs, "all"] for m, theirs in TREC_EVAL.items()}
    # trec_eval -c takes all 50 topics of the qrels; the absent one adds 0.
    complete = measure_retrieval(
        {name: pnyx.read_run(str(folder / f"{name}.txt.gz"))},
        pnyx.read_qrels(str(DATA / "touche2020-task1-relevance-args-me-corpus-version-1.qrels")),
        ["nDCG@10"],
        bootstrap=Bootstrap(0),
    ).runs[0]
    assert complete.absent == ("25",)
    assert complete.measures["nDCG@10"].value * 50 == pytest.approx(
        run.measures["nDCG@10"].value * 49
    )


def test_plain_measures_on_a_worked_example():
    qrels = [Qrel("1", "a", 2), Qrel("1", "b", 1), Qrel("1", "c", 0), Qrel("1", "d", -2)]
    found = measure_retrieval(
        {"r": run_of({"1": "dbxa"})},
        qrels,
        ["nDCG@10", "P@2", "AP", "AP(rel=2)", "R@2", "RR", "Judged@10"],
    )
    assert values(found)["r"] == {
        "nDCG@10": pytest.approx((1 / math.log2(3) + 2 / math.log2(5)) / (2 + 1 / math.log2(3))),
        "P@2": 0.5,
        "AP": 0.5,
        "AP(rel=2)": 0.25,
        "R@2": 0.5,
        "RR": 0.5,
        "Judged@10": 0.75,
    }


def test_diversity_measures_on_a_worked_example():
    """Two perspectives; documents a and b repeat the first, c alone has the second."""
    qrels = [Qrel("1", "a", 1, "pro"), Qrel("1", "b", 1, "pro"), Qrel("1", "c", 1, "con"),
             Qrel("1", "a", 0, "con")]  # fmt: skip
    names = ["StRecall@1", "StRecall@3", "alpha_nDCG@3", "alpha_nDCG(alpha=0.0)@3", "P@1"]
    found = measure_retrieval({"r": run_of({"1": "abc"})}, qrels, names)
    gain = 1 + 0.5 / math.log2(3) + 1 / 2
    ideal = 1 + 1 / math.log2(3) + 0.5 / 2
    assert values(found)["r"] == {
        "StRecall@1": 0.5,
        "StRecall@3": 1.0,
        "alpha_nDCG@3": pytest.approx(gain / ideal, abs=1e-5),
        # Computed beside another alpha, for which ir-measures alone would give 0.
        "alpha_nDCG(alpha=0.0)@3": pytest.approx(1.0),
        # The best grade of any subtopic: a is relevant, though not for con.
        "P@1": 1.0,
    }


def test_the_defaults_follow_the_qrels():
    run = run_of({"1": "ab"})
    plain = [Qrel("1", "a", 1, "0"), Qrel("1", "b", 0, "Q0")]
    assert list(values(measure_retrieval({"r": run}, plain))["r"]) == list(DEFAULT_MEASURES)
    diverse = [Qrel("1", "a", 1, "1"), Qrel("1", "b", 1, "2")]
    both = [*DEFAULT_MEASURES, *DEFAULT_DIVERSITY]
    assert list(values(measure_retrieval({"r": run}, diverse))["r"]) == both
    with pytest.raises(InputError, match=r"ERR_IA@5 needs diversity qrels \(topic subtopic"):
        measure_retrieval({"r": run}, plain, ["P@1", "ERR_IA@5"])


def test_documents_are_ordered_as_trec_eval_orders_them():
    entries = [RunEntry("1", doc, rank, score) for doc, rank, score in (
        ("a", 1, 1.0), ("b", 2, 1.0 + 1e-9), ("c", 3, 1.0), ("z", 4, -3.0), ("y", 5, 1e300),
        ("x", 6, 2e300),
    )]  # fmt: skip
    found = rankings_of(entries)
    assert list(found.by_topic["1"]) == ["y", "x", "c", "b", "a", "z"]
    assert found.rearranged == ("1",)
    assert rankings_of(run_of({"2": "ab", "10": "ba"})).rearranged == ()
    order = sorted(["b", "10", "9", "a", "-1", "٣"], key=topic_order)
    assert order == ["9", "10", "-1", "a", "b", "٣"]


def test_which_topics_count():
    qrels = qrels_of({"1": "A", "2": "A", "3": "A", "4": "ab"})
    runs = {"x": run_of({"1": "a", "2": "ba", "9": "a"}), "y": run_of({"2": "a", "3": "ab"})}

    def measured(**how):
        return measure_retrieval(runs, qrels, ["RR"], **how)

    every = measured()
    assert values(every) == {"x": {"RR": 1.5 / 4}, "y": {"RR": 2 / 4}}
    x, y = every.runs
    assert (x.absent, x.unjudged) == (("3", "4"), ("9",))
    assert (y.absent, y.unjudged) == (("1", "4"), ())
    assert {m.asked for m in x.measures.values()} == {4}
    assert every.without_relevant == ("4",)
    own = measured(topics_of="run", baseline="x", test="t")
    assert values(own) == {"x": {"RR": 0.75}, "y": {"RR": 1.0}}
    assert own.comparisons[0].test.topics == 1
    assert own.comparisons[0].test.difference == 0.5
    assert own.comparisons[0].p_holm is None
    shared = measured(topics_of="both")
    assert values(shared) == {"x": {"RR": 0.5}, "y": {"RR": 1.0}}
    assert all(run.absent == () for run in shared.runs)


def test_runs_that_share_nothing_are_refused():
    qrels = qrels_of({"1": "A", "2": "A"})
    with pytest.raises(InputError, match=r"r: no topic has qrels \(topics are '7'; qrels are of"):
        measure_retrieval({"r": run_of({"7": "a"})}, qrels)
    runs = {"x": run_of({"1": "a"}), "y": run_of({"2": "a"})}
    with pytest.raises(InputError, match="no topic is in the qrels and in every run"):
        measure_retrieval(runs, qrels, topics_of="both")
    with pytest.raises(ValueError, match="expected one, and the baseline"):
        measure_retrieval(runs, qrels, baseline="z")
    with pytest.raises(InputError, match="qrels: holds no judgments"):
        measure_retrieval(runs, [])


def test_contradictions_are_refused():
    for entries, problem in (
        (run_of({"1": "aa"}), "topic 1: a is ranked twice"),
        ([RunEntry("1", "a", 1, math.nan)], "topic 1: a is given the score nan"),
    ):
        with pytest.raises(InputError, match=problem):
            rankings_of(entries)
    with pytest.raises(InputError, match="topic 1, a: judged twice"):
        judgements_of([Qrel("1", "a", 1, "0"), Qrel("1", "a", 0, "Q0")])
    with pytest.raises(InputError, match="grade 1000000000000, expected at most 1000000"):
        judgements_of([Qrel("1", "a", 10**12)])


@pytest.mark.parametrize(
    ("measure", "problem"),
    [
        ("P@0", "cutoff 0, expected 1 to 1000000"),  # would kill the process
        ("nDCG@-3", "cutoff -3, expected 1 to 1000000"),
        ("P@True", "cutoff True"),
        ("P@99999999999999999999", "expected 1 to 1000000"),
        ("alpha_nDCG@21", "cutoff 21, expected 1 to 20"),
        ("alpha_nDCG", "expected a cutoff, as in alpha_nDCG@10"),
        ("P", "expected a cutoff, as in P@10"),
        ("AP(rel=0)", "expected a grade of 1 or more"),
        ("nDCG(gains={1:1000000000000})", "gains, expected whole numbers"),
        ("nDCG(bar=2)", "nDCG has no parameter 'bar'"),
        ("nDCG@'x'", "cutoff 'x'"),
        ("nDGC@10", "is not a measure of ir-measures"),
        ("import os", "must be in format"),
        ("nDCG(10)", "must be in format"),
        ("AP(rel=2, **{})", "AP has no parameter '**'"),
        ("P@open('x')", "must be in format"),
        ("P@[1]", "cutoff [1]"),
        ("nDCG@10@10", "must be in format"),
        ("nDCG(cutoff=5)@10", "multiple values"),
        ("(" * 500, "--measure"),
        ("", "--measure"),
        ("RBP", "ir-measures cannot compute it"),
        ("\x1b[2J", "--measure"),
    ],
)
def test_measures_that_cannot_be_are_refused_in_one_line(measure, problem):
    with pytest.raises(InputError) as caught:
        measure_retrieval({"r": run_of({"1": "a"})}, qrels_of({"1": "Ab"}), [measure])
    assert problem in str(caught.value)
    assert str(caught.value).isprintable()


def test_every_name_that_the_documentation_holds_is_read_as_by_ir_measures(names_of_ir_measures):
    root = Path(__file__).parents[1]
    pages = [root / "README.md", *root.glob("docs/*/*.md")]
    pages += root.glob("docs/reference/measures/*.md")
    text = "\n".join(page.read_text("utf-8") for page in pages)
    found = set(
        re.findall(r"(?<![\w.])([A-Za-z_]+(?:\([a-z_]+=[^()\s]+\))?(?:@\d+)?)(?![\w(@])", text)
    )
    known = {
        name
        for name in found
        if re.match(r"\w+", name)[0] in names_of_ir_measures.measures.registry
    }
    documented = {name for name in known if set("@(") & set(name)}
    assert {"nDCG@10", "AP(rel=2)", "MRecall@5", "alpha_nDCG@10"} <= documented
    others = ["AP", "nDCG(dcg='exp-log2')@10", "nDCG(gains={0:1,1:3})@5", "RBP(p=0.8, rel=1)"]
    others += ["SetF(beta=2.0)", "IPrec@0.1", "IPrec(recall=.1)", "P(judged_only=True)@5"]
    for name in [*documented, *others]:
        measure = names_of_ir_measures.parse_measure(name)
        assert parse_measures([name]) == {repr(measure): measure}


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval needs Perl")
def test_other_programs_see_numbered_topics():
    """gdeval refuses topics that are no numbers; here they get what a number would have."""
    numbers = measure_retrieval(
        {"r": run_of({"1": "ab", "2": "ba"})}, qrels_of({"1": "Ab", "2": "Ab"}), ["ERR@5"]
    )
    named = measure_retrieval(
        {"r": run_of({"ü x": "ab", "-0": "ba"})}, qrels_of({"ü x": "Ab", "-0": "Ab"}), ["ERR@5"]
    )
    assert values(numbers) == values(named)
    assert {t: v["ERR@5"].value for t, v in named.runs[0].per_topic.items()} == {
        "ü x": pytest.approx(1 / 16, abs=1e-5), "-0": pytest.approx(1 / 32, abs=1e-5),
    }  # fmt: skip


LETTERS = st.text("abcdefgh", min_size=1, max_size=8).map(lambda t: "".join(dict.fromkeys(t)))
TOPICS = st.dictionaries(st.sampled_from("12345"), LETTERS, min_size=1)
JUDGED = st.fixed_dictionaries({t: st.just("AbCdEfGh") for t in "12345"})


@settings(deadline=None, max_examples=tries(40))
@given(first=TOPICS, second=TOPICS, judged=JUDGED, test=st.sampled_from(["t", "randomisation"]))
def test_values_intervals_and_tests_hang_together(first, second, judged, test):
    runs = {"x": run_of(first), "y": run_of(second)}
    found = measure_retrieval(
        runs,
        qrels_of(judged),
        ["nDCG@3", "P@2", "AP"],
        baseline="x",
        test=test,
        bootstrap=Bootstrap(50),
    )
    for run in found.runs:
        for name, m in run.measures.items():
            topics = [v[name].value for v in run.per_topic.values()]
            assert m.value == pytest.approx(np.mean(topics))
            assert (m.scored, m.asked) == (5, 5)
            constant = np.ptp(topics) == 0 and topics[0] not in (0, 1)
            assert (m.low is None) == (m.high is None) == constant
            assert constant or 0 <= m.low <= m.value <= m.high <= 1
            assert constant or m.low < m.high
    x, y = (values(found)[name] for name in "xy")
    for c in found.comparisons:
        assert c.test.difference == pytest.approx(y[c.measure] - x[c.measure], abs=1e-12)
        assert c.test.p is None or c.test.p <= c.p_holm <= 1
    text = json.dumps(found.row(), allow_nan=False)
    backwards = {name: entries[::-1] for name, entries in runs.items()}
    again = measure_retrieval(
        backwards, qrels_of(judged)[::-1], ["nDCG@3", "P@2", "AP"], baseline="x", test=test,
        bootstrap=Bootstrap(50),
    )  # fmt: skip
    assert json.dumps(again.row(), allow_nan=False) == text


def test_a_measure_that_is_not_defined_for_a_topic_is_left_out(monkeypatch):
    """No measure of the packaged set does this; a user's own may."""
    import ir_measures

    monkeypatch.setattr(type(ir_measures.Judged), "DEFAULT", math.nan)
    found = measure_retrieval(
        {"x": run_of({"1": "a", "2": "ab"}), "y": run_of({"1": "c", "2": "ac", "3": "a"})},
        qrels_of({"1": "A", "2": "A", "3": "A"}),
        ["Judged@2", "P@1"],
        baseline="y",
    )
    x = found.runs[0].measures
    assert (x["Judged@2"].value, x["Judged@2"].scored, x["Judged@2"].asked) == (0.75, 2, 3)
    assert (x["P@1"].scored, x["P@1"].asked) == (3, 3)
    assert found.runs[0].per_topic["3"]["Judged@2"].value is None
    assert {c.measure: c.test.topics for c in found.comparisons} == {"Judged@2": 2, "P@1": 3}
    assert found.undefined == 1


def test_without_the_extra_its_name_is_given(monkeypatch):
    import ir_measures

    qrels = [Qrel("1", "a", 1, "1"), Qrel("1", "b", 1, "2")]
    monkeypatch.setattr(ir_measures.pyndeval, "_is_available", False)
    with pytest.raises(MissingExtra, match=r"ERR_IA@5 .*pip install 'pnyx\[retrieval\]'"):
        measure_retrieval({"r": run_of({"1": "a"})}, qrels, ["ERR_IA@5"])
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingExtra, match=r"pip install 'pnyx\[retrieval\]'"):
        measure_retrieval({"r": run_of({"1": "a"})}, qrels)
