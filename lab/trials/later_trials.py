"""The packaged judges in the trials that were added later, on the debates of `packaged_judges`.

    PNYX_DATA=DATA python lab/trials/later_trials.py --work FOLDER
    ... --write docs/lab/trials.md   # updates its section

The items of stance are arguments with the pro and con side of their page's question, in turn.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "judging"))

from common import Report
from packaged_judges import chosen, tried

LIMITS = dict.fromkeys(("repeat", "self", "format", "asker", "stance"), 60)
RUNS = (
    *((task, name) for name in ("repeat", "self", "format", "asker", "verbosity")
      for task in ("relevance", "support")),
    ("stance", "stance"),
)  # fmt: skip

if __name__ == "__main__":
    report = Report("more trials")
    tried(report, chosen(__doc__), RUNS, LIMITS)
