"""The input and output of a causal student as token ids, the same in training and in use.

Untrusted text is tokenized separately, with control tokens as plain text: it cannot end its block.
"""

from __future__ import annotations

import re
import threading
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache, partial
from importlib import resources
from typing import Any

from pnyx.core.errors import InputError, PnyxError, shorten
from pnyx.core.files import clean_text
from pnyx.judging.questions import Support

Ids = list[int]

_PART = re.compile("\ue000([a-z]+)\ue001")
_TAG = re.compile(r"<(?=\s*+(?:/\s*+)?(?:document|definition|question)\b)", re.IGNORECASE)
_CHARACTERS_A_TOKEN = 32
"""Far more characters than a token of running text has: text beyond it is not tokenized."""

_ANSWER, _REASON, _CONFIDENCE = "Answer:", "Reason:", "\nConfidence:"
_STATED = re.compile(
    r"(?:Reason:.*\n)?Answer:\s*(Yes|No)\s*\nConfidence:\s*(0(?:\.\d+)?|1(?:\.0+)?)\s*", re.DOTALL
)


@cache
def _wording() -> dict[str, Any]:
    path = resources.files("pnyx_train").joinpath("lora.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def label() -> str:
    """Return name and version of the wording, as in `relevance-student@1`."""
    return f"{_wording()['name']}@{_wording()['version']}"


def render(tokenizer: Any, *, reason: bool) -> dict[str, str]:
    """Return the prompts `defined` and `undefined` (no definition) in a model's chat template.

    Marks are placeholders of texts. Stored with the student: a template may print the date.
    """
    wording = _wording()
    form = wording["form"]["reason" if reason else "direct"].strip()
    rendered = {}
    for key, part in (("defined", wording["definition_part"]), ("undefined", "")):
        text = wording["prompt"].replace("{form}", form).replace("{definition_part}", part)
        for name in ("document", "definition", "question"):
            text = text.replace(f"{{{name}}}", f"\ue000{name}\ue001")
        rendered[key] = _in_template(tokenizer, text.strip())
        if len(_PART.findall(rendered[key])) != len(_PART.findall(text)):
            raise PnyxError("the chat template of the base leaves out what the user says")
    return rendered


def _in_template(tokenizer: Any, text: str) -> str:
    if not tokenizer.chat_template:
        # The token that the tokenizer puts before every text; it is not part of the text.
        begin = tokenizer.bos_token or ""
        begins = bool(begin) and tokenizer("a").input_ids[0] == tokenizer.bos_token_id
        return f"{begin if begins else ''}{text}\n"
    try:
        return str(
            tokenizer.apply_chat_template(
                [{"role": "user", "content": text}],
                tokenize=False,
                add_generation_prompt=True,
                enable_thinking=False,
            )
        )
    except Exception as error:  # a template is a program, and may raise any error
        raise PnyxError(f"the chat template of the base fails: {shorten(str(error))}") from error


def check_rendered(rendered: Any) -> Mapping[str, str]:
    """Return a student's prompts if they have the form of `render`, else raise InputError."""
    expected = {"defined": ["definition", "document", "question"]}
    expected["undefined"] = ["document", "question"]
    if not isinstance(rendered, Mapping):
        raise InputError("rendered: expected the prompts 'defined' and 'undefined'")
    for key, names in expected.items():
        text = rendered.get(key)
        if not isinstance(text, str) or sorted(_PART.findall(text)) != names:
            raise InputError(f"rendered: expected the prompt {key!r} with places for {names}")
    return rendered


def stated(text: str) -> float | str:
    """Return the probability of yes that a reply states, or why it states none."""
    match = _STATED.fullmatch(text.strip())
    if match is None:
        return f"unreadable: found {shorten(text.strip(), 60)!r}, expected answer and confidence"
    confidence = float(match[2])
    return confidence if match[1] == "Yes" else 1.0 - confidence


class Texts:
    """Converts questions and replies to token ids; several threads may use it."""

    def __init__(
        self,
        tokenizer: Any,
        rendered: Mapping[str, str],
        *,
        reason: bool,
        source_tokens: int,
        target_tokens: int,
    ) -> None:
        self._tokenizer = tokenizer
        self._lock = threading.Lock()
        self._rendered = rendered
        self._data = lru_cache(maxsize=1024)(self._untrusted)
        self._own: Callable[[str], Ids] = lru_cache(maxsize=64)(partial(self._ids, split=False))
        if tokenizer.eos_token_id is None:
            raise InputError("base: its tokenizer has no token that ends a text")
        self.end: int = tokenizer.eos_token_id
        self.pad: int = self.end if tokenizer.pad_token_id is None else tokenizer.pad_token_id
        unknown = {tokenizer.unk_token_id} - {tokenizer.bos_token_id, self.end}
        self._control = set(tokenizer.all_special_ids) - unknown
        self.yes, self.no, self._written = self._spellings()
        self.reason = reason
        self.opener = self._own(_REASON if reason else _ANSWER)
        self.answer = self._own(f"\n{_ANSWER}")
        self.source_tokens, self.target_tokens = source_tokens, target_tokens

    def _spellings(self) -> tuple[Ids, Ids, Mapping[bool, Ids]]:
        """Return the tokens that mean yes, those that mean no, and the one written for each."""
        single = {}
        for word in ("Yes", "No"):
            forms = [b + w for w in (word, word.lower(), word.upper()) for b in (" ", "")]
            ids = {form: self._own(form) for form in forms}
            unknown = self._tokenizer.unk_token_id
            single[word] = {f: i[0] for f, i in ids.items() if len(i) == 1 and i[0] != unknown}
        yes, no = (sorted(set(single[word].values())) for word in ("Yes", "No"))
        for blank in (" ", ""):
            affirmed, denied = single["Yes"].get(f"{blank}Yes"), single["No"].get(f"{blank}No")
            if affirmed is not None and denied is not None and not {*yes} & {*no}:
                return yes, no, {True: [affirmed], False: [denied]}
        raise InputError("base: its tokenizer has no token of their own for Yes and No")

    def prompt(self, question: Support) -> Ids | str:
        """Return the prompt, the document cut to `source_tokens`, or why it cannot be made."""
        rendered = self._rendered["defined" if question.guideline.strip() else "undefined"]
        values = {"definition": question.guideline, "question": question.statement}
        pieces = _PART.split(rendered)  # template text and names of parts, alternating
        template_ids = [self._own(piece) for piece in pieces[::2]]
        data = {name: self._data(text.strip()) for name, text in values.items()}
        fixed = sum(map(len, template_ids)) + sum(len(data.get(name, ())) for name in pieces[1::2])
        room = self.source_tokens - fixed
        if room < 1:
            return (
                f"too long: question and definition take {fixed} tokens of {self.source_tokens}, "
                "which leaves nothing of the document"
            )
        data["document"] = self._data(question.text.strip()[: room * _CHARACTERS_A_TOKEN])[:room]
        ids = list(template_ids[0])
        for name, after in zip(pieces[1::2], template_ids[1:], strict=True):
            ids += data[name]
            ids += after
        return ids

    def reply(self, value: bool, probability: float, reason: str) -> Ids:
        """Return the reply that the student learns, the reason cut to `target_tokens`."""
        sure = probability if value else 1.0 - probability
        last = [*self._written[value], *self._own(f"{_CONFIDENCE} {sure:.2f}"), self.end]
        if not self.reason:
            return [*self.opener, *last]
        ids = self._data(" " + " ".join(reason.split()))
        room = self.target_tokens - len(self.opener) - len(self.answer) - len(last)
        return [*self.opener, *ids[:room], *self.answer, *last]

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of tokens."""
        with self._lock:
            return str(self._tokenizer.decode(ids, skip_special_tokens=True))

    def _ids(self, text: str, *, split: bool) -> Ids:
        """Return the tokens of a text; `split` reads control tokens as plain text."""
        with self._lock:
            ids: Ids = self._tokenizer(
                text, add_special_tokens=False, split_special_tokens=split, verbose=False
            ).input_ids
        return ids

    def _untrusted(self, text: str) -> Ids:
        ids = self._ids(_TAG.sub("< ", clean_text(text)), split=True)
        return [i for i in ids if i not in self._control]
