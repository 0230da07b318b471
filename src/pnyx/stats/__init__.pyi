"""The public names of this room, each with its home."""

from .alpha import krippendorff_alpha
from .base import Bootstrap, Measured
from .correlation import kendall_tau_b
from .intervals import cluster_mean
from .rankings import ndcg, ranking_average_precision

__all__ = [
    "Bootstrap",
    "Measured",
    "cluster_mean",
    "kendall_tau_b",
    "krippendorff_alpha",
    "ndcg",
    "ranking_average_precision",
]
