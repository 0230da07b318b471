"""`pnyx demo`: the main job on the bundled example, with its measures."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pnyx._version import __version__
from pnyx.app.judge_specs import ModelSpec
from pnyx.app.open_judge import default_judge
from pnyx.app.open_models import open_model
from pnyx.app.open_search import argue_plan, open_writer
from pnyx.app.search_specs import ArgueSpec
from pnyx.app.spec import Spec, opt, out_opt
from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.argue import write_pages, write_responses_file
from pnyx.cli.common.options import print_result, say
from pnyx.cli.common.params import verb
from pnyx.cli.common.progress import watched
from pnyx.errors import InputError, OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pnyx.corpora.bundled import Example
    from pnyx.judge.base import Judge
    from pnyx.measure.core.base import Measured
    from pnyx.records import Side
    from pnyx.search.engine import Engine
    from pnyx.search.pipeline import Searcher
    from pnyx.write.case import Case, Writer
    from pnyx.write.plan import Plan

_MEANING = {
    "P@10": "relevant, of the first 10 documents found",
    "perspectives@10": "of all perspectives, those that the first 10 documents support",
    "relevance.accuracy": "judge against labels, on what was found",
    "relevance.f1": "the same, F1 of yes",
    "relevance.auroc": "the same; .5 is chance",
    "lookalikes.accuracy": "harder: off-topic passages share the question's words",
    "lookalikes.f1": "the same, F1 of yes",
    "lookalikes.auroc": "the same; below .5 the judge prefers the look-alikes",
    "support.accuracy": "judge against labels: is a perspective supported?",
    "support.f1": "the same, F1 of yes",
    "support.auroc": "the same; .5 is chance",
    "stance.accuracy": "judge against labels it does not see: pro or con?",
    "own_words.on_question": "cited passages about the question, by the labels",
    "own_words.right_side": "of these: on the side for which they are cited",
    "other_words.on_question": "the same where the question is not in the corpus's words",
    "other_words.right_side": "of these: on the side for which they are cited",
    "no_labels.on_question": "the same where the corpus's labels are hidden",
    "no_labels.right_side": "of these: on the side for which they are cited",
    "cited.strong": "of all these: labelled as strong arguments",
}
_GROUPS = ("relevance.accuracy", "lookalikes.accuracy", "support.accuracy", "stance.accuracy",
           "own_words.on_question")  # fmt: skip
"""Measures that begin a new group of the table."""


class DemoSpec(Spec, heading="Output"):
    """What is written, and where."""

    out: str = out_opt(
        "pnyx-demo",
        "Folder for the results; replaced if a demo wrote it.",
        metavar="FOLDER",
        writes="folder",
    )
    files_only: bool = opt(False, "Write the example's files, to try commands on.")


@verb("demo")
def command(spec: DemoSpec, asked: ModelSpec, as_json: bool) -> int:
    """Argue the bundled questions from the bundled passages, judge, report and measure.

    Needs no key and no network. With --llm a language model writes and judges instead. With
    --files-only nothing is argued: a new folder gets the passages (arguments.jsonl), the questions
    with what is relevant to each (questions.md), the perspectives on them (perspectives.jsonl),
    people's labels of relevance (labels.jsonl, qrels.txt), and passages paired with perspectives
    (items.jsonl) with people's labels of these (item-labels.jsonl).

    \b
    Example:
      pnyx demo --out demo-out
      pnyx demo --files-only --out example
    """
    from pnyx.corpora.bundled import load_example
    from pnyx.files import atomic_folder

    out = spec.out
    if spec.files_only:
        for name in asked.row():
            raise OptionError(f"--files-only asks no model: it excludes {asked.flag(name)}")
        return _write_files(out, as_json)
    began = time.monotonic()
    _refuse_foreign(Path(out))
    example = load_example()
    with (
        open_model(asked, say) as model,
        atomic_folder(out, replace=True) as folder,
        watched(default_judge(model)) as judge,
    ):
        writer = open_writer(ArgueSpec(), model)
        plan = argue_plan(ArgueSpec())
        cases, measures = _run(folder, example, judge, writer, plan)
        seconds = round(time.monotonic() - began, 1)
        summary = {
            "kind": "pnyx-demo",
            "version": __version__,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": seconds,
            "judge": {"name": judge.name, "card": judge.card},
            "writer": writer.name,
            "measures": {name: m.row() for name, m in measures.items()},
        }
        _dump(folder / "manifest.json", summary)
        _dump(folder / "measures.json", {"measures": summary["measures"], "per_group": {}})
    report = _report(out, cases, measures, judge, seconds)
    print_result(summary | {"out": out}, report, as_json=as_json, err=False, indent=2)
    complete = all(c.complete for c in cases) and all(
        m.scored == m.asked for m in measures.values()
    )
    return 0 if complete else EXIT_UNSCORED


def _write_files(out: str, as_json: bool) -> int:
    """Write the example as files to a new folder: edited ones must not be lost."""
    from pnyx.corpora.bundled import load_example, write_example
    from pnyx.files import atomic_folder

    with atomic_folder(out) as folder:
        write_example(load_example(), folder)
        names = sorted(path.name for path in folder.iterdir())
    line = f"{Path(out)}: {', '.join(names)}"
    print_result({"out": out, "files": names}, line, as_json=as_json, err=False)
    return 0


def _refuse_foreign(out: Path) -> None:
    """Never replace a folder that a demo did not write."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    from pnyx.files import read_json

    if (read_json(out / "manifest.json") or {}).get("kind") != "pnyx-demo":
        raise InputError("exists and was not written by pnyx demo", path=out)


def _run(
    folder: Path, example: Example, judge: Judge, writer: Writer, plan: Plan
) -> tuple[list[Case], dict[str, Measured]]:
    """Do the job in `folder`; returns the cases and all measures, in the order to show."""
    from pnyx.audit.example import Unlabelled, argued_agreement, judge_agreement, search_agreement
    from pnyx.search.build import build_index
    from pnyx.search.pipeline import Searcher
    from pnyx.search.plan import FEATURES
    from pnyx.write.arguing import argue
    from pnyx.write.rows import with_settings

    index = build_index(example.arguments, folder / "example.index", features=FEATURES)
    searcher = Searcher(index)
    runs = _search(searcher, example, folder)
    plain = Searcher(cast("Engine", Unlabelled(index)))
    asked = {one.id: one for one in example.asked}
    cases = []
    for question in example.questions:
        one = asked[question.id]
        hidden = one.how == "no_labels"
        case = argue(
            plain if hidden else searcher,
            replace(question, text=one.text or question.text),
            judge=judge,
            writer=writer,
            plan=plan,
        )
        shown = f"the bundled example ({len(index)} passages{', labels hidden' * hidden})"
        cases.append(with_settings(case, index=shown))
    _write_reports(folder, cases)
    judged = {topic: documents[: plan.retrieve] for topic, documents in runs.items()}
    measures = search_agreement(runs, example) | judge_agreement(judge, judged, example)
    return cases, measures | argued_agreement(_cited(cases), example)


def _search(searcher: Searcher, example: Example, folder: Path) -> dict[str, list[str]]:
    """Search for all questions as they are argued, and write the run."""
    from pnyx.corpora import write_run
    from pnyx.corpora.benchmarks.trec import as_ranked
    from pnyx.records import RunEntry
    from pnyx.write.arguing import search_text

    runs, entries = {}, []
    tag = searcher.plan.scoring.model
    asked = [replace(question, text=search_text(question)) for question in example.questions]
    for found in searcher.search(asked, k=100):
        topic, hits = found.question.id, found.hits
        runs[topic] = [h.doc_id for h in hits]
        entries += [RunEntry(topic, h.doc_id, h.rank, h.score, tag) for h in hits]
    with (folder / "run.trec").open("w", encoding="utf-8") as stream:
        write_run(stream, as_ranked(entries))
    return runs


def _write_reports(folder: Path, cases: list[Case]) -> None:
    from pnyx.files import json_line
    from pnyx.write.case import verdict_rows

    write_responses_file(str(folder / "responses.jsonl"), cases, "ids")
    with (folder / "answers.jsonl").open("w", encoding="utf-8") as stream:
        for case in cases:
            stream.writelines(json_line(row) + "\n" for row in verdict_rows(case))
    for case in cases:
        page = str(folder / case.question.id)
        write_pages(case, html=f"{page}.html", md=f"{page}.md")


def _cited(cases: list[Case]) -> dict[tuple[str, Side], list[str]]:
    """Return what is cited for each side of each question."""
    return {
        (case.question.id, side.side): list(side.response.references)
        for case in cases
        for side in case.sides
    }


def _dump(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _report(
    out: str, cases: list[Case], measures: Mapping[str, Measured], judge: Judge, seconds: float
) -> str:
    from pnyx.view.tables import Column, Table, filled

    rows: list[tuple[object, ...]] = []
    for name, measured in measures.items():
        rows += [()] if name in _GROUPS else []
        rows.append((name, measured, measured, _MEANING[name]))
    columns = (
        Column("measure"), Column("value [95 %]", "figure"), Column("scored", "counts"),
        Column("meaning"),
    )  # fmt: skip
    reports = [(f"{case.question.id}.html", case.question.text) for case in cases]
    parts = (
        Table(columns, rows).text(),
        filled(f"judge {judge.name}: {judge.card}"),
        filled(f"{len(cases)} questions argued and judged in {seconds:.0f} s; the reports are in "
               f"{Path(out)}, to be opened in a browser:"),
        Table((Column("report"), Column("question")), reports).text(),
        _next(Path(out), reports[0][0]),
    )  # fmt: skip
    return "\n\n".join(parts)


def _as_called() -> str:
    """Return how this command was called, so that what is printed works in the same shell."""
    called, on_path = Path(sys.argv[0]), shutil.which("pnyx")
    if called.name != "pnyx" or (on_path and Path(on_path).resolve() == called.resolve()):
        return "pnyx"
    return shlex.quote(str(called))


def _next(out: Path, report: str) -> str:
    """Return what to do next: the report to open, and the commands that serve pages."""
    from pnyx.cli.doctor import installed

    index, folder = shlex.quote(str(out / "example.index")), shlex.quote(str(out))
    lines = [
        f"report to open:      {out / report}",
        f"ask in a browser:    {_as_called()} serve {index}",
        f"look at the results: {_as_called()} view {folder}",
    ]
    if not installed()["extras"].get("serve", {}).get("installed"):
        lines.append("(pnyx serve and pnyx view need an extra: pip install 'pnyx[serve]')")
    return "\n".join(lines)
