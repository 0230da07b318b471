"""An argued case as JSON, as `pnyx argue --json` prints it."""

from __future__ import annotations

import json

from pnyx.cases.case import Case
from pnyx.cases.rows import case_row


def render_json(case: Case) -> str:
    """Return the case in the format of `pnyx argue --json`."""
    return json.dumps(case_row(case).model_dump(), ensure_ascii=False, indent=2) + "\n"
