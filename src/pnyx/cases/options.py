"""The options of an argued case."""

from __future__ import annotations

from typing import Literal

from pnyx.cases.plan import CONTEXT, POINTS, SHOTS, Plan
from pnyx.core.errors import InputError, OptionError
from pnyx.core.records import Question, question_id
from pnyx.core.spec import Spec, file_opt, opt
from pnyx.formats.text_types import FileName, Words
from pnyx.judging.statements import why_no_sides


class ArgueSpec(
    Spec,
    heading="Argument",
    rare="claims certainty asked writer context prompt examples shots",
):
    """How both sides are argued; see `pnyx.cases.argument.Plan`."""

    stance: Literal["pro", "con", "both"] = opt("both")
    points: int = opt(POINTS, "Maximum conclusions for each side.", low=1)
    words: int | None = opt(
        None,
        "Have the language model write prose with quotations, of at most this many words a side.",
        "--prose",
        within="[20, 10000]",
        default_text="single sentences: conclusions and premises",
        replaces=("--words",),
    )
    retrieve: int = opt(Plan().retrieve, low=1)
    per_side: int = opt(Plan().per_side, "Documents handed to the writer for each side.", low=1)
    claims: tuple[Words, Words] | None = opt(
        None,
        "What each side says, in place of the question with Yes and with No.",
        metavar="PRO CON",
    )
    certainty: float = opt(Plan().certainty, within="[0.0, 1.0]")
    asked: int = opt(
        Plan().asked,
        "First passages of the ranking that the language model is asked about: do they argue a "
        "side, and which? If it decides, later ones are not used.",
        low=1,
    )
    definition: Words = opt("", "What makes a passage relevant, in words.")
    writer: Literal["extractive", "llm"] | None = opt(
        None, default_text="llm with --llm, else extractive"
    )
    context: int = opt(CONTEXT, low=100)
    prompt: FileName | None = file_opt(
        None, metavar="NAME", default_text="argue; argue-prose with --prose"
    )
    examples: FileName | None = file_opt(None)
    shots: int = opt(SHOTS, within="[1, 50]", needs="examples")

    def asked_for(
        self, text: str, identifier: str = "", claims: tuple[str, str] | None = None
    ) -> Question:
        """Return the question to argue, with its definition and claims, by default the given ones.

        OptionError: --claims are not two claims. InputError: there are none, and it is not a
        yes/no question.
        """
        cleaned = [" ".join(claim.split()) for claim in self.claims or ()]
        if "" in cleaned:
            raise OptionError("--claims: found a claim without words, expected two claims")
        if cleaned and cleaned[0].casefold() == cleaned[1].casefold():
            raise OptionError("--claims: found the same claim twice, expected that of each side")
        pair = (cleaned[0], cleaned[1]) if cleaned else claims
        if pair is None and (why := why_no_sides(text)):
            raise InputError(f"{why}, or name both sides: --claims PRO CON")
        name = identifier or question_id(text)
        return Question(name, text, definition=self.definition, claims=pair)
