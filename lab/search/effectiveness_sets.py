"""The three real sets of `effectiveness.py`: documents, questions, judgements."""

from __future__ import annotations

import csv
import gzip
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pnyx.core.records import Argument, Document, Evidence, Premise, Qrel, Question, RunEntry, Side

sys.path.insert(0, str(Path(__file__).parents[1] / "training"))

from train_quality import DATA, read_ibm, read_webis, train

STEP = 1000
"""Grades are whole numbers, so gains are in thousandths. nDCG does not depend on the scale."""

Row = dict[str, str]


@dataclass(frozen=True)
class Collection:
    """Documents with questions on them.

    Attributes:
        name: short name, also of the index folder.
        records: the documents.
        questions: the topics.
        qrels: name of a gain, e.g. `relevance` -> its judgements.
        predict: predicts the quality of the records by a model that has not seen their topics; None
            if the packaged model has not seen the set.
        predicted_by: description of `predict`.
        shipped: rankings published by the authors of the set, as runs.
    """

    name: str
    records: list[Evidence]
    questions: list[Question]
    qrels: Mapping[str, list[Qrel]]
    predict: Callable[[], np.ndarray] | None
    predicted_by: str
    shipped: Mapping[str, list[RunEntry]]


def _rows(path: str) -> list[Row]:
    with (DATA / path).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


# --- Webis-ArgQuality-20 ----------------------------------------------------------------------

_WEBIS_GAINS = {
    "relevance": "Relevance",
    "quality": "Combined Quality",
    "rhetorical": "Rhetorical Quality",
    "logical": "Logical Quality",
    "dialectical": "Dialectical Quality",
}


def webis() -> Collection:
    """Return Webis: judged pools of premises without conclusions (clusters: first sentences)."""
    rows = _rows("webis_argquality20/webis-argquality20-arguments.csv")
    first = {_webis_id(row): number for number, row in reversed(list(enumerate(rows)))}
    names = sorted(first, key=first.__getitem__)
    qrels = {}
    for gain, column in _WEBIS_GAINS.items():
        least = min(float(row[column]) for row in rows if row["Is Argument?"] == "True")
        qrels[gain] = [
            Qrel(
                row["Topic ID"],
                _webis_id(row),
                round(STEP * (float(row[column]) - least)) if row["Is Argument?"] == "True" else 0,
            )
            for row in rows
        ]
    topics = _rows("webis_argquality20/webis-argquality20-topics.csv")
    return Collection(
        "webis",
        [Document(name, rows[first[name]]["Premise"]) for name in names],
        [Question(row["Topic ID"], row["Long Query"]) for row in topics],
        qrels,
        lambda: _unseen_topics()[[first[name] for name in names]],
        "the packaged recipe, the text's topic left out",
        _shipped("webis_argquality20/webis-argquality20-ranking.csv", "Model", str, 0),
    )


def _webis_id(row: Row) -> str:
    return f"{row['Discussion ID']}-{row['Argument ID']}"


def _unseen_topics() -> np.ndarray:
    """Predict the quality of each Webis text by a model that saw neither its topic nor itself."""
    part, ibm = read_webis(), read_ibm()
    ibm_rows = np.flatnonzero(ibm.split == "train")
    out = np.zeros(len(part.texts), dtype=np.float32)
    for topic in np.unique(part.topics):
        test = np.flatnonzero(part.topics == topic)
        out[test] = _trained_without(part, ibm, ibm_rows, {part.texts[row] for row in test}, topic)(
            [part.texts[row] for row in test]
        )
    return out


def _trained_without(part, ibm, ibm_rows, texts: set[str], topic: str = "") -> Callable:  # noqa: ANN001
    train_rows = [
        r for r, text in enumerate(part.texts) if part.topics[r] != topic and text not in texts
    ]
    return train(part, ibm, np.array(train_rows), ibm_rows).predict


# --- SIGIR-19 ArgSearch -----------------------------------------------------------------------

_SIGIR_QUALITY = ("Rhetorical", "Logical", "Dialectical")


def sigir() -> Collection:
    """Return SIGIR: conclusions with premises; grades 1 to 4, and 0 for non-arguments."""
    rows = _rows("sigir19_argsearch/arguments.csv")
    by_id = {_sigir_id(row): row for row in rows}
    records: list[Evidence] = [
        Argument(name, row["Conclusion"], (Premise(row["Premise"]),)) for name, row in by_id.items()
    ]
    qrels: dict[str, list[Qrel]] = defaultdict(list)
    for row in rows:
        topic, name = str(int(row["Topic ID"])), _sigir_id(row)
        quality = [max(0, int(row[f"{dimension} Quality"])) for dimension in _SIGIR_QUALITY]
        grades = {"relevance": max(0, int(row["Relevance"])), "quality": sum(quality)}
        grades |= dict(zip(map(str.lower, _SIGIR_QUALITY), quality, strict=True))
        for gain, grade in grades.items():
            qrels[gain].append(Qrel(topic, name, grade))
    questions = [
        Question(str(int(row["Topic ID"])), row["Query"])
        for row in _rows("sigir19_argsearch/topics.csv")
    ]
    shipped = _shipped(
        "sigir19_argsearch/rankings.csv", "Engine", lambda number: str(int(number)), 1
    )
    texts = [row["Premise"] for row in by_id.values()]
    return Collection(
        "sigir", records, questions, qrels, lambda: _without_shared(texts),
        "the packaged recipe without the texts of this set", shipped,
    )  # fmt: skip


def _sigir_id(row: Row) -> str:
    return f"{int(row['Discussion ID'])}-{int(row['Argument ID'])}"


def _without_shared(texts: list[str]) -> np.ndarray:
    """Predict by a model that was not trained on texts that are in both sets."""
    part, ibm = read_webis(), read_ibm()
    bare = {text.strip() for text in texts}
    shared = {text for text in part.texts if text.strip() in bare}
    return _trained_without(part, ibm, np.flatnonzero(ibm.split == "train"), shared)(texts)


def _shipped(
    path: str, system: str, number: Callable[[str], str], first: int
) -> dict[str, list[RunEntry]]:
    """Read rankings; if one contains an argument several times, the first rank counts."""
    places: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
    for row in sorted(_rows(path), key=lambda row: int(row["Rank"])):
        name = f"{number(row['Discussion ID'])}-{number(row['Argument ID'])}"
        rank = int(row["Rank"]) + 1 - first
        places[row[system]].setdefault((number(row["Topic ID"]), name), rank)
    return {
        system: [RunEntry(topic, doc, rank, -float(rank)) for (topic, doc), rank in ranks.items()]
        for system, ranks in places.items()
    }


# --- debates ----------------------------------------------------------------------------------


def debates() -> list[Collection]:
    """Return debates: titles are questions, their arguments are relevant, sides are subtopics."""
    return [_idebate(), _perspectrum("debatewise"), _perspectrum("procon")]


def without_sides(qrels: Iterable[Qrel]) -> list[Qrel]:
    """Return the judgements of debates with each document once, independent of its side."""
    return [Qrel(*pair, 1) for pair in dict.fromkeys((q.topic_id, q.doc_id) for q in qrels)]


class _Debates:
    """Collect debates; equal texts become one document, equal titles one question."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._numbers: dict[str, str] = {}
        self._records: list[Evidence] = []
        self._titles: dict[str, str] = {}
        self._sides: dict[str, dict[tuple[str, Side], None]] = {}

    def add(self, title: str, side: Side, conclusion: str, premise: str) -> None:
        words = _words(f"{conclusion} {premise}")
        if words not in self._numbers:
            self._numbers[words] = f"{self.name}-{len(self._records)}"
            premises = (Premise(premise),) if premise.strip() else ()
            # Documents contain neither debate nor side, which systems have to find.
            self._records.append(Argument(self._numbers[words], conclusion, premises))
        self._titles.setdefault(_words(title), " ".join(title.split()))
        self._sides.setdefault(_words(title), {})[self._numbers[words], side] = None

    def collection(self) -> Collection:
        questions, qrels = [], []
        for number, (key, title) in enumerate(self._titles.items()):
            topic = f"{self.name}-{number}"
            questions.append(Question(topic, title))
            qrels += [Qrel(topic, doc, 1, side) for doc, side in self._sides[key]]
        return Collection(
            self.name, self._records, questions, {"sides": qrels}, None, "the packaged model", {}
        )


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _lines(path: str) -> Iterable[dict]:
    with gzip.open(DATA / path, "rt", encoding="utf-8") as stream:
        yield from map(json.loads, stream)


def _idebate() -> Collection:
    """Return the points of idebate; a debate under several themes is one debate."""
    folder = "arguana_counterargs"
    titles = {
        (row["theme"], row["debate"]): row["title"] for row in _lines(f"{folder}/debates.jsonl.gz")
    }
    collector = _Debates("idebate")
    for row in _lines(f"{folder}/arguments.jsonl.gz"):
        title = titles.get((row["theme"], row["debate"]))
        if row["type"] == "point" and title is not None:
            collector.add(title, row["stance"], row["conclusion"], row["premise"])
    return collector.collection()


def _perspectrum(name: str) -> Collection:
    rows = json.loads((DATA / f"perspectrum/{name}_raw.json").read_text(encoding="utf-8"))
    collector = _Debates(name)
    sides: dict[str, Side] = {"for": "pro", "against": "con"}
    for row in rows:
        for side, stance in sides.items():
            for point in row[f"perspectives_{side}"]:
                premise = "\n".join(point["argument"]["description"])
                collector.add(row["claim_title"], stance, point["perspective_title"], premise)
    return collector.collection()
