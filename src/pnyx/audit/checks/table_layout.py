"""How a table is laid out: which columns are verdicts, labels, groups, ids and names."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import Final

from pnyx.audit.checks.answer_words import cell_text
from pnyx.audit.checks.check_rows import TableRows
from pnyx.audit.checks.column_names import (
    ANNOTATOR_NAMES,
    GROUP_NAMES,
    ID_NAMES,
    JUDGE_NAME_NAMES,
    OPTIONS,
    ColumnGuess,
    named_column,
    shown_names,
)
from pnyx.core.errors import InputError, shorten

_WORDS: Final = {"judge": "judge", "human": "people", "group": "groups"}


@dataclass(frozen=True, slots=True)
class Named:
    """The columns, judges and people that the user named, if any."""

    judge: tuple[str, ...] = ()
    human: tuple[str, ...] = ()
    group: str = ""
    id: str = ""
    probability: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Side:
    """The judges of a table, or its people.

    Attributes:
        columns: columns of verdicts or of labels.
        names: the column that names the judge or the person of each row; empty: none.
        only: names in this column that count; empty: all.
    """

    columns: tuple[str, ...] = ()
    names: str = ""
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns of a table by their content; empty if there is none.

    Attributes:
        probabilities: columns of probabilities, one for each judge.
        reason: the column of reasons why a verdict is missing.
        dimension: the column of dimensions, if an item has ratings on several.
        used: every column that is not a text to show with an item.
        notes: the guesses.
    """

    judge: Side = Side()
    human: Side = Side()
    group: str = ""
    id: str = ""
    probabilities: tuple[str, ...] = ()
    reason: str = ""
    dimension: str = ""
    used: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


def verdict_layout(table: TableRows, named: Named, *, with_labels: bool) -> Layout:
    """Choose the columns of a table of verdicts and, `with_labels`, of labels.

    InputError: a name is not a column, or a column that is needed is missing or ambiguous.
    """
    return _Chooser(table, named).verdicts(with_labels=with_labels)


def label_layout(table: TableRows, named: Named, dimension: str = "") -> Layout:
    """Choose the columns of a table of labels alone, with this column of dimensions, if any.

    InputError: a column is missing or ambiguous.
    """
    if dimension and dimension not in table.columns:
        problem = f"has no column {dimension}: ratings on several are joined by id and {dimension}"
        raise InputError(problem, path=table.source)
    return replace(_Chooser(table, named).labels(), dimension=dimension)


class _Chooser:
    def __init__(self, table: TableRows, named: Named) -> None:
        self._table, self._named = table, named
        self._guess = ColumnGuess(table)
        self._guessed: dict[str, tuple[str, ...]] = {}
        self._roles = {**_roles_of_answers(table), **table.roles}

    def verdicts(self, *, with_labels: bool) -> Layout:
        """Choose the columns of a table of verdicts."""
        named = self._named
        judge = self._side("judge", named.judge)
        human = self._side("human", named.human if with_labels else ())
        both = next((column for column in judge.columns if column in human.columns), None)
        if both is not None:
            raise self._error(f"column {shorten(both, 40)!r} is named by --verdict and by --human")
        stated = tuple(map(self._column, named.probability))
        group = self._stated("group")
        id_column = self._stated("id") or self._guess.first(ID_NAMES)
        self._take(*judge.columns, *human.columns, *stated, group, id_column)
        self._take(judge.names, human.names)
        stated = stated or self._roles.get("probability", ())
        self._take(*stated)
        judge_names = judge.names or self._name_column("judge", judge.columns)
        annotators = ""
        if with_labels:
            annotators = human.names or self._name_column("human", human.columns)
        judges, people = judge.columns, human.columns
        if with_labels and not people:
            if self._table.missing:
                raise self._error(self._table.missing)
            judges, people = self._paired(judges)
        judges = judges or self._by_name("judge")
        if with_labels:
            people = people or self._by_name("human")
        judges = judges or self._by_cells("judge")
        if with_labels:
            second = ", or give labels in a second table with --labels FILE"
            people = people or self._by_cells("human", second)
        if named.probability and len(stated) != len(judges):
            counts = f"found {len(stated)} for {len(judges)} judges"
            raise self._error(f"--probability: {counts}, expected one for each --verdict")
        group = group or self._group()
        reason = next(iter(self._roles.get("reason", ())), "")
        dimension = next(iter(self._roles.get("dimension", ())), "")
        further = (group, id_column, judge_names, annotators, reason, dimension)
        return Layout(
            Side(judges, judge_names, judge.only),
            Side(people, annotators, human.only),
            group,
            id_column,
            stated,
            reason,
            dimension,
            frozenset((*judges, *people, *stated, *further, *self._roles.get("ignored", ()))),
            self._notes(),
        )

    def labels(self) -> Layout:
        """Choose the columns of a table that holds labels and ids alone."""
        human = self._side("human", self._named.human)
        named = self._named.id
        is_present = named in self._table.columns
        id_column = named if is_present else self._guess.first(ID_NAMES)
        if not id_column:
            columns = shown_names(self._table.columns)
            raise self._error(
                f"no column of ids found (columns: {columns}): name it with --id-column COLUMN"
            )
        people = human.columns
        if not people and "value" in self._table.columns:
            people = ("value",)
        self._take(*people, id_column, human.names)
        annotators = human.names or self._name_column("human", people)
        people = people or self._by_name("human") or self._by_cells("human")
        notes = self._notes()
        if named and not is_present:
            columns = f"{shorten(named, 40)!r}: labels are joined by {shorten(id_column, 40)!r}"
            notes = (f"the table of labels has no column {columns}", *notes)
        return Layout(human=Side(people, annotators, human.only), id=id_column, notes=notes)

    def _error(self, problem: str) -> InputError:
        return InputError(problem, path=self._table.source)

    def _take(self, *columns: str) -> None:
        self._guess.taken.update(filter(None, columns))

    def _column(self, name: str) -> str:
        return named_column(name, self._table.columns, self._table.source)

    def _stated(self, role: str) -> str:
        """Return the column of groups or ids that the user or the format states."""
        name: str = getattr(self._named, role)
        return self._column(name) if name else next(iter(self._roles.get(role, ())), "")

    def _side(self, role: str, names: tuple[str, ...]) -> Side:
        """Return the columns named, or the names of judges or people in the column of names."""
        columns: list[str] = []
        only: list[str] = []
        holder = ""
        for name in names:
            among = "" if name in self._table.columns else self._names(role)
            if among and any(cell_text(row.get(among)) == name for _, row in self._table.rows):
                holder = among
                only.append(name)
            else:
                columns.append(self._column(name))
        if len(set(columns)) < len(columns):
            raise self._error(f"{OPTIONS[role]}: a column is named twice")
        return Side(tuple(columns), holder, tuple(only))

    def _names(self, role: str) -> str:
        """Return the column that may name the judge or the person of each row."""
        if stated := self._roles.get(f"{role} name"):
            return stated[0]
        if role == "judge":
            return self._guess.first(JUDGE_NAME_NAMES, lambda p: not p.usual and not p.numeric)
        return self._guess.first(ANNOTATOR_NAMES, lambda p: not p.usual)

    def _name_column(self, role: str, columns: tuple[str, ...]) -> str:
        """Take the column of names if each row has a single verdict, or label, of the named."""
        column = self._names(role)
        self._take(column)
        if not column or f"{role} name" in self._roles:
            return column
        several = self._guess.profile(column).distinct > 1
        if several and len(columns or self._guess.by_name(role)) == 1:
            return column
        self._guess.taken.discard(column)
        return ""

    def _paired(self, judges: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the verdicts, and the labels of the same thing, where the format pairs them."""
        pairs = self._table.pairs
        paired = tuple(judge for judge in judges or pairs if judge in pairs)
        labels = {pairs[judge] for judge in paired}
        if len(labels) > 1:
            raise self._error(
                f"people labelled several things ({shown_names(paired)}): name one of them, such "
                f"as --verdict {shlex.quote(shorten(paired[0], 30))}"
            )
        if not labels:
            return judges, ()
        people = labels.pop()
        self._take(*paired, *people)
        self._guessed |= {"human": people} if judges else {"judge": paired, "human": people}
        return judges or paired, people

    def _by_name(self, role: str) -> tuple[str, ...]:
        if stated := self._roles.get(role):
            self._take(*stated)
            return stated
        return self._chosen(role, self._guess.by_name(role))

    def _by_cells(self, role: str, advice: str = "") -> tuple[str, ...]:
        return self._chosen(role, self._guess.by_cells(role, advice))

    def _chosen(self, role: str, columns: tuple[str, ...]) -> tuple[str, ...]:
        self._take(*columns)
        if columns:
            self._guessed[role] = columns
        return columns

    def _group(self) -> str:
        column = self._guess.first(GROUP_NAMES, lambda profile: profile.repeats)
        return next(iter(self._chosen("group", (column,) if column else ())), "")

    def _notes(self) -> tuple[str, ...]:
        """Say which columns were guessed, and how to name them."""
        roles = [role for role in OPTIONS if role in self._guessed]
        if not roles:
            return ()
        parts = [
            f"{_WORDS[role]}: column{'s' * (len(self._guessed[role]) > 1)} "
            f"{shown_names(self._guessed[role])}"
            for role in roles
        ]
        options = [OPTIONS[role] for role in roles]
        named = " and ".join(filter(None, (", ".join(options[:-1]), options[-1])))
        return (f"{'; '.join(parts)} (guessed; name {'them' if parts[1:] else 'it'} with {named})",)


def _roles_of_answers(table: TableRows) -> dict[str, tuple[str, ...]]:
    """Return the roles of columns in Pnyx's own answers; none for other tables."""
    columns = set(table.columns)
    if not {"id", "value", "task", "judge"} <= columns:
        return {}
    has_groups = any(row.get("group") not in (None, "") for _, row in table.rows)
    roles = {"judge": "value", "judge name": "judge", "id": "id", "probability": "probability"}
    roles |= {"reason": "unscored", "group": "group" if has_groups else "question_id"}
    if any(row.get("dimension") not in (None, "") for _, row in table.rows):
        roles["dimension"] = "dimension"
    present = {role: (column,) for role, column in roles.items() if column in columns}
    return {**present, "ignored": ("task", "prompt_hash", "group", "question_id", "label")}
