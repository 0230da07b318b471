"""Fine-tune the packaged reader on labelled paragraphs: which side does a passage argue?

    PNYX_DATA=DATA python lab/training/train_passages.py --out FOLDER

The top layers and the head learn from the paragraphs of `lab/argue/folders/training`, and from
debates of the training split asked in people's own words (`lab/berds/wordings.txt`). A paragraph is
read with the question answered by "Yes." and by "No.". After each epoch, two AUROC values on the
development folders are printed, for some questions of each paragraph: which side is argued (if
any), and whether a side is argued. The lower layers are frozen, because the detector of
perspectives uses them, too. The packaged network is that after the first of three epochs, trained
for another one (`--start FOLDER/epoch1.pt --epochs 1 --rate 5e-5 --seed 1`;
`lab/training/export_passages.py`).
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
sys.path.insert(0, str(Path(__file__).parents[1] / "berds"))

from debate_sets import Debates, parts_of
from folder_sources import Stance, read_folders
from packaged_reader import load_reader
from reader import OPPOSES, SUPPORTS, Packed, Reader, Words, pack, quick_products

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))
PACKAGED = ROOT / "src/pnyx/models/weights/perspectives"
FOLDERS = ROOT / "lab/argue/folders"

MOST_WORDS = 110
"""Maximum words of a debate passage, as for passages of a folder."""
ORDER = 0.5
"""Weight of the loss for the order of the two statements, relative to that for the classes."""
HEAD = 5
"""Learning rate of the head, relative to that of the layers."""
SORTED = 200
"""Number of passages in which passages of similar length are grouped into steps."""
WARMUP, LONGEST = 0.06, 1.0
MEASURED = 4
"""Questions measured for each development paragraph; those that it argues come first."""

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
    """A passage with questions, and its class for each."""

    passage: list[int]
    questions: tuple[tuple[str, Stance], ...]


def folder_examples(part: str, words: Words) -> list[Example]:
    """Return every paragraph in the folders of a split, with all questions of its folder."""
    return [
        Example(
            words.passage(block.text), tuple((q.text, block.stance(q)) for q in folder.questions)
        )
        for folder in read_folders(FOLDERS / part)
        for file in folder.files
        for block in file.paragraphs
    ]


def debate_examples(words: Words, rng: random.Random) -> list[Example]:
    """Return passages of training debates, each with questions on its topic and another one."""
    debates = Debates(DATA)
    parts, by_topic = parts_of(debates), defaultdict(list)
    key = ""
    for line in (ROOT / "lab/berds/wordings.txt").read_text("utf-8").splitlines():
        if line.startswith("= "):
            key = line.removeprefix("= ").partition(": ")[0]
        elif line[:2] in ("+ ", "- ") and parts.get(key) == "train":
            by_topic[key].append((line[0], line[2:]))
    keys, examples = list(by_topic), []
    for passage in debates.passages:
        if passage.topic not in by_topic or not passage.side:
            continue
        sided: list[tuple[str, Stance]] = [
            (question, "yes" if (sign == "+") == (passage.side > 0) else "no")
            for sign, question in by_topic[passage.topic]
        ]
        others = [key for key in rng.sample(keys, 3) if key != passage.topic]
        sided += [(rng.choice(by_topic[key])[1], "other") for key in others]
        text = " ".join(passage.text.split()[:MOST_WORDS])
        examples.append(Example(words.passage(text), tuple(sided)))
    return examples


def drawn(example: Example, count: int, rng: random.Random) -> list[tuple[str, Stance]]:
    """Return `count` questions of a passage: those that it argues first, and if possible at least
    one that it does not argue."""
    argued = [pair for pair in example.questions if pair[1] not in ("none", "other")]
    rest = [pair for pair in example.questions if pair[1] in ("none", "other")]
    rng.shuffle(argued)
    rng.shuffle(rest)
    first = min(len(argued), max(count - 1, count - len(rest)))
    return argued[:first] + rest[: count - first]


def packed_of(
    rows: Sequence[tuple[list[int], Sequence[tuple[str, Stance]]]], words: Words
) -> tuple[Packed, torch.Tensor]:
    """Return the network's input for passages and questions, and the classes [pairs, 3]."""
    token_rows = [
        (
            passage,
            [words.statement(f"{q} {answer}") for q, _ in questions for answer in ("Yes.", "No.")],
        )
        for passage, questions in rows
    ]
    classes = [c for _, questions in rows for _, stance in questions for c in TARGETS[stance]]
    return pack(token_rows), torch.tensor(classes)


def loss_of(odds: torch.Tensor, classes: torch.Tensor) -> torch.Tensor:
    """Return the cross-entropy, plus the loss for the order of the answers to argued questions."""
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
    """Yield the passages of each step of an epoch: similar lengths, in random order."""
    share = options.debates / (1 - options.debates)
    blocks = []
    for every in (examples, rng.sample(debates, min(len(debates), int(share * len(examples))))):
        mixed = rng.sample(every, len(every))
        for start in range(0, len(mixed), SORTED):
            part = sorted(mixed[start : start + SORTED], key=lambda example: len(example.passage))
            blocks += [part[i : i + options.rows] for i in range(0, len(part), options.rows)]
    rng.shuffle(blocks)
    yield from blocks


def measured(reader: Reader, examples: Sequence[Example], words: Words) -> str:
    """Return a line with AUROC of the side, and of arguing any side."""
    reader.eval()
    sides, argues, stances = [], [], []
    ordered = sorted(examples, key=lambda example: len(example.passage))
    with torch.no_grad(), quick_products("cpu"):
        for start in range(0, len(ordered), 8):
            block = ordered[start : start + 8]
            packed, _ = packed_of(
                [(example.passage, example.questions) for example in block], words
            )
            odds = reader(*packed).float()
            support = odds[:, SUPPORTS] - torch.logsumexp(odds[:, OPPOSES:], 1)
            neither = torch.log_softmax(odds, -1)[:, 2]
            sides.append((support[::2] - support[1::2]).numpy())
            argues.append(-(neither[::2] + neither[1::2]).numpy())
            stances += [stance for example in block for _, stance in example.questions]
    labels = np.array(stances)
    sided = (labels == "yes") | (labels == "no")
    side = roc_auc_score(labels[sided] == "yes", np.concatenate(sides)[sided])
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
    """Parse the arguments of the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the network")
    parser.add_argument("--start", type=Path, help="network of an earlier run to start from")
    parser.add_argument("--top", type=int, default=5, help="number of layers to train, of eight")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rate", type=float, default=7e-5, help="learning rate")
    parser.add_argument("--rows", type=int, default=8, help="passages per step")
    parser.add_argument("--questions", type=int, default=4, help="questions per passage and step")
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
    development = [
        replace(example, questions=tuple(drawn(example, MEASURED, rng))) for example in development
    ]
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
            rows = [(example.passage, drawn(example, options.questions, rng)) for example in block]
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
