"""The packaged text encoder: all-MiniLM-L6-v2 in int8, run by ONNX Runtime on the CPU."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np
import numpy.typing as npt

from pnyx.core.errors import InputError, PnyxError, shorten
from pnyx.core.native import load_onnxruntime
from pnyx.models.http.flow import in_threads

_FOLDERS = {"minilm-int8": "minilm"}

_MAX_CHARACTERS = 32_768
"""Much longer than 256 tokens, so cutting here changes no embedding of running text."""

_REMEMBERED = 30_000
"""Number of cached embeddings, about 50 MB."""

_MAX_REMEMBERED_CHARACTERS = 2_000

_FEW = 128
"""Up to this many tokens, starting threads takes longer than it saves."""

_LAYERS = (
    "/embeddings/LayerNorm/LayerNormalization_output_0",
    *(f"/output/LayerNorm_{layer}/LayerNormalization_output_0" for layer in range(1, 12, 2)),
)
"""The graph's names of the states of its embeddings and of its six layers."""


class Encoder:
    """Embeds texts as unit vectors whose dot product is their cosine similarity (`load_encoder`).

    It may be used from several threads.

    Attributes:
        name: `minilm-int8`.
        dimensions: length of a vector, 384.
        max_tokens: tokens of a text that are read, special tokens included; the rest is ignored.
        at_once: number of texts per call above which embedding gets no faster.
        card: description of the model, its source and how it was made (Markdown).
    """

    at_once = 64

    def __init__(self, name: str, folder: Traversable) -> None:
        manifest = json.loads(_read(folder, "manifest.json", None))
        files = manifest["files"]
        self.name = name
        self.dimensions: int = manifest["dimension"]
        self.max_tokens: int = manifest["max_tokens"]
        self.card = folder.joinpath("card.md").read_text(encoding="utf-8")
        self._recent: dict[str, npt.NDArray[np.float32]] = {}
        self._open = functools.partial(_read, folder, "model.onnx", files["model.onnx"])
        self._session = open_session(self._open())
        import tokenizers

        tokenizer = _read(folder, "tokenizer.json", files["tokenizer.json"]).decode("utf-8")
        self._tokenizer = tokenizers.Tokenizer.from_str(tokenizer)
        self._tokenizer.enable_truncation(self.max_tokens)
        self._tokenizer.no_padding()

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Embed texts; repeated and recently embedded texts are embedded once.

        Only the first `max_tokens` tokens of each text are read: cut longer texts into windows. The
        empty string has an embedding too, without meaning.

        Returns:
            Float32 [n, dimensions], row i for `texts[i]`, each of Euclidean length 1. A row is
            identical bit by bit in any batch and with any number of cores.
        """
        unique = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        out = np.empty((len(unique), self.dimensions), dtype=np.float32)
        new = []
        for text, i in unique.items():
            if (vector := self._recent.get(text)) is None:
                new.append(text)
            else:
                out[i] = vector
        if new:
            fresh = np.empty((len(new), self.dimensions), dtype=np.float32)
            self._fill(fresh, new, lambda feeds: self._session.run(None, feeds)[0][0])
            out[[unique[text] for text in new]] = fresh
            self._remember(new, fresh)
        return out[[unique[text] for text in texts]]

    def count_cut(self, texts: Sequence[str]) -> int:
        """Return the number of texts longer than `max_tokens`, whose end is ignored."""
        long = [text[:_MAX_CHARACTERS] for text in texts if len(text) > self.max_tokens - 2]
        safe = [text.encode("utf-8", "replace").decode("utf-8") for text in long]
        return sum(bool(e.overflowing) for e in self._tokenizer.encode_batch(safe))

    def states(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the hidden states of each layer, pooled over the first `max_tokens` tokens.

        Returns:
            Float32 [n, 7, 3, dimensions]: for the embeddings and the six layers, the mean, the
            maximum and the standard deviation over the tokens. As reproducible as `encode`.
        """
        session = self._layers
        out = np.empty((len(texts), len(_LAYERS), 3, self.dimensions), dtype=np.float32)

        def pooled(feeds: dict[str, Any]) -> npt.NDArray[np.float32]:
            layers = [layer[0] for layer in session.run(_LAYERS, feeds)]
            return np.stack([(layer.mean(0), layer.max(0), layer.std(0)) for layer in layers])

        if texts:
            self._fill(out, texts, pooled)
        return out

    @functools.cached_property
    def _layers(self) -> Any:
        return open_session(with_outputs(self._open(), _LAYERS))

    def _remember(self, texts: list[str], vectors: npt.NDArray[np.float32]) -> None:
        """Cache embeddings: judges and writers read the same sentences repeatedly."""
        if len(self._recent) + len(texts) > _REMEMBERED:
            self._recent = {}  # replaced, not cleared: another thread may be reading the old one
        # Long texts are cut into windows before they come here, so this also bounds the memory.
        for text, vector in zip(texts[:_REMEMBERED], vectors, strict=False):
            if len(text) <= _MAX_REMEMBERED_CHARACTERS:
                self._recent[text] = vector

    def _fill(
        self,
        out: npt.NDArray[np.float32],
        texts: Sequence[str],
        read: Callable[[dict[str, Any]], npt.NDArray[np.float32]],
    ) -> None:
        # Bounded, and without lone surrogates, which the tokenizer does not accept.
        cut = (text[:_MAX_CHARACTERS].encode("utf-8", "replace") for text in texts)
        encoded = self._tokenizer.encode_batch_fast([text.decode("utf-8") for text in cut])

        # One text per run and one thread per text; docs/explain/decisions/packaged-encoder.md says
        # why.
        def run(row: int) -> None:
            ids = np.array([encoded[row].ids], dtype=np.int64)
            out[row] = read({"input_ids": ids, "attention_mask": np.ones_like(ids)})

        # Longest first, so that all cores finish at about the same time.
        rows = sorted(range(len(texts)), key=lambda row: -len(encoded[row].ids))
        few = sum(len(e.ids) for e in encoded) <= _FEW
        in_threads(run, rows, threads=1 if few else None)


def load_encoder(name: str = "minilm-int8") -> Encoder:
    """Load a packaged encoder (so far `minilm-int8`); the second call returns the same one.

    Raises:
        InputError: no encoder of that name is packaged.
        PnyxError: a weights file is missing or its SHA-256 differs from the manifest's.
    """
    if name not in _FOLDERS:
        names = ", ".join(_FOLDERS)
        raise InputError(f"no packaged encoder is called {shorten(name, 40)}, expected {names}")
    return _load(name)  # a cache here would distinguish the default from its explicit name


@functools.cache
def _load(name: str) -> Encoder:
    return Encoder(name, resources.files("pnyx.models") / "weights" / _FOLDERS[name])


def _read(folder: Traversable, file: str, expected: dict[str, Any] | None) -> bytes:
    try:
        data = folder.joinpath(file).read_bytes()
    except OSError as error:
        raise PnyxError(f"the packaged encoder's {file} cannot be read: reinstall pnyx") from error
    if expected is not None and hashlib.sha256(data).hexdigest() != expected["sha256"]:
        raise PnyxError(f"the packaged encoder's {file} is damaged: reinstall pnyx")
    return data


def open_session(model: bytes, tensors: Mapping[str, npt.NDArray[Any]] | None = None) -> Any:
    """Return a one-thread session of an ONNX model; `tensors` are its external constants."""
    onnxruntime = load_onnxruntime()
    options = onnxruntime.SessionOptions()
    # Explicit, so that a new default in another release changes no score.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only
    if tensors:
        values = map(onnxruntime.OrtValue.ortvalue_from_numpy, tensors.values())
        options.add_external_initializers(list(tensors), list(values))
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


_FLOAT = 1
_GRAPH, _OUTPUT, _NAME, _TYPE, _TENSOR, _ELEMENT = 7, 12, 1, 2, 1, 1
"""Fields of ModelProto, GraphProto, ValueInfoProto, TypeProto and TypeProto.Tensor (onnx.proto)."""


def with_outputs(model: bytes, names: Sequence[str]) -> bytes:
    """Return a model with tensors of its graph as outputs: concatenated protobufs merge lists."""
    tensor = _field(_TYPE, _field(_TENSOR, bytes([_ELEMENT << 3, _FLOAT])))
    added = (_field(_OUTPUT, _field(_NAME, name.encode()) + tensor) for name in names)
    return model + _field(_GRAPH, b"".join(added))


def _field(number: int, content: bytes) -> bytes:
    size, length = len(content), bytearray()
    while size > 0x7F:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([number << 3 | 2, *length, size]) + content
