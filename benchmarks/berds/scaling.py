"""Trains what four bits leave free: the scales of blocks, biases and norms; the bits stay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from reader import Reader
from safetensors.numpy import load_file
from torch import nn
from torch.nn.utils import parametrize

from pnyx.students.reader import MATRICES, unpacked


class Scaled(nn.Module):  # type: ignore[misc]
    """A matrix [rows, blocks times block] as whole numbers times scales that may grow.

    Args:
        whole: the numbers that four bits stand for, less the zero, int8.
        scales: float32 [rows, blocks].
    """

    def __init__(self, whole: torch.Tensor, scales: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("whole", whole)
        self.register_buffer("scales", scales)
        self.growth = nn.Parameter(torch.zeros_like(scales))

    def forward(self, _: torch.Tensor) -> torch.Tensor:
        """Return the matrix."""
        scales = self.scales * (1 + self.growth)
        blocks = self.whole.float().view(*scales.shape, -1)
        return (blocks * scales[:, :, None]).flatten(1)


def scale_weights(reader: Reader, folder: Path, fixed: int) -> dict[str, nn.Parameter]:
    """Return what is trained of the layers from `fixed` on, and of the head, by name.

    Args:
        reader: of `unpacking.load_reader`.
        folder: which it was read from.
        fixed: how many of the first layers stay as they are.
    """
    reader.requires_grad_(requires_grad=False)
    stored = load_file(folder / MATRICES)
    for number, layer in enumerate(reader.body.layers[fixed:], fixed):
        layer.requires_grad_(requires_grad=True)
        for own, module in layer.named_children():
            if isinstance(module, nn.Linear):
                name = f"body.layers.{number}.{own}"
                steps, scales, zeros = (stored[f"{name}.{p}"] for p in ("steps", "scales", "zeros"))
                whole = unpacked(steps, np.ones_like(scales), zeros).astype(np.int8)
                module.weight.requires_grad_(requires_grad=False)
                made = Scaled(torch.from_numpy(whole), torch.from_numpy(scales))
                parametrize.register_parametrization(module, "weight", made)
    reader.head.requires_grad_(requires_grad=True)
    return {name: p for name, p in reader.named_parameters() if p.requires_grad}


def keep_scaled(reader: Reader) -> None:
    """End `scale_weights`: the matrices are those of the scales as they are now."""
    for module in reader.body.layers.modules():
        if isinstance(module, nn.Linear) and parametrize.is_parametrized(module):
            parametrize.remove_parametrizations(module, "weight")
