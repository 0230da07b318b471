"""Package the network that `lab/training/train_passages.py` trained, next to its detector.

    python lab/training/export_passages.py --network FOLDER/epoch1.pt [--out FOLDER]

The change of each trained matrix is stored as a product of two narrow matrices, because it is far
smaller than the steps of the detector's four bits, and rounding would lose it. Prints the
difference between the packaged and the trained log-odds on paragraphs of the development folders.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file, save_file

sys.path.insert(0, str(Path(__file__).parents[1] / "argue"))
sys.path.insert(0, str(Path(__file__).parents[1] / "berds"))

from folder_sources import read_folders
from packaged_reader import load_reader
from reader import Words, export, pack, quick_products

from pnyx.judging.students.reader import CHANGES, MATRICES, open_reader
from pnyx.judging.students.scorers import MODEL, TOKENIZER

ROOT = Path(__file__).parents[2]
WEIGHTS = ROOT / "src/pnyx/models/weights"
DETECTOR = WEIGHTS / "perspectives"
RANK = 64
"""Rank of a matrix's change. It keeps 0.78 to 0.96 of the sum of squares, and AUROC on the
development folders equals that of the trained network."""
CHECKED = 60
"""Number of paragraphs on which both are compared."""


def write(network: Path, out: Path) -> torch.nn.Module:
    """Write the graph and the changes; return the trained network."""
    reader, before = load_reader(DETECTOR / MODEL), load_reader(DETECTOR / MODEL).state_dict()
    reader.load_state_dict(torch.load(network, weights_only=True))
    changes: dict[str, np.ndarray] = {}
    for name in {key.rpartition(".")[0] for key in load_file(DETECTOR / MATRICES)}:
        change = reader.state_dict()[f"{name}.weight"] - before[f"{name}.weight"]
        if change.any():
            left, sizes, right = torch.linalg.svd(change, full_matrices=False)
            root = sizes[:RANK].sqrt()
            changes[f"{name}.left"] = (left[:, :RANK] * root).half().numpy()
            changes[f"{name}.right"] = (root[:, None] * right[:RANK]).half().numpy()
    out.mkdir(parents=True, exist_ok=True)
    save_file({key: np.ascontiguousarray(value) for key, value in changes.items()}, out / CHANGES)
    with tempfile.TemporaryDirectory() as name:
        export(reader, Path(name) / MODEL)
        (out / MODEL).write_bytes((Path(name) / MODEL).read_bytes())
    print(f"{len(changes) // 2} matrices changed")
    return reader


def compare(reader: torch.nn.Module, out: Path) -> None:
    """Print the difference between the packaged and the trained log-odds."""
    reader.eval()
    words, packaged = Words((DETECTOR / TOKENIZER).read_bytes()), open_reader(out, DETECTOR)
    texts = [
        (block.text, f"{folder.questions[0].text} Yes.")
        for folder in read_folders(ROOT / "lab/argue/folders/development")
        for file in folder.files
        for block in file.paragraphs
    ][:CHECKED]
    rows = [(words.passage(text), [words.statement(statement)]) for text, statement in texts]
    with torch.no_grad(), quick_products("cpu"):
        trained = np.concatenate([reader(*pack([row])).float().numpy() for row in rows])
    difference = np.abs(trained - packaged.classes(texts))
    print(f"log-odds differ by {difference.mean():.3f} on average, at most {difference.max():.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=WEIGHTS / "passages")
    options = parser.parse_args()
    compare(write(options.network, options.out), options.out)


if __name__ == "__main__":
    main()
