"""The table of formats: each is read by the module that it names, imported when it is used."""

import subprocess
import sys
from importlib import import_module

import pytest

from pnyx.formats import FORMATS
from pnyx.formats.base import table
from pnyx.formats.format_table import kind_of


@pytest.mark.parametrize(("module", "names"), table()["modules"].items())
def test_a_module_defines_the_formats_that_the_table_says(module, names):
    defined = import_module(f"pnyx.formats.{module}").FORMATS
    assert [form.name for form in defined] == names
    assert [FORMATS[name] for name in names] == list(defined)
    assert [kind_of(name) for name in names] == [form.kind for form in defined]


def test_every_described_format_has_one_module():
    described = {name for name, row in table().items() if isinstance(row, dict) and "kind" in row}
    named = [name for names in table()["modules"].values() for name in names]
    assert sorted(named) == sorted(described)
    assert list(FORMATS) == named
    assert len(FORMATS) == len(named)
    assert "labels" in FORMATS
    assert "no-such" not in FORMATS
    with pytest.raises(KeyError):
        FORMATS["no-such"]


def test_a_format_imports_only_what_reads_it():
    code = (
        "import sys; from pnyx.formats import FORMATS; FORMATS['labels']; "
        "print(*(m for m in sys.modules if m.startswith('pnyx.formats.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "pnyx.formats.items" in loaded
    assert not any(
        name.startswith(("pnyx.formats.runs", "pnyx.formats.reports")) for name in loaded
    )
