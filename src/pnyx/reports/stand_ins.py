"""What an argument would ask a language model: stand-ins for the answers that are not there yet.

An argument asks in stages, each of what the one before gave. Where the model is offline, answers
and texts that cannot change how much is asked take the place of those that are missing.
"""

from __future__ import annotations

from dataclasses import replace

from pnyx.cases.case import Draft
from pnyx.cases.limits import Limits
from pnyx.formats import ReportRequest
from pnyx.reports.writing.candidates import Gathered
from pnyx.reports.writing.report import Reporter


class StandInReporter:
    """A writer of reports in whose place another writes what it did not."""

    def __init__(self, writer: Reporter, other: Reporter) -> None:
        self._writer, self._other = writer, other
        self.name, self.asks = writer.name, writer.asks

    async def write(self, request: ReportRequest, gathered: Gathered, limits: Limits) -> Draft:
        """See `pnyx.reports.writing.report.Reporter`."""
        draft = await self._writer.write(request, gathered, limits)
        if not draft.failed:
            return draft
        return replace(await self._other.write(request, gathered, limits), quotes=False)
