"""`pnyx` whose judge can be held: `python tests/held_networks.py FOLDER ARGUMENTS ...`.

Each run of the packaged network that judges a passage adds a line to FOLDER/steps, and waits as
long as FOLDER/hold exists. Everything else is as on a machine with two cores.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path


def main() -> None:
    from pnyx.cli import main as pnyx
    from pnyx.core.native import load_onnxruntime
    from pnyx.models.http.flow import use_cores

    folder = Path(sys.argv[1])
    steps = os.open(folder / "steps", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    onnxruntime = load_onnxruntime()
    network = onnxruntime.InferenceSession

    class HeldNetwork(network):
        def run(self, names, feeds, *more):
            if "passage" in feeds:
                os.write(steps, b"step\n")
                while (folder / "hold").exists():
                    time.sleep(0.005)
            return super().run(names, feeds, *more)

    onnxruntime.InferenceSession = HeldNetwork
    use_cores(2)
    pnyx(sys.argv[2:])


if __name__ == "__main__":
    main()
