"""The default student: the mean of late interaction, shared words and closeness.

Each is standardised; docs/explain/decisions/student.md has figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pnyx.core.errors import InputError, PnyxError
from pnyx.judging.calibration.curves import log_odds
from pnyx.judging.passages import read_sentences
from pnyx.judging.questions import Support
from pnyx.judging.students import late, lexical
from pnyx.judging.students.late import LateTrainer
from pnyx.judging.students.lexical import LexicalTrainer
from pnyx.judging.students.scorers import (
    LEAST_DEVIATION,
    CombinedScorer,
    Floats,
    LinearScorer,
    Part,
    Standard,
    check_version,
    read_parts,
)
from pnyx.judging.students.trainer import Report, Trained, Trainer, TrainingExample
from pnyx.models.embed.encoder import Encoder, load_encoder

LATE, LEXICAL, CLOSENESS = PARTS = ("late-interaction", "lexical", "closeness")

CLOSENESS_VERSION = 2
"""Version of the meaning of closeness: a scale fitted to another version is invalid."""

_BLOCK = 256


def open_parts(folder: Path, settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Part]:
    """Open the parts of a combined student, each with its settings."""
    openers: Mapping[str, Callable[[Mapping[str, Any]], Part]] = {
        LATE: lambda part_settings: _log_odds_of(late.load(folder, part_settings)),
        LEXICAL: lambda part_settings: _log_odds_of(lexical.load(folder, part_settings)),
        CLOSENESS: _closeness,
    }
    opened = {}
    for name in PARTS:
        try:
            opened[name] = openers[name](settings[name])
        except InputError as error:
            raise InputError(f"{name}: {error.problem}", path=error.path) from error
    return opened


def _log_odds_of(scorer: LinearScorer) -> Part:
    return lambda questions: [
        p if isinstance(p, str) else float(log_odds([p])[0]) for p in scorer.score(questions)
    ]


def _closeness(settings: Mapping[str, Any]) -> Part:
    check_version(settings, CLOSENESS_VERSION)
    encoder = load_encoder(str(settings.get("encoder")))
    return lambda questions: closeness(encoder, questions).tolist()


def closeness(encoder: Encoder, questions: Sequence[Support]) -> Floats:
    """Return the cosine of passage (mean of sentences by length) and definition, float64 [n]."""
    parts = {q.text: read_sentences(q.text) or (q.text,) for q in questions}
    texts = dict.fromkeys(part for sentences in parts.values() for part in sentences)
    names = list(texts | dict.fromkeys(q.sought for q in questions))
    vectors = dict(zip(names, encoder.encode(names), strict=True))
    passages = {}
    for text, sentences in parts.items():
        lengths = np.array([len(part) for part in sentences], dtype=np.float32)
        total = (np.stack([vectors[part] for part in sentences]) * lengths[:, None]).sum(axis=0)
        passages[text] = total / max(float(np.linalg.norm(total)), 1e-9)
    return np.array([passages[q.text] @ vectors[q.sought] for q in questions], dtype=np.float64)


def load(folder: Path, settings: Mapping[str, Any]) -> CombinedScorer:
    """Load a combined student; InputError if a part or its numbers cannot be used."""
    parts = read_parts(settings, PARTS)
    opened = open_parts(folder, {name: part_settings for name, (part_settings, _) in parts.items()})
    return CombinedScorer([(opened[name], standard) for name, (_, standard) in parts.items()])


@dataclass(frozen=True, slots=True)
class CombinedTrainer(Trainer):
    """Trains the parts `late` and `lexical`, and scales them like `encoder`."""

    kind: ClassVar[str] = "combined"
    late: LateTrainer = field(default_factory=LateTrainer)
    lexical: LexicalTrainer = field(default_factory=LexicalTrainer)
    encoder: str = "minilm-int8"

    @property
    def what(self) -> str:
        """See `Trainer`."""
        return f"{self.late.what}, {self.lexical.what} and closeness by {self.encoder}, added"

    def plan(self) -> Mapping[str, Any]:
        """See `Trainer`."""
        return {**{part.kind: part.plan() for part in self._trainers()}, CLOSENESS: self._closeness}

    def train(
        self,
        examples: Sequence[TrainingExample],
        work: Path,
        out: Path,
        report: Report,
        unseen: Sequence[Support] = (),
    ) -> Trained:
        """Scale by unseen pairs (fitted ones have more extreme values), all questions together.

        It is part of the judgement that one question's documents are closer than another's.
        """
        settings: dict[str, Mapping[str, Any]] = {CLOSENESS: self._closeness}
        about = {}
        for trainer in self._trainers():
            folder = work / trainer.kind
            folder.mkdir(exist_ok=True)
            trained = trainer.train(examples, folder, out, _named(report, trainer.kind), unseen)
            settings[trainer.kind] = trained.settings
            about[trainer.kind] = {**trainer.plan(), **trained.about}
        standards = _standards(open_parts(out, settings), unseen, _named(report, "scale"))
        parts = {
            name: {
                "settings": settings[name],
                "mean": standards[name].mean,
                "deviation": standards[name].deviation,
            }
            for name in PARTS
        }
        return Trained({"parts": parts}, about)

    def _trainers(self) -> tuple[Trainer, ...]:
        return self.late, self.lexical

    @property
    def _closeness(self) -> Mapping[str, Any]:
        return {"encoder": self.encoder, "features": CLOSENESS_VERSION}


def _named(report: Report, name: str) -> Report:
    return lambda done, of, word: report(done, of, f"{name}: {word}")


def _standards(
    parts: Mapping[str, Part], unseen: Sequence[Support], report: Report
) -> dict[str, Standard]:
    values: dict[str, list[float]] = {name: [] for name in parts}
    for start in range(0, len(unseen), _BLOCK):
        report(start, len(unseen), "scoring other questions")
        for name, part in parts.items():
            odds = part(unseen[start : start + _BLOCK])
            values[name] += [value for value in odds if not isinstance(value, str)]
    report(len(unseen), len(unseen), "scoring other questions")
    return {name: _standard(name, value) for name, value in values.items()}


def _standard(name: str, values: Sequence[float]) -> Standard:
    if not values:
        raise PnyxError(f"{name} scores none of the pairs of other questions: no scale can be set")
    deviation = float(np.std(values))
    # A part with the same value for all pairs keeps its unit: it then adds nothing here.
    return Standard(float(np.mean(values)), deviation if deviation >= LEAST_DEVIATION else 1.0)
