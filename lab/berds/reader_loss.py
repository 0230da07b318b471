"""The loss of the network of `reader`."""

from __future__ import annotations

import torch
from reader import NEITHER, OPPOSES, SUPPORTS
from relevance_steps import NOT, Step

_CLASSES = 0.5
"""Weight of the loss on classes, relative to that on the order of opposite statements."""


def loss_of(odds: torch.Tensor, step: Step) -> torch.Tensor:
    """Return the cross-entropy; for label `NOT`, of support against the other two classes.

    For opposite statements it has weight 0.5, and the loss on their order is added.

    Args:
        odds: log-odds of supports, opposes and neither, [pairs, 3].
        step: the step that they belong to, on the same device.
    """
    logs = torch.log_softmax(odds, -1)
    exact = logs.gather(1, step.relations.clamp(max=NEITHER)[:, None])[:, 0]
    either = torch.logsumexp(logs[:, OPPOSES:], dim=1)
    loss: torch.Tensor = -(torch.where(step.relations == NOT, either, exact) * step.weights).sum()
    loss = loss / step.weights.sum()
    if step.paired:
        order = torch.nn.functional.softplus(-margins(odds))[step.relations[::2] == SUPPORTS]
        loss = _CLASSES * loss + order.mean()
    return loss


def margins(odds: torch.Tensor) -> torch.Tensor:
    """Return the log-odds of support of each first statement minus those of the second.

    Args:
        odds: log-odds of supports, opposes and neither, [2 passages, 3].
    """
    support = odds[:, SUPPORTS] - torch.logsumexp(odds[:, OPPOSES:], dim=1)
    margin: torch.Tensor = support[::2] - support[1::2]
    return margin
