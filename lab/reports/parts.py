"""How well does `pnyx report` detect parts of a request for which there is no evidence?

    python lab/reports/parts.py --write docs/lab/reports.md

The parts are in `parts.tsv`: questions on the eight topics of the bundled example, labelled by
whether the passages contain an answer. Half were used to choose the rule
(`reports/writing/candidates.py`), half are held out.
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
    by_half: dict[str, dict[str, dict[str, bool]]] = defaultdict(lambda: defaultdict(dict))
    with Path(__file__).with_name("parts.tsv").open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream, delimiter="\t"):
            by_half[row["part"]][row["title"]][row["asked"]] = row["label"] == "lacking"
    return by_half


def share_text(right: int, whole: int) -> str:
    share = share_of(right, whole, whole)
    value = (
        "none" if share.value is None else f"{share.value:.3f} [{share.low:.3f}, {share.high:.3f}]"
    )
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
            named, unsupported = set(), set()
            for title, parts in of_half.items():
                request = ReportRequest(title, title, " ".join(parts))
                gathered = gather(searcher, request, plan, queries_of(request, plan))
                gaps = run_blocking(partial(lacking_parts, request, gathered))
                named |= {(title, part) for part in gaps}
                unsupported |= {(title, part) for part, label in parts.items() if label}
            right, total = len(named & unsupported), sum(map(len, of_half.values()))
            report.row(
                f"{PARTS[half]}: {total}",
                len(unsupported),
                share_text(right, len(named)),
                share_text(right, len(unsupported)),
            )
    report.line()
    report.line("Intervals are Wilson's, 95 %.")
    report.write(options.write)


if __name__ == "__main__":
    main()
