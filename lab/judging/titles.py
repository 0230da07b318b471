"""Do titles help the packaged judges? On development data with titles, labels and topics.

    python lab/judging/titles.py ../shared/data [TASK...]    # all tasks: 20 minutes

The packaged judge of a task judges every text with and without its title (`judged_text`).
Differences have bootstrap intervals over topics (2,000 samples for AUROC, 10,000 for accuracy),
with the same samples for both.
"""

from __future__ import annotations

import csv
import gzip
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from common import read_csv

from pnyx.core.records import Perspective
from pnyx.judging.answers import Answer, Judged
from pnyx.judging.base import Judge, ask
from pnyx.judging.encoder import EncoderJudge
from pnyx.judging.perspectives import ask_perspectives
from pnyx.judging.questions import Support
from pnyx.judging.stances import ask_relevance, ask_stance
from pnyx.judging.statements import statements
from pnyx.judging.students.judge import load_perspective_student

DRAWS, SEED = 10_000, 0
TITLED, BARE = "title and text", "text alone"


@dataclass(frozen=True)
class Case:
    """One text of a topic with its label."""

    topic: str
    question: str
    title: str
    text: str
    label: bool

    def text_for(self, how: str) -> str:
        """Return the text to judge."""
        return f"{self.title}\n{self.text}" if how == TITLED and self.title else self.text


def sigir(data: Path) -> list[Case]:
    """Return args.me arguments with their conclusions as titles; relevant from grade 3 of 4."""
    topics = {
        row["Topic ID"]: row["Query"] for row in read_csv(data / "sigir19_argsearch/topics.csv")
    }
    return [
        Case(row["Topic ID"], topics[row["Topic ID"]], row["Conclusion"], row["Premise"],
             int(row["Relevance"]) >= 3)
        for row in read_csv(data / "sigir19_argsearch/arguments.csv")
    ]  # fmt: skip


def sigir_crossed(data: Path) -> list[Case]:
    """Return the relevant arguments of each topic, mixed with arguments of other topics."""
    pool = sigir(data)
    draw = random.Random(SEED)
    cases = [case for case in pool if case.label]
    for topic, question in sorted({(case.topic, case.question) for case in pool}):
        others = draw.sample([case for case in pool if case.topic != topic], 20)
        cases += [Case(topic, question, c.title, c.text, label=False) for c in others]
    return cases


def debates(data: Path, *, page: bool) -> list[Case]:
    """Return Touché's topics with points of graded debates; relevant from grade 1 of 2.

    Args:
        data: folder of the data sets.
        page: use the title of the debate instead of the conclusion of the point.
    """
    points = defaultdict(list)
    for row in _lines(data / "arguana_counterargs/arguments.jsonl.gz"):
        if row["type"] == "point":
            points[row["debate"]].append(row)
    places = {name.split("-house-")[-1][:40]: name for name in points if "-house-" in name}
    names = _touche_topics(data)
    graded: dict[tuple[str, str], tuple[int, str]] = {}
    with (data / "touche/debate_links_idebate_debatewise.tsv").open() as stream:
        for link in csv.DictReader(stream, delimiter="\t"):
            name = places.get(link["debate_url"].rsplit("/house-", 1)[-1][:40])
            if name is None or int(link["relevance"]) < 0 or link["topic"] not in names:
                continue
            key = f"{link['year']}/{link['topic']}", name
            best = max(graded.get(key, (0, ""))[0], int(link["relevance"]))
            graded[key] = best, link["debate_title"]
    return [
        Case(topic, names[topic.partition("/")[2]], title if page else point["conclusion"],
             point["premise"], grade >= 1)
        for (topic, name), (grade, title) in sorted(graded.items())
        for point in points[name]
    ]  # fmt: skip


def _touche_topics(data: Path) -> dict[str, str]:
    titles = {}
    for year in ("2020", "2021"):
        text = (data / f"touche/topics-task-1-{year}.xml").read_text()
        for block in re.findall(r"<topic>(.*?)</topic>", text, re.S):
            fields = dict(re.findall(r"<(number|title)>\s*(.*?)\s*</", block, re.S))
            titles[fields["number"]] = fields["title"]
    return titles


def portal(data: Path, name: str, *, side: str = "pro") -> list[Case]:
    """Return arguments of a debate portal with their headlines as titles; do they argue `side`?"""
    cases = []
    for page in json.loads((data / f"perspectrum/{name}_raw.json").read_text()):
        question = page["claim_title"]
        for stance in ("for", "against"):
            for argument in page[f"perspectives_{stance}"]:
                text = " ".join(argument["argument"]["description"]).strip()
                label = (stance == "for") == (side == "pro")
                if len(text.split()) >= 20:
                    title = argument["perspective_title"].strip()
                    cases.append(Case(page["url"], question, title, text, label))
    draw = random.Random(SEED)
    return cases if len(cases) <= 800 else draw.sample(cases, 800)


def relevance(judge: Judge, cases: Sequence[Case], how: str) -> list[float]:
    """Return P(relevant) of each text."""
    questions = [ask_relevance(str(n), c.question, c.text_for(how)) for n, c in enumerate(cases)]
    return [_probability(answer) for answer in ask(judge, questions)]


def stance(judge: Judge, cases: Sequence[Case], how: str) -> list[float]:
    """Return P(pro) minus P(con) of each text, scaled to [0, 1]."""
    questions = [
        ask_stance(f"{side}{n}", c.question, c.text_for(how), side)
        for n, c in enumerate(cases)
        for side in ("pro", "con")
    ]
    probabilities = [_probability(answer) for answer in ask(judge, questions)]
    return [(p - c + 1) / 2 for p, c in zip(probabilities[::2], probabilities[1::2], strict=True)]


def perspectives(judge: Judge, cases: Sequence[Case], how: str) -> list[float]:
    """Return the largest P(supports pro's claim) minus that for con's, over 100-word passages."""
    questions: list[Support] = []
    owner: list[tuple[int, int]] = []
    for number, case in enumerate(cases):
        claims = statements(case.question)
        views = [Perspective(str(i), case.topic, text) for i, text in enumerate(claims)]
        for item in ask_perspectives(str(number), case.text_for(how), views):
            questions.append(item)
            owner.append((number, int(item.extra["perspective_id"])))
    best = np.zeros((len(cases), 2))
    for (number, view), answer in zip(owner, ask(judge, questions), strict=True):
        best[number, view] = max(best[number, view], _probability(answer))
    return [float(row) for row in (best[:, 0] - best[:, 1] + 1) / 2]


def _probability(answer: Answer) -> float:
    assert isinstance(answer, Judged)
    assert answer.probability is not None
    return answer.probability


def auroc(labels: np.ndarray, scores: np.ndarray) -> float:
    """Return the area under the ROC curve; NaN if there is only one class."""
    from scipy.stats import rankdata

    yes = int(labels.sum())
    if not 0 < yes < len(labels):
        return float("nan")
    return float((rankdata(scores)[labels].sum() - yes * (yes + 1) / 2) / yes / (len(labels) - yes))


def accuracy(labels: np.ndarray, scores: np.ndarray) -> float:
    """Return the share of right verdicts at threshold 0.5."""
    return float(((scores > 0.5) == labels).mean())


def compare(name: str, cases: Sequence[Case], by_variant: dict[str, list[float]]) -> Iterator[str]:
    """Yield a line for each figure."""
    labels = np.array([case.label for case in cases])
    places: dict[str, list[int]] = defaultdict(list)
    for number, case in enumerate(cases):
        places[case.topic].append(number)
    groups = [np.array(positions) for positions in places.values()]
    scores = {how: np.array(by_variant[how]) for how in (BARE, TITLED)}
    for figure, of in (("AUROC", auroc), ("accuracy", accuracy)):
        values = {how: of(labels, scores[how]) for how in scores}
        draw = np.random.default_rng(SEED)
        gains = []
        for _ in range(DRAWS if figure == "accuracy" else 2000):
            rows = np.concatenate([groups[i] for i in draw.integers(len(groups), size=len(groups))])
            gains.append(
                of(labels[rows], scores[TITLED][rows]) - of(labels[rows], scores[BARE][rows])
            )
        low, high = np.nanquantile(gains, [0.025, 0.975])
        gain = values[TITLED] - values[BARE]
        yield (f"| {name} | {len(groups)} | {len(cases)} | {figure} | {values[BARE]:.3f} | "
               f"{values[TITLED]:.3f} | {gain:+.3f} [{low:+.3f}, {high:+.3f}] |")  # fmt: skip


def _lines(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def main() -> None:
    """Print a table."""
    data = Path(sys.argv[1])
    encoder, detector = EncoderJudge(), load_perspective_student()
    jobs = [
        ("relevance, args.me, judged pool", sigir(data), relevance, encoder),
        ("relevance, args.me, other topics", sigir_crossed(data), relevance, encoder),
        ("relevance, idebate, conclusions", debates(data, page=False), relevance, encoder),
        ("relevance, idebate, page titles", debates(data, page=True), relevance, encoder),
        ("side, Debatewise", portal(data, "debatewise"), stance, encoder),
        ("side, ProCon", portal(data, "procon"), stance, encoder),
        ("perspectives, Debatewise", portal(data, "debatewise"), perspectives, detector),
        ("perspectives, ProCon", portal(data, "procon"), perspectives, detector),
    ]
    print("| task and data | topics | pairs | figure | text alone | title and text | gain |")
    print("|---|---|---|---|---|---|---|")
    for name, cases, judging, judge in jobs:
        if not name.startswith(tuple(sys.argv[2:])):
            continue
        by_variant = {how: judging(judge, cases, how) for how in (BARE, TITLED)}
        for line in compare(name, cases, by_variant):
            print(line, flush=True)


if __name__ == "__main__":
    main()
