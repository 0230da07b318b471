"""Terms and rankings equal Lucene's, from the text on, where it is installed."""

import json
import random
import sys
from pathlib import Path

import pytest

from pnyx.core.records import Document

FOLDER = Path(__file__).parents[1] / "lab" / "search"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the benchmarks are not in this copy")


@pytest.fixture
def parity(monkeypatch):
    """Import the benchmarks' modules as they are when run as scripts; forget them afterwards."""
    before, path = set(sys.modules), list(sys.path)
    monkeypatch.syspath_prepend(FOLDER)
    import parity

    yield parity
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if str(FOLDER.parent) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def lucene(parity, tmp_path):
    import processes

    try:
        return processes.Lucene(tmp_path, quick=True)
    except processes.EngineError as error:
        pytest.skip(f"no Lucene: {error}")


def corpus(seed, count=2000, vocabulary=2000):
    """Return documents of 0 to 400 words with a long tail, and questions."""
    rng = random.Random(seed)
    # Words that stemming leaves alone and words that it does not.
    words = [f"{stem}{end}" for stem in ("tax", "vot", "school") for end in ("es", "ing", "", "'s")]
    words += [
        "US",
        "e.g",
        "7.7",
        "150,000",
        "ideology",
        "http://www.x.org/a_b",
        "İstanbul\n",
        "東京",
    ]
    words += [f"w{number}" for number in range(vocabulary)]
    weights = [1 / (number + 3) for number in range(len(words))]
    texts = [
        " ".join(rng.choices(words, weights, k=int(rng.paretovariate(1.2) * 8) % 400))
        for _ in range(count)
    ]
    texts += ["", "the of and", "voting " * 300 + "taxes", "taxes voting", "taxes voting"]
    texts += [" ".join(rng.choices(words, weights, k=20_000))]  # a length far from exact
    questions = [" ".join(rng.choices(words, k=rng.randint(1, 8))) for _ in range(100)]
    questions += ["voting voting taxes", "voting unheardof", "the schools' taxes", "taxes"]
    records = [
        Document(f"d{number}", text, "Schools" if number % 7 == 0 else "")
        for number, text in enumerate(texts)
    ]
    return records, questions


@pytest.mark.slow
def test_terms_equal_lucenes(parity, lucene, tmp_path):
    import analysis

    golden = json.loads((Path(__file__).parent / "lucene_terms.json").read_text(encoding="utf-8"))
    texts, terms = zip(*((c["text"], c["terms"]) for c in golden["cases"]), strict=True)
    assert lucene.terms(texts, tmp_path) == list(terms)
    for make in (analysis.by_class, analysis.any_at_all, analysis.stems):
        texts = list(make(random.Random(5), 30_000))
        ours, theirs, differ, differ_compiled = analysis.compare(lucene, texts, tmp_path)
        assert ours == theirs > 1000
        assert differ == differ_compiled == 0


@pytest.mark.slow
def test_rankings_equal_lucenes(parity, lucene, tmp_path):
    records, questions = corpus(seed=4)
    found = parity.with_lucene(records, questions, tmp_path / "run", lucene, top=1000)
    assert set(found) == {"dirichlet", "bm25", "touche"}
    for model, one in found.items():
        assert one.questions > 90, model
        # Lucene sums in float32: of documents whose scores nearly tie, the order may differ.
        assert one.tied == 1.0, (model, one)
        assert one.identical > 0.8, (model, one)
        assert one.overlap > 0.999, (model, one)
        assert one.difference < 1e-4, (model, one)


def test_an_engine_that_is_missing_stands_in_the_tables(parity, tmp_path, capsys):
    import processes
    import speed

    run = speed.Run(tmp_path)
    with run.of("lucene"):
        processes.Lucene(tmp_path, jars=tmp_path)
    report = speed.Report("search speed")
    speed.searching_table(report, run, ["lucene"])
    speed.indexing_table(report, run, ["lucene"])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| Lucene")]
    assert len(rows) == 4
    assert all("failed: " in row and "apt-get install liblucene8-java" in row for row in rows)


def test_comparing_tells_rankings_apart(parity):
    import numpy as np

    def ranking(numbers, scores):
        return [(np.array(numbers), np.array(scores, dtype=float))]

    ours = ranking([3, 1, 2], [3.0, 2.0, 1.0])
    assert parity.compare(ours, ours) == (1, 1.0, 1.0, 1.0, 0.0)
    swapped = parity.compare(ours, ranking([1, 3, 2], [3.0, 2.0, 1.0]))
    assert swapped == (1, 0.0, 0.0, 1.0, 1.0)
    near = parity.compare(
        ranking([3, 1, 2], [3.0, 3.0, 1.0]), ranking([1, 3, 2], [3.0, 3.0 - 1e-6, 1.0])
    )
    assert (near.identical, near.tied) == (0.0, 1.0)
    other = parity.compare(ours, ranking([3, 1, 4], [3.0, 2.0, 1.0]))
    assert (other.tied, other.overlap) == (1.0, pytest.approx(2 / 3))  # 2 and 4 tie for the last
    assert parity.compare(ours, ranking([3, 4, 1], [3.0, 2.5, 2.0])).tied == 0.0
    assert parity.compare(ours, ranking([3, 1], [3.0, 2.0])).tied == 0.0
