"""Which topics are offered if a question matches none, and is the right one among them?

    PNYX_DATA=DATA python lab/argue/offered_topics.py --work FOLDER [--part development]
    ... --write docs/lab/argue.md

The questions are in people's own words. The passages that `argue` reads for each question have the
title of their page as the topic of their label. The offers of the page are compared with two
baselines: three topics however unlikely, and the topic that at least five of the first eight
passages share. FOLDER stores the indexes.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pages import collections, indexed, reworded

sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

from pnyx.cases.plan import Plan
from pnyx.cases.retrieved_documents import retrieve
from pnyx.models.embed.embedder import embedder_from
from pnyx.search.pipeline import Searcher
from pnyx.search.plan import Scoring, SearchPlan
from pnyx.search.topics import LabelledTopic, labelled_topics, near_topics
from pnyx.stats.intervals import wilson

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))


@dataclass(frozen=True)
class Row:
    """A question: the topics of its passages, best first; their matches; the right topics."""

    read: Sequence[str]
    topics: Sequence[LabelledTopic]
    right: set[str]

    @property
    def counts(self) -> bool:
        """Whether the labels of a topic are used, so that no topic is offered."""
        return any(topic.match.used for topic in self.topics)


def rows_of(part: str, work: Path) -> list[Row]:
    """Return a row for each question of a part, in people's own words."""
    by_name, embedder = collections(DATA), embedder_from()
    reworded(by_name)
    rows = []
    for collection in by_name.values():
        index = indexed(collection, work, embedder)
        searcher = Searcher(index, SearchPlan(scoring=Scoring("hybrid")), embedder=embedder)
        for item in collection.questions:
            if item.part == part:
                documents = retrieve(searcher, item.question, Plan()).documents
                pages = [collection.labels[document.id].page for document in documents]
                topics = [collection.titles.get(page, "") for page in pages]  # one page has none
                matches = searcher.matcher.match(item.question.text, topics)
                counted = labelled_topics([matches.get(topic) for topic in topics])
                right = {collection.titles[page] for page in item.pages}
                rows.append(Row(topics, counted, right))
    return rows


def _shared(row: Row) -> list[str]:
    return [topic for topic, n in Counter(row.read[:8]).items() if n >= 5]


OFFERS: Mapping[str, Callable[[Row], list[str]]] = {
    "likely enough, up to three": lambda row: [n.match.topic for n in near_topics(row.topics)],
    "three, however unlikely": lambda row: [topic.match.topic for topic in row.topics[:3]],
    "shared by five of the first eight": _shared,
}


def share(count: int, of: int) -> str:
    low, high = wilson(count, of)
    return f"{count} of {of}: {count / of:.2f} [{low:.2f}, {high:.2f}]"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", type=Path, metavar="FOLDER", required=True)
    parser.add_argument("--part", choices=("test", "development"), default="test")
    options = parser.parse_args()
    report = Report(f"argue-near-{options.part}")
    rows = rows_of(options.part, options.work)
    free = [row for row in rows if not row.counts]
    there = sum(not row.right.isdisjoint(row.read) for row in free)
    counted = f"labels count for {len(rows) - len(free)}, the others read {there} times a passage"
    report.line(f"{len(rows)} {options.part} questions in own words: {counted} of their topic.")
    report.head("offered", "questions", "topics each", "right among them", "right first")
    for name, offer in OFFERS.items():
        offered = [(row, topics) for row in free if (topics := offer(row))]
        each = sum(len(topics) for _, topics in offered) / len(offered)
        among = sum(not row.right.isdisjoint(topics) for row, topics in offered)
        first = sum(topics[0] in row.right for row, topics in offered)
        report.row(name, f"{len(offered)} of {len(free)}", f"{each:.1f}",
                   share(among, len(offered)), share(first, len(offered)))  # fmt: skip
    report.write(options.write)


if __name__ == "__main__":
    main()
