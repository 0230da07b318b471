"""Which topics are offered where a question matches none: is the right one among them?

    PNYX_DATA=DATA python lab/argue/near.py --work FOLDER [--part development]
    ... --write docs/lab/argue.md

Questions in people's own words, and the passages that `argue` reads of each with the title of their
page as the topic of their label. Beside what the page offers: three topics however unlikely, and
the topic that five or more of the first eight passages share. FOLDER keeps the indexes.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from found import Bench, read
from pages import collections, indexed, reworded

sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

from pnyx.models.embed.embedder import embedder_from
from pnyx.search.pipeline import Searcher
from pnyx.search.plan import Scoring, SearchPlan
from pnyx.search.topics import LabelledTopic, labelled_topics, near_topics
from pnyx.stats.intervals import wilson

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))


@dataclass(frozen=True)
class Row:
    """A question: topics of its passages, best first; those topics compared; which are right."""

    read: Sequence[str]
    topics: Sequence[LabelledTopic]
    right: set[str]

    @property
    def counts(self) -> bool:
        """Whether labels on a topic count, so that none is offered."""
        return any(one.match.used for one in self.topics)


def asked(part: str, bench: Bench) -> list[Row]:
    found, plan = collections(DATA), SearchPlan(scoring=Scoring("hybrid"))
    reworded(found)
    rows = []
    for collection in found.values():
        index = indexed(collection, bench.work, bench.embedder)
        searcher = Searcher(index, plan, embedder=bench.embedder)
        for one in collection.asked:
            if one.part == part:
                pages = [collection.labels[p.document.id].page for p in read(searcher, one)]
                topics = [collection.titles.get(page, "") for page in pages]  # one page has none
                matches = searcher.matcher.match(one.question.text, topics)
                counted = labelled_topics([matches.get(topic) for topic in topics])
                right = {collection.titles[page] for page in one.pages}
                rows.append(Row(topics, counted, right))
    return rows


def _shared(row: Row) -> list[str]:
    return [topic for topic, n in Counter(row.read[:8]).items() if n >= 5]


OFFERS: Mapping[str, Callable[[Row], list[str]]] = {
    "likely enough, up to three": lambda row: [n.match.topic for n in near_topics(row.topics)],
    "three, however unlikely": lambda row: [one.match.topic for one in row.topics[:3]],
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
    rows = asked(options.part, Bench(options.work, embedder_from()))
    free = [row for row in rows if not row.counts]
    there = sum(not row.right.isdisjoint(row.read) for row in free)
    counted = f"labels count for {len(rows) - len(free)}, the others read {there} times a passage"
    report.line(f"{len(rows)} {options.part} questions in own words: {counted} of their topic.")
    report.head("offered", "questions", "topics each", "right among them", "right first")
    for name, offer in OFFERS.items():
        made = [(row, topics) for row in free if (topics := offer(row))]
        each = sum(len(topics) for _, topics in made) / len(made)
        among = sum(not row.right.isdisjoint(topics) for row, topics in made)
        first = sum(topics[0] in row.right for row, topics in made)
        report.row(name, f"{len(made)} of {len(free)}", f"{each:.1f}",
                   share(among, len(made)), share(first, len(made)))  # fmt: skip
    report.write(options.write)


if __name__ == "__main__":
    main()
