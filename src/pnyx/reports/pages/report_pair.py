"""The page that compares two runs' reports on a topic, with nuggets that only one answers."""

from __future__ import annotations

from typing import Final

from pnyx.formats.reports.judged_report import JudgedNugget, JudgedReport
from pnyx.reports.measures.registry import SHOWN, measure_report
from pnyx.reports.pages import tree_words as wording
from pnyx.reports.pages.judged_texts import judged_report
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.pages import Content


def show_reports(catalogue: Catalogue, first: str, second: str, source: str, topic: str) -> Content:
    """Show two runs' reports on a topic in two columns, with nuggets that only one answers."""
    rows = [catalogue.report(source, run, topic, kind="judged") for run in (first, second)]
    reports = [judged_report(catalogue, row) for row in rows]
    values = {
        "source": catalogue.source(source),
        "topic": catalogue.topic(topic),
        "rows": rows,
        "reports": reports,
        "nuggets": _nuggets_of_both(*reports),
        "measures": zip(SHOWN, *(measure_report(r, names=SHOWN).values() for r in reports),
                        strict=True),
        "words": wording,
    }  # fmt: skip
    return Content("compare_topic", values)


_GROUPS: Final = {
    ("yes", "no"): "Answered by {first} only",
    ("no", "yes"): "Answered by {second} only",
    ("yes", "yes"): "Answered by both",
    ("no", "no"): "Missed by both",
}
"""The states of a nugget in two reports -> its heading."""

_OPEN: Final = "Unscored in one"


def _nuggets_of_both(
    first: JudgedReport, second: JudgedReport
) -> list[tuple[str, str, list[JudgedNugget]]]:
    """Return (heading, sign, nuggets): undecided in one, answered by one, by both, by neither."""
    sides = [{n.id: n for _, n in wording.nuggets_in_order(r)} for r in (first, second)]
    groups: dict[str, list[JudgedNugget]] = {name: [] for name in (_OPEN, *_GROUPS.values())}
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        nuggets = [side.get(name) for side in sides]
        a, b = ("unscored" if n is None else wording.nugget_state(n) for n in nuggets)
        if "uncited" not in (a, b):  # known to have no answer, so none can be given
            group = _GROUPS.get((a, b), _OPEN)
            groups[group].append(next(nugget for nugget in nuggets if nugget is not None))
    signs = dict(zip(groups, ("unscored", "mixed", "mixed", "yes", "no"), strict=True))
    return [
        (group.format(first=first.run_id, second=second.run_id), signs[group], nuggets)
        for group, nuggets in groups.items()
        if nuggets
    ]
