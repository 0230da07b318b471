"""Which topics of a corpus ask a question or its opposite, so that their labels can be used.

A topic matches by the question's words or by name; others are compared in meaning
(docs/explain/decisions/sides.md).
"""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from pnyx.core.errors import InputError, shorten
from pnyx.formats.text.words import folded
from pnyx.judging.answers import Judged
from pnyx.judging.questions import Support
from pnyx.judging.statements import statements
from pnyx.search.polarity import MOST, bare_claim, compare, read_claim, same_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

NOT: Final = "not:"
"""Prefix of a topic named by the user whose yes is the question's no."""

Why: TypeAlias = Literal["words", "named", "meaning"]

_SHOWN = 5
"""Maximum number of topics named in a message."""
_MEANT, _MAY_BE = 3, 0.02
"""Number of topics suggested if none matches the question, and their minimum probability; chosen on
development questions in people's own words (docs/lab/argue.md)."""
_KEPT = 4_096
"""Maximum cached pairs of a question and a topic."""

_REASONS: Mapping[Why, str] = {
    "words": "has the words of the question",
    "named": "was named",
    "meaning": "asks the same in other words",
}


@dataclass(frozen=True, slots=True)
class TopicMatch:
    """How a topic of the corpus relates to a question."""

    topic: str  # as the corpus words it
    same: float  # P(it asks the same, with the same yes)
    opposite: float  # P(it asks the opposite)
    why: Why  # `words`, `named` (by hand) or `meaning`
    used: bool  # whether its labels are used

    @property
    def relation(self) -> Literal[1, -1]:
        """1 if it asks the same, -1 if it asks the opposite."""
        return 1 if self.same >= self.opposite else -1

    @property
    def probability(self) -> float:
        """The probability of `relation`."""
        return max(self.same, self.opposite)

    @property
    def reason(self) -> str:
        """Why its labels are used, in words."""
        other = "" if self.relation == 1 else ", the other way round: its pro is con here"
        figure = "p > 0.99" if self.probability > 0.99 else f"p = {self.probability:.2f}"
        sure = f" ({figure})" if self.why == "meaning" else ""
        return f"{_REASONS[self.why]}{other}{sure}"

    def row(self) -> dict[str, str | float | bool]:
        """Return it as JSON values."""
        return {
            "topic": self.topic,
            "relation": "same" if self.relation == 1 else "opposite",
            "same": round(self.same, 4),
            "opposite": round(self.opposite, 4),
            "why": self.why,
            "used": self.used,
        }


class _Weights(NamedTuple):
    """Logistic regressions, and thresholds for using labels; see `weights/topics.json`."""

    matter: Sequence[float]
    way: Sequence[float]
    way_unread: Sequence[float]
    least: float  # minimum P(relation)
    least_way: float  # if the matter is the same
    least_unread: float  # without the detector


@functools.cache
def _weights() -> _Weights:
    text = resources.files("pnyx.search").joinpath("weights", "topics.json").read_text("utf-8")
    row = json.loads(text)
    matter, way, unread = ([row[part][name] for name in names] for part, names in _PARTS.items())
    return _Weights(matter, way, unread, row["least"], row["least_way"], row["least_unread"])


class TopicMatcher:
    """Compares the topics of a corpus with questions.

    Only topics that neither have the question's words nor are named need a model: the packaged
    encoder and, for the few that may be on the same matter, the packaged detector of perspectives.

    Args:
        named: topics that are about the question; `not: TOPIC` for one that asks the opposite. Case
            and white space are ignored. InputError: one is empty, or named both ways.
        reads: whether the detector decides the direction of such a topic (about 0.2 s of CPU); else
            words and cosines decide, for fewer topics with the same accuracy.
    """

    def __init__(self, named: Sequence[str] = (), *, reads: bool = True) -> None:
        self._reads = reads
        self._named: dict[str, int] = {}
        self._typed: dict[str, str] = {}
        self._ways: dict[tuple[str, str], float] = {}  # the detector is slow
        for name in named:
            typed, relation = name.strip(), 1
            if typed.casefold().startswith(NOT):
                typed, relation = typed[len(NOT) :].strip(), -1
            text = folded(typed)
            self._typed.setdefault(text, typed)
            if not text:
                raise InputError(f"topic: found {shorten(name, 60)!r}, expected one of the corpus")
            if self._named.setdefault(text, relation) != relation:
                raise InputError(f"topic: {shorten(text, 60)!r} is named both ways")

    def match(
        self, question: str, topics: Iterable[str], *, every: bool = True
    ) -> dict[str, TopicMatch]:
        """Compare distinct topics with a question; empty ones are left out.

        Without `every`, topics are left out too if their words alone rule out that their labels
        count, so that most searches need not embed anything.
        """
        named_topics = [topic for topic in dict.fromkeys(topics) if topic.strip()]
        matches: dict[str, TopicMatch] = {}
        rest = []
        for topic in named_topics:
            why: Why = "named"
            relation = self._named.get(folded(topic), 0)
            if not relation:
                why, relation = "words", same_words(topic, question)
            if relation:
                matches[topic] = TopicMatch(topic, relation == 1, relation == -1, why, True)
            else:
                rest.append(topic)
        if not every:
            rest = self._may_count(question, rest)
        if rest and question.strip():
            matches |= self._compare(question, named_topics, rest)
        elif rest:
            matches |= {topic: TopicMatch(topic, 0.0, 0.0, "meaning", False) for topic in rest}
        return {topic: matches[topic] for topic in named_topics if topic in matches}

    def _may_count(self, question: str, topics: list[str]) -> list[str]:
        """Return the topics whose labels may count, by what can be said without a model."""
        if self._reads or not topics:
            return topics
        weights = _weights()
        ways = _logistic(way_features(question, topics, reads=False), weights.way_unread)
        least = weights.least_unread
        return [t for t, way in zip(topics, ways, strict=True) if max(way, 1 - way) >= least]

    def _compare(
        self, question: str, topics: Sequence[str], rest: Sequence[str]
    ) -> dict[str, TopicMatch]:
        """Compare `rest` in meaning; `topics` contains them and the known matches."""
        weights = _weights()
        rows = matter_features(question, topics)
        on_matter = dict(zip(topics, _logistic(rows, weights.matter), strict=True))
        likely = [topic for topic in rest if on_matter[topic] >= weights.least]
        cached = self._ways if len(self._ways) < _KEPT else {}
        ways = {topic: cached[question, topic] for topic in likely if (question, topic) in cached}
        new = [topic for topic in likely if topic not in ways]
        rows = way_features(question, new, reads=self._reads)
        read = _logistic(rows, weights.way if self._reads else weights.way_unread)
        ways |= zip(new, read, strict=True)
        self._ways = cached | {(question, topic): way for topic, way in ways.items()}
        least_way = weights.least_way if self._reads else weights.least_unread
        matches = {}
        for topic in rest:
            way = ways.get(topic, 0.5)
            same, opposite = on_matter[topic] * way, on_matter[topic] * (1 - way)
            sure = max(way, 1 - way) >= least_way and max(same, opposite) >= weights.least
            matches[topic] = TopicMatch(topic, same, opposite, "meaning", sure)
        return matches

    def problems(self, topics: Iterable[str]) -> list[str]:
        """Say which topics named by the user are not among these, with examples of these."""
        by_name = {folded(topic): topic for topic in topics if topic.strip()}
        missing = [name for name in self._named if name not in by_name]
        if not missing:
            return []
        examples = [f"“{shorten(topic, 60)}”" for topic in list(by_name.values())[:_SHOWN]]
        there = (
            f"those found are on {', '.join(examples)}" if examples else "none found has a label"
        )
        more = " and others" if len(by_name) > _SHOWN else ""
        return [
            f"no passage found has a label on the topic “{shorten(self._typed[name], 60)}”: "
            f"{there}{more}"
            for name in missing
        ]


class LabelledTopic(NamedTuple):
    """A topic of labels on the passages found, and how many passages have one."""

    match: TopicMatch
    passages: int


def labelled_topics(matches: Iterable[TopicMatch | None]) -> tuple[LabelledTopic, ...]:
    """Count the passages of each topic: first topics whose labels are used, by probability."""
    counts = Counter(match for match in matches if match is not None)
    labelled = [LabelledTopic(match, count) for match, count in counts.items()]
    return tuple(
        sorted(
            labelled,
            key=lambda topic: (-topic.match.used, -topic.match.same - topic.match.opposite),
        )
    )


def near_topics(topics: Sequence[LabelledTopic]) -> tuple[LabelledTopic, ...]:
    """Return the `labelled_topics` that the question may mean; none if labels are used."""
    if any(match.used for match, _ in topics):
        return ()
    may_be = (topic for topic in topics if topic.match.same + topic.match.opposite >= _MAY_BE)
    return tuple(topic for topic in may_be if len(topic.match.topic) <= MOST)[:_MEANT]


def _logistic(rows: Floats, weights: Sequence[float]) -> list[float]:
    import numpy as np

    if not len(rows):
        return []
    probabilities: list[float] = (1 / (1 + np.exp(-(rows @ np.array(weights))))).tolist()
    return probabilities


MATTER: Final = ("claims", "matter", "texts", "behind", "no_word", "constant")
"""Features for whether two texts ask about the same matter; see `matter_features`."""

WAY: Final = ("words_0", "words_2", "words_4", "words_6", "reads", "reads_opposites")
"""Features for whether they ask the same or the opposite; see `way_features`."""

WAY_UNREAD: Final = WAY[:4]
"""The same without the detector."""

_PARTS: Mapping[str, Sequence[str]] = {"matter": MATTER, "way": WAY, "way_unread": WAY_UNREAD}


def matter_features(question: str, topics: Sequence[str]) -> Floats:
    """Return for each topic the columns of `MATTER`; float64 (topics, 6)."""
    import numpy as np

    from pnyx.models.embed.encoder import load_encoder

    texts = [text[:MOST] for text in (question, *topics)]
    forms = zip(*map(_compared, texts), strict=True)
    encoder = load_encoder()
    cosines = []
    for form in forms:
        vectors = encoder.encode(list(form))
        cosines.append(vectors[1:] @ vectors[0])
    rows = np.stack(cosines, axis=1).astype(np.float64)
    near = rows.sum(axis=1)
    behind = near - near.max(initial=-3.0)
    matter = read_claim(texts[0]).matter
    no_word = [matter.isdisjoint(read_claim(text).matter) for text in texts[1:]]
    return np.column_stack([rows, behind, no_word, np.ones(len(rows))])


@functools.lru_cache(maxsize=4096)
def _compared(text: str) -> tuple[str, str, str]:
    """Return the texts embedded for a text: its bare claim, its subject, and itself."""
    return bare_claim(text), read_claim(text).about or text, text


def prepare_topics(topics: Iterable[str]) -> None:
    """Embed topics in advance, so that the first question need not wait."""
    from pnyx.models.embed.encoder import load_encoder

    cut = [topic[:MOST] for topic in topics]
    load_encoder().encode([text for texts in map(_compared, cut) for text in texts])


def way_features(question: str, topics: Sequence[str], *, reads: bool = True) -> Floats:
    """Return for each topic the columns of `WAY`, float64 (topics, 6), or else of `WAY_UNREAD`, 4.

    Whether the words agree (`compare`), 1 or -1 in the column for that many unexplained words or
    more; by how many log-odds what pro says on the topic supports what pro says on the question
    rather than what con says, and the reverse; the same for what con says on both. All features
    change sign if exactly one of the two texts is negated.
    """
    import numpy as np

    rows = np.zeros((len(topics), len(WAY)))
    question, topics = question[:MOST], [topic[:MOST] for topic in topics]
    for row, topic in enumerate(topics):
        agree, unknown = compare(read_claim(topic), read_claim(question))
        rows[row, min(unknown // 2, 3)] = agree
    if not reads:
        return rows[:, [WAY.index(name) for name in WAY_UNREAD]]
    question_claims = statements(question)
    supports: list[Support] = []
    places: list[tuple[int, int]] = []
    for row, topic in enumerate(topics):
        topic_claims = statements(topic)
        for column, passage, pair in (
            (4, topic_claims[0], question_claims),
            (4, question_claims[0], topic_claims),
            (5, topic_claims[1], question_claims[::-1]),
            (5, question_claims[1], topic_claims[::-1]),
        ):
            supports += [Support("", passage, statement) for statement in pair]
            places.append((row, column))
    for row_number, difference in zip(places, _differences(supports), strict=True):
        rows[row_number] += difference
    return rows


_MOST_ODDS = 5.0


def _differences(supports: Sequence[Support]) -> list[float]:
    """Return, for each pair of questions, by how many log-odds the first is more probable."""
    import numpy as np

    from pnyx.judging.calibration.curves import log_odds
    from pnyx.judging.students.judge import load_perspective_student

    if not supports:
        return []
    answers = load_perspective_student().judge(supports)
    stated = [a.probability if isinstance(a, Judged) else None for a in answers]
    differences = []
    for first, other in zip(stated[::2], stated[1::2], strict=True):
        if first is None or other is None:
            differences.append(0.0)  # a pair needs both statements to show a direction
            continue
        difference = float(np.subtract(*log_odds([first, other])))
        differences.append(min(max(difference, -_MOST_ODDS), _MOST_ODDS))
    return differences
