"""Compiled libraries that crash each other, in every order that a user can import them."""

import subprocess
import sys

import pytest

from index_fixture import HAS_GRAPHS

pytestmark = pytest.mark.skipif(
    not HAS_GRAPHS or sys.platform != "linux", reason="the clash is one of usearch's Linux wheels"
)

PNYX_GRAPH = "from pnyx.search.ranking.dense import graph_library; graph_library()"
PNYX_TEXTS = "from pnyx.models.embed.encoder import load_encoder; load_encoder().encode(['a text'])"


def python(*lines):
    """Run lines in a fresh process; what a crash leaves is its negative signal."""
    command = [sys.executable, "-c", "\n".join(lines)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
@pytest.mark.parametrize(
    "lines",
    [
        (PNYX_GRAPH, PNYX_TEXTS),
        (PNYX_TEXTS, PNYX_GRAPH),
        (PNYX_GRAPH, "import onnxruntime"),
        ("import onnxruntime", "import usearch.index", PNYX_TEXTS),
        (PNYX_GRAPH, "import sklearn.cluster, numba", PNYX_TEXTS),
    ],
)
def test_the_graph_and_the_encoder_go_together_in_either_order(lines):
    done = python(*lines)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("between", ["pass", "import sklearn.cluster"])
def test_usearch_imported_first_by_others_is_one_line_and_no_crash(between):
    done = python(
        "import usearch.index",
        between,
        "from pnyx.errors import PnyxError",
        "from pnyx.models.embed.encoder import load_encoder",
        "try:",
        "    load_encoder().encode(['a text'])",
        "except PnyxError as error:",
        "    print(error)",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "usearch was imported before onnxruntime, which crashes the process: "
        "import onnxruntime first\n"
    )
