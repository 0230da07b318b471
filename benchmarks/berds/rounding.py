"""Trains with the weights that are packaged: four bits, as the network's export rounds them."""

from __future__ import annotations

import torch
from mpnet import Mpnet
from torch import nn
from torch.nn.utils import parametrize

BLOCK = 128
"""Weights that share a scale and a zero."""
_LEVELS = 15
_SPREAD = 0.999
"""Of a step; at half a step a weight might round to either side."""


class Rounded(nn.Module):  # type: ignore[misc]
    """Rounds a matrix [out, in] as `reader.export` does; gradients pass as if it did not."""

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        """Return the matrix of the values that its four bits stand for."""
        return weight + (rounded(weight) - weight).detach()


def rounded(weight: torch.Tensor) -> torch.Tensor:
    """Return a matrix [rows, columns] of the values that four bits stand for, by blocks of a row.

    The range of a block reaches from its least to its greatest weight, zero included.
    """
    with torch.no_grad():
        blocks = weight.view(len(weight), -1, BLOCK)
        least = blocks.amin(-1, keepdim=True).clamp(max=0)
        scale = ((blocks.amax(-1, keepdim=True).clamp(min=0) - least) / _LEVELS).clamp(min=1e-12)
        zero = (-least / scale).round()
        steps = ((blocks / scale).round() + zero).clamp(0, _LEVELS)
        return ((steps - zero) * scale).view_as(weight)


def spread_weights(body: Mpnet, fixed: int, seed: int = 0) -> None:
    """Move the matrices off the values of four bits, each weight anywhere where it rounds back.

    Weights that were packaged lie on those values, and no small step of a training moves them to
    the next ones. Spread, the nearer to the next a weight lies the smaller a step does, so that on
    average as much of a step is kept as there is of it. Least and greatest of a block stay.

    Args:
        body: whose weights; those that a training has moved since keep that on average.
        fixed: how many of the first layers stay as they are.
        seed: of what is drawn.
    """
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for layer in body.layers[fixed:]:
            for module in layer.modules():
                if isinstance(module, nn.Linear):
                    blocks = module.weight.view(len(module.weight), -1, BLOCK)
                    least, most = blocks.amin(-1, keepdim=True), blocks.amax(-1, keepdim=True)
                    step = (most.clamp(min=0) - least.clamp(max=0)) / _LEVELS
                    moved = torch.rand(blocks.shape, generator=draw).sub(0.5).mul(_SPREAD)
                    moved = blocks + step * moved
                    inner = (blocks > least) & (blocks < most)
                    blocks.copy_(torch.where(inner, moved.clamp(least, most), blocks))


def round_weights(body: Mpnet, fixed: int = 0) -> None:
    """Round the matrices of all layers whenever they are used, the words and the first `fixed`
    layers for good."""
    body.words.weight.data = rounded(body.words.weight.data)
    for number, layer in enumerate(body.layers):
        for module in layer.modules():
            if not isinstance(module, nn.Linear):
                continue
            if number < fixed:
                module.weight.data = rounded(module.weight.data)
            else:
                parametrize.register_parametrization(module, "weight", Rounded())


def keep_rounded(body: Mpnet) -> None:
    """End `round_weights`; the matrices stay as they were rounded last."""
    for module in body.layers.modules():
        if isinstance(module, nn.Linear) and parametrize.is_parametrized(module):
            parametrize.remove_parametrizations(module, "weight")
