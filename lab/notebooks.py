"""Run the notebooks of the gallery, and store what they show, to be read without running them.

    python lab/notebooks.py           # all
    python lab/notebooks.py audit     # one

What differs from run to run is not stored: times, progress, where a kernel was. `make test-all`
runs them again and compares. `distil` needs the extra of its name.
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
    """Return a notebook whose cells were run in a folder, without what differs from run to run."""
    notebook = nbformat.read(GALLERY / f"{name}.ipynb", 4)
    client = nbclient.NotebookClient(
        notebook, timeout=600, record_timing=False, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    notebook.metadata["language_info"] = _LANGUAGE
    for cell in notebook.cells:
        cell.metadata.clear()
        if cell.cell_type == "code":
            cell.outputs = list(_kept(cell.outputs))
    return notebook


def _kept(outputs: list[Any]) -> Iterator[Any]:
    """Yield outputs: standard output in one piece, of what is shown the texts; no progress."""
    pieces = [o for o in outputs if o.output_type == "stream" and o.name == "stdout"]
    if pieces:  # what a command prints comes in pieces, cut anywhere
        yield nbformat.v4.new_output("stream", name="stdout", text="".join(o.text for o in pieces))
    for output in outputs:
        if output.output_type != "stream":
            output.data = {k: v for k, v in output.data.items() if k.startswith("text/") and v}
            output.metadata.clear()
            if output.data:  # a bar that is gone leaves nothing
                yield output


def environment() -> dict[str, str]:
    """Return the environment that notebooks run in: `pnyx` is the one here, no model is asked."""
    found = {name: value for name, value in os.environ.items() if name != "PNYX_LLM"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**found, "PATH": path, "OMP_NUM_THREADS": "1", "COLUMNS": "100"}


def main() -> None:
    """Run those that are named, or all."""
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
