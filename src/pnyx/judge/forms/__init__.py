"""How each kind of question is put to a language model, and how its replies are read.

One file for each kind; a new kind is a new file and a line in `FORMS`.
"""

from __future__ import annotations

from pnyx.judge.forms.base import Form, Reading
from pnyx.judge.forms.preference import PreferenceForm
from pnyx.judge.forms.ranking import RankingForm
from pnyx.judge.forms.rating import RatingForm
from pnyx.judge.forms.support import SupportForm

__all__ = ["FORMS", "Form", "Reading"]

FORMS: dict[type, Form] = {
    form.kind: form for form in (SupportForm(), RatingForm(), PreferenceForm(), RankingForm())
}
"""Kind of question -> how it is asked."""
