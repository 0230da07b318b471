"""`pnyx label sample`: draw judged questions for people to label."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from pnyx.cli.options import ColumnSpec, Outcome
from pnyx.cli.params import Raw, verb
from pnyx.cli.record import changed_input, check_record
from pnyx.cli.rerun import READABLE, TrustSpec, allowed_addresses, trusted_record
from pnyx.core.errors import InputError, OptionError, count_of, escaped
from pnyx.core.files import read_json, read_jsonl, write_json, write_jsonl
from pnyx.core.folders import refuse_devices
from pnyx.core.network import network_limited_to
from pnyx.core.placement import placed_together
from pnyx.core.rooms import load, named
from pnyx.core.spec import opt, out_opt
from pnyx.formats.runs.sources import run_names
from pnyx.judging.answers import ANSWERS, MANIFEST

if TYPE_CHECKING:
    pass

_PURPOSE = {
    "differ": "on which the judges differ",
    "random": "that were asked",
    "topics": "that may be asked",
}


class LabelSampleSpec(TrustSpec, heading="Sample"):
    """Options of `pnyx label sample`."""

    out: str = out_opt(..., metavar="DIR", writes="files")
    of: Literal["differ", "random", "topics"] | None = opt(
        None,
        "What to draw: questions on which the judges differ, any questions, or whole topics with "
        "all their possible questions.",
        default_text="differ; of one R random",
    )
    size: int = opt(50, "Questions, or topics, to draw.", low=1)
    seed: int = opt(0, low=0)


@verb("sample", short_help="Draw judged questions for people to label.")
@click.argument("results", nargs=-1, required=True, metavar="R...", type=Raw())
def command(results: tuple[str, ...], spec: LabelSampleSpec) -> Outcome:
    """Draw questions of judged results (of pnyx judge or judge report) for people to label.

    DIR gets an items file for each task (pnyx label TASK DIR/TASK.jsonl), and the answers of each R
    to them (TASK-R.jsonl, for pnyx measure). The draw is at random.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx judge support ex/items.jsonl --out results
      $ pnyx label sample results --size 40 --out sample
      40 questions of 240 that were asked: 40 support; see sample

    \b
    More: pnyx label sample --help-all, docs/recipes/labelling.md.
    \f
    \b
    differ  questions to which the R gave other answers: labels of these tell
            which judge is right more often, as elsewhere both are right or wrong
    random  any questions: labels tell how often a judge is right, and correct
            its rates (pnyx measure)
    topics  whole topics, with all that may be asked about them: what pnyx judge
            report --labels needs for people's leaderboard (pnyx compare --people)

    Other figures need a sample of the kind that fits. DIR also gets sample.json with what was drawn
    out of how many; for topics also topics.jsonl (--topics of pnyx judge report). Texts are read
    again from the files that the first R was judged from. R may come from a stranger: an index in a
    cluster, or a data set to download, is given again by --with.

    \b
      pnyx label sample judged judged-llm --size 40 --out disputed
      pnyx label support disputed/support.jsonl --out labels.jsonl
      pnyx measure disputed/support-judged.jsonl --labels labels.jsonl
    """
    of = spec.of or ("differ" if len(results) > 1 else "random")
    if of == "differ" and len(results) < 2:
        raise OptionError("--of differ requires the results of two judges")
    manifests = [_manifest(path) for path in results]
    runs = [_answers(path) for path in results]
    shared = sorted(set(runs[0]).intersection(*runs[1:]))
    if not shared:
        raise InputError("no question was asked in all of these results", path=results[-1])
    differing = [i for i in shared if _differ([answers[i] for answers in runs])]
    population = {"differ": differing, "random": shared}.get(of)
    record = trusted_record(manifests[0]["record"], spec.values(), results[0], kinds=READABLE)
    with network_limited_to(allowed_addresses(record, spec.values())):
        rows, drawn, total = _drawn(record, results[0], population, spec)
    if not rows:
        raise InputError("found nothing to draw: the judges never differ")
    out = Path(spec.out)
    with placed_together():
        counts = _write(rows, results, out)
        about = {
            "format": "pnyx-sample",
            "of": of,
            "seed": spec.seed,
            "results": [escaped(path) for path in results],
            "asked": len(shared),
            "differ": len(differing),
            "population": total,
            "drawn": drawn,
            "tasks": counts,
        }
        write_json(out / "sample.json", about)
        if of == "topics":
            write_jsonl(out / "topics.jsonl", ({"id": name, "text": name} for name in drawn))
    listed = ", ".join(f"{n} {task}" for task, n in counts.items())
    what = count_of(len(rows), "question")
    if of == "topics":
        what += f" of {len(drawn)} of {count_of(total, 'topic')}"
    else:
        what += f" of {total:,}"
    return Outcome(about, f"{what} {_PURPOSE[of]}: {listed}; see {escaped(spec.out)}")


def _write(
    rows: Iterable[tuple[str, Mapping[str, Any]]], results: Sequence[str], out: Path
) -> dict[str, int]:
    """Write items by task, with the answers of each R; return the number of items by task."""
    by_task: dict[str, list[Mapping[str, Any]]] = {}
    for task, row in rows:
        by_task.setdefault(task, []).append(row)
    for task, some in by_task.items():
        write_jsonl(out / f"{task}.jsonl", some)
        wanted = {row["id"] for row in some}
        for name, path in zip(run_names(results), results, strict=True):
            answers = (row for _, row in read_jsonl(Path(path) / ANSWERS) if row["id"] in wanted)
            write_jsonl(out / f"{task}-{name.replace('/', '-')}.jsonl", answers)
    return {task: len(some) for task, some in by_task.items()}


def _differ(runs: Iterable[Iterable[tuple[Any, Any]]]) -> bool:
    """Return whether verdicts on a question differ on any dimension; unscored is not a verdict."""
    verdicts: dict[Any, set[str]] = {}
    for dimension, value in (pair for answers in runs for pair in answers):
        if value is not None:
            verdicts.setdefault(dimension, set()).add(repr(value))
    return any(len(some) > 1 for some in verdicts.values())


def _manifest(path: str) -> dict[str, Any]:
    if Path(path).is_dir():
        refuse_devices(Path(path))
    manifest = read_json(Path(path) / MANIFEST) or {}
    record = manifest.get("record")
    if not isinstance(record, dict) or record.get("command") not in ("judge", "judge report"):
        raise InputError("expected results of pnyx judge or judge report", path=path)
    check_record(record, path)
    if problem := changed_input(record, Path()):
        raise InputError(problem, path=path)
    return manifest


def _answers(path: str) -> dict[str, list[Any]]:
    """Return the answers to each question, by dimension."""
    by_item: dict[str, list[Any]] = {}
    for _, row in read_jsonl(Path(path) / ANSWERS):
        by_item.setdefault(row["id"], []).append((row.get("dimension"), row["value"]))
    return by_item


def _drawn(
    record: Mapping[str, Any], path: str, population: Sequence[str] | None, spec: LabelSampleSpec
) -> tuple[list[tuple[str, Mapping[str, Any]]], list[str], int]:
    """Return the drawn (task, item) pairs, the ids of questions or topics, and the total."""
    chance = random.Random(spec.seed)
    reader = named("SAMPLED").get(record["command"])
    every = list(load(reader)(record) if reader else _item_rows(record, path))
    of_topics = population is None
    names = sorted({_topic(row) for _, row in every}) if population is None else population
    drawn = sorted(chance.sample(names, min(spec.size, len(names))))
    wanted = set(drawn)
    rows = [p for p in every if (_topic(p[1]) if of_topics else p[1]["id"]) in wanted]
    return rows, drawn, len(names)


def _topic(row: Mapping[str, Any]) -> str:
    return str(row.get("group") or row["id"])


def _item_rows(record: Mapping[str, Any], path: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Yield the items as in their file."""
    if len(record["arguments"]) != 2:
        raise InputError(
            "was judged from runs: only results judged from an items file can be sampled", path=path
        )
    task, items = record["arguments"]
    rag = _rag_rows(task, items, record["options"])
    return ((task, row) for row in rag or (row for _, row in read_jsonl(items)))


def _rag_rows(task: str, items: str, options: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    """Return the items that were made of RAG records; None where the file holds others."""
    from pnyx.formats.items import ITEM_FORMATS
    from pnyx.judging.rag.rag_items import RAG_TASKS, read_rag_items
    from pnyx.judging.tasks import TASKS

    if task not in RAG_TASKS:
        return None
    columns = ColumnSpec(columns=tuple(options.get("column", ()))).mapping
    read = read_rag_items(items, task, columns, ITEM_FORMATS[TASKS[task].items].required)
    return None if read is None else [*map(_rag_row, read.questions)]


def _rag_row(question: Any) -> Mapping[str, Any]:
    """Return the items file's line of a question about a RAG record."""
    facts = {"id": question.id, "group": question.group, "question": question.question}
    if question.task == "support":
        return facts | {"text": question.text, "statement": question.statement}
    facts["query"] = facts.pop("question")
    return facts | {"documents": list(question.documents), "argument": question.text}
