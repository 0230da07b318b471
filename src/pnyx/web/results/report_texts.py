"""Texts of a report of any kind, for lists and single judgements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pnyx.core.records import Document

if TYPE_CHECKING:
    from pnyx.web.results.catalogue import Catalogue
    from pnyx.web.results.records import JudgementRow, ReportRow


class ReportTexts(ABC):
    """A report of the catalogue; its file is read on first use."""

    def __init__(self, catalogue: Catalogue, row: ReportRow) -> None:
        self.catalogue, self.row = catalogue, row

    @staticmethod
    @abstractmethod
    def question(line: Mapping[str, Any]) -> str:
        """Return a judgement's question about a part of a report; empty if unknown."""

    @abstractmethod
    def sentences(self) -> list[str]:
        """Return the texts of its sentences."""

    @abstractmethod
    def documents(self) -> Mapping[str, Document]:
        """Return id -> document of those that its line embeds."""

    @abstractmethod
    def findings(self) -> Iterator[tuple[int, str, str, str]]:
        """Yield (sentence from 0, node, subject, id of judgements) of each finding."""

    @abstractmethod
    def asked(self, judgement: JudgementRow, line: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield (label, text) of what a judgement on it was about."""


class ResponseTexts(ReportTexts):
    """A report as a system wrote it."""

    @staticmethod
    def question(line: Mapping[str, Any]) -> str:  # noqa: ARG004 - of other kinds
        """Return nothing: its judgements contain their questions."""
        return ""

    def sentences(self) -> list[str]:
        """Return the texts of its sentences."""
        return [sentence.text for sentence in self.catalogue.response(self.row).sentences]

    def documents(self) -> Mapping[str, Document]:
        """Return id -> document of those that its line embeds."""
        return dict(self.catalogue.response(self.row).documents)

    def findings(self) -> Iterator[tuple[int, str, str, str]]:
        """Yield where the judgements on each sentence's citations are."""
        for position in range(self.row.sentences):
            yield position, "attests", "", f"{self.row.topic}/{self.row.run}/{position}"

    def asked(
        self,
        judgement: JudgementRow,  # noqa: ARG002 - of other kinds
        line: Mapping[str, Any],  # noqa: ARG002 - of other kinds
    ) -> Iterator[tuple[str, str]]:
        """Yield nothing: its judgements hold their texts."""
        yield from ()
