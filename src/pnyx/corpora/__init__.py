"""Corpora, questions, runs, judgments and responses: one module per format (docs/formats.md)."""

from __future__ import annotations

from pnyx.corpora.base import Format, Options
from pnyx.corpora.evidence import write_jsonl
from pnyx.corpora.reading import (
    FORMATS,
    check,
    faults,
    find_format,
    read_evidence,
    read_items,
    read_qrels,
    read_questions,
    read_responses,
    read_run,
    sniff,
)
from pnyx.corpora.responses import response_row, response_writer, write_responses
from pnyx.corpora.trec import write_qrels, write_run

__all__ = [
    "FORMATS",
    "Format",
    "Options",
    "check",
    "faults",
    "find_format",
    "read_evidence",
    "read_items",
    "read_qrels",
    "read_questions",
    "read_responses",
    "read_run",
    "response_row",
    "response_writer",
    "sniff",
    "write_jsonl",
    "write_qrels",
    "write_responses",
    "write_run",
]
