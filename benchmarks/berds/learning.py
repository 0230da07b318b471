"""Trains the network of `reader`: losses, and steps that an interruption does not lose."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from feeding import NOT, Step
from loop import Loop
from reader import OPPOSES, SUPPORTS, Reader, quick_products


def loss_of(reader: Reader, step: Step, device: str) -> torch.Tensor:
    """Cross-entropy; where only "not in support" is known, of support against the other two.

    Of two opposite statements also that the right one is in support rather than the wrong one.
    """
    relations, weights = step.relations.to(device), step.weights.to(device)
    odds = _odds(reader, step.packed, device)
    logs = torch.log_softmax(odds, -1)
    known = logs.gather(1, relations.clamp(max=2)[:, None])[:, 0]
    either = torch.logsumexp(logs[:, OPPOSES:], dim=1)
    found: torch.Tensor = -(torch.where(relations == NOT, either, known) * weights).sum()
    found = found / weights.sum()
    if step.paired:
        found = found + torch.nn.functional.softplus(-margins(odds)).mean()
    return found


def margins(odds: torch.Tensor) -> torch.Tensor:
    """Return by how much the log-odds of support of the first of two statements is the higher.

    Args:
        odds: of supports, opposes and neither, [2 passages, 3].
    """
    support = odds[:, SUPPORTS] - torch.logsumexp(odds[:, OPPOSES:], dim=1)
    found: torch.Tensor = support[::2] - support[1::2]
    return found


def taught_loss(reader: Reader, packed: Any, targets: torch.Tensor, device: str) -> torch.Tensor:
    """Cross-entropy of support to the teacher's probability of it."""
    z = _odds(reader, packed, device)
    support = z[:, SUPPORTS] - torch.logsumexp(z[:, OPPOSES:], dim=1)
    loss: torch.Tensor = torch.nn.functional.binary_cross_entropy_with_logits(
        support, targets.to(device)
    )
    return loss


def _odds(reader: Reader, packed: Any, device: str) -> torch.Tensor:
    with quick_products(device):
        z = reader(*(part.to(device) for part in packed))
    return z.float()


def train(
    reader: Reader,
    losses: Callable[[], Any],
    steps: int,
    rate: float,
    work: Path,
    fixed: int = 0,
    watch: Callable[[int], None] | None = None,
) -> float | None:
    """Train all but the embeddings of words, places and distances.

    Where no gradient flows to the distances attention takes its fast path: a step takes a seventh
    less.

    Args:
        reader: what is trained.
        losses: starts the endless losses of the steps; what was seen before an interruption is
            passed over without being computed.
        steps: how many.
        rate: learning rate of the layers; the head learns ten times as fast.
        work: where checkpoints lie.
        fixed: how many of the first layers stay as they are.
        watch: is told after each step how many are done.
    """
    work.mkdir(parents=True, exist_ok=True)
    body = reader.body
    for part in (body.words, body.places, body.distances, *body.layers[:fixed]):
        part.requires_grad_(requires_grad=False)
    if fixed:
        body.norm.requires_grad_(requires_grad=False)
    learned = {name: p for name, p in reader.named_parameters() if p.requires_grad}
    inner = [p for name, p in learned.items() if name.startswith("body.")]
    head = [p for name, p in learned.items() if not name.startswith("body.")]
    groups: list[dict[str, Any]] = [{"params": inner}, {"params": head, "lr": 10 * rate}]
    optimizer = torch.optim.AdamW(groups, lr=rate, weight_decay=0.01, fused=True)
    todo, drawn, start = losses(), 0, time.monotonic()

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
        if done % 50 == 0:
            print(f"{done} of {of}, {word}, {time.monotonic() - start:.0f} s", file=sys.stderr)
        if watch is not None:
            watch(done)

    reader.train()
    return Loop(optimizer, learned, steps, warmup=0.06, every=100).run(backward, work, report)
