"""The words of people's labels."""

from __future__ import annotations

ADJUDICATED = "adjudicated"
"""The annotator of a label that decides where others differ: it alone counts."""

PARTLY = "partially"
GRADE_WORDS: dict[str, float] = {"yes": 1.0, "true": 1.0, PARTLY: 0.5, "no": 0.0, "false": 0.0}
"""What a word says of a yes/no question, from 0 (no) to 1."""
LABEL_WORDS: dict[str, bool] = {"yes": True, PARTLY: True, "no": False}
"""What people write for relevant and not; partly relevant is relevant, as in DIRAS."""
