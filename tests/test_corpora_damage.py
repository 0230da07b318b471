"""Readers on data that is wrong or far too large: one line each, and no quadratic time."""

from __future__ import annotations

import json
import os

import pytest

from growth import grows_linearly
from pnyx.core.errors import InputError
from pnyx.formats import faults
from pnyx.formats.base import Options
from pnyx.formats.documents.folder import scan_folder

DEBATE = {
    "claim_title": "Tea is healthy",
    "perspectives_for": [
        {"perspective_title": "It relaxes", "argument": {"description": ["Tea calms."]}}
    ],
    "perspectives_against": [],
}


@pytest.mark.parametrize("name", ["debatewise", "procon"])
def test_a_bad_address_is_a_fault_of_its_debate_alone(name, tmp_path):
    path = tmp_path / "d.json"
    addresses = ["https://a.org/tea", "https://[a.org/tea", "https://a.org/x?y=[z", "http://[::1"]
    path.write_text(json.dumps([{"url": url, **DEBATE} for url in addresses]))
    found = list(faults(str(path), name))
    assert [str(fault)[len(f"{path}: ") :][:28] for fault in found] == [
        "debate 2: url: found 'https:", "debate 4: url: found 'http:/",
    ]  # fmt: skip
    assert all(isinstance(fault, InputError) for fault in found)


def columns(n):
    return ",".join(f"c{i}" for i in range(n)) + ",id,text\n" + "x," * n + "1,hello\n"


def perspective(n):
    return "## 1: Is it so?\n\n- pro: a\n" + "  more\n" * n


def question(n):
    return "## 1: Is it so?\n" + "  more\n" * n + "\n- pro: a\n"


def attribute(n):
    tag = "<title a='" + "xxxxxxxx\n" * n + "'>Is it so?</title>"
    return f"<topics><topic><number>1</number>{tag}</topic></topics>"


def spaces(n):
    points = [{"perspective_title": "A", "argument": {"description": ["a" + " " * n + "b"]}}]
    debate = {"url": "https://a.org/tea", **DEBATE, "perspectives_for": points}
    return json.dumps([debate])


@pytest.mark.parametrize(
    ("name", "make", "size"),
    [
        ("csv", columns, 10_000),
        ("touche-topics", attribute, 10_000),
        ("procon", spaces, 20_000),
    ],
)
def test_time_grows_with_the_size_and_not_with_its_square(name, make, size, tmp_path):
    path = tmp_path / "f"

    def read(n):
        path.write_text(make(n))
        assert list(faults(str(path), name)) == []

    assert grows_linearly(read, size)


# --- folders


@pytest.fixture
def linked(tmp_path):
    """Hold a folder with links of every kind, and what lies outside of it."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret.txt").write_text("secret")
    corpus = tmp_path / "corpus"
    (corpus / "sub").mkdir(parents=True)
    (corpus / "sub" / "a.txt").write_text("plain")
    links = {
        "in.txt": "sub/a.txt",
        "secret.txt": "../out/secret.txt",
        "passwd.txt": "/etc/passwd",
        "chain.txt": "secret.txt",
        "elsewhere": "../out",
        "loop": ".",
        "self.txt": "self.txt",
        "gone.txt": "nowhere.txt",
        "zero.txt": "/dev/zero",
    }
    for name, target in links.items():
        (corpus / name).symlink_to(target)
    os.mkfifo(corpus / "pipe.txt")
    return corpus


@pytest.mark.parametrize("through", ["corpus", "link"])
def test_links_out_of_a_folder_are_not_followed(linked, tmp_path, through):
    (tmp_path / "link").symlink_to(linked)
    noted: list[str] = []
    rows = scan_folder(str(tmp_path / through), Options(on_warning=noted.append))
    assert {row[1].id: row[1].text for row in rows} == {"in.txt": "plain", "sub/a.txt": "plain"}
    assert noted == [
        f"{tmp_path / through}: 11 files: 2 read, 3 unreadable (gone.txt: is a link to nothing, "
        "pipe.txt: is not a regular file, self.txt: is a link to nothing), 6 links that are not "
        "followed (elsewhere, loop, chain.txt, passwd.txt, secret.txt, zero.txt)"
    ]


def test_a_file_that_no_folder_holds_is_refused(tmp_path):
    (tmp_path / "a.x").write_text("words")
    (fault,) = faults(str(tmp_path / "a.x"), "folder")
    assert "expected a folder, or a file that ends in .txt" in str(fault)
