"""Submitted reports: the runs, and those that cannot be judged."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import quote

from pnyx.core.errors import InputError, escaped

if TYPE_CHECKING:
    from pnyx.core.records import Response

MAX_RUN_ID: Final = 100
"""Characters of a run id by the rules of a campaign; TREC's tracks allow 20 or 25."""

RunKey: TypeAlias = tuple[str, str]
"""Team and run id, which identify a run."""

ByFile: TypeAlias = "Mapping[RunKey, Mapping[str, Sequence[Response]]]"
"""Run -> file -> reports of the run in this file."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file, or one run of it, that cannot be judged.

    Attributes:
        path: the file.
        run: id of the run; empty for the whole file.
        why: the reason, in one line.
    """

    path: str
    run: str
    why: str

    def __str__(self) -> str:
        run = f" run {self.run!a}:" if self.run else ""
        return f"{escaped(self.path)}:{run} {self.why}"

    def row(self) -> dict[str, str]:
        """Return it as a JSON object."""
        return {"path": self.path, "run": self.run, "why": self.why}


@dataclass(frozen=True, slots=True)
class Submissions:
    """Reports of runs with distinct names.

    Attributes:
        responses: `run_id` is the name of the run: its id, or `team/id` if several teams use it.
        left_out: files and runs that cannot be judged; only by the rules of a campaign.
        warnings: warnings for an organiser before judging, one line each.
    """

    responses: Sequence[Response]
    left_out: Sequence[LeftOut]
    warnings: Sequence[str]

    @property
    def facts(self) -> dict[str, Any]:
        """The entry in a manifest."""
        return {"left_out": [left.row() for left in self.left_out]} if self.left_out else {}


def read_submissions(paths: Sequence[str], *, strict: bool = False) -> Submissions:
    """Read the reports of files and folders, and distinguish runs by team and id.

    Args:
        paths: files with reports in any layout, or folders of them.
        strict: by the rules of a campaign: a file that cannot be read, or a run that could not be
            ranked, is left out.

    Raises:
        InputError: a file cannot be read (unless `strict`) or does not exist, two files have a
            report of one run on the same topic, or no run is left.
    """
    left_out: list[LeftOut] = []
    runs: dict[RunKey, dict[str, list[Response]]] = defaultdict(dict)
    for file in _files(paths):
        try:
            of_file = _runs_of(file, strict=strict)
        except InputError as error:
            if not strict or not (file == "-" or Path(file).exists()):
                raise
            line = "" if error.line is None else f"line {error.line}: "
            left_out.append(LeftOut(file, "", f"{line}{error.problem}"))
            continue
        for (team, run), responses in of_file.items():
            if strict and (problem := _problem(run, responses)):
                left_out.append(LeftOut(file, run, problem))
            else:
                runs[team, run][file] = responses
    if not runs:
        raise InputError(f"no run can be judged: {left_out[0]}")
    _check_topics(runs)
    names = _names(runs)
    responses = [
        replace(response, run_id=names[key])
        for key, by_file in runs.items()
        for of_run in by_file.values()
        for response in of_run
    ]
    return Submissions(responses, left_out, [*_several_teams(names), *_several_files(runs, names),
                                             *_look_alikes(names.values())])  # fmt: skip


def _files(paths: Iterable[str]) -> Iterator[str]:
    from pnyx.formats.base import files_of

    for path in paths:
        files = files_of(path)
        if not files:
            raise InputError("is a folder without files, expected responses", path=path)
        yield from files


def _runs_of(file: str, *, strict: bool) -> dict[RunKey, list[Response]]:
    """Return the runs of a file; InputError at its first fault.

    Unless `strict`, two reports of a run on the same topic are one.
    """
    from pnyx.formats import base
    from pnyx.formats.reports.responses import parse_response

    rows = base.parse_rows(base.scan_json_objects(file), parse_response, file)
    if not strict:
        rows = base.unique(
            rows,
            lambda response: (response.team_id, response.run_id, response.topic_id),
            file,
            "run and topic",
            identity=lambda response: (response.run_id, response.topic_id),
        )
    runs: dict[RunKey, list[Response]] = defaultdict(list)
    for _, response in base.strict(rows, file, "responses"):
        runs[response.team_id, response.run_id].append(response)
    return runs


def _problem(run: str, responses: Sequence[Response]) -> str:
    """Return why a run could not be ranked, or an empty string."""
    if any(character.isspace() for character in run):
        return "run_id: found white space, which leaderboards cannot hold; give the run another id"
    if not run.isprintable():
        return "run_id: found invisible characters; give the run another id"
    if run == "all" or run.startswith("{"):
        return "run_id: leaderboards give this name another meaning; give the run another id"
    if len(run) > MAX_RUN_ID:
        return f"run_id: found {len(run)} characters, expected at most {MAX_RUN_ID}"
    topic, count = Counter(response.topic_id for response in responses).most_common(1)[0]
    if count > 1:
        return f"found {count} reports on topic {escaped(topic, 40)!r}, expected one"
    return ""


def _check_topics(runs: ByFile) -> None:
    """Reject a run with reports on a topic in two files: one may be another participant's."""
    for (team, run), by_file in runs.items():
        first: dict[str, str] = {}
        for file, responses in by_file.items():
            for topic in dict.fromkeys(response.topic_id for response in responses):
                before = first.setdefault(topic, file)
                if before != file:
                    of = f" of team {team!a}" if team else ""
                    raise InputError(
                        f"run {run!a}{of} has reports on topic {escaped(topic, 40)!r} in "
                        f"{escaped(before)} and {escaped(file)}: leave one of these files out"
                    )


def _names(runs: Iterable[RunKey]) -> dict[RunKey, str]:
    """Return a distinct name for each run: its id, or team/id if several teams use the id."""
    names = {key: key[1] for key in runs}
    while twice := {name for name, count in Counter(names.values()).items() if count > 1}:
        names = {
            (team, run): f"{_one_word(team)}/{run}" if name in twice else name
            for (team, run), name in names.items()
        }
    return names


def _one_word(team: str) -> str:
    """Return a team's name without separators of columns, or of team and run, in a leaderboard."""
    return "".join(
        character
        if character.isprintable() and not character.isspace() and character not in "/%{"
        else quote(character, safe="", errors="surrogatepass")
        for character in team
    )


def _several_teams(names: Mapping[RunKey, str]) -> Iterator[str]:
    teams: dict[str, dict[str, str]] = defaultdict(dict)
    for (team, run), name in names.items():
        teams[run][team] = name
    for run, of_run in teams.items():
        if len(of_run) > 1:
            named = ", ".join(repr(escaped(name)) for name in of_run.values())
            yield f"{len(of_run)} teams have a run {run!a}; they are called {named}"


def _several_files(runs: ByFile, names: Mapping[RunKey, str]) -> Iterator[str]:
    for key, by_file in runs.items():
        if len(by_file) > 1:
            files = list(map(escaped, by_file))
            more = f" and {len(files) - 3} more" if len(files) > 3 else ""
            yield f"run {names[key]!a} is in several files: {', '.join(files[:3])}{more}"


def _look_alikes(names: Iterable[str]) -> Iterator[str]:
    from pnyx.formats.text.lookalikes import name_shape

    by_shape: dict[str, list[str]] = defaultdict(list)
    for name in names:
        by_shape[name_shape(name)].append(name)
    for alike in by_shape.values():
        if len(alike) > 1:
            yield f"the names of these runs look alike: {', '.join(map(ascii, alike))}"
