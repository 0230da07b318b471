"""Settings of `pnyx compare retrievers` (BERDS, sections 5 and 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from pnyx.core.errors import InputError
from pnyx.judging.perspectives import PASSAGE_WORDS

if TYPE_CHECKING:
    from pnyx.search.plan import Scoring

Variant: TypeAlias = Literal["plain", "mmr", "perspectives"]

VARIANTS: tuple[Variant, ...] = get_args(Variant)

LAMBDAS = (0.5, 0.75, 0.9, 0.95, 0.99)

RETRIEVERS = ("bm25", "dirichlet", "touche", "dense", "hybrid")


@dataclass(frozen=True, slots=True, kw_only=True)
class PerspectiveBench:
    """What to compare, and how.

    `retrievers` are names of models or `Scoring`s; the variant `perspectives` requires a source of
    perspectives. `lambdas`, in [0, 1], are chosen by MRecall at the first of `depths`, on a
    `dev_share`, in (0, 1), of the questions, which are not measured. With `leaning`, each retriever
    is also queried with the supporting and with the opposing perspective instead of the question.
    Documents are judged in passages of at most `words` words; 0 does not split them.

    Raises:
        InputError: a value is out of range, there is nothing to compare, or a retriever is named
            twice.
    """

    retrievers: Sequence[Scoring | str] = RETRIEVERS
    variants: Sequence[Variant] = ("plain", "mmr")
    depths: Sequence[int] = (5, 10)
    lambdas: Sequence[float] = LAMBDAS
    dev_share: float = 0.25
    leaning: bool = False
    words: int = PASSAGE_WORDS
    draws: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        names = [
            retriever if isinstance(retriever, str) else retriever.model
            for retriever in self.retrievers
        ]
        if not names or not self.variants or not self.depths:
            raise InputError("nothing to compare: expected retrievers, variants and depths")
        if len(set(names)) < len(names):
            raise InputError(f"a retriever is named twice: {', '.join(names)}")
        if not set(self.variants) <= set(VARIANTS):
            raise InputError(f"variants: expected some of {', '.join(VARIANTS)}")
        if min(self.depths) < 1 or self.words < 0:
            raise InputError("expected depths from 1, and words from 0")
        if not 0 < self.dev_share < 1:
            raise InputError(f"share of questions for lambda: found {self.dev_share:g}, "
                             "expected between 0 and 1")  # fmt: skip
        if "mmr" in self.variants and not all(0 <= lam <= 1 for lam in self.lambdas or (-1,)):
            raise InputError("lambda: expected numbers from 0 to 1")
