"""The benchmark of effectiveness reads its sets as it says, and its verdicts can fail."""

import importlib
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pnyx.core.records import Qrel, RunEntry
from pnyx.stats.base import Bootstrap
from pnyx.stats.intervals import mean_intervals
from pnyx.stats.significance import differ, family, paired_t

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "lab" / "search"
DATA = Path(os.environ.get("PNYX_DATA", ROOT.parent / "shared" / "data"))

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the benchmarks are not in this copy")
needs_data = pytest.mark.skipif(
    not (DATA / "webis_argquality20").is_dir(), reason="PNYX_DATA has no evaluation data"
)


@pytest.fixture
def bench(monkeypatch):
    """Import a benchmark as it is when run as a script, and forget it afterwards."""
    before, path = set(sys.modules), list(sys.path)
    monkeypatch.setenv("PNYX_DATA", str(DATA))
    monkeypatch.syspath_prepend(FOLDER)
    yield importlib.import_module
    sys.path[:] = path
    for name in set(sys.modules) - before:
        file = str(getattr(sys.modules[name], "__file__", "") or "")
        if str(ROOT / "lab") in file:
            del sys.modules[name]


def test_equal_texts_are_one_document_and_equal_titles_one_question(bench):
    debates = bench("effectiveness_sets")._Debates("made")
    debates.add("Ban cars!", "pro", "Cars kill", "They do.")
    debates.add("ban  cars", "pro", "cars kill.", "They do")
    debates.add("Ban cars", "con", "Cars carry", "")
    debates.add("Build roads", "con", "Cars kill", "They do.")
    made = debates.collection()
    assert [r.text for r in made.records] == ["Cars kill. They do.", "Cars carry."]
    assert [q.text for q in made.questions] == ["Ban cars!", "Build roads"]
    assert made.qrels["sides"] == [
        Qrel("made-0", "made-0", 1, "pro"),
        Qrel("made-0", "made-1", 1, "con"),
        Qrel("made-1", "made-0", 1, "con"),
    ]
    # What is to be found is not told.
    assert all((r.topic, r.stance) == ("", None) for r in made.records)


@needs_data
def test_gains_are_the_published_recipe(bench):
    found = bench("effectiveness_sets").webis()
    grades = {gain: [q.grade for q in qrels] for gain, qrels in found.qrels.items()}
    assert {min(own) for own in grades.values()} == {0}
    assert len(found.records) == len({q.doc_id for q in found.qrels["quality"]})
    assert all(doc for doc in (r.text for r in found.records))
    sigir = bench("effectiveness_sets").sigir()
    assert {q.grade for q in sigir.qrels["relevance"]} == {0, 1, 2, 3, 4}
    assert max(q.grade for q in sigir.qrels["quality"]) == 12


def ranked(topic, *docs):
    return [RunEntry(topic, doc, rank, -float(rank)) for rank, doc in enumerate(docs, start=1)]


@pytest.mark.parametrize(
    ("better", "expected"), [(True, "**better**"), (False, "**worse**")], ids=["gain", "loss"]
)
def test_verdict_follows_the_runs(bench, capsys, better, expected):
    e = bench("effectiveness")
    topics = [f"t{number}" for number in range(8)]
    grades = {"a": 3, "b": 1, "c": 0, "d": 2}
    qrels = [
        Qrel(t, d, g + (g == 2 and n % 2)) for n, t in enumerate(topics) for d, g in grades.items()
    ]
    good = [entry for t in topics for entry in ranked(t, "a", "d", "b")]
    poor = [entry for t in topics for entry in ranked(t, "c", "b", "d")]
    runs = {e.BASELINE: poor if better else good, e.DEFAULT: good if better else poor}
    report, findings = e.Report("effectiveness"), e.Findings()
    measured = e.MeasuredColumn(runs, e.Column("relevance", qrels, "nDCG@5"))
    e.verdict(report, findings, "made", {"relevance": measured, "quality": measured})
    (line,) = findings.verdicts
    assert line.count(expected) == line.count("**") / 2 == 2
    assert line.removeprefix("- ") in capsys.readouterr().out


def verdict_of(e, differences, others=0):
    """Return the word for a default whose nDCG@5 differs so by topic, among other systems."""
    topics = [f"t{n}" for n in range(len(differences))]
    qrels = [Qrel(t, "a", 1) for t in topics]
    names = [e.DEFAULT, *(f"s{n}" for n in range(others))]
    same = [entry for t in topics for entry in ranked(t, "a")]
    runs = dict.fromkeys([e.BASELINE, *names], same)
    column = e.MeasuredColumn(runs, e.Column("quality", qrels, "nDCG@5"))
    margin = column.against[e.DEFAULT].against.margin
    tests = differ(np.array([differences] * len(names)).T, "t", Bootstrap(), margin)
    tested = [
        replace(t, run=name, other=e.BASELINE, measure="nDCG@5")
        for name, t in zip(names, tests, strict=True)
    ]
    column.against = {c.run: c for c in family(tested)}
    e.verdict(e.Report("effectiveness"), findings := e.Findings(), "made", {"quality": column})
    return findings.verdicts[0].split("**")[1]


def test_the_verdict_is_by_the_corrected_p(bench):
    """Twelve topics: p .037 alone, and .59 beside fifteen other systems."""
    e = bench("effectiveness")
    gains = np.array([0.05, 0.12, -0.06, 0.13, 0.11, 0.01, -0.07, 0.15, 0.04, 0.1, -0.02, 0.05])
    assert paired_t(gains).p == pytest.approx(0.0369, abs=1e-4)
    assert mean_intervals(gains[:, None])[0][0] == pytest.approx(0, abs=0.005)
    assert verdict_of(e, gains) == "better"
    assert verdict_of(e, gains, others=15) == "inconclusive"


def test_no_difference_found_is_not_not_worse(bench):
    e = bench("effectiveness")
    wild, tame = np.array([0.3, -0.3] * 6), np.array([0.015, -0.015] * 6)
    assert verdict_of(e, wild) == "inconclusive"
    assert verdict_of(e, tame) == "equivalent"
    assert verdict_of(e, 2 * tame + 0.015) == "not worse"
