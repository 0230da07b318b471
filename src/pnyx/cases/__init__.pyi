"""The public names of this room, each with its home."""

from .argument import argue
from .case import ArguedSide, Case, verdict_rows
from .extractive import ExtractiveWriter
from .generate import LlmWriter
from .limits import Limits, limits_of
from .page.markdown import render_markdown
from .page.report import render_html
from .plan import Plan
from .report_plan import WritingPlan
from .rows import render_json

__all__ = [
    "ArguedSide",
    "Case",
    "ExtractiveWriter",
    "Limits",
    "LlmWriter",
    "Plan",
    "WritingPlan",
    "argue",
    "limits_of",
    "render_html",
    "render_json",
    "render_markdown",
    "verdict_rows",
]
