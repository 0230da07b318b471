"""BERT in plain torch: loaded from the packaged int8 encoder or a folder, exported to int8 ONNX.

Written out because it must export to a fixed graph, whichever release of a library is there.
"""

from __future__ import annotations

import functools
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from pnyx.errors import InputError, shorten
from pnyx.files import parse_json_object, read_lines
from pnyx.native import load_onnxruntime
from pnyx.students.network import read_tokenizer

PACKAGED = "minilm-int8"
"""Name of the packaged encoder as a start: its weights are int8 with a scale for each column."""

_WEIGHTS = "model.safetensors"
_LARGEST = 1 << 20
"""Of a model's sizes: far above any that could be trained here."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a BERT model, as in its config.json."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    type_vocab_size: int = 2
    layer_norm_eps: float = 1e-12


class _Layer(nn.Module):  # type: ignore[misc]
    def __init__(self, shape: Shape, dropout: float) -> None:
        super().__init__()
        width = shape.hidden_size
        self.heads, self.size = shape.num_attention_heads, width // shape.num_attention_heads
        self.query, self.key, self.value, self.attended = (
            nn.Linear(width, width) for _ in range(4)
        )
        self.attended_norm = nn.LayerNorm(width, shape.layer_norm_eps)
        self.up = nn.Linear(width, shape.intermediate_size)
        self.down = nn.Linear(shape.intermediate_size, width)
        self.down_norm = nn.LayerNorm(width, shape.layer_norm_eps)
        self.dropout = nn.Dropout(dropout)

    def forward(self, hidden: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        batch, length, width = hidden.shape

        def split(x: torch.Tensor) -> torch.Tensor:
            return x.view(batch, length, self.heads, self.size).transpose(1, 2)

        query, key, value = (split(f(hidden)) for f in (self.query, self.key, self.value))
        # Fused: the scores of all heads at once would be most of what a training holds.
        context = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        context = context.transpose(1, 2).reshape(batch, length, width)
        hidden = self.attended_norm(hidden + self.dropout(self.attended(context)))
        inner = nn.functional.gelu(self.up(hidden))
        out: torch.Tensor = self.down_norm(hidden + self.dropout(self.down(inner)))
        return out


class Bert(nn.Module):  # type: ignore[misc]
    """Token ids to hidden states of the last layer, float32 [batch, tokens, hidden_size]."""

    def __init__(self, shape: Shape, dropout: float = 0.1) -> None:
        super().__init__()
        self.shape = shape
        self.words = nn.Embedding(shape.vocab_size, shape.hidden_size)
        self.places = nn.Embedding(shape.max_position_embeddings, shape.hidden_size)
        self.types = nn.Embedding(shape.type_vocab_size, shape.hidden_size)
        self.norm = nn.LayerNorm(shape.hidden_size, shape.layer_norm_eps)
        self.layers = nn.ModuleList(_Layer(shape, dropout) for _ in range(shape.num_hidden_layers))
        self.dropout = nn.Dropout(dropout)
        self.frozen = 0

    def freeze(self, layers: int) -> None:
        """Train neither the embeddings nor the first `layers` layers."""
        self.frozen = layers
        for module in (self.words, self.places, self.types, self.norm, *self.layers[:layers]):
            module.requires_grad_(requires_grad=False)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Return hidden states; ids and mask are int64 [batch, tokens]."""
        bias = (1.0 - attention_mask.to(torch.float32))[:, None, None, :] * -1e9
        places = torch.arange(input_ids.shape[1], device=input_ids.device)[None, :]
        kinds = torch.zeros_like(input_ids)
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.frozen):
            summed = self.words(input_ids) + self.places(places) + self.types(kinds)
            hidden = self.norm(summed)
            if not self.frozen:
                hidden = self.dropout(hidden)
            for layer in self.layers[: self.frozen]:
                hidden = layer(hidden, bias)
        for layer in self.layers[self.frozen :]:
            hidden = layer(hidden, bias)
        return hidden

    def train(self, mode: bool = True) -> Bert:
        """Set what is trained to training; what is frozen keeps no dropout."""
        super().train(mode)
        for layer in self.layers[: self.frozen]:
            layer.eval()
        return self


def load_bert(base: str) -> Bert:
    """Load a model to start from: `PACKAGED`, or a folder of a BERT model (MiniLM, BGE ...)."""
    shape, weights = _packaged() if base == PACKAGED else _from_folder(Path(base))
    try:
        bert = Bert(shape)
        bert.load_state_dict(weights)
    except RuntimeError as error:
        raise InputError(f"is not a BERT model: {shorten(str(error), 120)}", path=base) from error
    return bert


def check_base(base: str, tokens: int) -> Shape:
    """Check that a base reads so many tokens and that its tokenizer fits it; return its sizes."""
    shape = _packaged()[0] if base == PACKAGED else _shape_of(Path(base))
    if shape.max_position_embeddings < tokens:
        problem = f"reads up to {shape.max_position_embeddings} tokens, expected at least {tokens}"
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
    if highest >= shape.vocab_size:
        raise InputError(
            f"tokenizer.json holds token {highest}, its model {shape.vocab_size} tokens: expected "
            "those of one model",
            path=base,
        )
    if special[:1] != [1] or special[-1:] != [1] or sum(special) != 2:
        problem = "tokenizer.json: expected one special token before a text and one after it"
        raise InputError(problem, path=base)
    return shape


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


def optimizer_of(learned: Mapping[str, nn.Parameter], rate: float) -> torch.optim.AdamW:
    """Return what trains an encoder (names beginning with `bert.`), its head ten times as fast."""
    encoder = [p for name, p in learned.items() if name.startswith("bert.")]
    head = [p for name, p in learned.items() if not name.startswith("bert.")]
    groups = [{"params": encoder}, {"params": head, "lr": rate * 10.0}]
    return torch.optim.AdamW(groups, lr=rate, weight_decay=0.01)


_NAMES = {
    "attention.self.query": "query",
    "attention.self.key": "key",
    "attention.self.value": "value",
    "attention.output.dense": "attended",
    "attention.output.LayerNorm": "attended_norm",
    "intermediate.dense": "up",
    "output.dense": "down",
    "output.LayerNorm": "down_norm",
}
_EMBEDDINGS = {
    "embeddings.word_embeddings.weight": "words.weight",
    "embeddings.position_embeddings.weight": "places.weight",
    "embeddings.token_type_embeddings.weight": "types.weight",
    "embeddings.LayerNorm.weight": "norm.weight",
    "embeddings.LayerNorm.bias": "norm.bias",
}


def _own_name(name: str) -> str | None:
    """Return what a weight is called here, None for one that is not needed (the pooler)."""
    name = name.removeprefix("bert.")
    if name in _EMBEDDINGS:
        return _EMBEDDINGS[name]
    if not name.startswith("encoder.layer."):
        return None
    number, _, rest = name.removeprefix("encoder.layer.").partition(".")
    part, _, kind = rest.rpartition(".")
    return f"layers.{number}.{_NAMES[part]}.{kind}" if part in _NAMES else None


def _shape_of(folder: Path) -> Shape:
    """Read the sizes of a model; they are checked here, as torch would refuse them by its own."""
    path = folder / "config.json"
    config = parse_json_object(" ".join(line for _, line in read_lines(path)), path=path, number=1)
    if config.get("model_type") != "bert" or config.get("hidden_act") != "gelu":
        raise InputError("expected model_type bert with gelu", path=path)
    sizes: dict[str, Any] = {}
    for field in fields(Shape):
        found = config.get(field.name, field.default)
        if field.name == "layer_norm_eps":
            right = isinstance(found, float) and 0 < found < 1
        else:
            right = type(found) is int and 0 < found < _LARGEST
        if not right:
            shown = "nothing" if found is MISSING else shorten(found, 40)
            raise InputError(f"{field.name}: found {shown}, expected a size", path=path)
        sizes[field.name] = found
    shape = Shape(**sizes)
    if shape.hidden_size % shape.num_attention_heads:
        heads = f"{shape.num_attention_heads} heads"
        raise InputError(f"hidden_size {shape.hidden_size} is not a multiple of {heads}", path=path)
    return shape


def _from_folder(folder: Path) -> tuple[Shape, dict[str, torch.Tensor]]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    shape = _shape_of(folder)
    try:
        stored = load_file(folder / _WEIGHTS)
    except (OSError, ValueError, SafetensorError) as error:
        problem = f"holds no BERT model: {shorten(str(error), 120)}"
        raise InputError(problem, path=folder) from error
    named = {_own_name(name): tensor for name, tensor in stored.items()}
    return shape, {name: tensor.float() for name, tensor in named.items() if name is not None}


@functools.cache
def _packaged() -> tuple[Shape, dict[str, torch.Tensor]]:
    """Read the packaged encoder's graph: names of nodes tell which weight is which."""
    import onnx

    graph = onnx.load_from_string(_packaged_file("model.onnx")).graph
    stored = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
    weights: dict[str, torch.Tensor] = {}
    for name in stored:
        plain = name.removesuffix("_quantized")
        own = _own_name(plain)
        if own is not None and not name.endswith(("_scale", "_zero_point")):
            weights[own] = _tensor(stored, name)
    for node in graph.node:
        if node.op_type == "MatMulInteger":
            own = _matrix(node.name)
            weights[f"layers.{own}.weight"] = _tensor(stored, node.input[1]).T.contiguous()
    words, places = weights["words.weight"], weights["places.weight"]
    layers = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("layers."))
    width = words.shape[1]
    shape = Shape(
        vocab_size=words.shape[0],
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=12,
        intermediate_size=weights["layers.0.up.bias"].shape[0],
        max_position_embeddings=places.shape[0],
    )
    return shape, weights


def _tensor(stored: Mapping[str, Any], name: str) -> torch.Tensor:
    value = stored[name]
    if not name.endswith("_quantized"):
        return torch.from_numpy(np.asarray(value, dtype=np.float32).copy())
    plain = name.removesuffix("_quantized")
    scale = stored[f"{plain}_scale"].astype(np.float32)
    zero = stored[f"{plain}_zero_point"].astype(np.float32)
    return torch.from_numpy((value.astype(np.float32) - zero) * scale)


def _matrix(node: str) -> str:
    """Return layer and part of a matrix product, such as `0.query` of `/query/MatMul_quant`."""
    parts = node.strip("/").split("/")
    name, _, number = parts[-2].partition("_")
    place = int(number or 0)
    if name == "dense" and parts[0] == "output":
        return f"{place // 2}.{'down' if place % 2 else 'attended'}"
    return f"{place}.{'up' if name == 'dense' else name}"


def export_int8(model: nn.Module, inputs: Mapping[str, torch.Tensor], path: Path) -> None:
    """Write a model as ONNX with int8 weights; inputs are [batch, tokens], the output a tensor.

    Seven bits a weight: processors without VNNI add pairs of 8-bit products in 16 bits, which
    full-range weights overflow.
    """
    load_onnxruntime()
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    axes = {0: "batch", 1: "tokens"}
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecations within the exporter
        full, ready = Path(name) / "full.onnx", Path(name) / "ready.onnx"
        torch.onnx.export(
            model.eval(),
            tuple(inputs.values()),
            str(full),
            input_names=list(inputs),
            output_names=["out"],
            dynamic_axes={**dict.fromkeys(inputs, axes), "out": {0: "batch"}},
            opset_version=17,
            dynamo=False,
        )
        quant_pre_process(str(full), str(ready), skip_symbolic_shape=True)
        quantize_dynamic(
            str(ready), str(path), weight_type=QuantType.QInt8, per_channel=True, reduce_range=True
        )
