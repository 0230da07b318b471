"""The words of people's labels."""

from __future__ import annotations

ADJUDICATED = "adjudicated"
"""The annotator of a label that decides where others differ: it alone counts."""

PARTLY = "partially"
LABEL_WORDS: dict[str, bool] = {"yes": True, PARTLY: True, "no": False}
"""What people write for relevant and not; partly relevant is relevant, as in DIRAS."""
