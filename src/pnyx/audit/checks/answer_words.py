"""Cells of a table as answers: yes, no, a number, nothing, or an unknown word."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

_PAIRS: Final = (
    ("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("pass", "fail"),
    ("passed", "failed"), ("passes", "fails"), ("passing", "failing"), ("correct", "incorrect"),
    ("c", "i"), ("right", "wrong"), ("good", "bad"), ("relevant", "irrelevant"),
    ("supported", "unsupported"), ("supports", "does not support"), ("support", "no support"),
    ("faithful", "unfaithful"), ("grounded", "ungrounded"), ("valid", "invalid"),
    ("acceptable", "unacceptable"), ("accept", "reject"), ("accepted", "rejected"),
    ("approve", "disapprove"), ("approved", "disapproved"), ("ok", "not ok"), ("okay", "not okay"),
    ("success", "failure"), ("successful", "unsuccessful"), ("satisfactory", "unsatisfactory"),
    ("satisfied", "unsatisfied"), ("helpful", "unhelpful"), ("ja", "nein"), ("oui", "non"),
    ("bestanden", "nicht bestanden"), ("richtig", "falsch"), ("korrekt", "nicht korrekt"),
    ("wahr", "falsch"), ("vrai", "faux"), ("sí", "no"), ("si", "no"), ("sì", "no"),
    ("correcto", "incorrecto"), ("verdadero", "falso"), ("vero", "falso"),
    ("thumbs up", "thumbs down"), ("thumb up", "thumb down"), ("positive", "negative"),
    ("👍", "👎"), ("✓", "✗"), ("✔", "✘"), ("✅", "❌"), ("☑", "✖"),
)  # fmt: skip
_OTHER_NO: Final = ("nonrelevant", "non relevant", "hallucinated", "nok", "ko", "nicht richtig")
TRUTH: Final[dict[str, bool]] = {
    **{word: True for word, _ in _PAIRS},
    **{f"not {word}": False for word, _ in _PAIRS},
    **{word: False for _, word in _PAIRS},
    **dict.fromkeys(_OTHER_NO, False),
}
"""Usual words for yes and no, in the form of `normal_word`."""

_BLANK: Final = frozenset(
    ("", "na", "n/a", "#n/a", "null", "none", "nan", "<na>", "nat", "nil", "missing", "not labeled",
     "not labelled", "unlabeled", "unlabelled", "empty", "blank", "(blank)", "—", "–", "-", "--",
     ".", "?", "…")
)  # fmt: skip
_UNDECIDED: Final = frozenset(
    ("unsure", "not sure", "skip", "skipped", "unknown", "unclear", "undecided", "cannot tell",
     "can't tell", "can not tell", "cant tell", "don't know", "dont know", "cannot determine",
     "not applicable", "abstain", "abstained", "tie", "pending", "todo", "ambiguous")
)  # fmt: skip
_FAILURE: Final = re.compile(
    r"(?:\w+ )?(?:error|exception|timeout|timed out|parse failure|unparsable|unparseable|refusal|"
    r"refused|unscored|no answer|no verdict|no response|failed to parse|could not parse)\b.*"
)
_NUMBER: Final = re.compile(r"[-+]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][-+]?\d{1,3})?")
_ENDS: Final = " \t\r\n\"'`*_.,;:!“”‘’«»()[]{}"
_SELECTORS: Final = re.compile("[\ufe0e\ufe0f\u200b-\u200d\U0001f3fb-\U0001f3ff]")
_NEGATIVE: Final = re.compile(r"(?:not|no|non|nicht|kein\w*|never|un|in|im|ir|dis|fail)", re.I)
MAX_WORD = 60
"""Characters of a longer cell are not an answer but a text."""


@dataclass(frozen=True, slots=True)
class AnswerCell:
    """A cell of a table as an answer.

    Attributes:
        text: the cell as it was written, for messages.
        word: its normal form, by which cells are compared.
        truth: yes or no, if its word or its number (1 or 0) is one of the usual ones.
        number: its number, if it is one; percentages as shares.
        blank: whether it is empty, or a usual word for an empty cell.
        reason: why it is not an answer, if it states this: "error: ..." or "unsure".
    """

    text: str
    word: str
    truth: bool | None = None
    number: float | None = None
    blank: bool = False
    reason: str = ""

    @property
    def is_unknown(self) -> bool:
        """Whether it is a word that is not usual for an answer, nor a number."""
        return not self.blank and not self.reason and self.truth is None and self.number is None


_NOTHING = AnswerCell("", "", blank=True)


def read_cell(value: Any) -> AnswerCell:
    """Return a cell as an answer."""
    while isinstance(value, list) and len(value) == 1:
        value = value[0]  # a choice of one among several
    if value is None:
        return _NOTHING
    if isinstance(value, bool):
        return AnswerCell(str(value).lower(), str(value).lower(), truth=value)
    if isinstance(value, int | float):
        return _number_cell(value)
    text = cell_text(value)
    return _read_word(text) if len(text) <= MAX_WORD else _read_text(text)


def _read_text(text: str) -> AnswerCell:
    if (number := number_of(text)) is not None:
        return AnswerCell(text.strip(), f"{number:g}", truth=_truth_of(number), number=number)
    word = normal_word(text)
    if text.strip().casefold() in _BLANK or word in _BLANK:
        return AnswerCell(text, "", blank=True)
    if word in TRUTH:
        return AnswerCell(text.strip(), word, truth=TRUTH[word])
    if word in _UNDECIDED or _FAILURE.fullmatch(word):
        return AnswerCell(text.strip(), word, reason=text.strip()[:200])
    return AnswerCell(text.strip(), word)


_read_word = lru_cache(4096)(_read_text)
"""Cells of verdicts and labels are the same few words."""


def _number_cell(value: float) -> AnswerCell:
    try:
        number = float(value)
    except OverflowError:
        return AnswerCell(str(value)[:MAX_WORD], str(value)[:MAX_WORD])
    if not math.isfinite(number):
        return _NOTHING
    return AnswerCell(f"{number:g}", f"{number:g}", truth=_truth_of(number), number=number)


def _truth_of(number: float) -> bool | None:
    return bool(number) if number in (0, 1) else None


def number_of(text: str) -> float | None:
    """Return the number that a text is: `0.9`, `0,9`, `90 %`; None if it is not finite."""
    text = text.strip()[: MAX_WORD + 1]
    digits = text.removesuffix("%").rstrip()
    if not _NUMBER.fullmatch(digits):
        return None
    number = float(digits.replace(",", "."))
    number = number / 100 if text.endswith("%") else number
    return number if math.isfinite(number) else None


def normal_word(text: str) -> str:
    """Return the form in which words are compared.

    It has no capitals, outer punctuation, hyphens or underscores.
    """
    text = text.strip()
    if len(text) > MAX_WORD:
        return text
    text = _SELECTORS.sub("", unicodedata.normalize("NFKC", text)).casefold()
    words = text.strip(_ENDS).replace("_", " ").replace("-", " ").split()
    return " ".join(words) or text


def cell_text(value: Any) -> str:
    """Return a cell as text; lists and objects as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return "" if value is None else str(value)


def seems_negative(word: str) -> bool:
    """Return whether an unknown word begins like words for no; a guess, for examples only."""
    return bool(_NEGATIVE.match(word))
