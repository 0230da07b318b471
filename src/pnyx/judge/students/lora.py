"""A causal language model with a LoRA adapter scores a pair by its own reply (DIRAS, 3.3).

Tok: the probability of Yes against No where the reply gives its verdict. Ask: the confidence that
the reply states. A student that was taught to give reasons writes the reason first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

from pnyx.errors import InputError, shorten
from pnyx.judge.questions import Support
from pnyx.judge.students.causal import (
    adapter_weights,
    attach_adapter,
    base_of,
    load_model,
    load_tokenizer,
    require_libraries,
)
from pnyx.judge.students.causal_text import Texts, check_rendered, label, stated
from pnyx.judge.students.judge import Score

__all__ = ["ADAPTER", "Calibration", "LoraScorer", "load"]

ADAPTER = "adapter_model.safetensors"
"""Name of the adapter's weights in a student's folder, as peft has it."""

Calibration: TypeAlias = Literal["tok", "ask"]
"""Whether a score is the probability of a token or the confidence that is stated."""

_MAX_ROWS = 16
_MAX_TOKENS = {"cpu": 8_192, "cuda": 65_536}
"""Tokens of a batch, filled up: what bounds its memory."""

_DIRECT_TOKENS = 24
"""More than a reply without a reason has."""

_NO_NUMBER = "no_number: the model's weights or its precision give none"

Ids = list[int]


def load(folder: Path, settings: Mapping[str, Any]) -> LoraScorer:
    """Load a student that `LoraTrainer` trained, and its base.

    Args:
        folder: holds the adapter.
        settings: as the training left them.

    Raises:
        InputError: the base is not here or is another model, or the adapter does not fit it.
        PnyxError: a library is missing, or the base cannot be loaded.
    """
    require_libraries()
    reason, four_bit = _flag(settings, "reason"), _flag(settings, "four_bit")
    calibration = _calibration(settings.get("calibration"))
    if settings.get("wording") != label():
        found = shorten(settings.get("wording"), 60)
        raise InputError(f"the student was trained on the wording {found}, not {label()}")
    rendered = check_rendered(settings.get("rendered"))
    rank, alpha, source, target = (
        _count(settings, name) for name in ("rank", "alpha", "source_tokens", "target_tokens")
    )
    weights = _weights(folder / ADAPTER, rank)
    base = base_of(settings.get("base"))
    texts = Texts(
        load_tokenizer(base), rendered, reason=reason, source_tokens=source, target_tokens=target
    )
    model = load_model(base, four_bit=four_bit)
    model = attach_adapter(model, rank=rank, alpha=alpha, dropout=0.0)
    _fill(model, weights)
    return LoraScorer(model.eval(), texts, calibration)


def _calibration(value: Any) -> Calibration:
    if value not in get_args(Calibration):
        raise InputError(f"calibration: found {shorten(value, 40)}, expected 'tok' or 'ask'")
    return cast("Calibration", value)


def _flag(settings: Mapping[str, Any], name: str) -> bool:
    value = settings.get(name)
    if not isinstance(value, bool):
        raise InputError(f"{name}: found {shorten(value, 40)}, expected true or false")
    return value


def _count(settings: Mapping[str, Any], name: str) -> int:
    value = settings.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f"{name}: found {shorten(value, 40)}, expected a number from 1")
    return value


def _weights(path: Path, rank: int) -> dict[str, Any]:
    """Return the adapter's weights, which must be of this rank: what is not is never made room for.

    Raises:
        InputError: they are missing, damaged or of another rank.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if not path.is_file():
        raise InputError(f"{path.name} is missing: train or copy the student again")
    try:
        weights: dict[str, Any] = load_file(path)
    except (SafetensorError, ValueError) as error:
        raise InputError(f"{path.name}: {shorten(str(error))}") from error
    found = {tuple(value.shape)[:1] for name, value in weights.items() if ".lora_A." in name}
    if found != {(rank,)}:
        shown = shorten(rank, 20)
        raise InputError(f"{path.name}: its weights do not fit the base by the rank {shown}")
    return weights


def _fill(model: Any, weights: dict[str, Any]) -> None:
    """Put the adapter's weights into the model, each of which must be there and of its shape."""
    from peft import set_peft_model_state_dict

    expected = {name: value.shape for name, value in adapter_weights(model).items()}
    if {name: value.shape for name, value in weights.items()} != expected:
        raise InputError(f"{ADAPTER}: its weights do not fit the base")
    set_peft_model_state_dict(model, weights)


class LoraScorer:
    """Scores relevance questions; obtain it from `load`.

    Questions are batched by length. A score is the same alone and among others up to the rounding
    of floating point, about 1e-6 in fp32 and 1e-2 in bf16.

    Args:
        model: with its adapter, in evaluation mode.
        texts: its prompts and replies.
        calibration: where a score comes from.
    """

    def __init__(self, model: Any, texts: Texts, calibration: Calibration) -> None:
        self._model, self._texts, self._calibration = model, texts, calibration

    def score(self, questions: Sequence[Support]) -> list[Score]:
        """Return the raw probability of yes of each question, in order, or why there is none."""
        import torch

        scores: list[Score] = ["unscored"] * len(questions)
        asked = []
        for position, question in enumerate(questions):
            prompt = self._texts.prompt(question)
            if isinstance(prompt, str):
                scores[position] = prompt
            else:
                asked.append((position, [*prompt, *self._texts.opener]))
        with torch.inference_mode():
            for batch in self._batches(asked):
                got = self._replies([prompt for _, prompt in batch])
                for (position, _), score in zip(batch, got, strict=True):
                    unread = isinstance(score, float) and math.isnan(score)
                    scores[position] = _NO_NUMBER if unread else score
        return scores

    def _batches(self, asked: list[tuple[int, Ids]]) -> Iterator[list[tuple[int, Ids]]]:
        """Yield prompts of like length together, the longest first, so that memory shows early."""
        most = _MAX_TOKENS.get(self._model.device.type, _MAX_TOKENS["cpu"])
        longest_first = sorted(asked, key=lambda pair: -len(pair[1]))
        start = 0
        while start < len(longest_first):
            rows = max(1, min(_MAX_ROWS, most // len(longest_first[start][1])))
            yield longest_first[start : start + rows]
            start += rows

    def _replies(self, prompts: list[Ids]) -> list[Score]:
        if self._calibration == "tok" and not self._texts.reason:
            _, last = self._read(prompts, None)
            return list(self._yes(last))
        return self._write(prompts)

    def _read(self, prompts: list[Ids], before: Any) -> tuple[Any, Any]:
        """Read what follows `before` and return (what is to be kept, logits of the last tokens).

        Args:
            prompts: filled up on the left, so that all end together.
            before: (cache, mask) of what was read, or None.
        """
        import torch

        device, width = self._model.device, max(map(len, prompts))
        filled = [[self._texts.pad] * (width - len(p)) + p for p in prompts]
        ids = torch.tensor(filled, device=device)
        mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts], device=device)
        cache = None
        if before is not None:
            cache, seen = before
            mask = torch.cat([seen, mask], dim=1)
        places = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, -width:]
        out = self._model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=places,
            past_key_values=cache,
            use_cache=before is not None or self._writes,
            logits_to_keep=1,
        )
        return (out.past_key_values, mask), out.logits[:, -1].float()

    @property
    def _writes(self) -> bool:
        return self._texts.reason or self._calibration == "ask"

    def _yes(self, logits: Any) -> list[float]:
        """Return P(yes) / (P(yes) + P(no)) over all spellings of one token."""
        import torch

        yes = logits[:, self._texts.yes].logsumexp(dim=1)
        no = logits[:, self._texts.no].logsumexp(dim=1)
        return [float(p) for p in torch.sigmoid((yes - no).double())]

    def _write(self, prompts: list[Ids]) -> list[Score]:
        """Write each reply, its likeliest token each time, until it ends or has its verdict."""
        texts, tok = self._texts, self._calibration == "tok"
        limit = texts.target_tokens if texts.reason else _DIRECT_TOKENS
        replies: list[Ids] = [[] for _ in prompts]
        scores: list[Score | None] = [None] * len(prompts)
        kept, logits = self._read(prompts, None)
        for _ in range(limit):
            likeliest, yes = logits.argmax(dim=1).tolist(), self._yes(logits) if tok else []
            for row, reply in enumerate(replies):
                if scores[row] is not None:
                    continue
                if tok and _ends(reply, texts.answer):
                    scores[row] = yes[row]
                elif likeliest[row] == texts.end:
                    scores[row] = self._stated(reply)
                else:
                    reply.append(likeliest[row])
            if all(score is not None for score in scores):
                break
            kept, logits = self._read([[token] for token in likeliest], kept)
        cut = f"length: the reply has no end within {limit} tokens"
        return [cut if score is None else score for score in scores]

    def _stated(self, reply: Ids) -> Score:
        if self._calibration == "tok":
            said = shorten(self._texts.text(reply), 60)
            return f"unreadable: found {said!r}, expected a reason and then an answer"
        return stated(self._texts.text([*self._texts.opener, *reply]))


def _ends(ids: Ids, end: Ids) -> bool:
    return len(ids) >= len(end) and ids[-len(end) :] == end
