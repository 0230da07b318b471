"""Texts of a report of any kind, for lists and single judgements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pnyx.core.records import Document

if TYPE_CHECKING:
    from pnyx.web.results.records import JudgementRow


class ReportTexts(ABC):
    """A report of the catalogue, made of the catalogue and its row; its file is read on demand."""

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
