"""The site of the documentation, built strictly: no warning, no broken link, every name there."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import click
import pytest

import pnyx
from pnyx.cli import COMMANDS
from pnyx.core.rooms import room_commands

pytest.importorskip("furo", reason="the extra docs is not installed")

DOCS = Path(__file__).parents[1] / "docs"
ROOMS = [name for name in pnyx.__all__ if isinstance(getattr(pnyx, name), ModuleType)]

pytestmark = [
    pytest.mark.all,
    pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation is not in this copy"),
]


class Page(HTMLParser):
    """The anchors of a page, and where it leads."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


@pytest.fixture(scope="module")
def site(made_once) -> Path:
    """The built site, once for all workers."""
    folder = made_once(
        "site", lambda place: (place / "log").write_text(build(place), encoding="utf-8")
    )
    if said := (folder / "log").read_text("utf-8"):
        pytest.fail(said, pytrace=False)
    return folder / "html"


def build(folder: Path) -> str:
    """Build it; return what went wrong, in words."""
    options = ["-W", "--keep-going", "-q", "-b", "html", "-d", folder / "doctrees"]
    options += ["-D", "toc_object_entries=0"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, DOCS, folder / "html"],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    return done.stderr[-4000:] if done.returncode else ""


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {file: Page(file) for file in sorted(site.rglob("*.html"))}


def test_every_page_of_the_documentation_is_there(site: Path) -> None:
    sources = [*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb")]
    kept = [file.relative_to(DOCS) for file in sources if "_build" not in file.parts]
    missing = [str(file) for file in kept if not (site / file.with_suffix(".html")).exists()]
    assert missing == []
    assert len(kept) > 90


def test_links_and_anchors_lead_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    broken = []
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            anchor = unquote(parts.fragment)
            known = pages[target].anchors if target in pages else set()
            if not target.exists() or (anchor and target in pages and anchor not in known):
                broken.append(f"{file.relative_to(site)}: {link}")
    assert broken == []


def test_nothing_is_fetched_from_elsewhere(pages: dict[Path, Page]) -> None:
    for file in pages:
        fetched = re.findall(
            r'<(?:script|link|img)\b[^>]*(?:src|href)="(https?:[^"]+)"', file.read_text("utf-8")
        )
        assert fetched == [], file


@pytest.mark.parametrize("room", [*ROOMS, "reports.autojudge"])
def test_the_reference_has_every_public_name(
    room: str, site: Path, pages: dict[Path, Page]
) -> None:
    if room == "reports.autojudge":
        pytest.importorskip("autojudge_base", reason="the extra autojudge is not installed")
    names = importlib.import_module(f"pnyx.{room}").__all__
    anchors = pages[site / "reference" / "python" / f"{room.rpartition('.')[2]}.html"].anchors
    assert [name for name in names if f"pnyx.{room}.{name}" not in anchors] == []


def test_the_overview_links_each_name_of_pnyx(site: Path, pages: dict[Path, Page]) -> None:
    links = pages[site / "reference" / "python" / "index.html"].links
    linked = {link.rpartition(".")[2] for link in links if "#pnyx." in link}
    assert set(pnyx.__all__) - set(ROOMS) - {"__version__"} <= linked


def test_each_command_has_an_anchor(site: Path, pages: dict[Path, Page]) -> None:
    for verb in COMMANDS:
        anchors = pages[site / "reference" / "cli" / f"{verb}.html"].anchors
        command = room_commands()[verb].load()
        below = command.commands if isinstance(command, click.Group) else command.words
        assert {f"pnyx-{verb}", *(f"pnyx-{verb}-{name}" for name in below)} <= anchors


def test_changes_and_what_to_cite_come_from_their_files(site: Path) -> None:
    assert "The first release" in (site / "changelog.html").read_text("utf-8")
    assert "Set up" in (site / "contributing.html").read_text("utf-8")
    assert (site / "citing.html").read_text("utf-8").count('<a class="reference external"') >= 5
