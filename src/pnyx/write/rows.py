"""A case as JSON values, as `pnyx argue --json` and the HTTP API give it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pnyx._version import __version__
from pnyx.corpora import response_row
from pnyx.judge.answers import verdict_fields
from pnyx.write.case import Case, verdict_rows


def with_settings(case: Case, **more: str) -> Case:
    """Add what only the caller knows (which index), and the version."""
    return replace(case, settings={**more, **case.settings, "version": f"pnyx {__version__}"})


def case_row(case: Case) -> dict[str, Any]:
    """Return responses, verdicts, measures, judges and settings as JSON values."""
    verdicts = list(verdict_rows(case))
    return {
        "question": {"id": case.question.id, "text": case.question.text},
        "sides": [
            {
                "stance": side.side,
                "response": response_row(side.response),
                "verdicts": [row for row in verdicts if row["side"] == side.side],
                "measures": {name: m.row() for name, m in side.measures.items()},
                "considered": side.considered,
                "problems": list(side.problems),
            }
            for side in case.sides
        ],
        "judges": dict(case.judges),
        "settings": dict(case.settings),
        "undecided": [
            {
                "doc_id": one.doc_id,
                "relevance": verdict_fields(one.relevance),
                **{side: verdict_fields(answer) for side, answer in one.stance.items()},
            }
            for one in case.undecided
        ],
        "passed_over": case.passed_over,
        "unscored": case.unscored + case.search_unscored,
        "search_problems": list(case.search_problems),
        "weighed": None if case.weighed is None else case.weighed.row(),
        "topics": [{**match.row(), "passages": count} for match, count in case.topics],
    }
