"""Run the notebooks of the gallery and store their output, for readers who do not run them.

    python lab/notebooks.py           # all
    python lab/notebooks.py audit     # one

Output that differs between runs is not stored: times, progress, paths of kernels. `make test-all`
runs the notebooks again and compares. `distil` requires `packages/pnyx-train`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbclient
import nbformat

GALLERY = Path(__file__).parents[1] / "docs" / "recipes" / "gallery"
_LANGUAGE = {"name": "python", "pygments_lexer": "ipython3"}


def executed(name: str, folder: Path) -> Any:
    """Run a notebook in a folder, and return it without output that differs between runs."""
    notebook = nbformat.read(GALLERY / f"{name}.ipynb", 4)
    client = nbclient.NotebookClient(
        notebook, timeout=600, record_timing=False, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    notebook.metadata["language_info"] = _LANGUAGE
    for cell in notebook.cells:
        cell.metadata.clear()
        if cell.cell_type == "code":
            cell.outputs = list(_stored_outputs(cell.outputs))
    return notebook


def _stored_outputs(outputs: list[Any]) -> Iterator[Any]:
    """Yield outputs: standard output as one text, and the text of displays; no progress."""
    pieces = [o for o in outputs if o.output_type == "stream" and o.name == "stdout"]
    if pieces:  # the output of a command arrives in pieces that may end anywhere
        yield nbformat.v4.new_output("stream", name="stdout", text="".join(o.text for o in pieces))
    for output in outputs:
        if output.output_type != "stream":
            output.data = {k: v for k, v in output.data.items() if k.startswith("text/") and v}
            output.metadata.clear()
            if output.data:  # an erased progress bar leaves no output
                yield output


def environment() -> dict[str, str]:
    """Return the environment of notebooks: this `pnyx`, and no language model."""
    inherited = {name: value for name, value in os.environ.items() if name != "PNYX_LLM"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**inherited, "PATH": path, "OMP_NUM_THREADS": "1", "COLUMNS": "100"}


def main() -> None:
    """Run the named notebooks, or all."""
    names = sys.argv[1:] or sorted(path.stem for path in GALLERY.glob("*.ipynb"))
    values = environment()
    os.environ.clear()
    os.environ.update(values)
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["PNYX_STORE"] = f"{folder}/store.sqlite"
            nbformat.write(executed(name, Path(folder)), GALLERY / f"{name}.ipynb")
        print(name, file=sys.stderr)


if __name__ == "__main__":
    main()
