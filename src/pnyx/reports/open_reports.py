"""Opens what the options of judging reports name: reports, banks, documents, and the judge."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pnyx.core.errors import InputError, escaped, shorten
from pnyx.formats.reports.submissions import Submissions, read_submissions

if TYPE_CHECKING:
    from pnyx.core.nuggets import NuggetBank
    from pnyx.core.records import Evidence, Response
    from pnyx.judging.open_models import Say
    from pnyx.judging.opened_judge import OpenedJudge
    from pnyx.reports.options import JudgeReportSpec, ReportJudgeSpec
    from pnyx.reports.tree.open_report import DocumentSources, OpenTopic
    from pnyx.reports.tree.plan import ReportPlan
    from pnyx.reports.tree.shots import ReportShots

REPORT_PROMPTS = {
    "nugget": "nugget-list",
    "support": "",
    "negative": "",
    "needs-citation": "",
    "unanswerable": "",
}
"""Task of the tree -> the prompt for several questions, if it is not the task's own: most questions
are about short answers, which a list states in half the tokens. Few answers are given, and a reply
names only these."""


@contextlib.contextmanager
def open_report_judge(
    spec: ReportJudgeSpec, say: Say, *, strict: bool = False
) -> Iterator[OpenedJudge]:
    """Open the judge of all questions of the tree; report at the end which examples were left out.

    With campaign rules (`strict`), it detects what only a report's text left unscored.
    """
    from pnyx.judging.open_judge import open_judge
    from pnyx.judging.tasks import TASKS

    spec.check()
    shots = _report_shots(spec)
    example_settings = {task: f"{task}-examples" for task in (shots.tasks if shots else ())}
    several = REPORT_PROMPTS | ({"nugget": ""} if _needs_probabilities(spec) else {})
    with open_judge(
        TASKS["nugget"], spec, say, several=several, replacements=example_settings
    ) as opened:
        if shots is None:
            yield _with_own_text(opened) if strict else opened
            return
        from pnyx.core.folders import file_hash
        from pnyx.reports.tree.shots import ShotJudge

        settings = {"shots": spec.shots, "examples": file_hash(str(spec.examples))}
        opened = replace(
            opened, judge=ShotJudge(opened.judge, shots), settings=opened.settings | settings
        )
        yield _with_own_text(opened) if strict else opened
    if shots.left_out:
        named = ", ".join(shorten(name, 40) for name in list(shots.left_out)[:5])
        more = ", ..." if len(shots.left_out) > 5 else ""
        say(f"{len(shots.left_out)} examples not shown with the same question: {named}{more}")


def _needs_probabilities(spec: ReportJudgeSpec) -> bool:
    """Return whether each answer needs a probability; a list of the given nuggets has gaps."""
    named = spec.calibration or spec.cascade or spec.threshold
    return bool(named) or spec.probability in ("tok", "both") or spec.combine == "mean"


def _with_own_text(opened: OpenedJudge) -> OpenedJudge:
    from pnyx.reports.tree.own_text import OwnTextJudge

    return replace(opened, judge=OwnTextJudge(opened.judge))


def _report_shots(spec: ReportJudgeSpec) -> ReportShots | None:
    """Return the few-shot examples, if any."""
    if not spec.shots:
        return None
    from pnyx.reports.tree.shots import ReportShots, read_examples

    path = str(spec.examples)
    examples = read_examples(path)
    try:
        return ReportShots(examples, spec.shots)
    except InputError as error:
        raise InputError(error.problem, path=path) from error


@dataclass(frozen=True, slots=True)
class ReportInputs:
    """The inputs of judging reports."""

    submitted: Submissions
    responses: Sequence[Response]  # on the requested topics
    banks: Sequence[NuggetBank]
    material: DocumentSources
    digest: str  # a hash of all inputs
    other_topics: int = 0  # topics of reports or banks that were not requested

    def topics(self, plan: ReportPlan) -> Iterator[OpenTopic]:
        """Return what to judge, topic by topic."""
        from pnyx.reports.tree.walk import opened_topics

        return opened_topics(self.responses, self.banks, plan, self.material)


def read_report_inputs(runs: Sequence[str], spec: JudgeReportSpec) -> ReportInputs:
    """Read reports, banks, qrels and documents; InputError if no report has a requested topic."""
    from pnyx.core.folders import file_hash
    from pnyx.formats import read_nugget_banks
    from pnyx.judging.runs.pairs import questions_by_id
    from pnyx.reports.tree.open_report import DocumentSources

    submitted = read_submissions(runs, strict=spec.strict)
    responses = list(submitted.responses)
    banks = list(read_nugget_banks(spec.nuggets))
    wanted = every = _topics(responses, banks)
    if spec.topics is not None:
        wanted = {*questions_by_id(spec.topics)}
    elif spec.strict:  # else a topic invented by one participant would be a 0 for all others
        wanted = {bank.topic_id for bank in banks}
    responses = [response for response in responses if response.topic_id in wanted]
    banks = [bank for bank in banks if bank.topic_id in wanted]
    if not responses:
        of = "" if wanted is every else f" on topics of {escaped(spec.topics or spec.nuggets, 60)}"
        raise InputError(f"found no report{of}, expected at least one", path=runs[0])
    files = (*runs, spec.nuggets, spec.topics, spec.qrels, spec.documents)
    hashes = [None if file is None else file_hash(file) for file in files]
    documents, document_hashes = _documents(spec, responses)
    digest = hashlib.sha256(json.dumps([hashes, document_hashes]).encode()).hexdigest()
    other_topics = len(every - _topics(responses, banks))
    material = DocumentSources(documents, _grades(spec.qrels))
    return ReportInputs(submitted, responses, banks, material, digest, other_topics)


def _topics(responses: Sequence[Response], banks: Sequence[NuggetBank]) -> set[str]:
    return {response.topic_id for response in responses} | {bank.topic_id for bank in banks}


def _documents(spec: JudgeReportSpec, responses: Sequence[Response]) -> tuple[Any, Any]:
    """Return a function from ids to documents, if any, and what identifies the documents."""
    if spec.index is not None:
        from pnyx.judging.documents import find_document
        from pnyx.search.open_engine import open_index

        index = open_index(spec.index)
        return lambda doc_id: find_document(index, doc_id), index.known_by
    if spec.documents is None:
        return None, None
    from pnyx.formats import read_evidence

    cited = {c.doc_id for response in responses for s in response.sentences for c in s.citations}
    by_id: dict[str, Evidence] = {}
    for document in read_evidence(spec.documents):
        if document.id in cited:
            by_id[document.id] = document
    return by_id.get, None


def _grades(qrels: str | None) -> Mapping[str, Mapping[str, int]]:
    """Return topic -> document -> grade."""
    if qrels is None:
        return {}
    from pnyx.formats.runs.rankings import judgements_of

    return judgements_of(qrels).best_grades
