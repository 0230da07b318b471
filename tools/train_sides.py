"""Train the detector of perspectives further to tell sides, in any wording of a question.

    PNYX_DATA=DATA python tools/train_sides.py --work FOLDER --out FOLDER

Goes on from the packaged detector. Its four bits stay; what is learnt are the scales of their
blocks, biases and norms of the last layers, and the head: 263,000 numbers. Three of four steps are
opposite statements (benchmarks/berds/opposites.py), the others relevance, as before. Every topic is
one for training (`parts_of`). Interrupted, the same command goes on. Needs onnx-ir.
docs/benchmarks/perspective-detector-training.md says what came of it; nothing packaged is from it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks" / "berds"))

from debates import Debates, encyclopaedic, parts_of, reports
from learning import loss_of, margins
from loop import Loop
from opposites import OppositeFeed
from reader import SUPPORTS, Packed, Reader, Words, quick_products
from scaling import keep_scaled, scale_weights
from train_perspectives import OUT, feed_of, finish
from unpacking import load_reader

from pnyx.students.scoring import MODEL, TOKENIZER
from pnyx.students.student import read_student

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))
FIXED = 4
"""First layers that stay as they are."""
EVERY = 4
"""Of so many steps one is on relevance."""
_RELEVANCE_TOKENS, _NEUTRAL = 1700, 16
_CLASSES = 0.5
"""Weight of the three classes beside the order of opposite statements."""
_SLOWER = 8
"""Biases, norms and the head learn so many times slower than scales."""


def side_loss(reader: Reader, packed: Packed, relations: torch.Tensor) -> torch.Tensor:
    """Return the loss of pairs of statements, of each the right one first if there is one."""
    with quick_products("cpu"):
        odds = reader(*packed).float()
    known = torch.log_softmax(odds, -1).gather(1, relations[:, None])
    order = torch.nn.functional.softplus(-margins(odds))[relations[::2] == SUPPORTS]
    loss: torch.Tensor = order.mean() - _CLASSES * known.mean()
    return loss


def losses(reader: Reader, words: Words, seed: int) -> Iterator[Any]:
    """Yield what gives the loss of each step."""
    debates = Debates(DATA)
    parts = parts_of(debates)
    topics = {key: topic for key, topic in debates.topics.items() if parts[key] == "train"}
    own = OppositeFeed(topics, [p for p in debates.passages if p.topic in topics], words, seed)
    neutral = (encyclopaedic(DATA) + reports(DATA))[::_NEUTRAL]
    more = {"seed": seed, "tokens": _RELEVANCE_TOKENS}
    sides, other = own.steps(), feed_of(words, debates, neutral, parts, **more).steps()
    while True:
        for _ in range(EVERY - 1):
            step = next(sides)
            yield lambda step=step: side_loss(reader, *step)
        known = next(other)
        yield lambda known=known: loss_of(reader, known, "cpu")


def train(reader: Reader, words: Words, options: argparse.Namespace) -> None:
    """Train what four bits leave free."""
    learned = scale_weights(reader, OUT, FIXED)
    scales = [p for name, p in learned.items() if name.endswith(".growth")]
    rest = [p for name, p in learned.items() if not name.endswith(".growth")]
    groups = [{"params": scales}, {"params": rest, "lr": options.rate / _SLOWER}]
    optimizer = torch.optim.AdamW(groups, lr=options.rate, weight_decay=0.0)
    todo, drawn = losses(reader, words, options.seed), 0

    def backward(number: int) -> float:
        nonlocal drawn
        while drawn < number:
            next(todo)
            drawn += 1
        drawn += 1
        loss = next(todo)()
        loss.backward()
        return float(loss.detach())

    def report(done: int, of: int, word: str) -> None:
        if done % 10 == 0:
            print(f"{done} of {of}, {word}", file=sys.stderr)

    options.work.mkdir(parents=True, exist_ok=True)
    reader.train()
    Loop(optimizer, learned, options.steps, warmup=0.06).run(backward, options.work, report)
    keep_scaled(reader)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="checkpoints")
    parser.add_argument("--out", type=Path, required=True, help="the new detector's folder")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--rate", type=float, default=3e-3, help="learning rate of the scales")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--until", choices=("packaged", "measured"), default="packaged")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    reader, tokenizer = load_reader(OUT / MODEL), (OUT / TOKENIZER).read_bytes()
    train(reader, Words(tokenizer), options)
    about = dict(read_student(OUT, "support").about) | {"sides_scaled": options.steps}
    finish(reader, tokenizer, about, options)


if __name__ == "__main__":
    main()
