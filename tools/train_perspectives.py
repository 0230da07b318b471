"""Train and measure a detector of perspectives: does a passage support a statement?

    PNYX_DATA=DATA python tools/train_perspectives.py --out FOLDER [--steps N] [--threads N]

Learns from what debates say of themselves (benchmarks/berds/debates.py): no label of BERDS is read
before the training has ended, and topics near its statements are left out. Curve, threshold and
the two numbers of each z-score come from Debatewise pages for development; figures are of other
pages and of BERDS. Runs on a GPU where torch finds one. Interrupted, the same command goes on.
docs/decisions/perspective-detector.md says what came of it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks" / "berds"))

import detection
from debates import Debates, encyclopaedic, split_topics, table
from feeding import NOT, Feed, Step
from reader import OPPOSES, Reader, Words, export, predict

from pnyx.annotate.students.loop import Loop, Pace
from pnyx.models.encoder import load_encoder

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))


def loss_of(reader: Reader, step: Step, device: str) -> torch.Tensor:
    """Cross-entropy; where only "not in support" is known, of support against the other two."""
    packed = [part.to(device) for part in step.packed]
    relations, weights = step.relations.to(device), step.weights.to(device)
    with torch.autocast(device, torch.bfloat16):
        z = reader(*packed)
    logs = torch.log_softmax(z.float(), -1)
    known = logs.gather(1, relations.clamp(max=2)[:, None])[:, 0]
    either = torch.logsumexp(logs[:, OPPOSES:], dim=1)
    found: torch.Tensor = -(torch.where(relations == NOT, either, known) * weights).sum()
    return found / weights.sum()


def train(reader: Reader, feed: Feed, arguments: argparse.Namespace, device: str) -> float | None:
    """Train all but the embeddings of words and places."""
    for fixed in (reader.bert.words, reader.bert.places):
        fixed.requires_grad_(requires_grad=False)
    learned = {name: p for name, p in reader.named_parameters() if p.requires_grad}
    body = [p for name, p in learned.items() if name.startswith("bert.")]
    head = [p for name, p in learned.items() if not name.startswith("bert.")]
    groups: list[dict[str, Any]] = [{"params": body}, {"params": head, "lr": 10 * arguments.rate}]
    optimizer = torch.optim.AdamW(groups, lr=arguments.rate, weight_decay=0.01)
    pace = Pace(arguments.steps, 0.06, decay=True, max_grad_norm=1.0, checkpoint_steps=100, seed=0)
    steps, drawn, start = feed.steps(), 0, time.monotonic()

    def backward(number: int) -> float:
        nonlocal drawn
        while drawn < number:  # taken up again: what was seen is passed over
            next(steps)
            drawn += 1
        drawn += 1
        loss = loss_of(reader, next(steps), device)
        loss.backward()
        return float(loss.detach())

    def report(done: int, of: int, word: str) -> None:
        if done % 50 == 0:
            print(f"{done} of {of}, {word}, {time.monotonic() - start:.0f} s", file=sys.stderr)

    reader.train()
    return Loop(optimizer, learned, pace).run(backward, arguments.out, report)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="checkpoints, model, figures")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--rate", type=float, default=2e-4, help="learning rate of the layers")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    debates, neutral, encoder, words = Debates(DATA), encyclopaedic(DATA), load_encoder(), Words()
    rows = list(table(DATA / "berds" / "pers_det.test.tsv"))
    vectors = np.asarray(encoder.encode([t.claim for t in debates.topics.values()]))
    apart = np.asarray(encoder.encode(sorted({row["perspective"] for row in rows})))
    parts = split_topics(debates.topics, vectors, apart)
    kept = [i for i, key in enumerate(debates.topics) if parts[key] == "train"]
    keys = [list(debates.topics)[i] for i in kept]
    feed = Feed(
        {key: debates.topics[key] for key in keys},
        vectors[kept],
        [p for p in debates.passages if parts[p.topic] == "train"],
        neutral,
        np.asarray(encoder.encode(neutral)),
        words,
    )
    reader = Reader().to(device)
    loss = train(reader, feed, arguments, device)
    reader.to("cpu")
    export(reader, arguments.out / "model.onnx")
    sets = detection.sets_of(debates, parts, neutral, rows, encoder)
    pairs = {name: [(one.text, one.statement) for one in found] for name, found in sets.items()}
    scores = {name: predict(reader, words, found) for name, found in pairs.items()}
    figures = detection.compare(sets, scores, encoder)
    text = json.dumps({"steps": arguments.steps, "loss": loss, **figures}, indent=1)
    (arguments.out / "figures.json").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
