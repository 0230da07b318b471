"""Pages of results as files: they need no server and no network, and can be published.

What is written is what the pages show. No path of this machine and no address of an endpoint is in
them; a page that is left out has links to a page that says so.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any, Final

from pnyx._version import __version__
from pnyx.errors import InputError, PnyxError, escaped
from pnyx.files import atomic_folder, read_json
from pnyx.restricted import hides_text
from pnyx.serve.inspecting.asking import ON_A_PAGE, NotThereError
from pnyx.serve.inspecting.catalogue import Catalogue
from pnyx.serve.inspecting.figures import file_name
from pnyx.serve.inspecting.pages import Address, Kept, Page, addresses, all_pages
from pnyx.serve.inspecting.records import Source
from pnyx.serve.rendering import STATIC, Links, Site, render, static_file

_FORMAT: Final = "pnyx-export"
_MARK: Final = "export.json"
_LEFT_OUT: Final = "left-out.html"
_SCRIPTS: Final = frozenset({"htmx.min.js"})
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]{0,15}://[^\s,;\"']+", re.IGNORECASE)
_PATH: Final = re.compile(r"(?<![\w.:/\\])(?:[A-Za-z]:[\\/]|~?/|\\\\)[^\s,;\"']*[\\/][^\s,;\"']*")

Progress = Callable[[int, int], None]
"""Called with how many pages are written, of how many."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: counts of pages by name, of files beside them, and of what was left out."""

    pages: Mapping[str, int]
    files: int
    bytes: int
    left_out: Mapping[str, int]

    def row(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "pages": dict(self.pages), "files": self.files, "bytes": self.bytes,
            "left_out": dict(self.left_out),
        }  # fmt: skip


class Published(Catalogue):
    """A catalogue whose sources say nothing of this machine, as far as pages show it.

    Where a source and its judgement store are stays known, to read them: `places` are the folders.
    """

    def __init__(self, path: str | Path, store: str = "") -> None:
        super().__init__(path, store)
        self._published: list[Source] | None = None

    def sources(self) -> list[Source]:
        """Return all sources, without what is nobody's business; read once, as it stays."""
        if self._published is None:
            self._published = [_published(one) for one in super().sources()]
        return self._published

    def places(self) -> list[str]:
        """Return the folders, as absolute paths, that pages must not name; the longest first."""
        named = [self.store, str(self.path)]
        for one in self.sources():
            store = one.about.get("store")
            path = store.get("path") if isinstance(store, Mapping) else None
            named += [one.path, *one.files.values(), path if isinstance(path, str) else ""]
        paths = [Path(name) for name in named if name and "\0" not in name]
        folders = {str(p.parent) for path in paths for p in (path, path.absolute(), path.resolve())}
        found = {one.rstrip("/\\") for one in folders if Path(one).is_absolute()}
        return sorted(found - {""}, key=lambda one: (-len(one), one))


def _published(source: Source) -> Source:
    about = {name: value if name == "store" else _without_places(value)
             for name, value in source.about.items()}  # fmt: skip
    return replace(source, about=about, problem=_without_places(source.problem),
                   judge=_without_places(source.judge))  # fmt: skip


def _without_places(value: Any) -> Any:
    """Return a value whose texts have no absolute path and no address, also within it."""
    if isinstance(value, str):
        without = _URL.sub(lambda found: _model_of(found[0]), value)
        return _PATH.sub(lambda found: file_name(found[0]), without)
    if isinstance(value, Mapping):
        return {key: _without_places(one) for key, one in value.items()}
    return [_without_places(one) for one in value] if isinstance(value, list) else value


def _model_of(address: str) -> str:
    """Return the model that an endpoint's address names, without the address."""
    return address.partition("#")[2] or "(address)"


@dataclass(frozen=True, slots=True)
class _FileLinks(Links):
    """Links between files, of which some were left out."""

    known: frozenset[str] = frozenset()

    def to(self, *parts: str, anchor: str = "", **query: Any) -> str:
        """Return the address of a page, or of the one that says why it is not there."""
        if self.path(*parts) not in self.known:
            return f"{self.root}{_LEFT_OUT}"
        return Links(self.root, self.files).to(*parts, anchor=anchor, **query)


def export_pages(
    catalogue: Catalogue,
    site: Site,
    out: str | Path,
    *,
    most: int | None = 2000,
    progress: Progress | None = None,
) -> Exported:
    """Write every page of a catalogue into a folder, all or nothing.

    Args:
        catalogue: what is shown.
        site: what all pages show.
        out: the folder: not there yet, empty, or an export, which is replaced.
        most: pages of single judgements at most, and as many of single sentences: what is unscored
            first, then what the judge was least sure of; lists of judgements end there, too. None
            for all.
        progress: see `Progress`.

    Raises:
        InputError: the folder holds what no export wrote.
    """
    replaces = check_export(out)
    writer = _Writer(Published(catalogue.path, catalogue.store), site, most)
    with atomic_folder(out, replace=replaces) as folder:
        return writer.write(folder, progress)


def check_export(folder: str | Path) -> bool:
    """Tell whether there is a folder to replace; InputError where not all in it is an export's."""
    out = Path(folder)
    if not out.is_dir():
        return False
    held = [one for one in out.rglob("*") if not one.is_dir() or one.is_symlink()]
    if not held:
        return True
    told = read_json(out / _MARK)
    files = told.get("files") if told is not None else None
    if told is None or not isinstance(files, list):
        raise InputError("holds files that are no export of pnyx view", path=out)
    own = {name for name in files if isinstance(name, str) and told.get("format") == _FORMAT}
    foreign = [one for one in held if one.relative_to(out).as_posix() not in own]
    if foreign:
        shown = escaped(foreign[0].relative_to(out).as_posix(), 80)
        raise InputError(f"holds {shown}, which no export wrote", path=out)
    return True


class _Writer:
    def __init__(self, catalogue: Published, site: Site, most: int | None) -> None:
        self.catalogue, self.most = catalogue, most
        places = "|".join(re.escape(escape(one)) + r"[/\\]?" for one in catalogue.places())
        self.places = re.compile(places or r"(?!)")
        pages = all_pages()
        self.left_out: Counter[str] = Counter()
        self.wanted = list(self._wanted(pages))
        first = {page.name for page, _, _ in self.wanted}
        # What answers to a server alone has no place in files: its scripts, its searches.
        nav = [(label, to) for label, to in site.nav if (to[0] if to else "") in first]
        scripts = [name for name in site.scripts if name not in _SCRIPTS]
        self.site = Site(site.name, nav, scripts)
        plain = Links("", files=True)
        self.paths = [plain.path(*_parts(*one)) for one in self.wanted]
        self.known = frozenset(self.paths)
        self.pages: Counter[str] = Counter()
        self.taken: set[str] = set()
        self.files: list[str] = []
        self.bytes = 0

    def _wanted(self, pages: Iterable[Page]) -> Iterator[tuple[Page, Address, int]]:
        if self.most is None:
            yield from addresses(pages, self.catalogue)
            return
        sure, counted = self._least_sure(self.most), Counter[str]()
        for page, parts, number in addresses(pages, self.catalogue):
            if page.name == "judgement":
                kept = parts in sure
            elif page.name == "sentence":
                counted[page.name] += 1
                kept = counted[page.name] <= self.most
            else:
                kept = page.name != "judgements" or number <= max(1, self.most // ON_A_PAGE)
            if kept:
                yield page, parts, number
            else:
                self.left_out[page.name] += 1

    def _least_sure(self, most: int) -> set[Address]:
        sql = ("SELECT s.name, j.n FROM judgement j JOIN source s ON s.id = j.source "
               "ORDER BY j.doubt, j.source, j.n LIMIT ?")  # fmt: skip
        return {(name, str(n)) for name, n in self.catalogue.all(sql, most)}

    def write(self, folder: Path, progress: Progress | None) -> Exported:
        """Write all of it."""
        for name in STATIC:
            if name not in _SCRIPTS:
                self._put(folder, f"static/{name}", [static_file(name)])
        for done, (one, path) in enumerate(zip(self.wanted, self.paths, strict=True), 1):
            self._page(folder, path, *one)
            if progress is not None:
                progress(done, len(self.wanted))
        # What pages lead to and an export never has (searches), leads there, too.
        values = {"left_out": dict(self.left_out), "most": self.most, "here": ("left-out",)}
        page = render("inspecting/left_out.html.j2", self.site, self._links(_LEFT_OUT), **values)
        self._put(folder, _LEFT_OUT, [page.encode()])
        files = len(self.files) - sum(self.pages.values())
        found = Exported(self.pages, files, self.bytes, self.left_out)
        told = {"format": _FORMAT, "pnyx": __version__, "no_text": hides_text(), **found.row(),
                "files": sorted([*self.files, _MARK])}  # fmt: skip
        self._put(folder, _MARK, [json.dumps(told, indent=1).encode()])
        return found

    def _links(self, path: str) -> Links:
        return _FileLinks("../" * path.count("/"), True, self.known)

    def _page(self, folder: Path, path: str, page: Page, parts: Address, number: int) -> None:
        links = self._links(path)
        try:
            found = page.show(self.catalogue, links, parts, number)
        except NotThereError as error:
            raise PnyxError(f"{path}: {error}") from error
        here = (page.name, *parts) if page.name else ()
        values = {"here": here, "number": number, **found.values}
        text = self.places.sub("", render(found.template, self.site, links, **values))
        self._put(folder, path, [text.encode()])
        self.pages[page.name or "index"] += 1
        for name, kept in found.files.items():
            self._file(folder, here, name, kept)

    def _file(self, folder: Path, here: Address, name: str, kept: Kept) -> None:
        stem, _, ending = name.rpartition(".")
        path = Links("", files=True).file(*here, stem, ending=ending)
        if path.lower() not in self.taken:  # a list of several pages has its files once
            self._put(folder, path, (part.encode() for part in kept.parts()))

    def _put(self, folder: Path, path: str, parts: Iterable[bytes]) -> None:
        if path.lower() in self.taken:
            raise PnyxError(f"two pages would have the name {escaped(path)}")
        self.taken.add(path.lower())
        self.files.append(path)
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as stream:  # within a folder that is placed when it is whole
            for part in parts:
                self.bytes += stream.write(part)


def _parts(page: Page, parts: Address, number: int) -> Address:
    """Return the whole address of a page; that of the first of a list has no number."""
    numbered = (str(number),) if number > 1 else ()
    return (page.name, *parts, *numbered) if page.name else numbered
