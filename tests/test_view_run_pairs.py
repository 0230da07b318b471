"""The page that compares two runs, from rankings of two documents for each topic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from command import called
from pnyx.search.pages.run_pair import show_runs
from pnyx.web.results.open_catalogue import open_catalogue
from pnyx.web.results.records import NotFoundError

pytest.importorskip("ir_measures")

# Of two documents found, so many are relevant: P@2 is 0, 1/2 or 1.
FIRST = {"t1": 2, "t2": 1, "t3": 0, "t4": 1}
SECOND = {"t1": 0, "t2": 1, "t3": 1, "t4": 0}


def write_run(path: Path, relevant: dict[str, int]) -> Path:
    """Write a run that has so many relevant documents of each topic first."""
    lines = [
        f"{topic} Q0 {'r' if rank <= count else 'n'}{rank} {rank} {1 / rank} {path.stem}\n"
        for topic, count in relevant.items()
        for rank in (1, 2)
    ]
    path.write_text("".join(lines))
    return path


@pytest.fixture
def catalogue(tmp_path, capsys):
    runs = write_run(tmp_path / "a.run", FIRST), write_run(tmp_path / "b.run", SECOND)
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("".join(f"{topic} 0 r{n} 1\n" for topic in FIRST for n in (1, 2)))
    status, out, error = called(capsys, "measure", "retrieval", *runs, "--qrels", qrels,
                                "--measure", "P@2", "--measure", "P@1", "--json")  # fmt: skip
    assert status == 0, error
    (tmp_path / "said.json").write_text(out)
    return open_catalogue([str(tmp_path / "said.json")])


def test_topics_come_by_how_far_two_runs_differ(catalogue):
    values: dict[str, Any] = dict(show_runs(catalogue, "a", "b").values)
    assert (values["runs"], values["source"].name) == (("a", "b"), "said")
    gaps = [(topic.name, pair, gap, judged) for topic, pair, gap, judged in values["topics"]]
    assert gaps == [
        ("t1", (1.0, 0.0), 1.0, False),
        ("t3", (0.0, 0.5), -0.5, False),
        ("t4", (0.5, 0.0), 0.5, False),
        ("t2", (0.5, 0.5), 0.0, False),
    ]


def test_measures_are_compared_over_all_topics(catalogue):
    values: dict[str, Any] = dict(show_runs(catalogue, "a", "b").values)
    first, second = values["measures"]
    assert [m.measure for m in (first, second)] == ["P@2", "P@1"]
    assert (first.first.value, first.second.value) == (0.5, 0.25)
    assert first.difference == pytest.approx(0.25)
    assert first.low <= 0.25 <= first.high
    assert (first.topics, first.total_topics) == (4, 4)
    assert 0 < first.p < 1
    assert second.difference == pytest.approx(3 / 4 - 2 / 4)
    turned: dict[str, Any] = dict(show_runs(catalogue, "b", "a").values)
    assert turned["measures"][0].difference == pytest.approx(-0.25)


def test_what_is_not_there_cannot_be_compared(catalogue):
    assert show_runs(catalogue, "a", "b", "said").values["source"].name == "said"
    for arguments in (("a", "c"), ("a", "b", "other")):
        with pytest.raises(NotFoundError):
            show_runs(catalogue, *arguments)


@pytest.mark.parametrize(("sizes", "title"), [((3, 3), "3"), ((1, 3), "1 to 3"),
                                              ((1, 2, 3), "1 to 3")])  # fmt: skip
def test_a_table_of_runs_says_on_how_many_topics_they_are(sizes, title, tmp_path, capsys):
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("".join(f"{topic} 0 r1 1\n" for topic in FIRST))
    runs = [
        write_run(tmp_path / f"run{n}.run", dict(list(FIRST.items())[:size]))
        for n, size in enumerate(sizes)
    ]
    status, out, error = called(capsys, "measure", "retrieval", *runs, "--qrels", qrels,
                                "--measure", "P@1", "--topics-of", "run")  # fmt: skip
    assert status == 0, error
    assert f"retrieval: {len(sizes)} runs on {title} topics of" in " ".join(out.split())
