"""Make small changes to the code, and check whether a test fails: `python lab/mutants.py`.

A mutant is a copy of the code with one change, such as `<` for `<=` or 4 for 3. Only the tests that
run the changed line are tried on it. A mutant is killed if one of them fails, and timed out if they
take far longer than without the change. The changes are those of cosmic-ray; they are made in a
temporary copy, never in the checkout.

    python lab/mutants.py --count 400 --out mutants    # a sample of all rooms
    python lab/mutants.py --constants --count 200 --out constants    # numbers of named constants
    python lab/mutants.py --again mutants/mutants.jsonl --out after    # those that survived
    python lab/mutants.py --since HEAD~1 --count 40    # the lines that the last commit changed

Which test runs which line is measured once by coverage and kept in `.cache/mutants`; later runs
measure only the test files that changed since, as long as the code is the same.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from difflib import unified_diff
from pathlib import Path

import click
from code_changes import (
    Mutant,
    changed_code,
    changed_lines,
    draw,
    draw_changed,
    draw_constants,
)
from line_tests import CODE, ROOT, LineTests, Workplace, copy_checkout, measure_lines, preload

CACHE = ROOT / ".cache" / "mutants"
SELECTION = "not all and not train"  # the tests of `make test`
BATCHES = (1.0, 6.0)  # seconds of tests, in all, after which a mutant gets another process
SLACK = 5  # a mutant times out after this many times the seconds of its tests
START_SECONDS = 60  # for the start of a process and fixtures, on a busy machine
ALIVE = ("survived", "not covered")
STATES = ("killed", "timed out", *ALIVE)


@dataclass
class Outcome:
    """What the tests did: `state` is killed, timed out, survived or not covered."""

    state: str
    test: str = ""
    tests: int = 0
    seconds: float = 0.0
    partly: bool = False
    """Whether tests were left out, because all together would take longer than the limit."""
    diff: str = ""
    """The change, where no test noticed it."""


# -- trying ----------------------------------------------------------------------------------------


@contextmanager
def changed(root: Path, mutant: Mutant, stamp: int) -> Iterator[None]:
    """Make the change in the copy, with a new file time, so that no old bytecode is used."""
    path = root / mutant.path
    before = path.stat().st_mtime
    text = path.read_text(encoding="utf-8")
    path.write_text(changed_code(text, mutant), encoding="utf-8")
    os.utime(path, (stamp, stamp))
    try:
        yield
    finally:
        path.write_text(text, encoding="utf-8")
        os.utime(path, (before, before))


def batches(tests: Sequence[str], seconds: dict[str, float], most: float) -> list[list[str]]:
    """Split tests, in their order, by `BATCHES`; leave out what takes longer than `most`."""
    parts: list[list[str]] = [[] for _ in range(len(BATCHES) + 1)]
    total = 0.0
    for test in tests:
        total += seconds[test]
        if total > most and any(parts):
            break
        parts[sum(total > limit for limit in BATCHES)].append(test)
    return [part for part in parts if part]


def try_mutant(
    workplace: Workplace, mutant: Mutant, lines: LineTests, most: float, stamp: int
) -> Outcome:
    """Run the tests of a mutant until one fails."""
    begun = time.monotonic()
    tests = lines.tests(mutant.path, mutant.line)
    parts = batches(tests, lines.seconds, most)
    outcome = Outcome("survived" if tests else "not covered")
    outcome.partly = sum(map(len, parts)) < len(tests)
    outcome.diff = difference(workplace.copy, mutant)
    with changed(workplace.copy, mutant, stamp):
        for part in parts:
            outcome.tests += len(part)
            limit = START_SECONDS + SLACK * sum(lines.seconds[test] for test in part)
            code, failed = workplace.run_until_failure(part, limit)
            if code is None:
                outcome.state = "timed out"
            elif code:
                outcome.state, outcome.test = "killed", failed[0] if failed else ""
            if code != 0:
                break
    if outcome.state not in ALIVE:
        outcome.diff = ""
    outcome.seconds = round(time.monotonic() - begun, 1)
    return outcome


def difference(root: Path, mutant: Mutant) -> str:
    """Return the change as a diff with the lines around it."""
    text = (root / mutant.path).read_text(encoding="utf-8")
    texts = text.splitlines(), changed_code(text, mutant).splitlines()
    lines = unified_diff(*texts, mutant.path, mutant.path, lineterm="")
    return "\n".join(lines)


def table(outcomes: dict[Mutant, Outcome]) -> str:
    """Return the number of mutants by room and state, and the share that was noticed."""
    rows = [f"{'room':<14}" + "".join(f"{state:>13}" for state in STATES) + f"{'noticed':>10}"]
    rooms = sorted({mutant.room for mutant in outcomes})
    for room in [*rooms, "all"]:
        chosen = [
            outcome.state for mutant, outcome in outcomes.items() if room in (mutant.room, "all")
        ]
        counts = [chosen.count(state) for state in STATES]
        share = f"{100 * (counts[0] + counts[1]) / len(chosen):.0f} %" if chosen else "-"
        rows.append(f"{room:<14}" + "".join(f"{count:>13}" for count in counts) + f"{share:>10}")
    return "\n".join(rows)


def check_killers(workplace: Workplace, outcomes: dict[Mutant, Outcome]) -> set[str]:
    """Return the tests that failed on a mutant, and fail in the same way without a change."""
    waiting = sorted({outcome.test for outcome in outcomes.values() if outcome.test})
    unreliable: set[str] = set()
    while waiting:
        code, failed = workplace.run_until_failure(waiting)
        if not failed:
            if code:
                raise click.ClickException(f"pytest ended with status {code} without a change")
            break
        unreliable |= set(failed)
        waiting = [test for test in waiting if test not in unreliable]
    return unreliable


def load_outcomes(path: Path) -> dict[Mutant, Outcome]:
    """Read the mutants of an earlier run, and their outcomes."""
    rows = [json.loads(row) for row in path.read_text(encoding="utf-8").splitlines()]
    return {Mutant(**row["mutant"]): Outcome(**row["outcome"]) for row in rows}


def write_outcomes(out: Path, outcomes: dict[Mutant, Outcome]) -> None:
    """Write all mutants as rows of JSON, and the diffs of those that no test noticed."""
    out.mkdir(parents=True, exist_ok=True)
    rows = [
        json.dumps({"mutant": asdict(mutant), "outcome": asdict(outcome)})
        for mutant, outcome in outcomes.items()
    ]
    (out / "mutants.jsonl").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    parts = []
    for mutant in sorted(outcomes, key=lambda mutant: (mutant.path, mutant.line)):
        outcome = outcomes[mutant]
        if outcome.state in ALIVE:
            left_out = ", slower ones were left out" if outcome.partly else ""
            title = (
                f"# {mutant.path}:{mutant.line} {outcome.state} ({outcome.tests} tests{left_out})"
            )
            parts.append(f"{title}\n{outcome.diff}\n")
    (out / "alive.diff").write_text("\n".join(parts), encoding="utf-8")


@click.command(help=__doc__)
@click.option("--count", default=400, show_default=True, help="Mutants to draw.")
@click.option("--seed", default=1, show_default=True, help="Seed of the draw.")
@click.option("--since", metavar="COMMIT", help="Change only lines that differ from this commit.")
@click.option(
    "--again",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Table of an earlier run of the same code: try again what survived or was not covered.",
)
@click.option(
    "--constants", is_flag=True, help="Change only named constants and comparisons with them."
)
@click.option("--selection", default=SELECTION, show_default=True, help="Tests, as for pytest -m.")
@click.option(
    "--test-seconds", default=20.0, show_default=True, help="Most seconds of tests for a mutant."
)
@click.option("--minutes", type=float, help="Start no mutant after this time.")
@click.option(
    "--out", default="mutants", show_default=True, type=click.Path(path_type=Path), help="Folder."
)
@click.option("--cache", default=CACHE, type=click.Path(path_type=Path), help="Folder of the map.")
def main(
    count: int,
    seed: int,
    since: str | None,
    again: Path | None,
    constants: bool,
    selection: str,
    test_seconds: float,
    minutes: float | None,
    out: Path,
    cache: Path,
) -> None:
    lines = changed_lines(since) if since else {}
    if since and not lines:
        click.echo(f"no line of {CODE} changed since {since}")
        return
    outcomes = load_outcomes(again) if again else {}
    with tempfile.TemporaryDirectory(prefix="pnyx-mutants-") as folder:
        workplace = Workplace(Path(folder))
        copy_checkout(workplace.copy)
        if again:
            mutants = [mutant for mutant, outcome in outcomes.items() if outcome.state in ALIVE]
        elif since:
            mutants = draw_changed(workplace.copy, lines, count, seed)
        elif constants:
            mutants = draw_constants(workplace.copy, count, seed)
        else:
            mutants = draw(workplace.copy, count, seed)
        preload()
        measured = measure_lines(workplace, cache.resolve(), selection)
        quickest = sorted(measured.seconds, key=measured.seconds.__getitem__)[:3]
        if workplace.run_until_failure(quickest)[0]:
            raise click.ClickException(f"tests fail without a change:\n{workplace.log.read_text()}")
        started = time.time()
        for number, mutant in enumerate(mutants, 1):
            if minutes is not None and time.time() - started > 60 * minutes:
                click.echo(f"{len(mutants) - number + 1} mutants were not tried", err=True)
                break
            outcome = try_mutant(
                workplace, mutant, measured, test_seconds, int(started) + 2 * number
            )
            outcomes[mutant] = outcome
            location = f"{mutant.path}:{mutant.line}"
            click.echo(f"{number} {outcome.state} {outcome.seconds} s {location}", err=True)
            write_outcomes(out, outcomes)
        unreliable = check_killers(workplace, outcomes)
        for mutant in [mutant for mutant in outcomes if outcomes[mutant].test in unreliable]:
            click.echo(f"not counted, as {outcomes.pop(mutant).test} fails anyway", err=True)
        write_outcomes(out, outcomes)
    click.echo(table(outcomes))


if __name__ == "__main__":
    main()
