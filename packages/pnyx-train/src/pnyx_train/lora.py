"""A causal language model with a LoRA adapter scores a pair by its own reply (DIRAS, 3.3).

Tok: P(Yes) against P(No) at the verdict of the reply. Ask: the confidence that it states.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pnyx.core.errors import InputError, shorten
from pnyx.judging.calibration.recalibration import checked
from pnyx.judging.questions import Support
from pnyx_train.libraries import require_libraries
from pnyx_train.lora_base import (
    adapter_weights,
    attach_adapter,
    base_of,
    load_model,
    load_tokenizer,
)
from pnyx_train.lora_text import Texts, check_rendered, label, stated

ADAPTER = "adapter_model.safetensors"
"""File of the adapter's weights in a student's folder, named as in peft."""

Calibration: TypeAlias = Literal["tok", "ask"]
"""Whether a score is the probability of a token or the stated confidence."""

Score: TypeAlias = float | str

_MAX_ROWS = 16
_MAX_TOKENS = {"cpu": 8_192, "cuda": 65_536}
"""Tokens of a batch with its padding: bounds the memory."""

_DIRECT_TOKENS = 24
"""More tokens than a reply without a reason has."""

_NO_NUMBER = "no_number: the model's weights or its precision give none"

Ids = list[int]


@functools.cache
def _settings() -> Any:
    import pydantic

    counts = ("rank", "alpha", "source_tokens", "target_tokens")
    base: dict[str, Any] = dict.fromkeys(("name", "fingerprint", "revision"), (str, ...))
    fields: dict[str, Any] = {
        **dict.fromkeys(("reason", "four_bit"), (bool, ...)),
        "calibration": (Calibration, ...),
        "wording": (str, ...),
        "rendered": (dict[str, str], ...),
        **dict.fromkeys(counts, (Annotated[int, pydantic.Field(ge=1)], ...)),
        "base": (pydantic.create_model("Base", **base), ...),
    }
    return pydantic.create_model("Settings", __config__={"strict": True}, **fields)


def load(folder: Path, settings: Mapping[str, Any]) -> LoraScorer:
    """Load a student that `LoraTrainer` trained, and its base."""
    require_libraries()
    options = checked(_settings(), dict(settings))
    if options.wording != label():
        wording = shorten(options.wording, 60)
        raise InputError(f"the student was trained on the wording {wording}, not {label()}")
    rendered = check_rendered(options.rendered)
    weights = _weights(folder / ADAPTER, options.rank)
    base = base_of(options.base.name, options.base.fingerprint, options.base.revision)
    texts = Texts(
        load_tokenizer(base),
        rendered,
        reason=options.reason,
        source_tokens=options.source_tokens,
        target_tokens=options.target_tokens,
    )
    model = load_model(base, four_bit=options.four_bit)
    model = attach_adapter(model, rank=options.rank, alpha=options.alpha, dropout=0.0)
    _fill(model, weights)
    return LoraScorer(model.eval(), texts, options.calibration)


def _weights(path: Path, rank: int) -> dict[str, Any]:
    """Return the adapter's weights; other ranks are refused before memory is allocated."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if not path.is_file():
        raise InputError(f"{path.name} is missing: train or copy the student again")
    try:
        weights: dict[str, Any] = load_file(path)
    except (SafetensorError, ValueError) as error:
        raise InputError(f"{path.name}: {shorten(str(error))}") from error
    shapes = {tuple(value.shape)[:1] for name, value in weights.items() if ".lora_A." in name}
    if shapes != {(rank,)}:
        excerpt = shorten(rank, 20)
        raise InputError(f"{path.name}: its weights do not fit the base by the rank {excerpt}")
    return weights


def _fill(model: Any, weights: dict[str, Any]) -> None:
    from peft import set_peft_model_state_dict

    expected = {name: value.shape for name, value in adapter_weights(model).items()}
    if {name: value.shape for name, value in weights.items()} != expected:
        raise InputError(f"{ADAPTER}: its weights do not fit the base")
    set_peft_model_state_dict(model, weights)


def left_padded(rows: Sequence[Ids], pad: int, device: Any) -> dict[str, Any]:
    """Return token ids, mask and positions, int64 [rows, tokens], padded on the left."""
    import torch

    width = max(map(len, rows))
    ids = torch.tensor([[pad] * (width - len(row)) + row for row in rows], device=device)
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows], device=device)
    return {
        "input_ids": ids,
        "attention_mask": mask,
        "position_ids": (mask.cumsum(dim=1) - 1).clamp(min=0),
    }


class LoraScorer:
    """Scores relevance questions, batched by length, equal to 1e-6 in fp32, 1e-2 in bf16."""

    def __init__(self, model: Any, texts: Texts, calibration: Calibration) -> None:
        self._model, self._texts, self._tok = model, texts, calibration == "tok"
        self._limit = texts.target_tokens if texts.reason else _DIRECT_TOKENS
        if self._tok and not texts.reason:
            self._limit = 1

    def score(self, questions: Sequence[Support]) -> list[Score]:
        """Return the raw probability of yes of each question, in order, or why there is none."""
        scores: list[Score] = ["unscored"] * len(questions)
        prompts = []
        for position, question in enumerate(questions):
            prompt = self._texts.prompt(question)
            if isinstance(prompt, str):
                scores[position] = prompt
            else:
                prompts.append((position, [*prompt, *self._texts.opener]))
        for batch in self._batches(prompts):
            got = self._replies([prompt for _, prompt in batch])
            for (position, _), score in zip(batch, got, strict=True):
                unread = isinstance(score, float) and math.isnan(score)
                scores[position] = _NO_NUMBER if unread else score
        return scores

    def _batches(self, prompts: list[tuple[int, Ids]]) -> Iterator[list[tuple[int, Ids]]]:
        """Yield prompts of similar length together, longest first: memory errors come early."""
        most = _MAX_TOKENS.get(self._model.device.type, _MAX_TOKENS["cpu"])
        longest_first = sorted(prompts, key=lambda pair: -len(pair[1]))
        start = 0
        while start < len(longest_first):
            rows = max(1, min(_MAX_ROWS, most // len(longest_first[start][1])))
            yield longest_first[start : start + rows]
            start += rows

    def _replies(self, prompts: list[Ids]) -> list[Score]:
        """Let the model generate each reply greedily, and score it."""
        from transformers import GenerationConfig, LogitsProcessorList, StoppingCriteriaList

        texts, steps = self._texts, []

        def note(_: Any, logits: Any) -> Any:
            steps.append(self._yes(logits))
            return logits

        def answered(ids: Any, _: Any) -> Any:
            """Return whether each row's last token is the verdict of a student with reasons."""
            before = ids[:, -1 - len(texts.answer) : -1].tolist()
            return ids.new_tensor([self._tok and row == texts.answer for row in before]).bool()

        padded = left_padded(prompts, texts.pad, self._model.device)
        written = self._model.generate(
            **padded,
            generation_config=GenerationConfig(
                max_new_tokens=self._limit,
                do_sample=False,
                eos_token_id=texts.end,
                pad_token_id=texts.pad,
            ),
            logits_processor=LogitsProcessorList([note]),
            stopping_criteria=StoppingCriteriaList([answered]),
        )
        replies = written[:, padded["input_ids"].shape[1] :].tolist()
        return [self._read(reply, [s[i] for s in steps]) for i, reply in enumerate(replies)]

    def _yes(self, logits: Any) -> list[float]:
        """Return P(yes) / (P(yes) + P(no)) over all spellings of one token."""
        import torch

        yes = logits[:, self._texts.yes].logsumexp(dim=1)
        no = logits[:, self._texts.no].logsumexp(dim=1)
        return [float(p) for p in torch.sigmoid((yes - no).double())]

    def _read(self, reply: Ids, yes: Sequence[float]) -> Score:
        """Return the score of a reply; `yes` has P(yes) at each of its tokens."""
        texts = self._texts
        if self._limit == 1:
            return yes[0]
        ended = texts.end in reply
        if ended:
            reply = reply[: reply.index(texts.end)]
        if not self._tok:
            whole = [*texts.opener, *reply]
            return stated(texts.text(whole)) if ended else self._cut
        size = len(texts.answer)
        for position in range(size, len(reply)):
            if reply[position - size : position] == texts.answer:
                return yes[position]
        excerpt = shorten(texts.text(reply), 60)
        unread = f"unreadable: found {excerpt!r}, expected a reason and then an answer"
        return unread if ended else self._cut

    @property
    def _cut(self) -> str:
        return f"length: the reply has no end within {self._limit} tokens"
