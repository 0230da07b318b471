"""The rules of a campaign for runs (--strict)."""

from __future__ import annotations

from collections.abc import Mapping

from pnyx.cli.measure.strict import enough

RANKING_RULES = (
    "by the campaign's rules, a topic missing from a run counts as an empty ranking",
    "by the campaign's rules, an unjudged or unknown document is irrelevant",
)


def check_judged(runs: Mapping[str, str], qrels: str, least: float) -> dict[str, float]:
    """Return run -> judged share of its first 10 documents, over the topics that it has.

    InputError: a run has less than the share `least`, in [0, 1].
    """
    from pnyx.search.measures.retrieval import measure_retrieval
    from pnyx.stats.base import Bootstrap

    judged = measure_retrieval(runs, qrels, ("Judged@10",), bootstrap=Bootstrap(draws=0))
    shares: dict[str, float] = {}
    for run in judged.runs:
        values = (v["Judged@10"].value for t, v in run.per_topic.items() if t not in run.absent)
        measured = [value for value in values if value is not None]
        shares[run.name] = sum(measured) / len(measured)  # never 0: a run without topics is refused
    return enough(shares, "its first 10 documents", least)
