"""Runs that Pnyx writes: trec_eval orders them by score as Pnyx ordered them by rank."""

from __future__ import annotations

import io
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.cli import main
from pnyx.core.records import Document, RunEntry
from pnyx.formats import read_run, write_run
from pnyx.formats.runs.rankings import rankings_of
from pnyx.formats.runs.trec import as_ranked
from pnyx.search.build import build_index

SCORES = st.lists(
    st.floats(-1e6, 1e6) | st.sampled_from([0.0, -0.0, 5e-324, 1.0, 1 + 1e-12, 1e38, -1e38]),
    min_size=1,
    max_size=30,
).map(lambda scores: sorted(scores, reverse=True))


def run_of(scores, topic="1"):
    names = [f"d{n}" for n in range(len(scores))]
    random.Random(7).shuffle(names)
    places = zip(names, scores, strict=True)
    return [RunEntry(topic, name, rank, score) for rank, (name, score) in enumerate(places, 1)]


@given(SCORES, SCORES)
def test_scores_order_as_the_ranks_do_and_change_only_where_they_must(one, other):
    entries = run_of(one) + run_of(other, "2")
    found = list(as_ranked(entries))
    rankings = rankings_of(found)
    assert rankings.rearranged == ()
    for topic in "12":
        assert list(rankings.by_topic[topic]) == [e.doc_id for e in entries if e.topic_id == topic]
    for before, after in zip(entries, found, strict=True):
        # At most as many steps of 2^-23 as there are documents, and of 1e-30 about nought.
        assert abs(before.score - after.score) <= 31 * (abs(before.score) * 2**-22 + 1e-30)
    assert list(as_ranked(found)) == found


def test_by_hand():
    scores = [3.0, 2.0, 2.0, 2.0, 1.9999999, 1.0]
    found = [entry.score for entry in as_ranked(run_of(scores))]
    # From 1 to 2 single precision has steps of 2^-23, and 1.9999999 is 2 - 2^-23 in it. Each that
    # is not below the one before goes two steps below it, which is what 2^-23 of it is.
    assert found == [3.0, 2.0, 2 - 2**-22, 2 - 2**-21, 2 - 3 * 2**-22, 1.0]


def test_trec_eval_ranks_as_pnyx_did():
    pytrec_eval = pytest.importorskip("pytrec_eval")
    entries = run_of([2.0] * 40 + [2.0 - 1e-9] * 20 + [0.0] * 40)
    for last in (0, 39, 59, 60, 99):
        run = {"1": {e.doc_id: e.score for e in as_ranked(entries)}}
        qrels = {"1": {entries[last].doc_id: 1}}
        (found,) = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run).values()
        assert found["recip_rank"] == pytest.approx(1 / (last + 1))


@pytest.mark.parametrize("model", ["dirichlet", "bm25"])
def test_a_search_with_ties_writes_no_run_of_another_order(model, tmp_path, own_place, capsys):
    documents = [Document(f"d{n}", f"Tea is {'hot' if n % 3 else 'cold'}.") for n in range(30)]
    build_index(documents, tmp_path / "i")
    (tmp_path / "topics.tsv").write_text("1\tcold tea\n2\ttea\n")
    with pytest.raises(SystemExit) as stopped:
        main(["search", "i", "--topics", "topics.tsv", "--model", model, "--out", "r"])
    assert stopped.value.code == 0
    entries = list(read_run(str(tmp_path / "r")))
    assert len(entries) == 60
    assert rankings_of(entries).rearranged == ()


def test_converting_a_run_changes_no_score():
    stream = io.StringIO()
    write_run(stream, run_of([1.0, 1.0]))
    assert stream.getvalue().count(" 1.0 ") == 2
