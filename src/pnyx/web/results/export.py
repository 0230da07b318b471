"""Pages of results as files: they need no server and no network, and can be published.

The export contains no local path and no endpoint address. Links to a page that is left out lead to
a page that says so.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from pnyx._version import __version__
from pnyx.core.errors import InputError, PnyxError, escaped
from pnyx.core.files import atomic_folder, read_json
from pnyx.core.restricted_mode import hides_text
from pnyx.web.rendering import STATIC, Links, Site, render, static_file
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.figure import file_name
from pnyx.web.results.kinds import TABLES
from pnyx.web.results.measure_reader import MICRO
from pnyx.web.results.pages import Address, Content, PageFile, Parts
from pnyx.web.results.records import ROWS_A_PAGE, NotFoundError, SourceRow
from pnyx.web.results.routes import addresses, rendered, show
from pnyx.web.results.shared_pages import Once, Place, places_of, within
from pnyx.web.results.tables import EVERY, of_many

_FORMAT: Final = "pnyx-export"
_MARK: Final = "export.json"
_LEFT_OUT: Final = "left-out.html"
_SCRIPTS: Final = frozenset({"htmx.min.js", "watch.js"})
_OF_A_TOPIC: Final = 5
"""Number of parts in the address of two reports on a topic."""

_LISTS: Final = frozenset(kind.name for kind in TABLES if kind.of)
_IMPLIED: Final = re.compile(r"</(?:td|th|tr|dd|dt|li|tbody|thead|option)>")
"""End tags that HTML allows to omit: a twentieth of all bytes."""
_QUOTED: Final = re.compile(r"""( [a-z-]+=)"([^\s"'=<>`&]+)"(?=[ >])""")
"""An attribute that needs no quotes."""
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]{0,15}://[^\s,;\"']+", re.IGNORECASE)
_PATH: Final = re.compile(r"(?<![\w.:/\\])(?:[A-Za-z]:[\\/]|~?/|\\\\)[^\s,;\"']*[\\/][^\s,;\"']*")

Progress = Callable[[int, int], None]
"""Called with the number of pages written, and their total."""


@dataclass(frozen=True, slots=True)
class Exported:
    """The outcome: counts of pages by name, of other files, and of pages left out."""

    pages: Mapping[str, int]
    files: int
    bytes: int
    left_out: Mapping[str, int]

    def row(self) -> dict[str, Any]:
        """Return the outcome as JSON values."""
        counts = {"pages": dict(self.pages), "files": self.files, "bytes": self.bytes}
        return {**counts, "left_out": dict(self.left_out)}

    def left_out_words(self) -> list[str]:
        """Return the omitted pages, in words."""
        return [
            f"{n:,} pages of {'lists of ' if name in _LISTS else 'single '}"
            f"{name.removesuffix('s')}s"
            for name, n in self.left_out.items()
        ]


class PublishedCatalogue(Catalogue):
    """A catalogue whose pages do not reveal the local paths of its sources."""

    def __init__(self, path: str | Path, store: str = "") -> None:
        super().__init__(path, store)
        self._published: list[SourceRow] | None = None

    def sources(self) -> list[SourceRow]:
        """Return all sources, without private details; read once."""
        if self._published is None:
            self._published = [_published(source) for source in super().sources()]
        return self._published

    def folders(self) -> list[str]:
        """Return the folders, as absolute paths, that pages must not name; the longest first."""
        names = [self.store, str(self.path)]
        for source in self.sources():
            store = source.about.get("store")
            path = store.get("path") if isinstance(store, Mapping) else None
            names += [source.path, *source.files.values(), path if isinstance(path, str) else ""]
        paths = [Path(name) for name in names if name and "\0" not in name]
        folders = {str(p.parent) for path in paths for p in (path, path.absolute(), path.resolve())}
        absolute = {folder.rstrip("/\\") for folder in folders if Path(folder).is_absolute()}
        return sorted(absolute - {""}, key=lambda folder: (-len(folder), folder))


def _published(source: SourceRow) -> SourceRow:
    about = {name: value if name == "store" else _without_folders(value)
             for name, value in source.about.items()}  # fmt: skip
    problem, judge = _without_folders(source.problem), _without_folders(source.judge)
    return replace(source, about=about, problem=problem, judge=judge)


def _without_folders(value: Any) -> Any:
    """Return a value without absolute paths and addresses in any of its texts."""
    if isinstance(value, str):
        # Only the model of an endpoint's address is kept.
        without = _URL.sub(lambda url: url[0].partition("#")[2] or "(address)", value)
        return _PATH.sub(lambda path: file_name(path[0]), without)
    if isinstance(value, Mapping):
        return {key: _without_folders(part) for key, part in value.items()}
    return [_without_folders(part) for part in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class _FileLinks(Links):
    """Links between files, some of which are left out."""

    places: Mapping[str, Place] = field(default_factory=dict)

    def has(self, *parts: str) -> bool:
        """Return whether the export has a page."""
        return self.path(*parts) in self.places

    def to(self, *parts: str, anchor: str = "", **_: Any) -> str:
        """Return the address of a page, or of the page that says why it is missing."""
        target = self.places.get(self.path(*parts))
        if target is None:
            return f"{self.root}{_LEFT_OUT}"
        jump = "-".join(filter(None, (target.anchor, anchor)))
        return f"{self.root}{target.path}" + (f"#{quote(jump)}" if jump else "")


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
        out: the folder: new, empty, or an earlier export, which is replaced.
        most: the most pages of single judgements, and of single sentences: unscored ones first,
            then those with the lowest confidence; lists end there too. None for all.
        progress: see `Progress`.

    Raises:
        InputError: the folder holds what no export wrote.
    """
    replaces = check_export(out)
    writer = _Writer(PublishedCatalogue(catalogue.path, catalogue.store), site, most)
    with atomic_folder(out, replace=replaces) as folder:
        return writer.write(folder, progress)


def check_export(folder: str | Path) -> bool:
    """Return whether a folder will be replaced; InputError if it holds other files."""
    out = Path(folder)
    if not out.is_dir():
        return False
    files = [file for file in out.rglob("*") if not file.is_dir() or file.is_symlink()]
    if not files:
        return True
    mark = read_json(out / _MARK)
    named = mark.get("files") if mark is not None else None
    if mark is None or not isinstance(named, list):
        raise InputError("holds files that were not exported by pnyx view", path=out)
    written = {name for name in named if isinstance(name, str) and mark.get("format") == _FORMAT}
    foreign = [file for file in files if file.relative_to(out).as_posix() not in written]
    if foreign:
        short = escaped(foreign[0].relative_to(out).as_posix(), 80)
        raise InputError(f"holds {short}, which was not written by an export", path=out)
    return True


class _Writer:
    def __init__(self, catalogue: PublishedCatalogue, site: Site, most: int | None) -> None:
        self.catalogue, self.most = catalogue, most
        folders = "|".join(re.escape(escape(folder)) + r"[/\\]?" for folder in catalogue.folders())
        self.folders = re.compile(folders or r"(?!)")
        self.left_out: Counter[str] = Counter()
        self.wanted = list(self._wanted())
        # What requires a server is left out: its scripts and searches.
        pages = {address.page for address in self.wanted}
        nav = [(label, to) for label, to in site.nav if (to[0] if to else "") in pages]
        scripts = [name for name in site.scripts if name not in _SCRIPTS]
        begun = any(source.kind == "begun" for source in catalogue.sources())
        self.site = Site(site.name, nav, scripts, site.reload if begun else 0)
        self.places = places_of(self.wanted)
        self.pages: Counter[str] = Counter()
        self.taken: set[str] = set()
        self.files: list[str] = []
        self.bytes = 0

    def _wanted(self) -> Iterator[Address]:
        least_sure = self._least_sure() if self.most is not None else set()
        seen: Counter[str] = Counter()
        for address in addresses(self.catalogue):
            if address.page in _LISTS and address.part(1) == EVERY and address.number == 1:
                continue  # the same list as the one without a number
            if self.most is None or self._keeps(address, self.most, least_sure, seen):
                yield address
            else:
                self.left_out[address.page] += 1

    def _keeps(
        self, address: Address, most: int, least_sure: set[Parts], seen: Counter[str]
    ) -> bool:
        """Return whether an export has a page; `seen` counts pages that are limited in number."""
        page = address.page
        if page == "judgement":
            return address.parts in least_sure
        if page == "leaderboard":
            return not address.part(1).endswith(MICRO)
        if page == "sentence" or (page == "compare" and len(address.parts) == _OF_A_TOPIC):
            seen[page] += 1
            return seen[page] <= (most if page == "sentence" else most // 20)
        if page not in _LISTS or not address.parts:
            return True
        if address.part(1) in of_many(self.catalogue, *address.whole[:2]):
            return False
        if address.number > 1 and address.part(1) != EVERY:
            seen["narrowed"] += 1
            if seen["narrowed"] > most // 100:
                return False
        return address.number <= max(1, most // ROWS_A_PAGE)

    def _least_sure(self) -> set[Parts]:
        sql = ("SELECT s.name, j.n FROM judgement j JOIN source s ON s.id = j.source "
               "ORDER BY j.doubt, j.source, j.n LIMIT ?")  # fmt: skip
        return {(name, str(n)) for name, n in self.catalogue.each(sql, self.most)}

    def write(self, folder: Path, progress: Progress | None) -> Exported:
        """Write all of it."""
        for name in STATIC:
            if name not in _SCRIPTS:
                self._put(folder, f"static/{name}", [static_file(name)])
        done = 0
        files: dict[str, list[tuple[Address, Place]]] = {}
        for address, target in zip(self.wanted, self.places.values(), strict=True):
            files.setdefault(target.path, []).append((address, target))
        for path, gathered in files.items():
            self._write_file(folder, path, gathered)
            done += len(gathered)
            if progress is not None:
                progress(done, len(self.wanted))
        # Links to pages that an export never has (searches) lead there too.
        values = {"left_out": dict(self.left_out), "most": self.most, "lists": _LISTS,
                  "here": ("left-out",)}  # fmt: skip
        page = render("view/left_out.html.j2", self.site, self._links(_LEFT_OUT), **values)
        self._put(folder, _LEFT_OUT, [page.encode()])
        others = len(self.files) - len(files)
        exported = Exported(self.pages, others, self.bytes, self.left_out)
        mark = {"format": _FORMAT, "pnyx": __version__, "no_text": hides_text(), **exported.row(),
                "files": sorted([*self.files, _MARK])}  # fmt: skip
        self._put(folder, _MARK, [json.dumps(mark, indent=1).encode()])
        return exported

    def _links(self, path: str) -> Links:
        return _FileLinks("../" * path.count("/"), True, self.places)

    def _write_file(self, folder: Path, path: str, pages: Sequence[tuple[Address, Place]]) -> None:
        from markupsafe import Markup

        links, once = self._links(path), Once()
        parts = []
        for address, target in pages:
            try:
                content = show(self.catalogue, address)
            except NotFoundError as error:
                raise PnyxError(f"{path}: {error}") from error
            text = rendered(content, address, self.site, links, once if target.anchor else None)
            if target.anchor:
                parts.append((target.anchor, Markup(within(text, target.anchor))))  # noqa: S704
            self.pages[address.page or "index"] += 1
            for name, file in content.files.items():
                self._file(folder, address.here, name, file)
        if parts:
            values = {**content.values, "page": address.page, "gathered": parts}
            text = rendered(Content("gathered", values), address, self.site, links)
        # Unnecessary quotes are removed; pictures are XML, which needs them.
        pieces = re.split("(<svg |</svg>)", _IMPLIED.sub("", self.folders.sub("", text)))
        pieces[::4] = [_QUOTED.sub(r"\1\2", piece) for piece in pieces[::4]]
        text = "".join(pieces)
        self._put(folder, path, [text.encode()])

    def _file(self, folder: Path, here: Parts, name: str, file: PageFile) -> None:
        stem, _, ending = name.rpartition(".")
        path = Links("", files=True).file(*here, stem, ending=ending)
        if path.lower() not in self.taken:  # a list of several pages has its files once
            self._put(folder, path, (part.encode() for part in file.parts()))

    def _put(self, folder: Path, path: str, parts: Iterable[bytes]) -> None:
        if path.lower() in self.taken:
            raise PnyxError(f"two pages would have the name {escaped(path)}")
        self.taken.add(path.lower())
        self.files.append(path)
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as stream:  # within a folder that is moved into place when complete
            for part in parts:
                self.bytes += stream.write(part)
