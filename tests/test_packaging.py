"""What stands beside the package: the citation file and the Dockerfile."""

from __future__ import annotations

import datetime
import fnmatch
import re
import shlex
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="pyyaml is not installed")

ROOT = Path(__file__).parents[1]
CITATION = ROOT / "CITATION.cff"
DOCKERFILE = ROOT / "Dockerfile"

pytestmark = pytest.mark.skipif(not DOCKERFILE.exists(), reason="they are not in this copy")

# Of the CFF 1.2.0 schema: required fields, the types used here, and fields that it knows of a work.
TYPES = {"article", "conference-paper"}
FIELDS = set(
    "authors collection-title conference doi end identifiers journal notes publisher start title "
    "type url volume year".split()
)


@pytest.fixture(scope="module")
def citation():
    return yaml.safe_load(CITATION.read_text("utf-8"))


def test_the_citation_has_what_the_schema_requires(citation):
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert citation["license"] == "Apache-2.0"
    assert citation["message"]
    assert citation["title"].startswith("Pnyx")
    assert citation["authors"] == [{"name": "The Pnyx authors"}]


def test_it_names_the_five_papers(citation):
    works = citation["references"]
    for work in works:
        assert work["type"] in TYPES
        assert set(work) <= FIELDS
        assert all({"family-names", "given-names"} == set(author) for author in work["authors"])
        assert 2021 <= work["year"] <= datetime.datetime.now(datetime.UTC).year
        assert "doi" in work or work["url"].startswith("https://")
        assert re.fullmatch(r"10\.\d{4,}/\S+", work.get("doi", "10.0000/none"))
        for one in work.get("identifiers", ()):
            assert one["value"] in work["url"].replace("https://arxiv.org/abs/", "arXiv:")
    first = [work["authors"][0]["family-names"] for work in works]
    assert first == ["Gienapp", "Chen", "Ni", "Dhole", "Walden"]


def instructions() -> list[tuple[str, str]]:
    """Return (instruction, rest) of the Dockerfile, comments and line breaks taken out."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text("utf-8"), flags=re.M)
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines) if name]


def copied() -> list[str]:
    return [
        source
        for name, rest in instructions()
        if name == "COPY" and "--from" not in rest
        for source in shlex.split(rest)[:-1]
    ]


def test_what_the_image_copies_exists_and_is_not_ignored():
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"  # nothing else reaches the daemon
    kept = [rule[1:].rstrip("/") for rule in rules if rule.startswith("!")]
    sources = copied()
    assert sources
    for source in sources:
        assert (ROOT / source).exists()
        assert any(fnmatch.fnmatch(source.rstrip("/"), rule) for rule in kept), source


def test_what_the_build_needs_is_copied():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert {"pyproject.toml", project["readme"], *project["license-files"]} <= set(copied())


def test_the_extras_of_the_image_exist():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (extras,) = re.findall(r"'\.\[([\w,]+)\]'", DOCKERFILE.read_text("utf-8"))
    assert set(extras.split(",")) == {"autojudge", "fast", "serve"}
    assert set(extras.split(",")) <= set(project["optional-dependencies"])


def test_it_runs_the_command_as_a_user_without_privileges():
    said = instructions()
    assert [rest for name, rest in said if name == "ENTRYPOINT"] == ['["pnyx"]']
    users = [rest for name, rest in said if name == "USER"]
    assert users == ["pnyx"]
    last = max(place for place, (name, _) in enumerate(said) if name == "FROM")
    after = [name for name, _ in said[last:]]
    assert after.index("USER") < after.index("ENTRYPOINT")
    assert {rest.split()[0] for name, rest in said if name == "FROM"} == {"python:3.11-slim"}
    assert "pip" not in "".join(rest for _, rest in said[last:])  # nothing is fetched late
