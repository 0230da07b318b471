"""Read the packaged detector back into torch, to continue training from its weights.

    python lab/berds/packaged_reader.py --folder FOLDER

exports the graph of a detector again with the current `reader.export`. The weights do not change.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from mpnet import Mpnet
from reader import Reader, export
from safetensors.numpy import load_file

from pnyx.judging.students.reader import MATRICES, unpacked
from pnyx.judging.students.scorers import MODEL
from pnyx.judging.students.student import read_student, write_manifest

Floats = npt.NDArray[np.float32]

_OWN = "reader."
_WORDS = "body.words.weight"


def load_reader(path: Path) -> Reader:
    """Return the network that `reader.export` wrote, with unpacked matrices."""
    import onnx

    graph = onnx.load(path).graph
    stored = {tensor.name: tensor for tensor in graph.initializer}
    weights = {
        name.removeprefix(_OWN): _array(tensor)
        for name, tensor in stored.items()
        if name.startswith(_OWN) and not name.startswith(f"{_OWN}{_WORDS}")
    }
    words = (stored[f"{_OWN}{_WORDS}_{part}"] for part in ("Q4", "scales", "zero_points"))
    weights[_WORDS] = _words(*map(_array, words))
    matrices = load_file(path.with_name(MATRICES))
    for name in {key.rpartition(".")[0] for key in matrices}:
        parts = (matrices[f"{name}.{part}"] for part in ("steps", "scales", "zeros"))
        weights[f"{name}.weight"] = unpacked(*parts)
    layers = 1 + max(int(name.split(".")[2]) for name in weights if ".layers." in name)
    reader = Reader(Mpnet(len(weights[_WORDS]), layers))
    reader.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
    return reader


def _array(stored: Any) -> Floats:
    from onnx import numpy_helper

    array: Floats = numpy_helper.to_array(stored).astype(np.float32)
    return array


def _words(steps: Floats, scales: Floats, zeros: Floats) -> Floats:
    """Return a matrix [rows, columns]; each block of a row has a scale and a zero point."""
    centered = steps.reshape(*scales.shape, -1) - zeros.reshape(*scales.shape, 1)
    return (centered * scales[:, :, None]).reshape(len(scales), -1)


def renew(folder: Path) -> None:
    """Export the graph of a detector again, and its manifest; the matrices do not change."""
    import onnx

    student, path = read_student(folder, "support"), folder / MODEL
    stored = {tensor.name: tensor for tensor in onnx.load(path).graph.initializer}
    with tempfile.TemporaryDirectory() as name:
        export(load_reader(path), Path(name) / MODEL)
        model = onnx.load(Path(name) / MODEL, load_external_data=False)
    for tensor in model.graph.initializer:
        if tensor.name.startswith(_OWN):  # rounding again would change the last bits of scales
            tensor.CopyFrom(stored[tensor.name])
    path.write_bytes(model.SerializeToString())
    write_manifest(folder, student)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="the detector's")
    renew(parser.parse_args().folder)
