"""Corpora, questions, runs, judgments and responses: one module per format (docs/formats.md)."""

from __future__ import annotations

from pnyx.corpora.base import Format, Kind, Options, Row
from pnyx.corpora.evidence import argument_row, write_arguments, write_beir, write_jsonl
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
    "Kind",
    "Options",
    "Row",
    "argument_row",
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
    "write_arguments",
    "write_beir",
    "write_jsonl",
    "write_qrels",
    "write_responses",
    "write_run",
]
