"""Which side does a text take? A light head over frozen sentence embeddings.

The similarity of a text to a claim says next to nothing about the side it takes: a text against a
ban talks about the ban as much as a text for it. Three things say a little more: whether the text
is nearer to the claim or to the claim's negation, whether its words are good or bad news set
against what the claim wants (a ban is good for those who list harms), and a linear reading of the
embedding under the same sign. Every feature changes its sign when the claim is negated, so the
two sides of a question get probabilities that add to one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pnyx.judge.passages import Passage, is_negator, tokens

__all__ = [
    "SENTENCES",
    "opening",
    "side_features",
    "weighted_mean",
]

SENTENCES = 4
"""Sentences that are read: the first ones state the point; what follows is mostly background."""

_FIRST_WEIGHT = 2.0

_AGAINST = frozenset(
    """abandon abolish abolished abolition against abandoned bad ban banned banning bans block
    boycott censor condemn criminalise criminalize cut dangerous disband dismantle dissolve
    eliminate eliminated end ends forbid harmful illegal immoral limit limited lower lowered
    oppose opposes outlaw privatise prohibit prohibited prohibition punish reduce reduced refuse
    regrets regulate regulated reject remove removed repeal replace replaced restrict restricted
    restrictions sanctions scrap scrapped stop unacceptable unethical unjustified unsafe withdraw
    worse wrong""".split()
)
_GOOD = frozenset(
    """beneficial benefit benefits better effective efficient encourage ensure ensures equality
    essential fair freedom good growth healthy help helping helps important improve improves
    increase increases justice necessary opportunities opportunity positive promote promotes
    protect protects right rights safe safety solution solve strengthen success successful support
    supports valuable works""".split()
)
_BAD = frozenset(
    """abuse bad corrupt corruption costs crime damage damages danger dangerous death difficult
    discriminate discrimination expensive fail failed fails failure harm harmful harms hurt hurts
    impossible ineffective infringe infringes kill kills lack loss negative poor poverty problem
    problems risk risks suffer suffering threat threatens undermine undermines unfair unjust
    unlikely unnecessary unsafe violates violate violence violent worse worst wrong""".split()
)


def _sign(claim: str) -> float:
    """Return -1 for a claim that takes something away or denies, else 1."""
    against = sum(is_negator(word) or word in _AGAINST for word in tokens(claim))
    return -1.0 if against % 2 else 1.0


def _tone(text: str) -> float:
    """Return good minus bad words, negation within three words counted, per root of length."""
    words = tokens(text)
    total = 0.0
    for place, word in enumerate(words):
        value = (word in _GOOD) - (word in _BAD)
        turned = any(is_negator(w) for w in words[max(0, place - 3) : place])
        total += -value if turned else value
    return total / float(np.sqrt(1 + len(words)))


def side_features(
    claim: str,
    vectors: tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]],
    sentences: Sequence[str],
    embedded: npt.NDArray[np.float32],
) -> npt.NDArray[np.float64]:
    """Return float64 [sentences, 3 + dimension]; negating the claim turns every sign.

    Args:
        claim: a full sentence.
        vectors: the embeddings of the claim and of its negation, each [dimension].
        sentences: the sentences that are read.
        embedded: their embeddings, [sentences, dimension].
    """
    apart = vectors[0].astype(np.float64) - vectors[1].astype(np.float64)
    nearer = embedded.astype(np.float64) @ apart
    scaled = nearer / max(float(np.linalg.norm(apart)), 0.05)
    sign = _sign(claim)
    tone = sign * np.array([_tone(sentence) for sentence in sentences])
    lexical = np.stack([nearer, 0.3 * scaled, tone], axis=1)
    return np.concatenate([5.0 * lexical, 6.0 * sign * embedded.astype(np.float64)], axis=1)


def weighted_mean(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Average over sentences (axis 0); the first counts for three."""
    weights = np.ones(len(values))
    weights[0] += _FIRST_WEIGHT
    return np.asarray(weights @ values / weights.sum())


def opening(passage: Passage) -> tuple[str, ...]:
    """Return the sentences of a passage that are read for its side."""
    return passage.sentences[:SENTENCES]
