"""Scores pairs by shared words, without a network: the first stage of a cascade."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pnyx.core.errors import InputError, shorten
from pnyx.core.files import parse_json_object, read_lines
from pnyx.formats.fields import number
from pnyx.formats.text.folded_words import FoldedWords
from pnyx.judging.passages import read_sentences
from pnyx.judging.questions import Support
from pnyx.judging.students.regression import STRENGTHS, fit_regressions
from pnyx.judging.students.scorers import Floats, LinearScorer, check_version
from pnyx.judging.students.trainer import Report, Trained, Trainer, TrainingExample

WORDS, WEIGHTS = "words.json", "weights.safetensors"
MAX_WORDS = 50_000
"""Maximum number of words with a known frequency; all others count as unseen."""

FEATURES_VERSION = 1
"""Version of the features, including the words they count (`FoldedWords`, version 1): weights
fitted to another version are invalid."""

FEATURES = (
    "question held by passage",
    "question held by sentence, best",
    "definition held by passage",
    "definition like passage",
    "definition like sentence, best",
    "definition like sentence, mean",
    "part held by passage, mean",
    "part held by passage, best",
    "part held by sentence, mean",
    "part held by sentence, best",
    "part held by sentence, best 3",
    "part like sentence, mean",
    "part like sentence, best",
    "part like sentence, best 3",
    "question's phrases held by passage",
    "definition's phrases held by passage",
    "length of passage",
)
"""*Held*: the share of one text's words that occur in the other, weighted by inverse document
frequency. *Like*: the cosine of both, with the same weights. *Definition* is question and
definition together, *parts* are its sentences, *phrases* pairs of adjacent words. All are in [0, 1]
except the length: the logarithm of the passage's words, divided by 5. Lengths of question and
definition are left out: they distinguish questions, not passages."""

_BEST = 3
_FEWEST = 2
"""Minimum number of different words in a part; shorter ones are bullets or numbers."""
_MOST_TERMS = 1000
"""Maximum number of different words of question and definition: bounds the memory."""
_REMEMBERED_WORDS = 200_000
_REMEMBERED_QUESTIONS = 1000
_LOG_SCALE = 5.0
_TINY = 1e-12

Phrase = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Text:
    """A passage as words."""

    bags: Sequence[frozenset[str]]  # the terms of the passage, then those of each sentence
    norms: Floats  # [bags], of their weight vectors
    sentences: Sequence[Sequence[str]]  # terms in order


@dataclass(frozen=True, slots=True)
class _QuestionTerms:
    """The terms of question and definition, which are the columns."""

    columns: Mapping[str, int]
    shares: Floats  # weights of question, definition, parts, as shares
    like: Floats  # squared weights over their norms
    phrases: Mapping[Phrase, tuple[float, float]]  # shares of two adjacent terms


class _Terms(dict[str, str | None]):
    """Word -> term; None if it is left out."""

    term: Callable[[str], str | None]

    def __missing__(self, word: str) -> str | None:
        term = self[word] = self.term(word)
        return term


class _Squares(dict[str, float]):
    """Term -> squared weight."""

    unseen: float

    def __missing__(self, _: str) -> float:
        return self.unseen


class Lexicon:
    """Inverse document frequency of known terms and of `unseen` ones; features of pairs."""

    def __init__(self, weights: Mapping[str, float], unseen: float) -> None:
        self.weights, self.unseen = weights, unseen
        self._squares = _Squares({term: weight**2 for term, weight in weights.items()})
        self._squares.unseen = unseen**2
        self._tokenizer = FoldedWords("english")
        self._terms = _Terms()
        self._terms.term = self._tokenizer.term
        self._question_terms: dict[tuple[str, str], _QuestionTerms] = {}

    def features(self, questions: Sequence[Support]) -> Floats:
        """Return the features of pairs, float64 [n, len(FEATURES)]; see `FEATURES`."""
        out = np.empty((len(questions), len(FEATURES)))
        read: dict[str, _Text] = {}
        for row, question in zip(out, questions, strict=True):
            text = read.get(question.text)
            if text is None:
                text = read[question.text] = self._read(question.text)
            row[:] = _compare(text, self._look_for(question.statement, question.guideline))
        return out

    def sentences(self, text: str) -> list[list[str]]:
        """Return the terms of each sentence, in order; very long texts are cut."""
        terms = self._terms
        if len(terms) > _REMEMBERED_WORDS:
            terms.clear()
        words = self._tokenizer.words
        return [
            [term for term in map(terms.__getitem__, words(sentence)) if term]
            for sentence in read_sentences(text)
        ]

    def _weight(self, term: str) -> float:
        return self.weights.get(term, self.unseen)

    def _read(self, text: str) -> _Text:
        sentences = self.sentences(text)
        bags = [frozenset(terms) for terms in sentences]
        bags.insert(0, frozenset().union(*bags))
        square = self._squares.__getitem__
        # The order of a set is not reproducible; fsum does not depend on it.
        norms = np.sqrt([math.fsum(map(square, bag)) for bag in bags])
        return _Text(bags, np.maximum(norms, _TINY), sentences)

    def _look_for(self, statement: str, guideline: str) -> _QuestionTerms:
        key = statement, guideline
        if key not in self._question_terms:
            if len(self._question_terms) >= _REMEMBERED_QUESTIONS:
                self._question_terms.clear()
            self._question_terms[key] = self._new_terms(
                self.sentences(statement), self.sentences(guideline)
            )
        return self._question_terms[key]

    def _new_terms(self, question: list[list[str]], definition: list[list[str]]) -> _QuestionTerms:
        terms = dict.fromkeys(t for sentence in [*question, *definition] for t in sentence)
        columns = {term: column for column, term in enumerate(list(terms)[:_MOST_TERMS])}
        weights = np.array([self._weight(term) for term in columns])

        def bag(sentences: Iterable[Sequence[str]]) -> Floats:
            row = np.zeros(len(columns))
            row[[columns[t] for sentence in sentences for t in sentence if t in columns]] = 1
            return row

        rows = (bag([sentence]) for sentence in (definition or question))
        parts = [row for row in rows if row.sum() >= _FEWEST] or [np.ones(len(columns))]
        whole = np.ones(len(columns))
        shares = np.stack([bag(question), whole, *parts]) * weights
        like = np.stack([whole, *parts]) * weights**2
        norms = np.sqrt(like.sum(axis=1, keepdims=True))
        return _QuestionTerms(
            columns,
            shares / np.maximum(shares.sum(axis=1, keepdims=True), _TINY),
            like / np.maximum(norms, _TINY),
            self._phrases(question, [*question, *definition]),
        )

    def _phrases(
        self, question: Sequence[Sequence[str]], definition: Sequence[Sequence[str]]
    ) -> dict[Phrase, tuple[float, float]]:
        weights: list[dict[Phrase, float]] = []
        for sentences in (question, definition):
            phrases = {phrase for terms in sentences for phrase in pairwise(terms)}
            sums = {phrase: sum(map(self._weight, phrase)) for phrase in phrases}
            total = max(math.fsum(sums.values()), _TINY)
            weights.append({phrase: weight / total for phrase, weight in sums.items()})
        query, whole = weights
        return {phrase: (query.get(phrase, 0.0), weight) for phrase, weight in whole.items()}


def _compare(text: _Text, query: _QuestionTerms) -> list[float]:
    occurs = np.zeros((len(text.bags), len(query.columns)))
    columns = query.columns
    for row, bag in enumerate(text.bags):
        if common := bag & columns.keys():
            occurs[row, [columns[term] for term in common]] = 1
    coverage = occurs @ query.shares.T
    like = (occurs @ query.like.T) / text.norms[:, None]
    # A passage without sentences counts as one sentence.
    rows = slice(1, None) if len(text.bags) > 1 else slice(None)
    inside, best, best_like = coverage[0].tolist(), coverage[rows].max(0), like[rows].max(0)
    in_sentence, like_sentence = best[2:].tolist(), best_like[1:].tolist()
    phrases = query.phrases.keys() & set(chain.from_iterable(map(pairwise, text.sentences)))
    return [
        inside[0],
        best[0],
        inside[1],
        like[0, 0],
        best_like[0],
        like[rows, 0].mean(),
        _mean(inside[2:]),
        max(inside[2:]),
        *_summary(in_sentence),
        *_summary(like_sentence),
        math.fsum(query.phrases[phrase][0] for phrase in phrases),
        math.fsum(query.phrases[phrase][1] for phrase in phrases),
        math.log1p(sum(map(len, text.sentences))) / _LOG_SCALE,
    ]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _summary(values: Sequence[float]) -> tuple[float, float, float]:
    ordered = sorted(values)
    return _mean(ordered), ordered[-1], _mean(ordered[-_BEST:])


def load(folder: Path, settings: Mapping[str, Any]) -> LinearScorer:
    """Load a lexical student."""
    check_version(settings, FEATURES_VERSION)
    words = _words(folder / WORDS)
    weights, idf = _arrays(folder / WEIGHTS)
    unseen = float(number(settings.get("unseen"), "settings.unseen"))
    expected = (len(FEATURES) + 1,), (len(words),)
    if (weights.shape, idf.shape) != expected:
        raise InputError(f"{WEIGHTS}: found shapes {weights.shape} and {idf.shape}, "
                         f"expected {expected[0]} and {expected[1]}")  # fmt: skip
    if not np.isfinite(weights).all() or not ((idf >= 0) & (idf <= unseen)).all():
        raise InputError(f"{WEIGHTS}: expected finite weights, and frequencies up to {unseen:g}")
    lexicon = Lexicon(dict(zip(words, idf.tolist(), strict=True)), unseen)
    return LinearScorer(lexicon.features, weights[:-1], float(weights[-1]))


def _arrays(path: Path) -> tuple[Floats, Floats]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        tensors = load_file(path)
        weights, idf = (np.asarray(tensors[name], np.float64) for name in ("weights", "idf"))
    except (OSError, KeyError, SafetensorError) as error:
        raise InputError(f"{WEIGHTS}: cannot be read: {shorten(str(error), 80)}") from error
    return weights, idf


def _words(path: Path) -> list[str]:
    if not path.is_file():
        raise InputError(f"{WORDS}: is missing")
    text = " ".join(line for _, line in read_lines(path))
    row = parse_json_object(text or "null", path=path, number=1, keep_surrogates=True)
    words = row.get("words")
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise InputError(f"{WORDS}: expected words, a list of strings")
    if len(words) > MAX_WORDS or any(a >= b for a, b in pairwise(words)):
        raise InputError(f"{WORDS}: expected up to {MAX_WORDS} words, in order and each once")
    return words


# --- training

_FEWEST_PASSAGES = 2
"""Passages that contain a known word: a single one is no frequency, and may be a name."""


@dataclass(frozen=True, slots=True)
class LexicalTrainer(Trainer):
    """Learns word frequencies, and fits the weights to the teacher's probabilities.

    `strengths` are inverse penalties, of which one is chosen by cross-validation over questions.
    """

    kind: ClassVar[str] = "lexical"
    strengths: tuple[float, ...] = STRENGTHS

    @property
    def what(self) -> str:
        """See `Trainer`."""
        return "logistic regression over shared words"

    def train(
        self,
        examples: Sequence[TrainingExample],
        work: Path,  # noqa: ARG002 - seconds need no checkpoint
        out: Path,
        report: Report,
        unseen: Sequence[Support] = (),  # noqa: ARG002 - for other kinds
    ) -> Trained:
        """See `Trainer`."""
        from safetensors.numpy import save_file

        report(0, 2, "counting words")
        lexicon = learn_lexicon(example.question.text for example in examples)
        x = lexicon.features([example.question for example in examples])
        report(1, 2, "fitting")
        spread = x.std(axis=0)
        scale = 1 / np.where(spread > 0, spread, 1.0)  # the same penalty for all features
        targets = np.array([example.target for example in examples])
        fitted = fit_regressions(x * scale, targets, [e.group for e in examples], self.strengths)
        weights = np.append(fitted.weights * scale, fitted.intercept)
        words = list(lexicon.weights)
        (out / WORDS).write_text(json.dumps({"words": words}) + "\n", encoding="utf-8")
        idf = np.array(list(lexicon.weights.values()), dtype=np.float64)
        save_file({"weights": weights, "idf": idf}, out / WEIGHTS)
        report(2, 2, "fitting")
        settings = {"features": FEATURES_VERSION, "unseen": lexicon.unseen}
        return Trained(settings, {"strength": fitted.strength, "words": len(words)})


def learn_lexicon(passages: Iterable[str]) -> Lexicon:
    """Return ln((n + 1) / (d + 1/2)), at least 0, of the `MAX_WORDS` most frequent words."""
    empty = Lexicon({}, 1.0)
    different = dict.fromkeys(passages)
    counts: Counter[str] = Counter()
    for text in different:
        counts.update({term for terms in empty.sentences(text) for term in terms})
    frequent = sorted(
        (term for term, count in counts.items() if count >= _FEWEST_PASSAGES),
        key=lambda term: (-counts[term], term),
    )[:MAX_WORDS]
    whole = len(different) + 1
    weights = {term: max(0.0, math.log(whole / (counts[term] + 0.5))) for term in sorted(frequent)}
    return Lexicon(weights, math.log(whole / 0.5))
