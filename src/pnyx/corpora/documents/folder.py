"""A folder of text files, web pages and PDFs, and corpora by their `ir_datasets` id.

`ir_datasets:argsme/1.0` (MacAvaney et al., SIGIR 2021).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pnyx.corpora.base import Options, Row, format_of, scanned
from pnyx.corpora.text.pages import extract_page, extract_pdf
from pnyx.errors import InputError, MissingExtra, shorten
from pnyx.files import clean_value, guarded, open_binary, read_lines
from pnyx.network import check_network
from pnyx.records import SIDES, Argument, Document, Evidence, Premise, Stance

_MAX_BYTES = 256 * 1024 * 1024

PREFIX = "ir_datasets:"
_TITLES = ("title", "headline")


def scan_folder(source: str, options: Options) -> Iterator[Row[Document]]:
    """Yield a document for each readable file by its path; what is left out is warned of."""
    options.refuse_columns(source, "a folder")
    root = Path(source)
    single = root.is_file()
    if single and root.suffix.lower() not in _READERS:
        raise InputError(f"expected a folder, or a file that ends in {_ENDINGS}", path=source)
    outside: list[Path] = []
    paths = [root] if single else sorted(_walk(root, outside))
    if not single and not root.is_dir():
        raise InputError("cannot be read: No such file or directory", path=source)
    empty: list[str] = []
    for number, path in enumerate(paths, start=1):
        name = path.name if single else path.relative_to(root).as_posix()
        try:
            document = _READERS[path.suffix.lower()](path, name)
        except InputError as error:
            yield error
            continue
        if document.text.strip():
            yield number, document
        else:
            empty.append(name)
    links = sorted(path.relative_to(root).as_posix() for path in outside)
    options.warn_of(empty, "file holds no text", "files hold no text")
    options.warn_of(links, "link leads out of the folder", "links lead out of the folder")


def _walk(root: Path, outside: list[Path]) -> Iterator[Path]:
    """Yield the files to read; links out of the folder go to `outside`."""
    real = Path(os.path.realpath(root))
    for folder, folders, names in os.walk(root):
        outside += (path for path in map(Path(folder).joinpath, folders) if _leaves(path, real))
        for name in names:
            path = Path(folder, name)
            if path.suffix.lower() in SUFFIXES and not name.startswith(".") and path.is_file():
                # And never a named pipe, which would be waited for.
                if _leaves(path, real):
                    outside.append(path)
                else:
                    yield path


def _leaves(path: Path, root: Path) -> bool:
    """Whether it is a link to somewhere outside of `root`, itself without links."""
    return path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(root)


def _text(path: Path, name: str) -> Document:
    return Document(id=name, text="\n".join(line for _, line in read_lines(path)).strip())


def _page(path: Path, name: str) -> Document:
    with open_binary(path) as stream:
        content: bytes = guarded(lambda: stream.read(_MAX_BYTES + 1), str(path))
    if len(content) > _MAX_BYTES:
        raise InputError(f"is larger than {_MAX_BYTES // 1024**2} MB", path=path)
    try:
        page = (extract_pdf if path.suffix.lower() == ".pdf" else extract_page)(content)
    except InputError as error:
        raise InputError(error.problem, path=path) from error
    return Document(id=name, text=page.text, title=page.title, url=page.url)


_READERS: dict[str, Callable[[Path, str], Document]] = {
    ".txt": _text,
    ".html": _page,
    ".htm": _page,
    ".pdf": _page,
}
_ENDINGS = ", ".join(_READERS)
SUFFIXES = tuple(_READERS)
"""Files of other names are passed over."""


def _scan(source: str, options: Options) -> Iterator[Row[Evidence]]:
    """Yield the documents of a dataset, numbered from 1; those of args.me as arguments."""
    options.refuse_columns(source, "a dataset")
    check_network(source)
    try:
        import ir_datasets
    except ImportError as error:
        raise MissingExtra("reading ir_datasets", "datasets") from error
    name = source.removeprefix(PREFIX)
    try:
        dataset = ir_datasets.load(name)
    except KeyError as error:
        raise InputError("no such dataset; see https://ir-datasets.com", path=source) from error
    if not dataset.has_docs():
        raise InputError("the dataset has no documents", path=source)
    yield from scanned(source, _evidence, rows=_documents(dataset, source), unit="document")


def _documents(dataset: Any, source: str) -> Iterator[Row[Any]]:
    try:
        yield from enumerate(dataset.docs_iter(), start=1)
    except Exception as error:  # downloads fail in as many ways as there are hosts
        raise InputError(f"cannot be fetched: {shorten(str(error))}", path=source) from error


def _evidence(doc: Any) -> Evidence:
    if hasattr(doc, "conclusion") and hasattr(doc, "premises"):
        return _argument(doc)
    values = clean_value(dict(doc._asdict()))
    identifier = values.pop("doc_id")
    title = next((values.pop(n) for n in _TITLES if isinstance(values.get(n), str)), "")
    text = values.pop("text", None)
    if not isinstance(text, str):
        text = doc.default_text()
    url = values.pop("url", None)
    if not text.strip():
        text = title
    if not text.strip():
        raise InputError(f"{shorten(identifier)!r} has no text")
    extra = {k: v for k, v in values.items() if isinstance(v, str | int | float) and v != ""}
    return Document(identifier, text, title, url if isinstance(url, str) else "", "", extra)


def _argument(doc: Any) -> Argument:
    """Map args.me: the stance of a premise is its side towards the conclusion."""
    sides = {side.upper(): side for side in SIDES}
    premises = tuple(Premise(p.text, sides.get(p.stance.name.upper())) for p in doc.premises)
    stances = {p.stance for p in premises}
    stance: Stance | None = stances.pop() if len(stances) == 1 else None
    domain = getattr(doc.source_domain, "name", "")
    source = {"debateorg": "debate.org", "canadian_parliament": "canadian-parliament"}
    if not (doc.conclusion.strip() or any(p.text.strip() for p in premises)):
        raise InputError(f"{shorten(doc.doc_id)!r} has no text")
    return Argument(
        id=doc.doc_id,
        conclusion=doc.conclusion,
        premises=premises,
        stance=stance,
        source=source.get(domain, domain),
        url=doc.source_url or "",
    )


FORMATS = format_of("folder", scan_folder), format_of("ir_datasets", _scan)
