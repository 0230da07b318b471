"""At which number of rows, words and characters `pnyx check` guesses, and at which it asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pnyx.audit.checks import table
from pnyx.audit.checks.columns import read_check_items
from pnyx.core.errors import InputError

YES_NO = ["yes", "no"]


def columns(count: int = 8, **cells: list[Any]) -> dict[str, list[Any]]:
    """Return columns of `count` rows that repeat their cells."""
    return {name: [some[n % len(some)] for n in range(count)] for name, some in cells.items()}


def refused(source: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read_check_items(source, **options)
    return caught.value.problem


def judge_of(source: Any, **options: Any) -> str:
    return " ".join(read_check_items(source, **options).judges)


# Which columns could be answers ------------------------------------------------------------------


@pytest.mark.parametrize(("words", "answers"), [(12, True), (13, False)])
def test_a_column_of_at_most_twelve_words_could_be_verdicts(words, answers):
    source = columns(60, mine=[f"w{n}" for n in range(words)], label=YES_NO)
    problem = refused(source)
    assert ("mine holds 'w0'" in problem) == answers
    assert ("no column of verdicts found" in problem) == (not answers)


@pytest.mark.parametrize(("rows", "answers"), [(8, True), (7, False), (4, False), (3, False)])
def test_words_of_verdicts_occur_twice_on_average(rows, answers):
    """Of 8 rows 4 different words are few, of 7 they are not; of 4 or less, 2 always are."""
    source = columns(rows, mine=["k", "l", "m", "o"], label=YES_NO)
    assert ("mine holds" in refused(source)) == answers
    assert "mine holds" in refused(columns(3, mine=["k", "l"], label=YES_NO))
    assert "no column of verdicts" in refused(columns(3, mine=["k", "l", "m"], label=YES_NO))


@pytest.mark.parametrize(("length", "answers"), [(30, True), (31, False)])
def test_words_of_verdicts_are_short(length, answers):
    source = columns(mine=["x" * length, "z"], label=YES_NO)
    assert ("mine holds" in refused(source)) == answers


@pytest.mark.parametrize(("usual", "answers"), [(8, True), (7, False)])
def test_a_column_is_of_answers_if_most_cells_are_usual_words(usual, answers):
    """Of 14 cells all others differ, so that there are too many words to be guessed."""
    cells = ["yes"] * usual + [f"remark {n}" for n in range(14 - usual)]
    source = columns(14, mine=cells, label=YES_NO)
    if answers:
        assert judge_of(source) == "mine"
    else:
        assert "no column of verdicts" in refused(source)


@pytest.mark.parametrize(("largest", "answers"), [(1.0, True), (1.5, False)])
def test_many_different_numbers_are_verdicts_only_as_shares(largest, answers):
    source = columns(40, mine=[n / 40 * largest for n in range(41)][1:], label=YES_NO)
    problem = refused(source)
    assert ("mine holds numbers" in problem) == answers


@pytest.mark.parametrize(("largest", "answers"), [(100, True), (101, False)])
def test_a_named_column_of_many_numbers_goes_up_to_a_hundred(largest, answers):
    source = columns(40, score=[largest - n for n in range(40)], label=YES_NO)
    assert ("score holds numbers" in refused(source)) == answers


@pytest.mark.parametrize(("words", "numeric"), [(6, True), (7, False)])
def test_a_named_column_is_of_numbers_if_most_cells_are(words, numeric):
    cells = [*(f"a remark that is number {n}" for n in range(words)), *range(1, 15 - words)]
    source = columns(14, score=cells, label=YES_NO)
    assert ("no column of verdicts found" in refused(source)) == (not numeric)


@pytest.mark.parametrize(("different", "numeric"), [(12, True), (13, False)])
def test_a_named_column_may_hold_a_dozen_numbers_of_any_size(different, numeric):
    source = columns(13, score=[500 + n for n in range(different)], label=YES_NO)
    assert ("score holds numbers" in refused(source)) == numeric


def test_columns_are_guessed_from_two_thousand_rows():
    def group_of(repeated: int) -> str:
        names = [f"q{n}" for n in range(2001)]
        names[repeated] = "q0"
        source = {**columns(2001, verdict=YES_NO, label=YES_NO), "question": names}
        return read_check_items(source).group

    assert group_of(1999) == "question"
    assert group_of(2000) == ""


def test_a_second_best_name_counts_if_its_cells_are_plain():
    source = columns(verdict=YES_NO, label=YES_NO, target=["Paris", "Rome"])
    assert read_check_items(source).people == ("label",)
    source["target"] = source["label"]
    assert "several columns could hold labels (label, target)" in refused(source)


@pytest.mark.parametrize(("count", "more"), [(20, False), (21, True)])
def test_a_message_names_twenty_columns(count, more):
    names = {f"c{n}": [n] for n in range(count)}
    problem = refused(columns(**names), judge="x")
    assert ("c19" in problem, ", ..." in problem) == (True, more)


# What cells mean ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("length", "understood"), [(60, True), (61, False)])
def test_a_cell_of_more_than_sixty_characters_is_a_text(length, understood):
    long = "yes" + "!" * (length - 3)
    source = columns(verdict=[long, "no"], label=YES_NO)
    item = read_check_items(source, judge="verdict").items[0]
    assert item.verdicts["verdict"] is (True if understood else None)


@pytest.mark.parametrize(("largest", "kind"), [(2, "rating"), (1, "yes-no")])
def test_a_scale_begins_at_two(largest, kind):
    source = columns(verdict=list(range(largest + 1)), label=[0, 1])
    assert read_check_items(source).kind == kind


def test_numbers_outside_the_scale_are_not_compared_with_it():
    source = columns(verdict=[1, 5], label=[1, 2, 3])
    assert read_check_items(source).kind == "rating"
    both = columns(verdict=[0.2, 0.7], label=[1, 2, 3])
    assert "label holds numbers (1 to 3), verdict holds numbers (0.2 to 0.7)" in refused(both)
    outside = columns(verdict=[0, 1], label=[1, 2, 3])
    assert "label holds numbers (1 to 3), verdict holds '0', '1'" in refused(outside)


@pytest.mark.parametrize(("words", "rated"), [(3, True), (4, False)])
def test_verdicts_are_ratings_if_most_are_numbers(words, rated):
    """Of 8 verdicts 3 or 4 are words that are not understood; people rate from 1 to 3."""
    source = columns(verdict=[*["odd"] * words, *[2] * (8 - words)], label=[1, 2, 3])
    if rated:
        assert read_check_items(source).kind == "rating"
    else:
        assert "say which numbers count as yes" in refused(source)


@pytest.mark.parametrize(("words", "clear"), [(3, True), (4, False)])
def test_a_word_among_ratings_of_people_is_named_if_most_are_numbers(words, clear):
    source = columns(verdict=[1, 2, 3], label=[*["odd"] * words, *[2, 3, 1, 2, 3][: 8 - words]])
    assert ("found 'odd', expected a number (1 to 3)" in refused(source)) == clear


@pytest.mark.parametrize(("others", "clear"), [(10, True), (11, False)])
def test_at_most_ten_other_labels_count_as_no(others, clear):
    source = columns(60, verdict=YES_NO, label=["fine", *[f"w{n}" for n in range(others)]])
    if clear:
        items = read_check_items(source, yes=["fine", "yes"]).items
        assert sum(item.labels["label"] is True for item in items) == 6
    else:
        problem = refused(source, yes=["fine", "yes"])
        assert problem.startswith(
            "label: 11 other labels ('w0', 'w1', 'w2', 'w3', 'w4', 'w5', ...)"
        )


@pytest.mark.parametrize(("words", "more"), [(6, False), (7, True)])
def test_six_words_that_count_as_yes_are_named(words, more):
    fine = [f"w{n}" for n in range(words)]
    source = columns(60, verdict=["w0", "no"], label=[*fine, "no"])
    (note,) = (n for n in read_check_items(source, yes=fine).notes if "count" in n)
    assert note.endswith("; no counts as no")
    assert note.count("w") == 6
    assert (", ... count as yes" in note) is more


@pytest.mark.parametrize(("length", "understood"), [(30, True), (31, False)])
def test_a_single_other_verdict_counts_as_no_if_it_is_short(length, understood):
    source = columns(verdict=["fine", "x" * length], label=YES_NO)
    items = read_check_items(source, judge="verdict", yes=["fine", "yes"]).items
    assert items[1].verdicts["verdict"] is (False if understood else None)


def test_an_option_for_the_numbers_of_another_column_is_refused():
    """A bound that all shares of the judge are below; ones of a judge that says nothing else."""
    both = columns(verdict=[0.2, 0.7], label=[1, 2, 3, 4])
    assert refused(both, yes=">=3") == (
        "verdict: >=3 counts every number (0.2 to 0.7) as no: name the column of each option, such "
        'as --yes "verdict>=3"'
    )
    items = read_check_items(both, yes=["label>=3", "verdict>=0.5"]).items
    assert [items[0].verdicts["verdict"], items[1].verdicts["verdict"]] == [False, True]
    problem = refused(columns(verdict=[1], label=[1, 2, 3, 4, 5]), yes="4,5")
    assert problem.startswith("verdict: every number is 1, and --yes does not name it: add --yes")
    same = read_check_items(columns(verdict=[0, 1], label=[1, 2, 3, 4, 5]), yes="4,5").items
    assert [item.verdicts["verdict"] for item in same[:2]] == [False, True]


def test_the_example_names_the_upper_half_of_a_scale_at_most_three():
    examples = {3: "label=3", 4: "label=3,4", 5: "label=4,5", 7: "label=5,6,7", 9: "label=7,8,9"}
    for largest, example in examples.items():
        source = columns(20, verdict=YES_NO, label=list(range(1, largest + 1)))
        assert f'such as --yes "{example}"' in refused(source)
    assert 'such as --yes "label=5"' in refused(columns(verdict=YES_NO, label=[5]))


def test_three_reasons_of_unscored_verdicts_are_named():
    words = ["yes", "error: a", "error: b", "error: c", "error: d", ""]
    notes = read_check_items(columns(12, verdict=words, label=YES_NO)).notes
    reasons = (
        "2 empty; 2 'error: a', line 2; 2 'error: b', line 3; 2 'error: c', line 4; 2 for other"
    )
    assert f"verdict: 10 of 12 verdicts are unscored ({reasons} reasons)" in notes


@pytest.mark.parametrize(("large", "percent"), [(3, True), (2, False)])
def test_probabilities_are_percentages_if_most_are_above_one(large, percent):
    """Of 5 probabilities, 2 or 3 are 40; the median decides."""
    source = columns(5, verdict=YES_NO, label=YES_NO, p=[*[40] * large, *[1] * (5 - large)])
    if percent:
        items = read_check_items(source, probability="p")
        assert items.items[0].probabilities == {"verdict": 0.4}
        assert "verdict: probabilities are read as percentages" in items.notes
    else:
        assert "found 40, expected 0 to 1, or 0 to 100" in refused(source, probability="p")


# Where a file's table is -------------------------------------------------------------------------


def lines(path: Path, *rows: str) -> str:
    path.write_text("\n".join(rows) + "\n")
    return str(path)


TABLE = ["verdict,label", *["yes,yes", "no,no"] * 15]


@pytest.mark.parametrize(("above", "is_read"), [(19, True), (20, False)])
def test_the_header_is_among_the_first_twenty_rows(tmp_path, above, is_read):
    path = lines(tmp_path / "t.csv", *["a note"] * above, *TABLE)
    if is_read:
        assert judge_of(path) == "verdict"
    else:
        assert "found one column" in refused(path)


@pytest.mark.parametrize(("filled", "header"), [(2, "verdict"), (3, "one")])
def test_a_header_has_more_than_half_of_the_cells(tmp_path, filled, header):
    """Most rows have 4 cells: a first row of 2 is a note, one of 3 the header."""
    first = ["one", "two", "three"][:filled] + [""] * (4 - filled)
    path = lines(tmp_path / "t.csv", ",".join(first), "verdict,label,b,c", *["yes,no,x,y"] * 9)
    assert table.read_table_rows(path).columns[0] == header


def test_a_broken_row_of_many_cells_is_no_header(tmp_path):
    assert judge_of(lines(tmp_path / "t.csv", TABLE[0], "a,b,1,2,3,4", *TABLE[1:])) == "verdict"


@pytest.mark.parametrize(("broken", "is_read"), [(3, True), (4, False)])
def test_half_of_the_rows_below_a_note_are_as_wide_as_the_header(tmp_path, broken, is_read):
    body = ["verdict,label", "yes,no", "no,no", *["yes"] * broken]
    path = lines(tmp_path / "t.csv", "note", *body)
    if is_read:
        assert judge_of(path, judge="verdict") == "verdict"
    else:
        assert "found one column ('note')" in refused(path)


@pytest.mark.parametrize(("broken", "first"), [(3, "verdict"), (4, "yes;0")])
def test_a_header_in_the_first_row_decides_between_delimiters(tmp_path, broken, first):
    """Decimal commas are in every row but the first, semicolons in half of all rows, or less."""
    rows = ["verdict;score", *["yes;0,9"] * 2, *["0,9"] * broken]
    path = lines(tmp_path / "t.csv", *rows)
    assert table.read_table_rows(path).columns[0] == first


def test_the_delimiter_is_chosen_from_two_hundred_lines(tmp_path):
    """Commas are in 100 lines, semicolons in 101; of 199 or of 201 lines, they are in as many."""
    rows = ["a,b;c", *["1,2"] * 99, *["1;2"] * 100, *["1,2"] * 500]
    assert table.read_table_rows(lines(tmp_path / "t.csv", *rows)).columns[0] == "a,b"


def test_three_broken_rows_are_named(tmp_path):
    path = lines(tmp_path / "t.csv", *TABLE, *["yes"] * 3)
    faults = "; ".join(
        f"line {n}: found 1 column, expected 2 as in the header" for n in (32, 33, 34)
    )
    assert f"3 broken rows were skipped ({faults})" in read_check_items(path).notes
    path = lines(tmp_path / "t.csv", *TABLE, *["yes"] * 4)
    assert f"4 broken rows were skipped ({faults}; ...)" in read_check_items(path).notes


def test_a_table_that_is_too_large_is_refused(tmp_path, monkeypatch):
    path = lines(tmp_path / "t.csv", *TABLE)
    monkeypatch.setattr(table, "MAX_TABLE_BYTES", Path(path).stat().st_size)
    assert judge_of(path) == "verdict"
    monkeypatch.setattr(table, "MAX_TABLE_BYTES", Path(path).stat().st_size - 1)
    assert "is larger than" in refused(path)


def test_ids_are_unique_whatever_they_are():
    source = columns(5, id=["a", "a", "a (2)", "", "a"], verdict=YES_NO, label=YES_NO)
    items = read_check_items(source, judge="verdict", human="label", group="verdict")
    assert [item.id for item in items.items] == ["a", "a (3)", "a (2)", "4", "a (4)"]
    assert "id: 1 row has no id; the line counts as the id" in items.notes
    assert "id: 2 rows have an id that occurs before; it was numbered" in items.notes
    clash = read_check_items(columns(2, id=["2", ""], verdict=YES_NO, label=YES_NO))
    assert [item.id for item in clash.items] == ["2", "line 2"]
