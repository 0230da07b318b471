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
)
from pnyx.errors import InputError, shorten

_ORDER: Final = ("judge", "human", "group")
_SAID: Final = {"judge": "judge", "human": "people", "group": "groups"}


@dataclass(frozen=True, slots=True)
class Named:
    """What the user named; empty where they named nothing."""

    judge: tuple[str, ...] = ()
    human: tuple[str, ...] = ()
    group: str = ""
    id: str = ""
    probability: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns of a table by what they hold; empty where there is none.

    Attributes:
        judges: columns of verdicts.
        people: columns of labels.
        group: the column of groups.
        id: the column of ids.
        probabilities: columns of probabilities, one for each judge.
        judge_names: the column that names the judge of each row.
        only_judges: names of judges whose rows are used; empty: all.
        annotators: the column that names the person of each row.
        only_people: names of people whose labels are used; empty: all.
        reason: the column that says why there is no verdict.
        dimension: the column of what is rated, where ratings of one item are on several.
        ignored: columns that are not worth showing.
        notes: what was guessed.
    """

    judges: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    group: str = ""
    id: str = ""
    probabilities: tuple[str, ...] = ()
    judge_names: str = ""
    only_judges: tuple[str, ...] = ()
    annotators: str = ""
    only_people: tuple[str, ...] = ()
    reason: str = ""
    dimension: str = ""
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def used(self) -> frozenset[str]:
        """Every column that has a meaning of its own."""
        named = (self.group, self.id, self.judge_names, self.annotators)
        columns = (*self.judges, *self.people, *self.probabilities, *self.ignored)
        return frozenset((*columns, *named, self.reason, self.dimension))


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
        self._guess = ColumnGuess(table, ())
        self._guessed: dict[str, tuple[str, ...]] = {}
        self._roles = {**_roles_of_answers(table), **table.roles}

    def verdicts(self, *, with_labels: bool) -> Layout:
        """Choose the columns of a table of verdicts."""
        judges, only_judges, judge_names = self._columns("judge", self._named.judge)
        human = self._named.human if with_labels else ()
        people, only_people, annotators = self._columns("human", human)
        both = next((column for column in judges if column in people), None)
        if both is not None:
            raise self._error(f"column {shorten(both, 40)!r} is named by --judge and by --human")
        probabilities = tuple(map(self._column, self._named.probability))
        group, id_column = self._given(self._named.group, "group"), self._id(self._named.id)
        self._take(*judges, *people, *probabilities, group, id_column, judge_names, annotators)
        probabilities = probabilities or self._roles.get("probability", ())
        self._take(*probabilities)
        judge_names = judge_names or self._name_column("judge", judges)
        self._take(judge_names)
        if with_labels:
            annotators = annotators or self._name_column("human", people)
            self._take(annotators)
        if with_labels and not people:
            judges, people = self._paired(judges)
        judges = judges or self._by_name("judge")
        people = people or (self._by_name("human") if with_labels else ())
        if with_labels and not people and self._table.missing:
            raise self._error(self._table.missing)
        judges = judges or self._by_cells("judge")
        people = people or (self._by_cells("human") if with_labels else ())
        if self._named.probability and len(probabilities) != len(judges):
            found = f"{len(probabilities)} for {len(judges)} judges"
            raise self._error(f"--probability: found {found}, expected one for each --judge")
        group = group or self._group()
        return Layout(
            judges,
            people,
            group,
            id_column,
            probabilities,
            judge_names,
            only_judges,
            annotators,
            only_people,
            next(iter(self._roles.get("reason", ())), ""),
            next(iter(self._roles.get("dimension", ())), ""),
            self._roles.get("ignored", ()),
            self._notes(),
        )

    def labels(self) -> Layout:
        """Choose the columns of a table that holds labels and ids alone."""
        people, only_people, annotators = self._columns("human", self._named.human)
        id_column = self._id(self._named.id if self._named.id in self._table.columns else "")
        if not id_column:
            shown = ", ".join(shorten(column, 30) for column in self._table.columns[:20])
            raise self._error(
                f"no column of ids found (columns: {shown}): name it with --id COLUMN"
            )
        self._take(*people, id_column, annotators)
        if not people and "value" in self._table.columns:
            people = ("value",)
            self._take("value")
        annotators = annotators or self._name_column("human", people)
        self._take(annotators)
        people = people or self._by_name("human") or self._by_cells("human")
        return Layout(
            people=people,
            id=id_column,
            annotators=annotators,
            only_people=only_people,
            notes=self._notes(),
        )

    def _error(self, problem: str) -> InputError:
        return InputError(problem, path=self._table.source)

    def _take(self, *columns: str) -> None:
        self._guess.taken.update(filter(None, columns))

    def _column(self, name: str) -> str:
        return named_column(name, self._table.columns, self._table.source)

    def _given(self, name: str, role: str) -> str:
        return self._column(name) if name else next(iter(self._roles.get(role, ())), "")

    def _id(self, name: str) -> str:
        return self._given(name, "id") or self._guess.first(ID_NAMES)

    def _columns(
        self, role: str, names: tuple[str, ...]
    ) -> tuple[tuple[str, ...], tuple[str, ...], str]:
        """Return the columns named, or the names of judges or people in the column of names."""
        columns: list[str] = []
        chosen: list[str] = []
        among = ""
        for name in names:
            holder = "" if name in self._table.columns else self._holder(role, name)
            if holder:
                among = holder
                chosen.append(name)
            else:
                columns.append(self._column(name))
        if len(set(columns)) < len(columns):
            raise self._error(f"{OPTIONS[role]}: a column is named twice")
        return tuple(columns), tuple(chosen), among

    def _holder(self, role: str, name: str) -> str:
        """Return the column of names in which a name occurs."""
        column = self._names(role)
        rows = self._table.rows
        return column if column and any(cell_text(r.get(column)) == name for _, r in rows) else ""

    def _names(self, role: str) -> str:
        """Return the column that may name the judge or the person of each row."""
        if given := self._roles.get(f"{role} name"):
            return given[0]
        if role == "judge":
            return self._guess.first(JUDGE_NAME_NAMES, lambda p: not p.known and not p.numeric)
        return self._guess.first(ANNOTATOR_NAMES, lambda p: not p.known)

    def _paired(self, judges: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the verdicts, and the labels of the same thing, where the format pairs them."""
        pairs = self._table.pairs
        known = [judge for judge in judges or pairs if judge in pairs]
        labels = {pairs[judge] for judge in known}
        if len(labels) > 1:
            shown = ", ".join(shorten(judge, 30) for judge in known)
            example = f"--judge {shlex.quote(shorten(known[0], 30))}"
            raise self._error(
                f"people labelled several things ({shown}): name one of them, such as {example}"
            )
        if not labels:
            return judges, ()
        people = labels.pop()
        self._take(*known, *people)
        self._guessed |= {"human": people} | ({} if judges else {"judge": tuple(known)})
        return judges or tuple(known), people

    def _name_column(self, role: str, columns: tuple[str, ...]) -> str:
        """Return the column of names if each row has one verdict, or label, of whom it names."""
        column = self._names(role)
        if not column or f"{role} name" in self._roles:
            return column
        if self._guess.profile(column).distinct < 2:
            return ""
        self._take(column)
        others = columns or self._guess.by_name(role)
        self._guess.taken.discard(column)
        return column if len(others) == 1 else ""

    def _by_name(self, role: str) -> tuple[str, ...]:
        if given := self._roles.get(role):
            return given
        columns = self._guess.by_name(role)
        self._take(*columns)
        if columns:
            self._guessed[role] = columns
        return columns

    def _by_cells(self, role: str) -> tuple[str, ...]:
        columns = self._guess.by_cells(role)
        self._take(*columns)
        self._guessed[role] = columns
        return columns

    def _group(self) -> str:
        column = self._guess.first(GROUP_NAMES, lambda profile: profile.repeats)
        if column:
            self._guessed["group"] = (column,)
        return column

    def _notes(self) -> tuple[str, ...]:
        """Say which columns were guessed, and how to name them."""
        parts: list[str] = []
        for role, columns in sorted(self._guessed.items(), key=lambda item: _ORDER.index(item[0])):
            many = "column" if len(columns) == 1 else "columns"
            shown = ", ".join(shorten(column, 30) for column in columns)
            parts.append(f"{_SAID[role]}: {many} {shown}")
        if not parts:
            return ()
        options = [OPTIONS[role] for role in _ORDER if role in self._guessed]
        last = f" and {options[-1]}" if len(options) > 1 else options[-1]
        named = ", ".join(options[:-1]) + last
        return (
            f"{'; '.join(parts)} (guessed; name {'them' if len(parts) > 1 else 'it'} with {named})",
        )


def _roles_of_answers(table: TableRows) -> dict[str, tuple[str, ...]]:
    """Return what the columns of Pnyx's own answers are."""
    columns = set(table.columns)
    if not {"id", "value", "task", "judge"} <= columns:
        return {}
    roles = {"judge": "value", "judge name": "judge", "id": "id", "probability": "probability"}
    roles["reason"] = "unscored"
    roles["group"] = "group" if _has_cells(table, "group") else "question_id"
    roles |= {"dimension": "dimension"} if _has_cells(table, "dimension") else {}
    known = {role: (column,) for role, column in roles.items() if column in columns}
    return {**known, "ignored": ("task", "prompt_hash", "group", "question_id", "label")}


def _has_cells(table: TableRows, column: str) -> bool:
    return any(row.get(column) not in (None, "") for _, row in table.rows)
