"""The card of the packaged detector of perspectives: what it is, its figures, where it fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from detection import BERDS, PAGES

from pnyx.students.student import Student

NOTICE = """all-mpnet-base-v2
Copyright the sentence-transformers authors; licensed under the Apache License, Version 2.0.
https://huggingface.co/sentence-transformers/all-mpnet-base-v2

Changed for Pnyx: cut to its first layers and most frequent tokens, trained to tell whether a
passage supports a statement, weights quantised to 4 bits (tools/train_perspectives.py). Fine-tuned
by its authors from microsoft/mpnet-base (MIT licence, Copyright (c) Microsoft Corporation).
"""

Figures = Mapping[str, Mapping[str, Mapping[str, Any]]]

OUTSIDE = {
    "the 268 pairs of the 15 other questions": {"F1": 0.556, "AP": 0.606, "AUROC": 0.816},
    "all 542 pairs": {"F1": 0.478, "AP": 0.480, "AUROC": 0.782},
}
"""BERDS as others measured it with the weights that ship; the other questions, whose labels were
not at hand, chose nothing. There the ECE is .032."""
UNSEEN = "on 268 BERDS pairs of 15 questions that chose nothing: F1 0.56, AUROC 0.82, ECE 0.03"


def line_of(figures: Figures) -> str:
    """Return the card in one line."""
    found, near = figures[BERDS], figures[BERDS]["similarity"]
    shown = ", ".join(f"{name} {found['packaged'][name][0]:.2f}" for name in ("F1", "AUROC", "ECE"))
    return (
        f"reads the passage with the statement; {UNSEEN} (measured by others); on 274 of 15 other "
        f"questions, which were looked at after each stage: {shown} "
        f"(similarity alone {near['F1'][0]:.2f}, {near['AUROC'][0]:.2f}); "
        "knows topics better than sides"
    )


def rows_of(figures: Figures) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [
        "| pairs | measure | similarity | packaged | difference, 95 % interval |",
        "| --- | --- | ---: | ---: | --- |",
    ]
    names = {PAGES: "Debatewise pages not trained on", BERDS: "BERDS, people's labels"}
    for name, shown in names.items():
        near, ours = figures[name]["similarity"], figures[name]["packaged"]
        for measure in ("F1", "AP", "AUROC", "ECE"):
            value, low, high = ours[f"{measure} minus similarity"]
            lines.append(
                f"| {shown} | {measure} | {near[measure][0]:.3f} | {ours[measure][0]:.3f} "
                f"| {value:+.3f} [{low:+.3f}, {high:+.3f}] |"
            )
    return lines


def _share(counts: Sequence[int]) -> str:
    return f"{counts[0]} of {counts[1]} passages"


def card_of(student: Student) -> str:
    """Return the card as Markdown."""
    about = student.about
    parts = student.settings["parts"]
    weights = ", ".join(f"{name} {part['weight']:.2f}" for name, part in parts.items())
    verdicts = about.get("taught")
    then = (
        f", then on {verdicts['pairs']} verdicts of Qwen2.5-Coder-1.5B-Instruct about "
        f"{verdicts['passages']} passages of debates, encyclopaedias and reports"
        if verdicts
        else ""
    )
    if learnt := about.get("sides_learnt"):
        then += f", then sides ({learnt[0]} steps and {learnt[1]} with weights of four bits)"
    return "\n".join(
        [
            "# perspectives",
            "",
            f"- **What**: {student.card}.",
            "- **Task**: does a passage of about 100 words, outright or by implication, speak for "
            f"a statement (BERDS, Appendix A)? Yes from a probability of {student.threshold:.3f}. "
            "Longer texts are cut and support what one of their passages supports.",
            f"- **How**: the first {about['layers']} layers of all-mpnet-base-v2, in which the "
            "statement's tokens read the passage, in four bits with products in eight"
            "; the untrained encoder's similarity is added, both as z-scores, weighed on the "
            f"development pages ({weights}).",
            f"- **Learned from** the structure of debates ({about['steps']} steps, then "
            f"{about['rounded']} with weights of four bits: idebate, "
            "Debatewise, ProCon, Perspectrum, IBM's claims, arguments and key points, and what "
            f"GPT-4 wrote to search BERDS's development questions){then}. "
            "No BERDS label was read for training, curve or threshold, and topics near its "
            "statements were left out.",
            "- **Calibrated** on 56 Debatewise pages that it was not trained on; measured on 60 "
            "others and on BERDS.",
            "- **Chosen** on those 56 pages: base, steps, the weights of the sum. The 60 pages and "
            "the 274 BERDS pairs below were looked at after each stage of training, and which of "
            "the last two stages ships was settled in sight of both: their figures may flatter.",
            "- **Where nothing was chosen** (measured by others): "
            + "; ".join(
                f"{pairs}: " + ", ".join(f"{name} {value:.3f}" for name, value in found.items())
                for pairs, found in OUTSIDE.items()
            )
            + ". ECE on the other questions: 0.032.",
            "",
            *rows_of(about["figures"]),
            "",
            "Intervals draw questions or pages anew. The bar of BERDS's paper on all 542 pairs: "
            "F1 52.0 (Mistral-7B as it comes), 62.2 (fine-tuned), 65.6 (GPT-4).",
            "",
            "## Where it fails",
            "",
            "- **Sides.** It knows better whether a passage bears on a statement than on which "
            "side. Of two statements of which a passage supports one, that one gets the higher "
            f"probability in {_share(about['sides'][PAGES])} on Debatewise pages and in "
            f"{_share(about['sides'][BERDS])} of BERDS; chance is half.",
            "- **Negation, mere topic overlap, sarcasm**: see the examples on the page below.",
            "",
            "Base: all-mpnet-base-v2 (Apache-2.0; NOTICE). Figures and failed attempts: "
            "docs/decisions/perspective-detector.md.",
            "",
        ]
    )
