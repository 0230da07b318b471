"""Go on training the packaged reader on labelled paragraphs: which side does a passage argue?

    PNYX_DATA=DATA python lab/training/train_passages.py --out FOLDER

The top layers and the head learn from the paragraphs of `lab/argue/folders/training`, and
from debates of the training split asked in people's own words (`lab/berds/wordings.txt`).
A paragraph is read with the question answered by "Yes." and by "No.". After each epoch AUROC is
printed on the development folders: of the side, where one is argued, and of arguing any, on some of
the questions of each paragraph. The lower layers stay as they are: the detector of perspectives has
them, too. The packaged network is that after the first of three epochs, trained for another one
(`--start FOLDER/epoch1.pt --epochs 1 --rate 5e-5 --seed 1`; `lab/training/export_passages.py`).
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1] / "argue"))
sys.path.insert(0, str(Path(__file__).parents[1] / "berds"))  # its debates.py

from debates import Debates, parts_of
from folder_sources import Stance, read_folders
from reader import OPPOSES, SUPPORTS, Packed, Reader, Words, pack, quick_products
from unpacking import load_reader

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))
PACKAGED = ROOT / "src/pnyx/models/weights/perspectives"
FOLDERS = ROOT / "lab/argue/folders"

MOST_WORDS = 110
"""Of a debate passage, as in a folder's passages."""
ORDER = 0.5
"""Weight of the order of the two statements next to the classes."""
HEAD = 5
"""The head learns so many times as fast as the layers."""
SORTED = 200
"""Passages of which those of like length make a step."""
WARMUP, LONGEST = 0.06, 1.0
MEASURED = 4
"""Questions of each development paragraph that are measured, those that it argues first."""

_YES, _NO, _EACH, _NEITHER = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.35, 0.35, 0.3), (0.0, 0.0, 1.0)
TARGETS: dict[Stance, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "yes": (_YES, _NO),
    "no": (_NO, _YES),
    "mixed": (_EACH, _EACH),
    "none": (_NEITHER, _NEITHER),
    "other": (_NEITHER, _NEITHER),
}
"""Classes (supports, opposes, neither) of the question with "Yes." and with "No."."""


@dataclass(frozen=True)
class Example:
    """A passage with questions, and what it says to each."""

    passage: list[int]
    asked: tuple[tuple[str, Stance], ...]


def folder_examples(part: str, words: Words) -> list[Example]:
    """Return every paragraph of a part's folders with all questions of its folder."""
    return [
        Example(words.passage(block.text), tuple((q.text, block.stance(q)) for q in one.questions))
        for one in read_folders(FOLDERS / part)
        for file in one.files
        for block in file.paragraphs
    ]


def debate_examples(words: Words, rng: random.Random) -> list[Example]:
    """Return passages of training debates, asked on their own topic and on another one."""
    debates = Debates(DATA)
    parts, asked = parts_of(debates), defaultdict(list)
    key = ""
    for line in (ROOT / "lab/berds/wordings.txt").read_text("utf-8").splitlines():
        if line.startswith("= "):
            key = line.removeprefix("= ").partition(": ")[0]
        elif line[:2] in ("+ ", "- ") and parts.get(key) == "train":
            asked[key].append((line[0], line[2:]))
    keys, found = list(asked), []
    for passage in debates.passages:
        if passage.topic not in asked or not passage.side:
            continue
        sided: list[tuple[str, Stance]] = [
            (question, "yes" if (sign == "+") == (passage.side > 0) else "no")
            for sign, question in asked[passage.topic]
        ]
        others = [key for key in rng.sample(keys, 3) if key != passage.topic]
        sided += [(rng.choice(asked[key])[1], "other") for key in others]
        text = " ".join(passage.text.split()[:MOST_WORDS])
        found.append(Example(words.passage(text), tuple(sided)))
    return found


def drawn(example: Example, count: int, rng: random.Random) -> list[tuple[str, Stance]]:
    """Return so many of a passage's questions: those that it argues first, one at least that it
    does not, where there is one."""
    argued = [one for one in example.asked if one[1] not in ("none", "other")]
    rest = [one for one in example.asked if one[1] in ("none", "other")]
    rng.shuffle(argued)
    rng.shuffle(rest)
    first = min(len(argued), max(count - 1, count - len(rest)))
    return argued[:first] + rest[: count - first]


def packed_of(
    rows: Sequence[tuple[list[int], Sequence[tuple[str, Stance]]]], words: Words
) -> tuple[Packed, torch.Tensor]:
    """Return what the network takes of passages and questions, and the classes [pairs, 3]."""
    made = [
        (
            passage,
            [words.statement(f"{q} {answer}") for q, _ in asked for answer in ("Yes.", "No.")],
        )
        for passage, asked in rows
    ]
    classes = [c for _, asked in rows for _, stance in asked for c in TARGETS[stance]]
    return pack(made), torch.tensor(classes)


def loss_of(odds: torch.Tensor, classes: torch.Tensor) -> torch.Tensor:
    """Return cross-entropy, and of argued questions that the right answer is the likelier."""
    loss = -(classes * torch.log_softmax(odds, -1)).sum(1).mean()
    support = odds[:, SUPPORTS] - torch.logsumexp(odds[:, OPPOSES:], 1)
    sign = classes[::2, SUPPORTS] - classes[1::2, SUPPORTS]
    argued = sign.abs() == 1
    if argued.any():
        margin = (support[::2] - support[1::2]) * sign
        loss = loss + ORDER * nn.functional.softplus(-margin)[argued].mean()
    return loss


def steps_of(
    examples: Sequence[Example],
    debates: Sequence[Example],
    options: argparse.Namespace,
    rng: random.Random,
) -> Iterator[list[Example]]:
    """Yield the passages of an epoch's steps, of like length, in an order by chance."""
    share = options.debates / (1 - options.debates)
    blocks = []
    for every in (examples, rng.sample(debates, min(len(debates), int(share * len(examples))))):
        mixed = rng.sample(every, len(every))
        for start in range(0, len(mixed), SORTED):
            part = sorted(mixed[start : start + SORTED], key=lambda one: len(one.passage))
            blocks += [part[i : i + options.rows] for i in range(0, len(part), options.rows)]
    rng.shuffle(blocks)
    yield from blocks


def measured(reader: Reader, examples: Sequence[Example], words: Words) -> str:
    """Return AUROC of the side and of arguing any, as one line."""
    reader.eval()
    sides, argues, stances = [], [], []
    ordered = sorted(examples, key=lambda one: len(one.passage))
    with torch.no_grad(), quick_products("cpu"):
        for start in range(0, len(ordered), 8):
            block = ordered[start : start + 8]
            packed, _ = packed_of([(one.passage, one.asked) for one in block], words)
            odds = reader(*packed).float()
            support = odds[:, SUPPORTS] - torch.logsumexp(odds[:, OPPOSES:], 1)
            neither = torch.log_softmax(odds, -1)[:, 2]
            sides.append((support[::2] - support[1::2]).numpy())
            argues.append(-(neither[::2] + neither[1::2]).numpy())
            stances += [stance for one in block for _, stance in one.asked]
    said = np.array(stances)
    sided = (said == "yes") | (said == "no")
    side = roc_auc_score(said[sided] == "yes", np.concatenate(sides)[sided])
    return f"side {side:.3f}, argues {roc_auc_score(sided, np.concatenate(argues)):.3f}"


def learned(reader: Reader, top: int) -> list[dict[str, object]]:
    """Freeze all but the top layers and the head; return the groups of the optimizer."""
    reader.requires_grad_(requires_grad=False)
    layers = reader.body.layers[len(reader.body.layers) - top :]
    for module in (layers, reader.head):
        module.requires_grad_(requires_grad=True)
    return [
        {"params": [p for p in layers.parameters() if p.ndim > 1], "weight_decay": 0.01},
        {"params": [p for p in layers.parameters() if p.ndim == 1]},
        {"params": list(reader.head.parameters()), "faster": HEAD},
    ]


def arguments() -> argparse.Namespace:
    """Return what the command was given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="where the network is kept")
    parser.add_argument("--start", type=Path, help="network to go on from, of an earlier run")
    parser.add_argument("--top", type=int, default=5, help="layers that learn, of eight")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rate", type=float, default=7e-5, help="learning rate")
    parser.add_argument("--rows", type=int, default=8, help="passages of a step")
    parser.add_argument("--questions", type=int, default=4, help="questions of a passage and step")
    parser.add_argument("--debates", type=float, default=0.3, help="share of debate passages")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main() -> None:
    options = arguments()
    torch.manual_seed(options.seed)
    rng = random.Random(options.seed)
    reader = load_reader(PACKAGED / "model.onnx")
    if options.start:
        reader.load_state_dict(torch.load(options.start, weights_only=True))
    words = Words((PACKAGED / "tokenizer.json").read_bytes())
    examples, development = (folder_examples(part, words) for part in ("training", "development"))
    debates = debate_examples(words, rng)
    groups = learned(reader, options.top)
    development = [replace(one, asked=tuple(drawn(one, MEASURED, rng))) for one in development]
    optimizer = torch.optim.AdamW(groups, lr=options.rate, betas=(0.9, 0.98), weight_decay=0.0)
    epochs = [list(steps_of(examples, debates, options, rng)) for _ in range(options.epochs)]
    total, number, started = sum(map(len, epochs)), 0, time.monotonic()
    print(f"{len(examples)} paragraphs, {total} steps", flush=True)
    for epoch, steps in enumerate(epochs, start=1):
        reader.train()
        for block in steps:
            done = number / total
            share = max(0.0, min(1.0, (done + 1e-3) / WARMUP, (1 - done) / (1 - WARMUP)))
            for group in optimizer.param_groups:
                group["lr"] = options.rate * share * group.get("faster", 1)
            rows = [(one.passage, drawn(one, options.questions, rng)) for one in block]
            packed, classes = packed_of(rows, words)
            with quick_products("cpu"):
                odds = reader(*packed).float()
            optimizer.zero_grad(set_to_none=True)
            loss_of(odds, classes).backward()
            nn.utils.clip_grad_norm_([p for g in groups for p in g["params"]], LONGEST)
            optimizer.step()
            number += 1
        seconds = time.monotonic() - started
        print(f"epoch {epoch}, {seconds:.0f} s; {measured(reader, development, words)}", flush=True)
        options.out.mkdir(parents=True, exist_ok=True)
        torch.save(reader.state_dict(), options.out / f"epoch{epoch}.pt")


if __name__ == "__main__":
    main()
