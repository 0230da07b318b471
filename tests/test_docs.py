"""The pages of the documentation: links lead somewhere, benchmarks find their tables."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation is not in this copy")


def _prose(page):
    """Return a page without its code."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    return re.sub(r"`[^`\n]*`", lambda code: code[0][1:-1].replace("](", "]\\("), text)


def _anchors(page):
    """Return the anchors that GitHub gives the headings of a page."""
    anchors = set()
    for heading in re.findall(r"^#+ +(.+)$", _prose(page), re.M):
        base = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        number = 0
        while (anchor := f"{base}-{number}" if number else base) in anchors:
            number += 1
        anchors.add(anchor)
    return anchors


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page):
    broken = []
    for target in re.findall(r"\]\(\s*([^)\s]+)\s*\)", _prose(page)):
        if re.match(r"https?://", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in _anchors(file)):
            broken.append(target)
    assert not broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_tables_fit_a_page(page):
    rules = re.findall(r"^\|[ :|-]+\|$", _prose(page), re.M)
    assert all(line.count("|") - 1 <= 6 for line in rules)  # else lab/judging/narrow_tables.py


WRITES = [  # page, script, options, target
    (page, script, options, target)
    for page in PAGES
    for script, options, target in re.findall(
        r"python (lab/\S+\.py)(.*?) --write (\S+)", page.read_text(encoding="utf-8")
    )
]


def test_every_benchmark_with_a_report_is_documented():
    reporting = {
        str(file.relative_to(ROOT))
        for file in (ROOT / "lab").rglob("*.py")
        if re.search(r'= Report\(f?"', file.read_text(encoding="utf-8"))
    }
    assert reporting == {script for _, script, *_ in WRITES}


@pytest.mark.parametrize(
    ("page", "script", "options", "target"), WRITES, ids=[w[1] for w in WRITES]
)
def test_a_documented_command_writes_into_its_page(page, script, options, target):
    source = (ROOT / script).read_text(encoding="utf-8")
    (name,) = re.findall(r'Report\(f?"(.+?)"\)', source)
    text = (ROOT / target).read_text(encoding="utf-8")
    part = "development" if "--part development" in options else "test"
    name = name.replace("{options.part}", part)
    assert (ROOT / target).samefile(page)
    assert f"--write {target}" in source
    assert text.count(f"<!-- {name} -->\n") == text.count(f"<!-- end of {name} -->\n") == 1
