"""Whether work grows with its size, by processor time: other work on the machine takes none."""

from __future__ import annotations

import time
from collections.abc import Callable


def grows_linearly(work: Callable[[int], object], size: int) -> bool:
    """Return whether eight times the size takes less than 30 times as long; of its square it
    would be 64 times. The least of some tries counts, as whatever disturbs only adds."""

    def seconds(n: int) -> float:
        begun = time.process_time()
        work(n)
        return time.process_time() - begun

    small = max(min(seconds(size) for _ in range(3)), 0.01)
    return any(seconds(8 * size) < 30 * small for _ in range(3))
