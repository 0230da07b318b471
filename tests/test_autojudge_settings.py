"""The settings of a workflow of TREC AutoJudge."""

from __future__ import annotations

import click
import pytest

from pnyx.core.errors import InputError
from pnyx.reports.autojudge.judge import _chosen
from pnyx.reports.autojudge.settings import Settings, workflow_path


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("min_scored", 0, True),
        ("min_scored", 1.0, True),
        ("min_scored", 1.01, False),
        ("min_scored", -0.01, False),
        ("min_scored", True, False),
        ("most_nuggets", 1, True),
        ("most_nuggets", 0, False),
        ("most_nuggets", 1.0, False),
        ("min_grade", 0, True),
        ("min_grade", -1, False),
        ("min_grade", True, False),
        ("thresholds", [0.2, 1], True),
        ("thresholds", [0.2, 0.2], False),
        ("thresholds", [0, 0.5], False),
        ("thresholds", [0.5, 1.01], False),
        ("thresholds", [True], False),
        ("thresholds", 0.5, False),
        ("nuggets", None, True),
        ("nuggets", "banks", True),
        ("nuggets", 1, False),
        ("uses_llm", False, True),
        ("uses_llm", 0, False),
        ("no_text", "no", False),
        ("allow_text_in_banks", True, True),
        ("on_missing", "error", True),
        ("on_missing", "none", False),
        ("unknown_documents", False, True),  # what YAML makes of a bare no
        ("unknown_documents", True, False),
        ("credit", "any", True),
        ("attest", "none", False),
        ("outdir", 1, True),
        ("odd", 1, False),
    ],
)
def test_a_setting_has_a_value_of_its_kind(name, value, allowed):
    if allowed:
        Settings.of({name: value})
        return
    with pytest.raises(InputError, match=rf"settings(: found 'odd'|\.{name}: found ).*, expected"):
        Settings.of({name: value})
    with pytest.raises(click.ClickException):
        _chosen({name: value})


def test_the_defaults_of_the_settings():
    chosen = Settings.of({"thresholds": [1], "filebase": "x"})
    assert chosen == Settings(thresholds=(1.0,))
    assert (chosen.uses_llm, chosen.no_text, chosen.allow_text_in_banks) == (False, True, False)
    assert (chosen.on_missing, chosen.min_grade, chosen.most_nuggets) == ("skip", 1, 30)
    assert (chosen.min_scored, chosen.unknown_documents) == (0.8, "no")
    assert workflow_path().is_file()
