"""The public names of this room, each with its home."""

from .arguing import argue
from .case import ArguedSide, Case, verdict_rows
from .extractive import ExtractiveWriter
from .generate import LlmWriter
from .plan import Plan
from .reports.extractive import ExtractiveReporter
from .reports.generate import LlmReporter
from .reports.limits import Limits, limits_of
from .reports.plan import WritingPlan
from .reports.reporting import Report, report_many

__all__ = [
    "ArguedSide",
    "Case",
    "ExtractiveReporter",
    "ExtractiveWriter",
    "Limits",
    "LlmReporter",
    "LlmWriter",
    "Plan",
    "Report",
    "WritingPlan",
    "argue",
    "limits_of",
    "report_many",
    "verdict_rows",
]
