"""Judged reports in the catalogue, read again from their files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from pnyx.core.errors import InputError
from pnyx.core.files import parse_json_object
from pnyx.core.nuggets import NuggetBank
from pnyx.core.records import Document
from pnyx.core.restricted_mode import hides_text
from pnyx.formats import read_nugget_banks
from pnyx.formats.reports.judged_report import ANSWERED_ONLY, JudgedReport, report_of_row
from pnyx.reports.pages import tree_words as tree_words
from pnyx.reports.tree import auto_argue
from pnyx.reports.tree.report_reader import judged_report_at
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.records import JudgementRow, ReportRow
from pnyx.web.results.report_texts import ReportTexts


def judged_report(catalogue: Catalogue, row: ReportRow) -> JudgedReport:
    """Return a report of the kind `judged`, read from its file."""
    return JudgedTexts(catalogue, row).report


def read_banks(paths: Sequence[str]) -> dict[str, NuggetBank]:
    """Return topic -> nugget bank from files; unreadable ones are reported by their own source."""
    banks: dict[str, NuggetBank] = {}
    for path in paths:
        with contextlib.suppress(InputError):
            banks |= {bank.topic_id: bank for bank in read_nugget_banks(path)}
    return banks


@lru_cache(maxsize=8)
def _banks(catalogue: Catalogue) -> dict[str, NuggetBank]:
    rows = catalogue.each("SELECT path FROM file WHERE format = 'nuggets'")
    return read_banks([path for (path,) in rows])


class JudgedTexts(ReportTexts):
    """A judged report of the catalogue."""

    def __init__(self, catalogue: Catalogue, row: ReportRow) -> None:
        self.catalogue, self.row = catalogue, row

    @staticmethod
    def question(line: Mapping[str, Any]) -> str:
        """Return the question at the node of the tree that a line names."""
        node = line.get("node")
        return tree_words.NODES.get(node if isinstance(node, str) else "", ("",))[0]

    @cached_property
    def report(self) -> JudgedReport:
        """The report; without texts in restricted mode."""
        text, path = self.catalogue.report_line(self.row)
        judged = judged_report_at(text, path, self.row.line)
        if ANSWERED_ONLY in judged.notes:
            judged = auto_argue.completed(judged, _banks(self.catalogue).get(judged.topic_id))
        return report_of_row(judged.row()) if hides_text() else judged

    def sentences(self) -> list[str]:
        """Return the texts of its sentences."""
        return [sentence.text for sentence in self.report.sentences]

    def documents(self) -> Mapping[str, Document]:
        """Return id -> document, for the documents that its line embeds."""
        text, path = self.catalogue.report_line(self.row)
        if not text.startswith(auto_argue.BEGINNING):
            return {}
        return auto_argue.documents_of(parse_json_object(text, path=path, number=self.row.line))

    def findings(self) -> Iterator[tuple[int, str, str, str]]:
        """Yield (sentence from 0, node, subject, id of judgements) of each finding."""
        for index, sentence in enumerate(self.report.sentences):
            findings = [("", *pair) for pair in sentence.findings.items()]
            for citation in sentence.citations:
                findings += [(citation.doc_id, "relevant", citation.relevant),
                             (citation.doc_id, "attests", citation.attests)]  # fmt: skip
            for about, node, finding in findings:
                if finding.id:
                    yield index, node, about, finding.id

    def asked(self, judgement: JudgementRow, line: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield (label, text) of the subjects of a question of the tree."""
        report, n = self.report, line.get("sentence")
        inside = isinstance(n, int) and 1 <= n <= len(report.sentences)
        sentence = report.sentences[n - 1].text if inside else ""  # type: ignore[operator]
        if sentence and line.get("node") != "relevant":
            yield "sentence", sentence
        nuggets = (nugget for nugget in report.nuggets if nugget.id == judgement.perspective)
        nugget = next(nuggets, None)
        if nugget is not None:
            yield "nugget", nugget.text
            answer_index = line.get("answer")
            if (
                isinstance(answer_index, int)
                and 0 <= answer_index < len(nugget.answers)
                and not nugget.is_claim
            ):
                yield "answer", nugget.answers[answer_index].text
