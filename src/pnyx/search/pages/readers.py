"""Reading runs with their measures, and indexes, into the catalogue of `pnyx view`."""

from __future__ import annotations

from collections.abc import Callable

from pnyx.core.errors import InputError, escaped
from pnyx.core.records import Evidence
from pnyx.formats.runs.sources import run_names
from pnyx.judging.documents import find_document
from pnyx.search.measures.retrieval import measure_retrieval
from pnyx.search.open_engine import open_index
from pnyx.web.results.builder import Builder
from pnyx.web.results.measure_reader import read_measures
from pnyx.web.results.sources import GivenSource


def read_runs(builder: Builder, source: int, runs_source: GivenSource) -> None:
    """Measure runs on their qrels, with the defaults of `pnyx measure retrieval`."""
    paths, files = runs_source.runs, runs_source.files
    runs = dict(zip(run_names(paths), paths, strict=True))
    wanted = runs_source.baseline or paths[0]
    baseline = next((name for name, path in runs.items() if wanted in (name, path)), None)
    if baseline is None:
        names = escaped(", ".join(runs), 200)
        raise InputError(f"--baseline {escaped(wanted)}: expected one of the runs {names}")
    for part, path in (*runs.items(), *files.items()):
        builder.file(source, path, part)
    builder.about(source, task="retrieval")
    result = measure_retrieval(runs, files["qrels"], baseline=baseline)
    read_measures(builder, source, result.row())


def read_index(builder: Builder, source: int, source_files: GivenSource) -> None:
    """Record the path of an index, whose documents are shown next to judgements on them."""
    path = source_files.files["index"]
    builder.file(source, path, "index")
    builder.about(source, about={"documents": len(open_index(path))})


def document_finder(path: str) -> Callable[[str], Evidence | None]:
    """Open an index; return a function from id to document, None if there is none."""
    index = open_index(path)
    return lambda doc_id: find_document(index, doc_id)
