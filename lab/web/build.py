"""Build the index of the load test.

PNYX_DATA=DATA python lab/web/build.py OUT.index
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from idebate_corpus import arguments

from pnyx.judging.students.surface_quality import QualityModel
from pnyx.models.embed.embedder import embedder_from
from pnyx.search import build_index, cluster_documents, embed_documents, score_documents


def main() -> None:
    out, started = Path(sys.argv[1]), time.monotonic()
    build_index(arguments(Path(os.environ["PNYX_DATA"])), out)
    score_documents(out, QualityModel.load())
    embed_documents(out, embedder_from())
    cluster_documents(out, embedder_from())
    print(f"{out}: {time.monotonic() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
