"""The texts of a report as a system wrote it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pnyx.core.records import Document
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.records import JudgementRow, ReportRow
from pnyx.web.results.report_texts import ReportTexts


class ResponseTexts(ReportTexts):
    """A report as a system wrote it."""

    def __init__(self, catalogue: Catalogue, row: ReportRow) -> None:
        self.catalogue, self.row = catalogue, row

    @staticmethod
    def question(line: Mapping[str, Any]) -> str:  # noqa: ARG004 - of other kinds
        """Return nothing: judgements on it say themselves what they ask."""
        return ""

    def sentences(self) -> list[str]:
        """Return the texts of its sentences."""
        return [sentence.text for sentence in self.catalogue.response(self.row).sentences]

    def documents(self) -> Mapping[str, Document]:
        """Return id -> document of those that its line embeds."""
        return dict(self.catalogue.response(self.row).documents)

    def findings(self) -> Iterator[tuple[int, str, str, str]]:
        """Yield where the judgements on each sentence's citations are."""
        for number in range(self.row.sentences):
            yield number, "attests", "", f"{self.row.topic}/{self.row.run}/{number}"

    def asked(
        self,
        judgement: JudgementRow,  # noqa: ARG002 - of other kinds
        line: Mapping[str, Any],  # noqa: ARG002 - of other kinds
    ) -> Iterator[tuple[str, str]]:
        """Yield nothing: its judgements hold their texts."""
        yield from ()
