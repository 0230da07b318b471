"""Contradictions and rewordings by a language model instead of rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pnyx.audit.trials.trial_items import documents_of, label_of
from pnyx.audit.trials.worse_items import contradictable
from pnyx.formats.text.segment import split_sentences, trim, word_weight
from pnyx.judging.llm.concurrent import each
from pnyx.judging.llm.prompts import load_prompt
from pnyx.judging.llm.structured_replies import ask_structured
from pnyx.judging.questions import JudgeQuestion, Preference, Ranking

if TYPE_CHECKING:
    from pnyx.judging.store.completions import StoredModel

_DOCUMENT_WORDS, _DOCUMENTS, _CLAIMS = 300, 3, 10


@dataclass(frozen=True, slots=True)
class ModelEdits:
    """A model's edits."""

    by_text: Mapping[str, str]  # sentence or text -> its edit
    requested: int  # number of texts to edit
    problems: Sequence[str]  # why the others have none


def edit_by_model(prompt: str, items: Sequence[JudgeQuestion], model: StoredModel) -> ModelEdits:
    """Let a language model `contradict` the items' sentences, or `paraphrase` their texts."""
    wanted = _contradicting(items) if prompt == "contradict" else _paraphrasing(items)
    edits: dict[str, str] = {}
    problems: list[str] = []

    async def work(text: str) -> None:
        request = load_prompt(prompt).request(wanted[text])
        shape = contradiction_reply() if prompt == "contradict" else text_reply()
        reply, faults = await ask_structured(model, request, shape)
        edited = "" if reply is None else next(iter(reply.model_dump().values()))
        edited = edited.strip()
        if not edited or edited == text.strip():
            problems.append(faults[-1] if faults else "the model changed nothing")
        else:
            edits[text] = edited

    each(list(wanted), work, model)
    return ModelEdits(edits, len(wanted), problems)


def _contradicting(items: Sequence[JudgeQuestion]) -> dict[str, dict[str, Any]]:
    inputs_by_sentence: dict[str, dict[str, Any]] = {}
    for item in items:
        if label_of(item) is False:
            continue
        documents = [shortened(text) for text in documents_of(item)[:_DOCUMENTS]]
        for sentence in split_sentences(contradictable(item))[:_CLAIMS]:
            inputs_by_sentence.setdefault(sentence, {"sentence": sentence, "documents": documents})
    return inputs_by_sentence


def _paraphrasing(items: Sequence[JudgeQuestion]) -> dict[str, dict[str, Any]]:
    texts: dict[str, dict[str, Any]] = {}
    for item in items:
        if isinstance(item, Ranking):
            judged_texts: Sequence[str] = item.texts
        else:
            judged_texts = (item.a if isinstance(item, Preference) else item.text,)
        for text in judged_texts:
            texts[text] = {"text": text}
    return texts


def shortened(text: str) -> str:
    """Return the part of a document that the model is shown."""
    return trim(text, _DOCUMENT_WORDS) if word_weight(text) > _DOCUMENT_WORDS else text


@cache
def contradiction_reply() -> Any:
    """Return the schema of a reply to `contradict`."""
    return _reply(sentence=(str, ...))


@cache
def text_reply() -> Any:
    """Return the schema of a reply to `paraphrase` and `answer`."""
    return _reply(text=(str, ...))


def _reply(**fields: Any) -> Any:
    import pydantic

    strict = pydantic.ConfigDict(strict=True, extra="forbid", frozen=True)
    return pydantic.create_model("Reply", __config__=strict, **fields)
