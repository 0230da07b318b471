"""The class for `auto-judge run`: leaderboard, qrels and nuggets by Pnyx."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from pnyx.core.errors import InputError, MissingExtra, escaped
from pnyx.reports.autojudge.answerer import asked, phase, say
from pnyx.reports.autojudge.convert import (
    banks_of,
    leaderboard_of,
    nugget_banks_of,
    qrels_for,
    qrels_of,
)
from pnyx.reports.autojudge.material import Material, material_of
from pnyx.reports.autojudge.settings import Settings

if TYPE_CHECKING:
    from autojudge_base import Leaderboard, NuggetBanks, Qrels, Report, Request

    from pnyx.core.nuggets import NuggetBank
    from pnyx.core.records import LeaderboardCell, Qrel
    from pnyx.formats.reports.judged_report import JudgedReport
    from pnyx.reports.autojudge.answerer import Answerer
    from pnyx.reports.measures.report_measures import Missing, Reports

_SHOWN = 5


class _BanksType:
    """The class of nugget banks, imported only if it is used."""

    def __get__(self, instance: object, owner: type) -> type[NuggetBanks]:
        return _kinds()[0]


class PnyxJudge:
    """A judge for workflow.yml, in all three roles of autojudge-base.

    Its arguments besides those of the protocols are the keys of `Settings`. Expected errors are
    raised as `click.ClickException`, one line.
    """

    nugget_banks_type = _BanksType()

    def create_nuggets(
        self,
        rag_responses: Iterable[Report] | None,
        rag_topics: Sequence[Request],
        llm_config: Any,
        nugget_banks: Any = None,
        corpus: str | None = None,
        **settings: Any,
    ) -> NuggetBanks | None:
        """Create a bank for each topic from the relevant documents that the reports cite.

        Banks that are passed in, or named by the setting `nuggets`, are returned unchanged. None:
        no bank could be created.
        """
        chosen = _chosen(settings)
        with phase(chosen):
            ready_banks = _banks(nugget_banks, chosen)
            if ready_banks is not None:
                return nugget_banks_of(ready_banks, _kinds()[0])
            from pnyx.reports.autojudge.nuggets import created

            material = material_of(rag_responses, rag_topics, corpus)

            def work(answerer: Answerer) -> list[NuggetBank]:
                return created(material, answerer, chosen)

            inputs = ["nuggets", *material.rows, repr(chosen)]
            banks = asked(chosen, llm_config, inputs, work)
            return nugget_banks_of(banks, _kinds()[0]) if banks else None

    def create_qrels(
        self,
        rag_responses: Iterable[Report],
        rag_topics: Sequence[Request],
        llm_config: Any,
        nugget_banks: Any = None,
        corpus: str | None = None,
        **settings: Any,
    ) -> Qrels | None:
        """Judge how relevant each cited document is to its topic.

        A document without a text gets no line; without any text there are no qrels (None).
        """
        del nugget_banks  # a document is judged by its topic
        chosen = _chosen(settings)
        with phase(chosen):
            from pnyx.reports.autojudge.relevance import graded

            material = material_of(rag_responses, rag_topics, corpus)

            def work(answerer: Answerer) -> list[Qrel]:
                return graded(material, answerer, chosen.thresholds)

            inputs = ["qrels", *material.rows, repr(chosen)]
            grades = asked(chosen, llm_config, inputs, work)
            return qrels_for(grades, _kinds()[1]) if grades else None

    def judge(
        self,
        rag_responses: Iterable[Report],
        rag_topics: Sequence[Request],
        llm_config: Any,
        nugget_banks: Any = None,
        qrels: Qrels | None = None,
        corpus: str | None = None,
        filebase: str | None = None,
        **settings: Any,
    ) -> Leaderboard:
        """Judge each sentence with the ARGUE tree and return the measures by run and topic.

        In addition, `FILEBASE.pnyx.json` has each mean's counts and interval.
        """
        chosen = _chosen(settings)
        with phase(chosen):
            from pnyx.core.files import write_json
            from pnyx.reports.measures.exports import leaderboard_cells
            from pnyx.reports.nuggets.claims import restored_claims

            material = material_of(rag_responses, rag_topics, corpus)
            nugget_rows = _banks(nugget_banks, chosen) or []
            banks = [restored_claims(bank, material.cited(bank.topic_id)) for bank in nugget_rows]

            def work(answerer: Answerer) -> list[JudgedReport]:
                return _judged(material, banks, qrels, answerer, chosen)

            inputs = ["judge", *material.rows, repr(banks), repr(qrels), repr(chosen)]
            judged = asked(chosen, llm_config, inputs, work)
            measured = _measured(judged, material, chosen)
            if filebase:
                row = {**measured.row(), "on_missing": chosen.on_missing}
                write_json(f"{filebase}.pnyx.json", row)
            described = _described(chosen, nuggets=bool(banks))
            cells = list(leaderboard_cells(measured, tuple(described), chosen.min_scored))
            _say_thin(cells, measured, chosen.min_scored)
            return leaderboard_of(measured, described, cells)


def _chosen(settings: dict[str, Any]) -> Settings:
    import click

    try:
        return Settings.of(settings)
    except InputError as error:
        raise click.ClickException(str(error)) from None


@cache
def _kinds() -> tuple[type[NuggetBanks], type[Qrels]]:
    """Return the runner's containers of nuggets and qrels, which warn of topics without any."""
    try:
        from autojudge_base import NuggetBanks, Qrels, QrelsVerificationError
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "autojudge_base":
            raise
        raise MissingExtra("pnyx.reports.autojudge", "autojudge") from error

    class Banks(NuggetBanks):  # type: ignore[misc]
        """Nugget banks by topic."""

        def verify(self, expected_topic_ids: Sequence[str], warn: bool = True) -> None:
            """Warn of topics without a bank, or with an empty one."""
            super().verify(expected_topic_ids, warn=warn)

    class WarningQrels(Qrels):  # type: ignore[misc]
        """Qrels."""

        def verify(
            self, expected_topic_ids: Sequence[str] | None, warn: bool | None = True
        ) -> None:
            """Warn of topics without a judged document."""
            try:
                super().verify(expected_topic_ids, warn=warn)
            except QrelsVerificationError as error:
                say(f"warning: {error}")

    return Banks, WarningQrels


def _banks(nugget_banks: Any, chosen: Settings) -> list[NuggetBank] | None:
    """Return the banks that are available, None if there are none."""
    if nugget_banks is not None:
        return banks_of(nugget_banks)
    if chosen.nuggets is None:
        return None
    from pnyx.formats import read_nugget_banks

    return sorted(read_nugget_banks(chosen.nuggets), key=lambda bank: bank.topic_id)


def _judged(
    material: Material,
    banks: Sequence[NuggetBank],
    qrels: Qrels | None,
    answerer: Answerer,
    chosen: Settings,
) -> list[JudgedReport]:
    from pnyx.reports.open_reports import open_report_judge
    from pnyx.reports.options import ReportJudgeSpec
    from pnyx.reports.tree.plan import ReportPlan
    from pnyx.reports.tree.walk import judge_reports

    names = ("answers", "credit", "attest", "min_grade", "unknown_documents")
    with open_report_judge(answerer.spec(ReportJudgeSpec), say) as opened:
        return judge_reports(
            material.responses,
            [bank for bank in banks if bank.topic_id in material.questions],
            opened.judge,
            plan=ReportPlan(**{name: getattr(chosen, name) for name in names}),
            documents=None if material.documents is None else material.documents.get,
            qrels=qrels_of(qrels),
        )


def _measured(judged: list[JudgedReport], material: Material, chosen: Settings) -> Reports:
    """Measure reports on every topic, and report what is missing and unscored."""
    from pnyx.reports.measures.report_measures import measure_reports

    _say_texts(judged, chosen)
    topics = list(material.questions)
    missing: Missing = "zero" if chosen.on_missing == "zero" else "skip"
    measured = measure_reports(judged, topics=topics, missing=missing)
    for run in measured.runs:
        if run.missing:
            _say_missing(run.name, run.missing, len(topics), chosen.on_missing)
    unscored, asked_of = Counter[str](), Counter[str]()
    for kind, (count, of) in (pair for run in measured.runs for pair in run.unscored.items()):
        unscored[kind] += count
        asked_of[kind] += of
    if unscored:
        counted = ", ".join(f"{n} of {asked_of[kind]} {kind}" for kind, n in unscored.items())
        say(f"unscored: {counted}; FILEBASE.pnyx.json counts them by measure")
    return measured


def _say_missing(run: str, missing: Sequence[str], topics: int, on_missing: str) -> None:
    named = ", ".join(escaped(name, 40) for name in missing[:_SHOWN])
    more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    line = f"{escaped(run, 60)} has no report on {len(missing)} of {topics} topics: {named}{more}"
    if on_missing == "error":
        raise InputError(f"{line}; choose how to count that with the setting on_missing")
    counts = "as 0" if on_missing == "zero" else "not at all: its means are over the others"
    say(f"{line}; they count {counts} (on_missing: {on_missing}); an empty report counts as 0")


def _say_texts(judged: Sequence[JudgedReport], chosen: Settings) -> None:
    """Name the runs that cite documents outside the corpus, or embed different texts."""
    from pnyx.reports.runs import count_reports

    counts = count_reports(judged)
    for run, counted in counts["unknown"].items():
        named = ", ".join(escaped(doc_id, 40) for doc_id in counted["first"])
        how = "each a no" if chosen.unknown_documents == "no" else "unscored"
        citations = f"{counted['citations']} citations to {counted['documents']} documents"
        say(
            f"warning: {escaped(run, 60)}: {citations} that the corpus does not hold, {how} "
            f"(unknown_documents): {named}"
        )
    for run, texts in counts["differing"].items():
        first = list(texts.items())[:_SHOWN]
        named = ", ".join(f"{escaped(name, 40)} {share:.0%}" for name, share in first)
        say(
            f"warning: {escaped(run, 60)} embeds texts of {len(texts)} documents that differ from "
            f"the corpus, whose texts are judged (words in common: {named})"
        )
    several = sum(n for note, n in counts["notes"].items() if "runs embed different" in note)
    if several:
        say(f"warning: {several} reports cite documents whose text differs between runs")


def _say_thin(cells: Sequence[LeaderboardCell], measured: Reports, least: float) -> None:
    """Name the runs with missing cells because too few of their items are scored."""
    values = {run.name: run.per_topic for run in measured.runs}
    thin = Counter(
        cell.run_id
        for cell in cells
        if cell.value is None and values[cell.run_id][cell.topic_id][cell.measure].value is not None
    )
    of = Counter(cell.run_id for cell in cells)
    for run, count in thin.items():
        rest = f"{count} of {of[run]} values are based on less than {least:.0%} of their items"
        say(f"warning: {escaped(run, 60)}: {rest} and are left out (min_scored)")


def _described(chosen: Settings, *, nuggets: bool) -> dict[str, str]:
    """Return the leaderboard's measures with descriptions; only those possible without nuggets."""
    from pnyx.reports.measures.registry import MAIN, REPORT_MEASURES

    rule = {
        "skip": "Mean over the topics with a value.",
        "zero": "A missing report counts as 0.",
        "error": "No report is missing.",
    }[chosen.on_missing]
    names = [name for name in MAIN if nuggets or "nuggets" not in REPORT_MEASURES[name].items]
    docs = {name: (REPORT_MEASURES[name].of.__doc__ or "").strip() for name in names}
    return {
        name: f"{text.splitlines()[0].removeprefix('Return ')} {rule}"
        for name, text in docs.items()
    }
