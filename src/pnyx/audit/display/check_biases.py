"""Sentences on a judge's biases, and on the alternative annotator test."""

from __future__ import annotations

from pnyx.audit.checks.alternative import MIN_ITEMS, PASSING, AlternativeTest
from pnyx.audit.checks.biases import AnnotatorAgreement, Biases, ConsensusPart, LengthBias
from pnyx.audit.checks.summary import leaning
from pnyx.core.errors import escaped
from pnyx.display.figures import decimals, percent, share, signed


def bias_sentences(biases: Biases, words: tuple[str, str]) -> list[str]:
    """Return sentences on a judge's biases, one per line.

    Args:
        biases: of one judge.
        words: the table's words for yes and for no.
    """
    return [
        *length_sentences(biases.length, words[0]),
        *consensus_sentences(biases.consensus),
        *annotator_sentences(biases.annotators),
    ]


def length_sentences(bias: LengthBias, yes: str) -> list[str]:
    """Return sentences on a bias for longer texts; none without texts."""
    if not bias.column:
        return []
    if bias.no_figure:
        return [f"Length bias: no figure, as {bias.no_figure}."]
    longer, shorter = bias.longer, bias.shorter
    figure = signed(bias.difference, points=bias.judge_yes is not None)
    texts = f"{longer.scored} longer texts ({escaped(bias.column, 40)} above {bias.words:g} words)"
    if bias.judge_yes is None or bias.people_yes is None:
        line = (
            f"On {texts}, the judge's ratings differ from people's by {longer.value:+.2f}, on "
            f"{shorter.scored} others by {shorter.value:+.2f}."
        )
    else:
        line = (
            f'Of {texts}, the judge said "{escaped(yes, 40)}" to {bias.judge_yes[0]} and people to '
            f"{bias.people_yes[0]}; of {shorter.scored} others, to {bias.judge_yes[1]} and "
            f"{bias.people_yes[1]}."
        )
    if bias.shown is None:
        return [f"{line} The difference of {figure} has no interval."]
    if bias.shown:
        which = "longer" if (bias.difference.value or 0) > 0 else "shorter"
        return [f"{line} It {leaning(f'{which} texts', yes)}: {figure}."]
    return [f"{line} No length bias is shown ({figure})."]


def consensus_sentences(parts: tuple[ConsensusPart, ...]) -> list[str]:
    """Return sentences on the judge's accuracy where people are unanimous, and where split."""
    lines = []
    for part in parts:
        where = "people are unanimous" if part.name == "unanimous" else "people are split"
        tied = f" ({part.tied} without a majority left out)" if part.tied else ""
        if part.no_figure:
            lines.append(f"Where {where}: no figure ({part.no_figure}){tied}.")
        elif part.right is not None:
            lines.append(
                f"Where {where}, the judge is right on {part.right} of {part.value.scored} "
                f"({share(part.value, inside=True)}){tied}."
            )
        else:
            lines.append(
                f"Where {where}, the judge is off by {decimals(part.value)} on "
                f"{part.value.scored} items{tied}."
            )
    return lines


def annotator_sentences(annotators: tuple[AnnotatorAgreement, ...]) -> list[str]:
    """Return sentences on the judge's agreement with each annotator, and between annotators."""
    lines = []
    for annotator in annotators:
        name = escaped(annotator.name, 40)
        if annotator.no_figure:
            lines.append(f"With {name}: no figure ({annotator.no_figure}).")
            continue
        agreed = round((annotator.accuracy.value or 0) * annotator.accuracy.scored)
        line = (
            f"The judge agrees with {name} on {agreed} of {annotator.accuracy.scored} "
            f"({share(annotator.accuracy, inside=True)}); kappa {decimals(annotator.kappa)}"
        )
        if annotator.others.value is not None:
            line += (
                f"; {name} agrees with the other people on {share(annotator.others, inside=True)}"
            )
        lines.append(f"{line}.")
    return lines


def alternative_sentences(test: AlternativeTest) -> list[str]:
    """Return sentences on whether the judge may replace an annotator, or why it is not tested."""
    if test.winning_rate is None or test.advantage is None:
        return [f"May the judge replace an annotator? Not tested: {test.not_valid}."]
    wins = sum(annotator.judge_wins for annotator in test.annotators)
    verdict = "may" if test.passes else "is not shown to be able to"
    lines = [
        f"By the alternative annotator test, the judge {verdict} replace an annotator: it "
        f"wins against {wins} of {test.tested} (winning rate {test.winning_rate:.2f}, needed "
        f"{PASSING:.2f}; epsilon {test.epsilon:g}). It is as good as an annotator on "
        f"{percent(test.advantage)} of the items."
    ]
    few = [escaped(left.name, 40) for left in test.annotators if left.p is None]
    if few:
        lines.append(f"Left out, with fewer than {MIN_ITEMS} shared items: {', '.join(few)}.")
    return lines
