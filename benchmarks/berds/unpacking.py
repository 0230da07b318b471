"""Reads the packaged detector back into torch: a training goes on from the weights that ship."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from mpnet import Mpnet
from reader import Reader

Floats = npt.NDArray[np.float32]

_OWN = "reader."
_WORDS = "body.words.weight"
_BIAS = re.compile(r"reader\.(body\.layers\.\d+\.\w+)\.bias")


def load_reader(path: Path) -> Reader:
    """Return the network that `reader.export` wrote, its matrices the values its bits stand for."""
    import onnx

    graph = onnx.load(path).graph
    stored = {one.name: one for one in graph.initializer}
    weights = {
        name.removeprefix(_OWN): _array(one)
        for name, one in stored.items()
        if name.startswith(_OWN) and not name.startswith(f"{_OWN}{_WORDS}")
    }
    weights[_WORDS] = _words(stored)
    weights |= {f"{name}.weight": matrix for name, matrix in _matrices(graph, stored)}
    layers = 1 + max(int(name.split(".")[2]) for name in weights if ".layers." in name)
    reader = Reader(Mpnet(len(weights[_WORDS]), layers))
    reader.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
    return reader


def _array(stored: Any) -> Floats:
    from onnx import numpy_helper

    found: Floats = numpy_helper.to_array(stored).astype(np.float32)
    return found


def _words(stored: dict[str, Any]) -> Floats:
    parts = (_array(stored[f"{_OWN}{_WORDS}_{p}"]) for p in ("Q4", "zero_points", "scales"))
    return _unpacked(*parts)


def _unpacked(steps: Floats, zeros: Floats, scales: Floats) -> Floats:
    """Return a matrix [rows, columns]; of zeros and scales each row has one a block."""
    rows, blocks = scales.shape
    apart = steps.reshape(rows, blocks, -1) - zeros.reshape(rows, blocks, 1)
    return (apart * scales[:, :, None]).reshape(rows, -1)


def _matrices(graph: Any, stored: dict[str, Any]) -> Iterator[tuple[str, Floats]]:
    """Yield layer's part and matrix [out, in]; a product's name is that of the bias it meets."""
    takes = {source: node for node in graph.node for source in node.input}
    for node in graph.node:
        if node.op_type != "Unpack":
            continue
        packed, scales, zeros = (stored[name] for name in node.input)
        rows, blocks, _ = packed.dims
        matrix = _unpacked(
            _halves(packed), _halves(zeros).reshape(rows, blocks), _array(scales)[:, :, 0]
        )
        after = takes[node.output[0]]
        while after.op_type != "Add":
            after = takes[after.output[0]]
        [name] = [m[1] for source in after.input if (m := _BIAS.fullmatch(source))]
        yield name, matrix


def _halves(stored: Any) -> Floats:
    """Return the two numbers of each byte, the lower half first, along the last axis."""
    from onnx import numpy_helper

    packed = numpy_helper.to_array(stored)
    return np.stack([packed & 15, packed >> 4], axis=-1).reshape(len(packed), -1).astype(np.float32)
