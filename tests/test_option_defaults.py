"""Defaults that help shows, and the values that options allow, at their ends."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest
from click.testing import CliRunner

from pnyx.cli import app
from pnyx.cli.calibrate import CalibrateSpec
from pnyx.cli.judge import ItemSpec
from pnyx.cli.measure.options import MeasureSpec
from pnyx.cli.sample import LabelSampleSpec
from pnyx.core.errors import OptionError
from pnyx.core.spec import Spec
from pnyx.housekeeping.doctor import DoctorSpec
from pnyx.housekeeping.prompt import PromptSpec
from pnyx.housekeeping.split import PassageSpec
from pnyx.reports.measure_command import MeasureReportSpec
from pnyx.reports.nugget_options import CreateSpec, MergeSpec, NuggetJudgeSpec
from pnyx.reports.options import ReportJudgeSpec
from pnyx.reports.writing_options import WriteReportSpec


@cache
def defaults_of(command: str) -> dict[str, str]:
    """Return option or setting -> the default that help shows."""
    out = CliRunner().invoke(app, [*command.split(), "--help-all"], terminal_width=100).output
    found: dict[str, str] = {}
    for part in re.split(r"\n  (?=-|[a-z-]+=)", out):
        name = re.match(r"(?:-\w, )?(--[a-z-]+|[a-z-]+=)", part)
        default = re.search(r"\[default: ([^\]]*)\]", " ".join(part.split()))
        if name and default:
            found[name[1]] = default[1]
    return found


@pytest.mark.parametrize(
    ("command", "defaults"),
    [
        ("judge", {"--depth": "10"}),
        ("judge calibrate", {"--method": "isotonic", "--yes-threshold": "half"}),
        ("label sample", {"--size": "50", "--seed": "0"}),
        ("files split", {"--words": "100"}),
        ("files convert", {"--unscored": "error"}),
        ("files repeat", {"--inputs": "."}),
        ("prompt", {"batch=": "1", "probability=": "auto", "--sample": "0"}),
        ("doctor", {"timeout=": "20"}),
        ("demo", {"--out": "pnyx-demo"}),
        (
            "nuggets create",
            {
                "--most": "30",
                "--depth": "50",
                "--level": "1",
                "--window": "10",
                "--document-words": "400",
                "--rate": "--rate",
                "--to": "nuggetbank-v3",
            },
        ),
        ("nuggets assign", {"batch=": "10"}),
        (
            "judge report",
            {
                "--min-grade": "1",
                "--answers": "judge",
                "--credit": "attested",
                "--attest": "all",
                "--unknown-documents": "no",
                "batch=": "60",
                "shots=": "0",
                "--reward-attested": "1",
                "--reward-answered": "1",
                "--reward-confirmed": "1",
                "--penalty-irrelevant": "1",
                "--penalty-unattested": "1",
                "--penalty-unconfirmed": "1",
                "--penalty-uncited": "1",
            },
        ),
        (
            "measure report",
            {
                "--missing": "skip",
                "--to": "ir_measures",
                "--unscored": "error",
                "--min-scored": "0.8",
                "--draws": "1000",
                "--seed": "0",
            },
        ),
        (
            "report",
            {
                "--retrieve": "30",
                "--evidence": "20",
                "--lambda": "0.75",
                "--citations": "the track's, else 3",
                "--questions": "6",
                "--max-length": "the request's and the track's, else 2000 characters",
                "--team": "pnyx",
                "--run-id": "pnyx",
            },
        ),
        ("compare", {"--test": "randomisation", "--draws": "1000", "--seed": "0"}),
    ],
)
def test_the_defaults_of_a_command(command, defaults):
    shown = defaults_of(command)
    assert {name: shown.get(name) for name in defaults} == defaults


_NEEDING = (CalibrateSpec, LabelSampleSpec)


@pytest.mark.parametrize(
    ("spec", "field", "allowed", "refused"),
    [
        (CreateSpec, "most", (1, 500), (0, 501)),
        (CreateSpec, "depth", (1,), (0,)),
        (CreateSpec, "window", (1, 100), (0, 101)),
        (CreateSpec, "words", (20,), (19,)),
        (MergeSpec, "candidates_from", (-1.0, 1.0), (-1.01, 1.01)),
        (NuggetJudgeSpec, "batch", (1, 100), (0, 101)),
        (ReportJudgeSpec, "batch", (1, 100), (0, 101)),
        (ReportJudgeSpec, "shots", (0, 100), (-1, 101)),
        (WriteReportSpec, "limit", (1,), (0,)),
        (WriteReportSpec, "retrieve", (1,), (0,)),
        (WriteReportSpec, "evidence", (1,), (0,)),
        (WriteReportSpec, "lam", (0.0, 1.0), (-0.01, 1.01)),
        (WriteReportSpec, "citations", (1,), (0,)),
        (WriteReportSpec, "questions", (0, 20), (-1, 21)),
        (WriteReportSpec, "context", (100,), (99,)),
        (MeasureReportSpec, "min_scored", (0.0, 1.0), (-0.01, 1.01)),
        (LabelSampleSpec, "size", (1,), (0,)),
        (LabelSampleSpec, "seed", (0,), (-1,)),
        (ItemSpec, "depth", (1,), (0,)),
        (ItemSpec, "words", (0,), (-1,)),
        (PromptSpec, "batch", (1, 100), (0, 101)),
        (PromptSpec, "sample", (0,), (-1,)),
        (DoctorSpec, "timeout", (0.1, 60.0), (0.09, 60.1)),
        (PassageSpec, "words", (1,), (0,)),
        (CalibrateSpec, "error", (0.001, 0.999), (0.0, 1.0)),
        (MeasureSpec, "at", ((0.001, 1.0),), ((0.0,), (1.01,))),
    ],
)
def test_an_option_allows_its_ends_and_nothing_beyond(
    spec: type[Spec], field: str, allowed: tuple[Any, ...], refused: tuple[Any, ...]
):
    fields: Any = spec.__dataclass_fields__
    needed = {name: name for name in ("labels", "out") if name in fields and spec in _NEEDING}
    for value in allowed:
        assert getattr(spec(**needed, **{field: value}), field) == value
    for value in refused:
        with pytest.raises(OptionError, match="expected"):
            spec(**needed, **{field: value})
