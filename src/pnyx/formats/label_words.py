"""The words that people use as labels."""

from __future__ import annotations

ADJUDICATED = "adjudicated"
"""The annotator whose label settles disagreements: it replaces all others."""

PARTLY = "partially"
GRADE_WORDS: dict[str, float] = {"yes": 1.0, "true": 1.0, PARTLY: 0.5, "no": 0.0, "false": 0.0}
"""The value of a word as an answer to a yes/no question, from 0 (no) to 1."""
LABEL_WORDS: dict[str, bool] = {"yes": True, PARTLY: True, "no": False}
"""Words for relevant and not relevant; partly relevant is relevant, as in DIRAS."""
