"""The default student: the mean of late interaction, shared words and closeness.

Each is standardised; docs/explain/decisions/student.md has figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pnyx.core.errors import InputError
from pnyx.judging.calibration.curves import log_odds
from pnyx.judging.passages import read_sentences
from pnyx.judging.questions import Support
from pnyx.judging.students import late, lexical
from pnyx.judging.students.scorers import (
    CombinedScorer,
    Floats,
    LinearScorer,
    Part,
    check_version,
    read_parts,
)
from pnyx.models.embed.encoder import Encoder, load_encoder

LATE, LEXICAL, CLOSENESS = PARTS = ("late-interaction", "lexical", "closeness")

CLOSENESS_VERSION = 2
"""Version of the meaning of closeness: a scale fitted to another version is invalid."""


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
