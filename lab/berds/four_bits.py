"""Train with weights of four bits, rounded as in the export of the network."""

from __future__ import annotations

import torch
from mpnet import Mpnet
from torch import nn
from torch.nn.utils import parametrize

BLOCK = 128
"""Number of weights that share a scale and a zero point."""
_LEVELS = 15


class Rounded(nn.Module):  # type: ignore[misc]
    """Round a matrix [out, in] as `reader.export` does; gradients pass through unchanged."""

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        """Return the matrix of the values that four bits represent."""
        return weight + (rounded(weight) - weight).detach()


def rounded(weight: torch.Tensor) -> torch.Tensor:
    """Return the values that four bits represent, [rows, columns], by blocks within rows.

    The range of a block is from its smallest to its largest weight, and includes zero.
    """
    with torch.no_grad():
        blocks = weight.view(len(weight), -1, BLOCK)
        least = blocks.amin(-1, keepdim=True).clamp(max=0)
        scale = ((blocks.amax(-1, keepdim=True).clamp(min=0) - least) / _LEVELS).clamp(min=1e-12)
        zero = (-least / scale).round()
        steps = ((blocks / scale).round() + zero).clamp(0, _LEVELS)
        return ((steps - zero) * scale).view_as(weight)


def round_weights(body: Mpnet) -> None:
    """Round the matrices of all layers whenever they are used, and the words permanently."""
    body.words.weight.data = rounded(body.words.weight.data)
    for layer in body.layers:
        for module in layer.modules():
            if isinstance(module, nn.Linear):
                parametrize.register_parametrization(module, "weight", Rounded())


def keep_rounded(body: Mpnet) -> None:
    """Undo `round_weights`; the matrices keep their last rounded values."""
    for module in body.layers.modules():
        if isinstance(module, nn.Linear) and parametrize.is_parametrized(module):
            parametrize.remove_parametrizations(module, "weight")
