"""Which parts of a request does `pnyx report` say that there is no evidence on, and is it right?

    python lab/reports/parts.py --write docs/lab/reports.md

The parts are in `parts.tsv`: questions on the eight topics of the bundled example, each labelled by
whether its passages hold an answer. Half chose the rule
(`reports/writing/candidates.py`), half did not.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from collections import defaultdict
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))
from common import Report, arguments

from pnyx.cases.report_plan import WritingPlan
from pnyx.formats import ReportRequest
from pnyx.formats.bundled_example import load_example
from pnyx.models.embed.encoder import load_encoder
from pnyx.models.http.flow import run_blocking
from pnyx.reports.writing.candidates import gather, queries_of
from pnyx.reports.writing.report import lacking_parts
from pnyx.search.build import build_index
from pnyx.search.features.vectors import embed_documents
from pnyx.search.index import Index
from pnyx.search.open_search import open_searcher
from pnyx.search.options import SearchSpec
from pnyx.stats.intervals import share_of

PARTS = {"dev": "development", "test": "held out"}


def requests() -> dict[str, dict[str, dict[str, bool]]]:
    """Return half -> title -> part of the request -> whether there is no evidence on it."""
    found: dict[str, dict[str, dict[str, bool]]] = defaultdict(lambda: defaultdict(dict))
    with Path(__file__).with_name("parts.tsv").open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream, delimiter="\t"):
            found[row["part"]][row["title"]][row["asked"]] = row["label"] == "lacking"
    return found


def shown(right: int, whole: int) -> str:
    one = share_of(right, whole, whole)
    value = "none" if one.value is None else f"{one.value:.3f} [{one.low:.3f}, {one.high:.3f}]"
    return f"{right} of {whole}: {value}"


def main() -> None:
    options = arguments(__doc__).parse_args()
    report = Report("parts without evidence")
    report.head("questions", "without evidence", "named, and right", "of those without evidence")
    plan = WritingPlan()
    with tempfile.TemporaryDirectory() as folder:
        build_index(load_example().arguments, Path(folder, "index"))
        embed_documents(Path(folder, "index"), load_encoder())
        index = Index.open(Path(folder, "index"))
        searcher = open_searcher(index, SearchSpec(), None, None, lambda _: None)
        for half, of_half in requests().items():
            named, lacking = set(), set()
            for title, parts in of_half.items():
                request = ReportRequest(title, title, " ".join(parts))
                gathered = gather(searcher, request, plan, queries_of(request, plan))
                found = run_blocking(partial(lacking_parts, request, gathered))
                named |= {(title, one) for one in found}
                lacking |= {(title, one) for one, label in parts.items() if label}
            right, asked = len(named & lacking), sum(map(len, of_half.values()))
            report.row(
                f"{PARTS[half]}: {asked}",
                len(lacking),
                shown(right, len(named)),
                shown(right, len(lacking)),
            )
    report.line()
    report.line("Intervals are Wilson's, 95 %.")
    report.write(options.write)


if __name__ == "__main__":
    main()
