"""How questions are rendered for a language model, and how its replies are read.

A prompt file names its form. A new format needs such a file and a form with an entry in `FORMS`.
"""

from __future__ import annotations

from pnyx.core.errors import shorten
from pnyx.judging.forms.base import PromptForm
from pnyx.judging.forms.kinds import ChoiceForm, PreferenceForm, RankingForm, RatingForm
from pnyx.judging.forms.rag import (
    ByDocumentForm,
    EvidenceForm,
    PointsForm,
    PreferredPointsForm,
    TriadForm,
    TriadPointsForm,
)
from pnyx.judging.forms.support import CitationsForm, GivenNuggetForm, NuggetForm, SupportForm
from pnyx.judging.llm.prompts import Prompt

FORMS: dict[str, PromptForm] = {
    "verdict": SupportForm("reason", "evidence", "answer", "confidence"),
    "verdict-brief": SupportForm("reason", "answer", "confidence"),
    "verdict-direct": SupportForm("answer", "confidence"),
    "probability": SupportForm("reason", "evidence", "answer", "probability"),
    "probability-brief": SupportForm("reason", "answer", "probability"),
    "probability-direct": SupportForm("answer", "probability"),
    "citations": CitationsForm("reason", "evidence", "answer", "confidence"),
    "assignment": NuggetForm("reason", "answer", "confidence"),
    "assignment-direct": NuggetForm("answer", "confidence"),
    "assignment-given": GivenNuggetForm(),
    "scores": RatingForm(),
    "preference": PreferenceForm(),
    "choice": ChoiceForm(),
    "order": RankingForm(),
    "evidence": EvidenceForm(),
    "criteria": PointsForm(holds=True),
    "nuggets": PointsForm(holds=False),
    "preference-points": PreferredPointsForm(),
    "triad": TriadForm(),
    "triad-nuggets": TriadPointsForm(),
    "by-document": ByDocumentForm(),
}
"""The name of a form in prompt files -> the form."""


def form_of(prompt: Prompt, kind: type | None = None) -> PromptForm:
    """Return the form that a prompt names; InputError if it is not for questions of `kind`."""
    form = FORMS.get(prompt.form)
    if form is None or kind not in (None, form.kind):
        fitting = [name for name, form in FORMS.items() if kind in (None, form.kind)]
        excerpt = repr(shorten(prompt.form, 40)) if prompt.form else "none"
        raise prompt.fault(f"form: found {excerpt}, expected one of {', '.join(fitting)}")
    return form
