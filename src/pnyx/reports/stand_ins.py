"""Stand-ins for missing answers of a language model, to plan what an argument would ask.

An argument asks in stages that depend on earlier answers. If the model is offline, stand-ins that
do not change the number of questions replace the missing answers and texts.
"""

from __future__ import annotations

from dataclasses import replace

from pnyx.cases.case import Draft
from pnyx.cases.limits import Limits
from pnyx.formats import ReportRequest
from pnyx.reports.writing.candidates import Gathered
from pnyx.reports.writing.report import Reporter


class StandInReporter:
    """A writer of reports; a second writer writes the reports that the first one did not."""

    def __init__(self, writer: Reporter, other: Reporter) -> None:
        self._writer, self._other = writer, other
        self.name, self.asks = writer.name, writer.asks

    async def write(self, request: ReportRequest, gathered: Gathered, limits: Limits) -> Draft:
        """See `pnyx.reports.writing.report.Reporter`."""
        draft = await self._writer.write(request, gathered, limits)
        if not draft.failed:
            return draft
        return replace(await self._other.write(request, gathered, limits), quotes=False)
