"""Sample inputs, so that each packaged prompt can be shown as a language model gets it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pnyx.judging.llm.prompts import Prompt
from pnyx.judging.llm.templates import block, listed_inputs

_DOCUMENTS: Final = (
    "Free buses\nRidership rose by a third in the year after fares were abolished.",
    "The city pays 4 million a year for the fares that it no longer takes.",
)
_SAMPLES: Final[dict[str, str | Sequence[str]]] = {
    "background": "I am on the council of a small town.",
    "citations": "at most 3",
    "cited": "yes",
    "claim": "Should buses be free? Yes.",
    "count": "5",
    "criterion": "",
    "documents": _DOCUMENTS,
    "documents_language": "English",
    "examples": _DOCUMENTS[:1],
    "limit": "2000 characters",
    "material": _DOCUMENTS,
    "names": "clarity, length",
    "no": "Towns should charge for their buses.",
    "passages": _DOCUMENTS,
    "points": "4",
    "premises": "3",
    "problem": "points.0.conclusion: Field required",
    "purpose": "How polite and how plain are our letters?",
    "question": "Should buses be free?",
    "questions": "How many more people ride?\nWho pays?",
    "request": "Should buses be free? What did towns find that tried it?",
    "room": "5",
    "sentence": "Ridership rose by a third.",
    "side": "pro",
    "stance": "pro",
    "statements": ("Ridership rose.", "Fares paid for a tenth of the costs."),
    "text": "Ridership rose by a third in the year after fares were abolished.",
    "topic": "Should buses be free?",
    "words": "300",
    "yes": "Towns should make their buses free.",
}
"""Name of an input -> its sample."""


def sample_inputs(prompt: Prompt) -> dict[str, str | Sequence[str]]:
    """Return a text, or a list of texts, for each input of a prompt, as its templates use it."""
    listed = {**listed_inputs(prompt.system), **listed_inputs(prompt.user)}
    return {name: _sample(name, as_list=listed.get(name, False)) for name in prompt.inputs}


def _sample(name: str, *, as_list: bool) -> str | Sequence[str]:
    sample = _SAMPLES.get(name, f"({name})")
    if as_list:
        return [sample] if isinstance(sample, str) else sample
    if isinstance(sample, str):
        return sample
    return "\n\n".join(f"Document {n}:\n{block('DOCUMENT', t)}" for n, t in enumerate(sample, 1))
