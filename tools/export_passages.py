"""Package the network that `tools/train_passages.py` trained, next to the detector it began from.

    python tools/export_passages.py --network FOLDER/reader.pt [--out FOLDER]

Layers that did not learn are the detector's own: only the matrices that differ are written. Prints
how far the packaged log-odds are from the trained ones on paragraphs of the development folders.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file, save_file

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks" / "argue"))
sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks" / "berds"))

from folder_sources import read_folders
from reader import Words, export, pack, quick_products
from unpacking import load_reader

from pnyx.students.reader import MATRICES, open_reader
from pnyx.students.scoring import MODEL, TOKENIZER

ROOT = Path(__file__).parents[1]
WEIGHTS = ROOT / "src/pnyx/models/weights"
DETECTOR = WEIGHTS / "perspectives"
CHECKED = 60
"""Paragraphs on which both are compared."""


def write(network: Path, out: Path) -> torch.nn.Module:
    """Write graph and matrices; return the trained network."""
    reader = load_reader(DETECTOR / MODEL)
    reader.load_state_dict(torch.load(network, weights_only=True))
    with tempfile.TemporaryDirectory() as name:
        export(reader, Path(name) / MODEL)
        made, known = load_file(Path(name) / MATRICES), load_file(DETECTOR / MATRICES)
        graph = (Path(name) / MODEL).read_bytes()
    learned = _learned(reader)
    changed = {key: value for key, value in made.items() if key.rpartition(".")[0] in learned}
    assert set(made) == set(known)
    out.mkdir(parents=True, exist_ok=True)
    (out / MODEL).write_bytes(graph)
    save_file(changed, out / MATRICES)
    print(f"{len(changed) // 3} of {len(made) // 3} matrices changed")
    return reader


def _learned(reader: torch.nn.Module) -> set[str]:
    """Return the names of the matrices that are not the detector's."""
    before = load_reader(DETECTOR / MODEL).state_dict()
    return {
        name.removesuffix(".weight")
        for name, value in reader.state_dict().items()
        if not torch.equal(value, before[name])
    }


def compare(reader: torch.nn.Module, out: Path) -> None:
    """Print how far the packaged log-odds are from the trained ones."""
    reader.eval()
    words, packaged = Words((DETECTOR / TOKENIZER).read_bytes()), open_reader(out, DETECTOR)
    texts = [
        (block.text, f"{folder.questions[0].text} Yes.")
        for folder in read_folders(ROOT / "benchmarks/argue/folders/development")
        for file in folder.files
        for block in file.paragraphs
    ][:CHECKED]
    rows = [(words.passage(text), [words.statement(said)]) for text, said in texts]
    with torch.no_grad(), quick_products("cpu"):
        trained = np.concatenate([reader(*pack([row])).float().numpy() for row in rows])
    apart = np.abs(trained - packaged.classes(texts))
    print(f"log-odds differ by {apart.mean():.3f} on average, at most {apart.max():.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=WEIGHTS / "passages")
    options = parser.parse_args()
    compare(write(options.network, options.out), options.out)


if __name__ == "__main__":
    main()
