"""`pnyx label`: let people answer the judges' questions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli import EXIT_INTERRUPTED
from pnyx.cli.options import print_result, refuse_same_file, say
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, OptionError, escaped, shorten
from pnyx.core.rooms import RoomCommands
from pnyx.web.ask.options import ServerSpec
from pnyx.web.label.options import LabellingSpec

if TYPE_CHECKING:
    from pnyx.judging.questions import JudgeQuestion
    from pnyx.judging.tasks import Task
    from pnyx.judging.verdicts import Verdict


@verb("label", resumes=True, words=RoomCommands("label"), gone={"--judge": "use --by NAME"})
@click.argument("task")
@click.argument("items")
def command(task: str, items: str, spec: LabellingSpec, server: ServerSpec, as_json: bool) -> int:
    """Let people answer the questions of TASK about ITEMS, in a browser.

    TASK is one of pnyx judge; ITEMS are the same files. Every answer is on the disk before the next
    item is shown: the same command resumes.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx label support ex/items.jsonl --out labels.jsonl
      pnyx: 240 items to label (support) into labels.jsonl: ...

    \b
    More: pnyx label --help-all, docs/recipes/labelling.md.
    \f
    LABELS (--out) has a line for each answer, for pnyx judge --judge LABELS, pnyx measure and pnyx
    check; all actions are kept in LABELS.journal. Preferences are shown in an order drawn for each
    item and annotator. The organiser's page shows agreement and has disputes decided (annotator
    adjudicated). --seed decides orders, which side comes first, and who gets which items.

    \b
      pnyx label relevance pairs.jsonl --out labels.jsonl --annotators ann,ben
      pnyx judge support items.jsonl --out results
      pnyx check results --labels labels.jsonl
    """
    from pnyx.web.label.application import build_labelling
    from pnyx.web.label.journal import LabelJournal
    from pnyx.web.label.label_session import Desk, Share
    from pnyx.web.label.people import People, check_names
    from pnyx.web.server import check_server, run_app

    check_server(server)
    spec.check_needs()
    if spec.out in ("", "-"):
        raise OptionError("--out: expected a file name; the file is written while people label")
    refuse_same_file("--out", spec.out, ITEMS=items, suggest=spec.suggest)
    if spec.overlap is not None and spec.overlap > len(spec.annotators):
        count = len(spec.annotators)
        raise OptionError(f"--overlap {spec.overlap}: there are {count} --annotators")
    check_names(spec.annotators)
    chosen, questions = _read(task, items, spec)
    share = Share(spec.annotators, spec.overlap, spec.shuffle, spec.seed)
    suggested = _suggested(spec, questions)
    with LabelJournal(spec.out, about(chosen, questions, share)) as journal:
        people = People(spec.annotators, journal.secret, server.token)
        with Desk(chosen, questions, journal, share, suggested) as desk:
            app = build_labelling(desk, people, token=server.token or "")
            what = f"{len(questions)} items to label ({chosen.name}) into {spec.out}"
            with _ended_by_signals() as ended:
                run_app(app, server, what, say, tokens=people.tokens)
            counts = desk.summary()
    line = "{answers} answers to {answered} of {items} items, by {annotators} annotators"
    print_result(counts, f"{line.format(**counts)}, in {escaped(spec.out)}", as_json=as_json)
    return max(ended, default=0)


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[list[int]]:
    """Let Ctrl-C or SIGTERM shut the server down; yield a list that then holds the status."""
    import signal

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    ended: list[int] = []
    try:
        yield ended
    except KeyboardInterrupt:
        ended.append(EXIT_INTERRUPTED)
    finally:
        signal.signal(signal.SIGTERM, before)


def about(task: Task, questions: Sequence[JudgeQuestion], share: Any) -> dict[str, Any]:
    """Return what identifies a journal: the task, the items, and their shares."""
    import hashlib

    from pnyx.judging.runs.engine import item_bytes

    digest = hashlib.blake2b(digest_size=16)
    for question in questions:
        digest.update(hashlib.blake2b(item_bytes(question)).digest())
    dimensions = getattr(questions[0], "custom", None)
    named = {} if dimensions is None else {"dimensions": dimensions.sha256}
    return {"task": task.name, "items": digest.hexdigest(), **share.row(), **named}


def _read(name: str, items: str, spec: LabellingSpec) -> tuple[Task, list[JudgeQuestion]]:
    """Return the task and its items, in the form for people."""
    from pnyx.judging.dimensions.own import read_own
    from pnyx.judging.tasks import TASKS
    from pnyx.web.label.forms import check_places

    task = TASKS.get(name)
    if task is None:
        short, expected = shorten(name, 40), ", ".join(TASKS)
        raise OptionError(f"TASK: found {short!r}, expected one of: {expected}")
    if spec.scale is not None and spec.scale not in task.scales:
        raise OptionError(f"--scale requires the task quality, not {task.name}")
    if spec.dimensions is not None and not task.scales:
        raise OptionError(f"--dimensions requires the task quality, not {task.name}")
    if spec.dimensions is not None and spec.scale is not None:
        raise OptionError("--scale: the file of --dimensions defines it")
    options: dict[str, Any] = {}
    if spec.dimensions is not None:
        options["custom"] = read_own(spec.dimensions)
    questions: list[Any] = task.read(items, **options)
    if not questions:
        raise InputError("holds no items", path=items)
    if spec.scale is not None:
        bounds = task.scales[spec.scale].bounds
        questions = [replace(question, scale=bounds) for question in questions]
    check_places(task, questions, items)
    return task, questions


def _suggested(
    spec: LabellingSpec, questions: Sequence[JudgeQuestion]
) -> Mapping[tuple[str, str], Verdict]:
    """Return a judge's answers by id and dimension; InputError if none is on these items."""
    if spec.suggest is None:
        return {}
    from pnyx.judging.verdicts import of_one_judge, read_verdicts

    verdicts = {
        verdict.key: verdict
        for verdict in of_one_judge(read_verdicts(spec.suggest), spec.by, spec.suggest)
        if verdict.task == questions[0].task
    }
    if not any((q.id, name) in verdicts for q in questions for name in q.cells):
        raise InputError(
            f"holds no answer on {questions[0].task} to any of the items", path=spec.suggest
        )
    return verdicts
