"""Train a network on debates, and a smaller one that also learns from it.

Each step has passages with statements of known relation (`relevance_steps`), and passages with
pairs of opposite statements (`opposite_steps`, twice as often as `side_steps`). Worker processes
draw them. The length of a training is given in seconds, not steps.
"""

from __future__ import annotations

import itertools
import multiprocessing
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from four_bits import keep_rounded, round_weights
from reader import OPPOSES, SUPPORTS, Reader, quick_products
from reader_loss import loss_of
from relevance_steps import Step
from torch import nn
from torch.nn.utils import parametrize

WARMUP, LONGEST = 0.05, 1.0
"""Share of the time in which the learning rate rises; maximum norm of the gradient."""
HEAD = 5
"""Learning rate of the head, relative to that of the layers."""
SOFTNESS, HARD, FAR = 2.0, 0.5, 0.1
"""Temperature of the classes of teacher and student; weights of the loss on the labels of debates,
and of the distance of log-odds, relative to the loss on classes."""
ROUNDED_FROM = 0.5
"""Share of a student's time from which its weights are rounded to four bits."""
_DEPTH, _PATIENCE, _SHOWN = 24, 600, 100


class Batches:
    """Endless steps from worker processes; `relevance`, `opposites` and `sides`.

    Args:
        feeds: an object with `steps` and `reseed` for each kind.
        workers: number of processes.
    """

    def __init__(self, feeds: Mapping[str, Any], workers: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._queues = {kind: context.Queue(_DEPTH) for kind in feeds}
        kinds = ("relevance", "opposites", "sides", "relevance", "relevance", "opposites")
        for number, kind in zip(range(max(3, workers)), itertools.cycle(kinds), strict=False):
            what = (feeds[kind], number, self._queues[kind])
            context.Process(target=_work, args=what, daemon=True).start()

    def __iter__(self) -> Iterator[list[Step]]:
        for number in itertools.count():
            kinds = ("relevance", "sides" if number % 3 == 2 else "opposites")
            yield [Step(*self._queues[kind].get(timeout=_PATIENCE)) for kind in kinds]


def _work(feed: Any, seed: int, out: Any) -> None:
    torch.set_num_threads(1)
    feed.reseed(seed)
    for step in feed.steps():
        parts = (tuple(p.numpy() for p in step.packed), step.relations.numpy())
        out.put((*parts, step.weights.numpy(), step.paired))


def on(step: Step, device: str) -> Step:
    """Return a step's tensors on a device."""
    packed = tuple(torch.as_tensor(part).to(device) for part in step.packed)
    relations, weights = (torch.as_tensor(x).to(device) for x in (step.relations, step.weights))
    return Step(packed, relations, weights, step.paired)


def soft_loss(odds: torch.Tensor, taught: torch.Tensor) -> torch.Tensor:
    """Return the distance of classes and log-odds from those of the teacher, [pairs, 3] each."""
    log = torch.log_softmax(odds / SOFTNESS, -1)
    divergence = nn.functional.kl_div(
        log, torch.softmax(taught / SOFTNESS, -1), reduction="batchmean"
    )
    student, other = (z[:, SUPPORTS] - torch.logsumexp(z[:, OPPOSES:], 1) for z in (odds, taught))
    loss: torch.Tensor = divergence * SOFTNESS**2 + FAR * nn.functional.smooth_l1_loss(
        student, other
    )
    return loss


def rate_share(done: float) -> float:
    """Return the factor of the learning rate after a share of the time, both in [0, 1]."""
    return max(0.0, min(1.0, (done + 1e-3) / WARMUP, (1 - done) / (1 - WARMUP)))


def train(
    reader: Reader,
    batches: Batches,
    seconds: float,
    rate: float,
    device: str,
    teacher: Reader | None = None,
) -> int:
    """Train for `seconds` and return the number of steps; the embeddings are not changed.

    With a teacher, the network also learns from it, and the weights have four bits in the second
    half.
    """
    torch.backends.cuda.enable_cudnn_sdp(False)  # it makes a new plan for every width
    body = reader.to(device).train().body
    for part in (body.words, body.places, body.distances):
        part.requires_grad_(requires_grad=False)
    optimizer = _optimizer(reader, rate)
    start, number, rounded = time.monotonic(), 0, False
    for number, steps in enumerate(batches, 1):
        done = (time.monotonic() - start) / seconds
        if done >= 1:
            break
        if teacher is not None and done >= ROUNDED_FROM and not rounded:
            rounded = True
            round_weights(body)
        for group in optimizer.param_groups:
            group["lr"] = group["full"] * rate_share(done)
        optimizer.zero_grad(set_to_none=True)
        loss = _loss(reader, [on(step, device) for step in steps], device, teacher)
        loss.backward()
        nn.utils.clip_grad_norm_([p for p in reader.parameters() if p.requires_grad], LONGEST)
        optimizer.step()
        if number % _SHOWN == 0:
            print(f"{number} steps, {done:.0%}, loss {float(loss.detach()):.3f}", file=sys.stderr)
    if rounded:
        keep_rounded(body)
    return number - 1


def _loss(
    reader: Reader, steps: Sequence[Step], device: str, teacher: Reader | None
) -> torch.Tensor:
    total = torch.zeros((), device=device)
    with quick_products(device), parametrize.cached():
        for step in steps:
            odds = reader(*step.packed).float()
            loss = loss_of(odds, step)
            if teacher is not None:
                with torch.no_grad():
                    taught = teacher(*step.packed).float()
                loss = HARD * loss + soft_loss(odds, taught)
            total = total + loss
    return total


def _optimizer(reader: Reader, rate: float) -> torch.optim.Optimizer:
    learned = [(name, p) for name, p in reader.named_parameters() if p.requires_grad]
    inner = [p for name, p in learned if name.startswith("body.") and p.ndim > 1]
    flat = [p for name, p in learned if name.startswith("body.") and p.ndim == 1]
    head = [p for name, p in learned if not name.startswith("body.")]
    groups: list[dict[str, Any]] = [
        {"params": inner, "full": rate, "weight_decay": 0.01},
        {"params": flat, "full": rate},
        {"params": head, "full": HEAD * rate},
    ]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), weight_decay=0.0)
