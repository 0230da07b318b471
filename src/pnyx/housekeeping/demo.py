"""`pnyx demo`: the main job on the bundled example, with its measures."""

from __future__ import annotations

import shlex
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from pnyx._version import __version__
from pnyx.cases.commands import write_pages, write_responses_file
from pnyx.cases.open_citations import citation_judge
from pnyx.cases.open_writer import argue_plan, open_writer
from pnyx.cases.options import ArgueSpec
from pnyx.cli.options import Outcome, say
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, OptionError
from pnyx.core.spec import Spec, opt, out_opt
from pnyx.display.results import demo_table
from pnyx.display.tables import Column, Part, Table, shown
from pnyx.judging.counted_judge import default_judge, watched
from pnyx.judging.judge_names import short_name
from pnyx.judging.open_models import open_model
from pnyx.judging.options import ModelSpec

if TYPE_CHECKING:
    from pnyx.cases.case import Case, Writer
    from pnyx.formats.bundled_example import Example
    from pnyx.judging.base import Judge
    from pnyx.judging.store.completions import StoredModel
    from pnyx.search.engine import Engine
    from pnyx.search.pipeline import Searcher
    from pnyx.stats.base import Measured


_FIRST: Final = "Should voting be compulsory?"
"""The question whose report to open first: the one in the README."""


class DemoSpec(Spec, heading="Output"):
    """Options of `pnyx demo`."""

    out: str = out_opt("pnyx-demo", metavar="FOLDER", writes="folder")
    files_only: bool = opt(False, "Only write the example's files, for trying out commands.")


@verb("demo")
def command(spec: DemoSpec, model_spec: ModelSpec, as_json: bool) -> Outcome:
    """Argue the bundled questions from the bundled passages, judge, report and measure.

    Requires no key and no network. With --llm a language model writes and judges instead. With
    --files-only nothing is argued: the command writes the files of the example to a new folder,
    which the examples of other commands use.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      ex: arguments.jsonl, item-labels.jsonl, items.jsonl, labels.jsonl, ...
      argue from a folder:
        pnyx argue ex/rent "Does rent control reduce the supply of housing?"

    \b
    More: pnyx demo --help-all, docs/start/tour.md.
    \f
    The files are the passages (arguments.jsonl), the questions with what is relevant to each
    (questions.md), the perspectives on them (perspectives.jsonl), people's labels of relevance
    (labels.jsonl, qrels.txt), passages paired with perspectives (items.jsonl) with people's labels
    of these (item-labels.jsonl), and ordinary, unlabelled files on rent control (rent). A folder
    that an earlier demo wrote is replaced.
    """
    from pnyx.core.files import atomic_folder, read_json, write_json
    from pnyx.formats.bundled_example import EXAMPLE_FOLDER, load_example, write_example_folder

    out = spec.out
    if spec.files_only:
        for name in model_spec.row():
            raise OptionError(f"--files-only asks no model: it excludes {model_spec.flag(name)}")
        return _write_files(out)
    began = time.monotonic()
    empty = not Path(out).exists() or (Path(out).is_dir() and not any(Path(out).iterdir()))
    if not empty and (read_json(Path(out) / "manifest.json") or {}).get("kind") != "pnyx-demo":
        raise InputError("exists and was not written by pnyx demo", path=out)
    example = load_example()
    with (
        open_model(model_spec, say) as model,
        atomic_folder(out, replace=True) as folder,
    ):
        writer = open_writer(ArgueSpec(), model)
        cases, runs = _argue(folder, example, model, writer)
        with watched(default_judge(model, "support", "relevance", "stance")) as judge:
            measures = _measured(example, cases, runs, judge)
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
        per_topic = {"measures": summary["measures"], "per_group": {}}
        write_example_folder(folder / EXAMPLE_FOLDER)
        write_json(folder / "manifest.json", summary)
        write_json(folder / "measures.json", per_topic)
    unscored = any(m.scored < m.asked for m in measures.values())
    unscored = unscored or not all(case.complete for case in cases)
    reports = [(f"{case.question.id}.html", case.question.text) for case in cases]
    done = (
        f"{len(cases)} questions argued and judged in {seconds:.0f} s; the reports are in "
        f"{Path(out)}, to be opened in a browser:"
    )
    named = "the packaged models" if model is None else short_name(judge.name)
    parts: list[Part] = [
        demo_table(measures),
        [f"judged by {named}; the end of each report says how reliable that is"],
        [done],
        Table((Column("report"), Column("question")), reports),
    ]
    lines = _next_steps(Path(out), next(page for page, question in reports if question == _FIRST))
    text = "" if as_json else "\n\n".join([shown(parts), "\n".join(lines)])
    return Outcome(summary | {"out": out}, text, unscored, indent=2, ascii=True)


def _write_files(out: str) -> Outcome:
    from pnyx.core.files import atomic_folder
    from pnyx.formats.bundled_example import (
        EXAMPLE_FOLDER,
        load_example,
        write_example,
        write_example_folder,
    )

    with atomic_folder(out) as folder:  # must be new: edited files must not be overwritten
        write_example(load_example(), folder)
        write_example_folder(folder / EXAMPLE_FOLDER)
        names = sorted(path.name for path in folder.iterdir())
    files = {"out": out, "files": names}
    line = f"{Path(out)}: {', '.join(names)}\n{_argue_example(Path(out))}"
    return Outcome(files, line, ascii=True)


def _argue_example(out: Path) -> str:
    """Return the command that argues from the example of ordinary files."""
    from pnyx.formats.bundled_example import EXAMPLE_FOLDER, EXAMPLE_QUESTION

    folder = shlex.quote(str(out / EXAMPLE_FOLDER))
    return f'argue from a folder:\n  {_as_called()} argue {folder} "{EXAMPLE_QUESTION}"'


def _next_steps(out: Path, report: str) -> list[str]:
    """Return the next steps, as lines to copy."""
    called = _as_called()
    return [
        _argue_example(out),
        f"open this first:     {out / report}",
        f"ask in a browser:    {called} serve {shlex.quote(str(out / 'example.index'))}",
        f"look at the results: {called} view {shlex.quote(str(out))}",
    ]


def _argue(
    folder: Path, example: Example, model: StoredModel | None, writer: Writer
) -> tuple[list[Case], dict[str, list[str]]]:
    """Run the demo in `folder`; return the cases, and the documents retrieved for each question."""
    from pnyx.audit.example import Unlabelled
    from pnyx.cases.argument import argue
    from pnyx.cases.case import with_settings
    from pnyx.search.build import build_index
    from pnyx.search.pipeline import Searcher
    from pnyx.search.plan import FEATURES

    index = build_index(example.arguments, folder / "example.index", features=FEATURES)
    searcher = Searcher(index)
    runs = _search(searcher, example, folder)
    plain = Searcher(cast("Engine", Unlabelled(index)))
    topics = {topic.id: topic for topic in example.wordings}
    cases = []
    citing = citation_judge(model)
    with watched(default_judge(model)) as judge:
        for question in example.questions:
            topic = topics[question.id]
            hidden = topic.how == "no_labels"
            case = argue(
                plain if hidden else searcher,
                replace(question, text=topic.text or question.text),
                judge=judge,
                writer=writer,
                citation_judge=judge.alongside(citing),
                plan=argue_plan(ArgueSpec()),
            )
            description = f"the bundled example ({len(index)} passages{', labels hidden' * hidden})"
            cases.append(with_settings(case, index=description))
    _write_reports(folder, cases)
    return cases, runs


def _measured(
    example: Example, cases: Sequence[Case], runs: Mapping[str, Sequence[str]], judge: Judge
) -> dict[str, Measured]:
    """Return all measures, in the order to show."""
    from pnyx.audit.example import argued_agreement, judge_agreement, search_agreement

    retrieved = argue_plan(ArgueSpec()).retrieve
    judged = {name: documents[:retrieved] for name, documents in runs.items()}
    measures = search_agreement(runs, example) | judge_agreement(judge, judged, example)
    cited = {
        (case.question.id, side.side): list(side.response.references)
        for case in cases
        for side in case.sides
    }
    return measures | argued_agreement(cited, example)


def _search(searcher: Searcher, example: Example, folder: Path) -> dict[str, list[str]]:
    """Search for all questions as `argue` does, and write the run."""
    from pnyx.cases.retrieved_documents import search_text
    from pnyx.core.records import RunEntry
    from pnyx.formats import write_run
    from pnyx.formats.runs.trec import as_ranked

    runs, entries = {}, []
    tag = searcher.plan.scoring.model
    questions = [replace(question, text=search_text(question)) for question in example.questions]
    for result in searcher.search(questions, k=100):
        topic, hits = result.question.id, result.hits
        runs[topic] = [h.doc_id for h in hits]
        entries += [RunEntry(topic, h.doc_id, h.rank, h.score, tag) for h in hits]
    with (folder / "run.trec").open("w", encoding="utf-8") as stream:
        write_run(stream, as_ranked(entries))
    return runs


def _write_reports(folder: Path, cases: list[Case]) -> None:
    from pnyx.cases.case import verdict_rows
    from pnyx.core.files import write_jsonl

    write_responses_file(str(folder / "responses.jsonl"), cases, "ids")
    write_jsonl(folder / "answers.jsonl", (row for case in cases for row in verdict_rows(case)))
    for case in cases:
        page = str(folder / case.question.id)
        write_pages(case, html=f"{page}.html", md=f"{page}.md")


def _as_called() -> str:
    """Return how this command was called, so that printed commands work in the same shell."""
    called, on_path = Path(sys.argv[0]), shutil.which("pnyx")
    if called.name != "pnyx" or (on_path and Path(on_path).resolve() == called.resolve()):
        return "pnyx"
    return shlex.quote(str(called))
