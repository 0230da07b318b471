"""The network of the late-interaction student, in torch."""

from __future__ import annotations

import functools
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import nn
from transformers import BertConfig, BertModel

from pnyx.core.errors import InputError, shorten
from pnyx.core.files import parse_json_object, read_lines
from pnyx.core.native import load_onnxruntime
from pnyx.judging.students.late import Piece
from pnyx.judging.students.scorers import read_tokenizer
from pnyx.judging.students.trainer import Report
from pnyx.models.embed.embedder import PACKAGED
from pnyx_train.libraries import loading
from pnyx_train.torch_trainer import fit, own_randomness

Pair: TypeAlias = tuple[int, int, int]
"""Positions of passage, question, and question with definition among the texts."""


@dataclass(frozen=True, slots=True)
class TrainingBatch:
    """The data of a step: texts, pairs of them, and the question and target of each pair."""

    texts: Sequence[Sequence[Piece]]
    pairs: Sequence[Pair]
    groups: Sequence[int]
    targets: Sequence[float]


_START = (1.0, 3.0, 1.0, 3.0, 2.0, 1.0, 1.0)
"""Weights of `FEATURES` at the start: about those of a regression on frozen vectors."""
_INTERCEPT = -5.5
_BEST = 3
_BLOCK = 16
_LARGEST = 1 << 20
"""Limit for a model's sizes: far above any that could be trained here."""
_SIZES = (
    "vocab_size hidden_size num_hidden_layers num_attention_heads intermediate_size "
    "max_position_embeddings type_vocab_size"
).split()


class LateNet(nn.Module):  # type: ignore[misc]
    """Encoder, weights of the features, and an intercept for each training question.

    The embeddings and the first `frozen` layers of the encoder are not trained. `order` is the
    weight of the loss on the order of a question's documents, `gap` the smallest difference of
    their targets that counts as an order.
    """

    def __init__(
        self, bert: BertModel, groups: int, *, frozen: int = 0, order: float = 1.0, gap: float = 0.2
    ) -> None:
        super().__init__()
        self.bert, self._order, self._gap = bert, order, gap
        self.weights = nn.Parameter(torch.tensor(_START))
        self.intercept = nn.Parameter(torch.tensor(_INTERCEPT))
        self.own = nn.Parameter(torch.zeros(groups))
        self._frozen = (bert.embeddings, *bert.encoder.layer[:frozen])
        for module in self._frozen:
            module.requires_grad_(requires_grad=False)

    def train(self, mode: bool = True) -> LateNet:
        """Set the trained parts to training mode; frozen layers have no dropout."""
        super().train(mode)
        for module in self._frozen[1:]:
            module.eval()
        return self

    def forward(self, lesson: TrainingBatch) -> dict[str, torch.Tensor]:
        """Return the loss of a step: of the probabilities, and of the order (RankNet)."""
        groups, target = torch.tensor(lesson.groups), torch.tensor(lesson.targets)
        z = self.log_odds(lesson.texts, lesson.pairs)
        loss = nn.functional.binary_cross_entropy_with_logits(z + self.own[groups], target)
        # Over the documents of one question (Burges et al., ICML 2005).
        above = (target[:, None] - target[None, :]) > self._gap
        above &= groups[:, None] == groups[None, :]
        if self._order and above.any():
            disorder = nn.functional.softplus(-(z[:, None] - z[None, :]))[above].mean()
            loss = loss + self._order * disorder
        return {"loss": loss}

    def log_odds(self, texts: Sequence[Sequence[Piece]], pairs: Sequence[Pair]) -> torch.Tensor:
        """Return log-odds, float32 [pairs], without the intercepts of the questions."""
        states = iter(self._states([piece for pieces in texts for piece in pieces]))
        wholes, sentences = [], []
        for pieces in texts:
            tokens = [next(states) for _ in pieces]
            means = torch.stack([part.mean(0) for part in tokens])
            parts = torch.cat([_sentence_means(*both) for both in zip(tokens, pieces, strict=True)])
            wholes.append(nn.functional.normalize(means, dim=-1))
            sentences.append(nn.functional.normalize(parts, dim=-1))
        rows = [
            _interact(wholes[p], sentences[p], wholes[q][0], wholes[d][0], sentences[d])
            for p, q, d in pairs
        ]
        return torch.stack(rows) @ self.weights + self.intercept

    def _states(self, pieces: Sequence[Piece]) -> list[torch.Tensor]:
        """Return the hidden states of pieces, run in blocks of similar length."""
        order = sorted(range(len(pieces)), key=lambda i: len(pieces[i][0]))
        states_by_piece: list[torch.Tensor] = [torch.empty(0)] * len(pieces)
        for start in range(0, len(order), _BLOCK):
            block = order[start : start + _BLOCK]
            ids = [torch.from_numpy(pieces[i][0]) for i in block]
            mask = nn.utils.rnn.pad_sequence(
                [torch.ones_like(piece_ids) for piece_ids in ids], batch_first=True
            )
            padded = nn.utils.rnn.pad_sequence(ids, batch_first=True)
            states = self.bert(padded, attention_mask=mask).last_hidden_state
            for i, piece_ids, row in zip(block, ids, states, strict=True):
                states_by_piece[i] = row[: len(piece_ids)]
        return states_by_piece


def _sentence_means(tokens: torch.Tensor, piece: Piece) -> torch.Tensor:
    owner = torch.from_numpy(piece[1])
    count = int(owner.max()) + 1
    if not count:
        return tokens.mean(0, keepdim=True)
    member = nn.functional.one_hot(owner.clamp(min=0), count).float() * (owner >= 0)[:, None]
    return (member.T @ tokens) / member.sum(0)[:, None]


def _interact(
    pieces: torch.Tensor,
    sentences: torch.Tensor,
    query: torch.Tensor,
    whole: torch.Tensor,
    parts: torch.Tensor,
) -> torch.Tensor:
    """The same as `late.interact`, with gradients; a test compares both."""
    best = (sentences @ parts.T).max(0).values.sort().values
    return torch.stack(
        [
            (pieces @ query).max(),
            (pieces @ whole).max(),
            (sentences @ query).max(),
            (sentences @ whole).max(),
            best.mean(),
            best[-1],
            best[-_BEST:].mean(),
        ]
    )


def train_net(
    make: Callable[[], LateNet],
    steps: Sequence[Sequence[int]],
    lesson: Callable[[Sequence[int]], TrainingBatch],
    work: Path,
    report: Report,
    *,
    rate: float,
    seed: int,
) -> tuple[LateNet, float | None]:
    """Train a network on the positions of each step; return it and the last loss."""
    with own_randomness(seed):
        net = make()
        learned = {name: p for name, p in net.named_parameters() if p.requires_grad}
        encoder = [p for name, p in learned.items() if name.startswith("bert.")]
        head = [p for name, p in learned.items() if not name.startswith("bert.")]
        groups = [{"params": encoder}, {"params": head, "lr": rate * 10.0}]
        _, loss = fit(
            net,
            steps,
            lambda batch: {"lesson": lesson(batch[0])},
            work,
            report,
            in_order=True,
            optimizer=torch.optim.AdamW(groups, lr=rate, weight_decay=0.01),
            per_device_train_batch_size=1,
            num_train_epochs=1,
            lr_scheduler_type="linear",
            warmup_steps=max(1, round(0.1 * len(steps))),
            save_steps=50,
            seed=seed,
        )
    return net.eval(), loss


# --- the base encoder


def load_bert(base: str) -> BertModel:
    """Load a model to start from: `PACKAGED`, or a folder of a BERT model (MiniLM, BGE ...)."""
    if base == PACKAGED:
        config, weights = _packaged()
        bert = BertModel(config, add_pooling_layer=False)
        bert.load_state_dict(weights)
        return bert
    with loading(base):
        bert, info = BertModel.from_pretrained(
            base,
            add_pooling_layer=False,
            local_files_only=True,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
        )
    if missing := sorted(info["missing_keys"]):  # they would be initialised at random
        raise InputError(f"holds no BERT model: {shorten(missing[0], 80)} is missing", path=base)
    return bert


def check_base(base: str, tokens: int) -> BertConfig:
    """Check that a base can read `tokens` tokens and fits its tokenizer; return its sizes."""
    config = _packaged()[0] if base == PACKAGED else _config(Path(base))
    if config.max_position_embeddings < tokens:
        problem = f"reads up to {config.max_position_embeddings} tokens, expected at least {tokens}"
        raise InputError(problem, path=base)
    try:
        tokenizer = read_tokenizer(tokenizer_of(base))
        highest = max(tokenizer.get_vocab().values(), default=0)
        special = tokenizer.encode("a text").special_tokens_mask
    except InputError:
        raise
    except Exception as error:  # the library raises its own, undocumented class
        problem = f"tokenizer.json cannot be used: {shorten(str(error), 80)}"
        raise InputError(problem, path=base) from error
    if highest >= config.vocab_size:
        raise InputError(
            f"tokenizer.json holds token {highest}, its model {config.vocab_size} tokens: expected "
            "those of one model",
            path=base,
        )
    if special[:1] != [1] or special[-1:] != [1] or sum(special) != 2:
        problem = "tokenizer.json: expected one special token before a text and one after it"
        raise InputError(problem, path=base)
    return config


def _config(folder: Path) -> BertConfig:
    """Read and check the sizes of a model, for clearer errors than those of torch."""
    path = folder / "config.json"
    row = parse_json_object(" ".join(line for _, line in read_lines(path)), path=path, number=1)
    if row.get("model_type") != "bert" or row.get("hidden_act") != "gelu":
        raise InputError("expected model_type bert with gelu", path=path)
    sizes = {name: row.get(name, 2 if name == "type_vocab_size" else None) for name in _SIZES}
    for name, size in sizes.items():
        if type(size) is not int or not 0 < size < _LARGEST:
            excerpt = shorten(size, 40) if name in row else "nothing"
            raise InputError(f"{name}: found {excerpt}, expected a size", path=path)
    config = BertConfig(**sizes)
    width, heads = config.hidden_size, config.num_attention_heads
    if width % heads:
        raise InputError(f"hidden_size {width} is not a multiple of {heads} heads", path=path)
    return config


def tokenizer_of(base: str) -> bytes:
    """Return the tokenizer.json of a base, or raise InputError."""
    if base == PACKAGED:
        return _packaged_file("tokenizer.json")
    path = Path(base) / "tokenizer.json"
    if not path.is_file():
        raise InputError("holds no tokenizer.json", path=base)
    return path.read_bytes()


def _packaged_file(file: str) -> bytes:
    return (resources.files("pnyx.models") / "weights" / "minilm" / file).read_bytes()


@functools.cache
def _packaged() -> tuple[BertConfig, dict[str, torch.Tensor]]:
    """Read the packaged encoder's graph, where the names of nodes identify the weights."""
    import onnx

    graph = onnx.load_from_string(_packaged_file("model.onnx")).graph
    stored = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    weights = {
        name.removeprefix("bert.").removesuffix("_quantized"): _tensor(stored, name)
        for name in stored
        if name.startswith("bert.") and not name.endswith(("_scale", "_zero_point"))
    }
    for node in graph.node:
        if node.op_type == "MatMulInteger":
            matrix = _tensor(stored, node.input[1]).T.contiguous()
            weights[f"encoder.layer.{_matrix(node.name)}.weight"] = matrix
    words, places, types = (
        weights[f"embeddings.{name}_embeddings.weight"]
        for name in ("word", "position", "token_type")
    )
    config = BertConfig(
        vocab_size=words.shape[0],
        hidden_size=words.shape[1],
        num_hidden_layers=sum(name.endswith("intermediate.dense.bias") for name in weights),
        num_attention_heads=12,
        intermediate_size=weights["encoder.layer.0.intermediate.dense.bias"].shape[0],
        max_position_embeddings=places.shape[0],
        type_vocab_size=types.shape[0],
    )
    return config, weights


def _tensor(stored: Mapping[str, Any], name: str) -> torch.Tensor:
    value = stored[name]
    plain = name.removesuffix("_quantized")
    if plain == name:
        return torch.from_numpy(np.asarray(value, dtype=np.float32).copy())
    scale, zero = (stored[f"{plain}_{part}"].astype(np.float32) for part in ("scale", "zero_point"))
    return torch.from_numpy((value.astype(np.float32) - zero) * scale)


def _matrix(node: str) -> str:
    """Return layer and part of a product: `1.attention.self.query` of `/query_1/MatMul_quant`."""
    parts = node.strip("/").split("/")
    name, _, number = parts[-2].partition("_")
    index = int(number or 0)
    if name != "dense":
        return f"{index}.attention.self.{name}"
    if parts[0] == "intermediate":
        return f"{index}.intermediate.dense"
    return f"{index // 2}.{'output' if index % 2 else 'attention.output'}.dense"


# --- the encoder for scoring


class _States(nn.Module):  # type: ignore[misc]
    """Maps token ids and their mask to the states of the last layer."""

    def __init__(self, bert: BertModel) -> None:
        super().__init__()
        self.bert = bert

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        # Written out: a two-dimensional mask may not give a fixed graph in every release.
        bias = (1.0 - attention_mask.to(torch.float32))[:, None, None, :] * -1e9
        places = torch.arange(input_ids.shape[1])[None, :]
        hidden = self.bert.embeddings(
            input_ids, position_ids=places, token_type_ids=torch.zeros_like(input_ids)
        )
        return self.bert.encoder(hidden, attention_mask=bias).last_hidden_state


def export_int8(bert: BertModel, path: Path) -> None:
    """Write an encoder as ONNX with 7 of 8 bits per weight: otherwise 16-bit sums overflow."""
    load_onnxruntime()
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    bert.set_attn_implementation("eager")
    ids = torch.randint(0, bert.config.vocab_size, (2, 12), generator=torch.Generator())
    axes = {0: "batch", 1: "tokens"}
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecations in the exporter
        full, ready = Path(name) / "full.onnx", Path(name) / "ready.onnx"
        torch.onnx.export(
            _States(bert).eval(),
            (ids, torch.ones_like(ids)),
            str(full),
            input_names=["input_ids", "attention_mask"],
            output_names=["out"],
            dynamic_axes={"input_ids": axes, "attention_mask": axes, "out": axes},
            opset_version=17,
            dynamo=False,
        )
        quant_pre_process(str(full), str(ready), skip_symbolic_shape=True)
        quantize_dynamic(
            str(ready), str(path), weight_type=QuantType.QInt8, per_channel=True, reduce_range=True
        )
