"""Render pages from templates, both for a server and for files on disk.

Independent of HTTP. A page is a template and its values. It links to other pages only through
`Links`, so the same template serves both. Jinja2 escapes every value.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

from pnyx._version import __version__

if TYPE_CHECKING:
    import jinja2

_PLAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,79}")
_KEPT_BACK: Final = re.compile(
    r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?|index|static", re.IGNORECASE
)
"""File names reserved by Windows, and those that an export itself needs."""
_ODD: Final = re.compile(r"[^A-Za-z0-9_-]+")
_INDENTED: Final = re.compile(r"\n\s+")

_ROOM, _VIEW = "pnyx.web", "pnyx.display"
_KINDS: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def _files(room: str, folder: str, *names: str) -> dict[str, tuple[str, str, str]]:
    """Return the named files of a folder, or all that pages may load."""
    filenames = names or sorted(
        file.name for file in resources.files(room).joinpath(folder).iterdir()
    )
    kinds = {name: _KINDS.get(name[name.rfind(".") :]) for name in filenames}
    return {name: (room, folder, kind) for name, kind in kinds.items() if kind}


STATIC: Final[Mapping[str, tuple[str, str, str]]] = {
    **_files(_VIEW, "templates", "tokens.css", "case.css", "report.js"),
    **_files(_ROOM, "static"),
}
"""Files that pages load: name -> package, folder, media type. Pages load nothing else."""


@cache
def static_file(name: str) -> bytes:
    """Return a file of `STATIC`; KeyError if it does not exist."""
    room, folder, _ = STATIC[name]
    return resources.files(room).joinpath(folder, name).read_bytes()


def slug(name: str) -> str:
    """Return a name as one part of an address or file name, shortened with a hash if need be."""
    if _PLAIN.fullmatch(name):
        return name
    digest = _digest(name)
    head = _ODD.sub("-", name).strip("-")[:40].strip("-")
    return f"{head}-{digest}" if head else digest


def _digest(name: str) -> str:
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()


@lru_cache(maxsize=65_536)
def _portable(name: str) -> str:
    """Return a `slug` that is unique on any disk: lower-case letters and digits, or a hash."""
    slugged = slug(name)
    if (
        slugged == slugged.lower()
        and not slugged.endswith(".")
        and not _KEPT_BACK.fullmatch(slugged)
    ):
        return slugged
    return f"{slugged.rstrip('.')}-{_digest(slugged)}"


@dataclass(frozen=True, slots=True)
class Links:
    """Addresses of pages.

    Attributes:
        root: path to the first page: `/` on a server, `../` as often as needed in a file.
        files: whether pages are files, which are named `.html`.
    """

    root: str = "/"
    files: bool = False

    def to(self, *parts: str, anchor: str = "", **query: Any) -> str:
        """Return the address of a page by its parts, e.g. `topic`, the topic's id.

        Parts are simplified by `slug`, for files so that they differ on any file system. Files
        have no `query`.
        """
        path = self.path(*parts)
        parameters = {k: v for k, v in query.items() if v not in (None, "")}
        asking = f"?{urlencode(parameters)}" if parameters and not self.files else ""
        return f"{self.root}{path}{asking}" + (f"#{quote(anchor)}" if anchor else "")

    def has(self, *parts: str) -> bool:
        """Return whether the page exists: an export leaves some out."""
        return bool(parts)

    def path(self, *parts: str) -> str:
        """Return the path of a page relative to the first page."""
        if not self.files:
            return "/".join(map(slug, parts))
        return f"{'/'.join(map(_portable, parts)) or 'index'}.html"

    def file(self, *parts: str, ending: str) -> str:
        """Return the address of a file next to a page: its parts, then its name."""
        plain = map(_portable if self.files else slug, parts)
        return f"{self.root}{'/'.join(plain)}.{ending}"

    def static(self, name: str) -> str:
        """Return the address of a file of `STATIC`; it changes with the file."""
        if self.files:
            return f"{self.root}static/{name}"
        return f"{self.root}static/{name}?{_version(name)}"


@cache
def _version(name: str) -> str:
    return hashlib.blake2b(static_file(name), digest_size=5).hexdigest()


@dataclass(frozen=True, slots=True)
class Site:
    """Values shown on all pages of one application."""

    name: str  # what is served, e.g. `my.index`
    nav: Sequence[tuple[str, Sequence[str]]] = ()  # label and address of each page in the head
    scripts: Sequence[str] = field(default=())  # files of `STATIC` that every page loads
    reload: int = 0  # seconds after which a page reloads; 0: never


def render(template: str, site: Site, links: Links, **values: Any) -> str:
    """Return a page as HTML; `values` may be hostile.

    `template` is a file under `serve/templates/`. In addition to `values` it has `site`, `links`
    and `version`; `here` among the values is the parts of this page's own address.
    """
    context = {"here": (), "site": site, "links": links, "version": __version__, "once": None}
    context["layout"] = "base.html.j2"
    return environment().get_template(template).render(context | values)


@cache
def environment() -> jinja2.Environment:
    """Return the template environment, which sanitises and escapes all values."""
    import jinja2
    from jinja2.ext import Extension

    from pnyx.display.states import probability
    from pnyx.display.tables import interval, number, withheld_line
    from pnyx.display.text import one_line, web_address
    from pnyx.judging.judge_names import short_name, undated_name

    class Unindented(Extension):
        def preprocess(self, source: str, *_: object, **__: object) -> str:
            return _INDENTED.sub("\n", source)

    templates = jinja2.Environment(
        extensions=[Unindented],
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(room) for room in (_ROOM, _VIEW)]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_harmless(),
    )
    templates.filters |= {
        "number": number,
        "interval": interval,
        "withheld": withheld_line,
        "probability": probability,
        "one_line": one_line,
        "content": _content,
        "following": lambda number: number + 1,
        "web_address": web_address,
        "judge": short_name,
        "undated": undated_name,
    }
    return templates


def _content(text: str) -> Any:
    """Return text as the content of an element, in which quotation marks need no escaping."""
    from markupsafe import Markup

    from pnyx.display.text import clean

    text = clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return Markup(text)  # noqa: S704


def _harmless() -> Callable[[Any], Any]:
    """Return text without control characters and overrides; HTML is unchanged."""
    from markupsafe import Markup

    from pnyx.display.text import clean

    def harmless(value: Any) -> Any:
        return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    return harmless
