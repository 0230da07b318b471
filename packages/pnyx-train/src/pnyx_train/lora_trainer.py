"""Trains a LoRA adapter of a causal language model on a teacher's labels (DIRAS, 3.3, App. F)."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, get_args

from pnyx.core.errors import InputError, PnyxError, shorten
from pnyx.judging.questions import Support
from pnyx.judging.students.trainer import Report, Trained, Trainer, TrainingExample
from pnyx_train.libraries import require_libraries
from pnyx_train.lora import ADAPTER, Calibration, Ids, left_padded
from pnyx_train.lora_base import (
    PACKAGED,
    Base,
    adapter_weights,
    attach_adapter,
    find_base,
    load_model,
    load_tokenizer,
    revision_of,
)
from pnyx_train.lora_text import Texts, label, render

_IGNORED = -100
_LEAST_TARGET = 32
"""Tokens of a verdict and its confidence, and of one word of a reason."""


_COUNTS = "epochs batch rank alpha device_batch checkpoint_steps source_tokens".split()
_BOUNDS = {
    **dict.fromkeys(_COUNTS, (1, math.inf)),
    "target_tokens": (_LEAST_TARGET, math.inf),
    "learning_rate": (1e-9, 1),
    "max_grad_norm": (1e-6, math.inf),
    **dict.fromkeys(("warmup", "weight_decay"), (0, 1)),
    **dict.fromkeys(("dropout", "beta2"), (0, math.nextafter(1, 0))),
}


@dataclass(frozen=True, slots=True)
class LoraTrainer(Trainer):
    """Trains one adapter; the defaults are the paper's (Appendix F).

    Attributes:
        base: `local` (the packaged model), a GGUF file, a folder with safetensors, or
            `OWNER/MODEL` on the hub.
        reason: whether the student writes a reason first (CoT); pairs without one are left out.
        calibration: whether a score is the probability of the token Yes (`tok`) or the stated
            confidence (`ask`).
        four_bit: whether the base is quantised to 4 bits (QLoRA); needs a CUDA GPU.
        epochs: number of passes over the pairs, at least 1.
        batch: pairs per step.
        rank: r of the adapter, which is scaled by `alpha` / r.
        dropout: before the adapter, in [0, 1).
        learning_rate: constant after the warm-up.
        warmup: share of the steps in which the learning rate increases, in [0, 1].
        beta2, weight_decay: of AdamW.
        max_grad_norm: longer gradients are clipped to it.
        source_tokens: longest prompt; documents are cut at their end.
        target_tokens: longest reply; reasons are cut.
        device_batch: maximum number of pairs that go through the model at once; bounds the memory,
            and changes the result only by rounding errors.
        checkpoint_steps: steps between two checkpoints; one is also written every minute.
        seed: random seed of the adapter's initial weights, the order of the pairs and the dropout.

    Raises:
        InputError: a value out of range.
    """

    kind: ClassVar[str] = "lora"
    base: str = PACKAGED
    reason: bool = False
    calibration: Calibration = "tok"
    four_bit: bool = False
    epochs: int = 2
    batch: int = 32
    rank: int = 64
    alpha: int = 16
    dropout: float = 0.1
    learning_rate: float = 2e-4
    warmup: float = 0.03
    beta2: float = 0.999
    max_grad_norm: float = 0.3
    weight_decay: float = 0.0
    source_tokens: int = 2048
    target_tokens: int = 512
    device_batch: int = 4
    checkpoint_steps: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        for name, (low, high) in _BOUNDS.items():
            _within(name, getattr(self, name), low, high)
        if self.calibration not in get_args(Calibration):
            excerpt = shorten(self.calibration, 40)
            raise InputError(f"calibration: found {excerpt!r}, expected 'tok' or 'ask'")

    @property
    def what(self) -> str:
        """See `Trainer`."""
        how = "QLoRA" if self.four_bit else "LoRA"
        reason = "CoT-" if self.reason else ""
        base = find_base(self.base)
        return f"{how} ({reason}{self.calibration.title()}, r {self.rank}) of {base.short}"

    def plan(self) -> Mapping[str, Any]:
        """See `Trainer`; the base is named by its files."""
        base = find_base(self.base)
        settings = dataclasses.asdict(self) | {"base": base.name, "wording": label()}
        if base.fingerprint:
            settings["base_fingerprint"] = base.fingerprint
        for name in ("device_batch", "checkpoint_steps"):
            del settings[name]
        return settings

    def train(
        self,
        examples: Sequence[TrainingExample],
        work: Path,
        out: Path,
        report: Report,
        unseen: Sequence[Support] = (),  # noqa: ARG002 - for other kinds
    ) -> Trained:
        """See `Trainer`."""
        require_libraries()
        from safetensors.torch import save_file

        from pnyx_train.torch_trainer import fit, own_randomness

        base = find_base(self.base)
        tokenizer = load_tokenizer(base)
        rendered = render(tokenizer, reason=self.reason)
        with own_randomness(self.seed):
            model = self._model(base)
            texts = self._texts(tokenizer, rendered, model.config)
            lessons, left_out = _lessons(texts, examples, reason=self.reason)
            pad = texts.pad
            settings = self._settings(len(lessons))
            steps, loss = fit(
                model, lessons, lambda batch: collate(batch, pad), work, report, **settings
            )
        weights = adapter_weights(model)
        save_file(weights, out / ADAPTER)
        about_adapter = model.peft_config["default"]
        about_adapter.base_model_name_or_path = base.name
        about_adapter.save_pretrained(str(out))
        settings = {
            "base": base.row() | {"revision": revision_of(model)},
            "wording": label(),
            "rendered": rendered,
            "source_tokens": texts.source_tokens,
            **{
                name: getattr(self, name)
                for name in ("reason", "calibration", "four_bit", "rank", "alpha", "target_tokens")
            },
        }
        about = {
            "steps": steps,
            "loss": None if loss is None else round(loss, 4),
            "left_out": ", ".join(f"{count} ({why})" for why, count in left_out.items()) or 0,
            "weights": sum(value.numel() for value in weights.values()),
            "device": model.device.type,
        }
        return Trained(settings, about)

    def _settings(self, count: int) -> dict[str, Any]:
        """Return the arguments of transformers' TrainingArguments for `count` lessons."""
        together = math.gcd(self.batch, self.device_batch)
        steps = self.epochs * math.ceil(count / self.batch)
        return {
            "seed": self.seed,
            "num_train_epochs": self.epochs,
            "per_device_train_batch_size": together,
            "gradient_accumulation_steps": self.batch // together,
            "learning_rate": self.learning_rate,
            "lr_scheduler_type": "constant_with_warmup",
            "warmup_steps": int(self.warmup * steps),
            "adam_beta2": self.beta2,
            "weight_decay": self.weight_decay,
            "max_grad_norm": self.max_grad_norm,
            "save_steps": self.checkpoint_steps,
        }

    def _model(self, base: Base) -> Any:
        """Load the base and attach a new adapter, its weights drawn with the seed."""
        import torch

        model = load_model(base, four_bit=self.four_bit)
        if self.four_bit:
            from peft import prepare_model_for_kbit_training

            model = prepare_model_for_kbit_training(model)
        elif model.device.type == "cuda":
            model.gradient_checkpointing_enable({"use_reentrant": False})
            model.enable_input_require_grads()
        model.config.use_cache = False
        torch.manual_seed(self.seed)
        return attach_adapter(model, rank=self.rank, alpha=self.alpha, dropout=self.dropout)

    def _texts(self, tokenizer: Any, rendered: Mapping[str, str], config: Any) -> Texts:
        context = getattr(config, "max_position_embeddings", None) or math.inf
        source = int(min(self.source_tokens, context - self.target_tokens))
        if source < 1:
            raise InputError(
                f"base: reads {context} tokens, which replies of {self.target_tokens} leave no "
                "room in: fewer target tokens"
            )
        return Texts(
            tokenizer,
            rendered,
            reason=self.reason,
            source_tokens=source,
            target_tokens=self.target_tokens,
        )


def _within(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        bounds = f"at least {low:g}" if high == math.inf else f"{low:g} to {high:g}"
        raise InputError(f"{name.replace('_', ' ')}: found {value:g}, expected {bounds}")


class Lesson(NamedTuple):
    """A prompt and the reply to learn, as tokens."""

    prompt: Ids
    reply: Ids


def collate(lessons: Sequence[Lesson], pad: int) -> dict[str, Any]:
    """Return a batch with logits only for replies: those of prompts would fill the memory."""
    import torch

    rows = [[*lesson.prompt, *lesson.reply] for lesson in lessons]
    width = 1 + max(len(lesson.reply) for lesson in lessons)
    labels = [[_IGNORED] * (width - len(le.reply)) + le.reply for le in lessons]
    batch = left_padded(rows, pad, "cpu")
    return {**batch, "labels": torch.tensor(labels), "logits_to_keep": width}


def _lessons(
    texts: Texts, examples: Iterable[TrainingExample], *, reason: bool
) -> tuple[list[Lesson], Counter[str]]:
    lessons: list[Lesson] = []
    left_out: Counter[str] = Counter()
    verdicts = set()
    for example in examples:
        if reason and not example.explanation.strip():
            left_out["no reason"] += 1
            continue
        prompt = texts.prompt(example.question)
        if isinstance(prompt, str):
            left_out["too long"] += 1
            continue
        reply = texts.reply(example.value, example.target, example.explanation)
        lessons.append(Lesson(prompt, reply))
        verdicts.add(example.value)
    if verdicts != {True, False}:
        why = ", ".join(f"{count} left out: {name}" for name, count in left_out.items())
        raise PnyxError(f"no pairs of both verdicts to learn from{f' ({why})' if why else ''}")
    return lessons, left_out
