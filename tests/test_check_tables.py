"""Tables as people have them, through `pnyx check`: headers, words, ids, result files of tools."""

from __future__ import annotations

import csv
import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from command import run
from pnyx.audit.checks.columns import read_check_items
from pnyx.core.errors import InputError

ANSWERS = [True, True, True, False, False, True, False, True, False, False, True, False]
LABELS = [True, True, True, True, False, True, False, False, False, False, True, False]


def write_csv(path: Path, header: str, rows: list[list[Any]], delimiter: str = ",") -> str:
    with path.open("w", newline="", encoding="utf-8-sig") as stream:
        writer = csv.writer(stream, delimiter=delimiter)
        writer.writerow(header.split(","))
        writer.writerows(rows)
    return str(path)


def word(answer: bool) -> str:
    return "pass" if answer else "fail"


def pairs() -> list[tuple[bool, bool]]:
    return list(zip(ANSWERS, LABELS, strict=True))


def notes(path: str, **options: Any) -> str:
    return "\n".join(read_check_items(path, **options).notes)


def test_a_german_table_needs_no_option(tmp_path, capsys):
    rows = [
        [f"Frage {n // 3}", "bestanden" if v else "nicht bestanden", "Ja" if la else "Nein", "0,9"]
        for n, (v, la) in enumerate(pairs())
    ]
    header = "Frage,Urteil Modell,Mensch,Wahrscheinlichkeit"
    assert run("check", write_csv(tmp_path / "t.csv", header, rows, ";")) == 0
    printed = capsys.readouterr().out
    assert 'Of 6 answers that people labelled "yes", the judge said "yes" to 5' in printed
    assert "4 groups" in printed
    assert "frages" not in printed


def test_an_example_of_yes_is_not_the_negative_word(tmp_path):
    rows = [[n, "unfein" if n % 3 else "fein", word(True)] for n in range(9)]
    table = write_csv(tmp_path / "t.csv", "id,verdict,label", rows)
    with pytest.raises(InputError, match="such as --yes 'fein'"):
        read_check_items(table)


@pytest.mark.parametrize("above", [0, 1, 3])
def test_notes_above_the_header_of_a_sheet_are_left_out(tmp_path, above):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in ([["Round 2", "spring"], ["Contact: Jo"], []])[:above]:
        book.active.append(row or [None])
    book.active.append(["Item", "Question", "Verdict", "Label", "Comment"])
    for number, (verdict, label) in enumerate(pairs()):
        book.active.append([number, f"q{number // 3}", word(verdict), word(label)])
    book.save(tmp_path / "t.xlsx")
    items = read_check_items(str(tmp_path / "t.xlsx"))
    assert (items.judges, items.people, items.group) == (("Verdict",), ("Label",), "Question")
    assert len(items.items) == 12
    assert items.items[0].line == above + 2
    assert any(f"header is in row {above + 1}" in note for note in items.notes) == (above > 0)


def test_a_narrow_sheet_begins_with_its_header(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [["verdict", "label"], *[[word(v), word(la)] for v, la in pairs()]]:
        book.active.append(row)
    path, packed = tmp_path / "t.xlsx", tmp_path / "t.xlsx.gz"
    book.save(path)
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert len(read_check_items(str(path)).items) == 12
    assert len(read_check_items(str(packed)).items) == 12


@pytest.mark.parametrize(("probability", "percent"), [(1, False), (1.01, True), (2, True)])
def test_probabilities_of_more_than_1_are_percentages(tmp_path, probability, percent):
    rows = [[n, word(v), word(la), probability] for n, (v, la) in enumerate(pairs())]
    table = write_csv(tmp_path / "t.csv", "id,verdict,label,probability", rows)
    items = read_check_items(table, probability="probability")
    assert any("read as percentages" in note for note in items.notes) is percent


def test_rows_of_one_id_are_one_group(tmp_path, capsys):
    rows = [[f"x{n // 3}", word(v), word(la)] for n, (v, la) in enumerate(pairs())]
    table = write_csv(tmp_path / "t.csv", "id,verdict,label", rows)
    items = read_check_items(table)
    assert items.group == "id"
    assert {item.group for item in items.items} == {"x0", "x1", "x2", "x3"}
    assert len({item.id for item in items.items}) == 12
    assert "12 rows have 4 different ids" in notes(table)
    assert "was numbered" not in notes(table)
    assert run("check", table) == 0
    assert "4 ids" in capsys.readouterr().out


def test_a_named_group_counts_before_repeated_ids(tmp_path):
    rows = [[f"x{n // 3}", f"q{n // 6}", word(v), word(la)] for n, (v, la) in enumerate(pairs())]
    table = write_csv(tmp_path / "t.csv", "id,question,verdict,label", rows)
    assert read_check_items(table).group == "question"
    assert "was numbered" in notes(table)
    assert read_check_items(table, group="id").group == "id"


def test_different_ids_are_no_groups(tmp_path):
    rows = [[n, word(v), word(la)] for n, (v, la) in enumerate(pairs())]
    assert read_check_items(write_csv(tmp_path / "t.csv", "id,verdict,label", rows)).group == ""


@pytest.mark.parametrize(
    ("confident", "unsure", "turned"), [(3, 0.5, True), (2, 0.5, False), (3, 0.4, False)]
)
def test_probabilities_of_the_verdict_are_turned(tmp_path, confident, unsure, turned):
    """Of 6 verdicts of no, some have more than 0.5; of all, none less, unless P(yes) is meant."""
    rows, no = [], 0
    for number, (verdict, label) in enumerate(pairs()):
        probability = 0.9
        if not verdict:
            no += 1
            probability = 0.9 if no <= confident else unsure
        rows.append([number, word(verdict), word(label), probability])
    table = write_csv(tmp_path / "t.csv", "id,verdict,label,confidence", rows)
    items = read_check_items(table, probability="confidence")
    first_no = items.items[3].probabilities["verdict"]
    assert first_no == pytest.approx(0.1 if turned else 0.9)
    assert items.items[0].probabilities["verdict"] == 0.9
    assert ("those of the verdict" in "".join(items.notes)) == turned


def test_an_ambiguous_table_says_what_to_type(tmp_path, capsys):
    rows = [["AB"[v], "AB"[la], "AB"[la]] for v, la in pairs()]
    rows += [["tie", "tie", "A"], ["tie", "A", "tie"], ["B", "tie", "tie"]]
    assert run("check", write_csv(tmp_path / "p.csv", "forward,backward,human", rows)) == 2
    error = capsys.readouterr().err
    assert "--a-first forward --b-first backward" in error
    rows = [[word(v), word(la), word(la)] for v, la in pairs()]
    assert run("check", write_csv(tmp_path / "t.csv", "gpt large,claude,gold", rows)) == 2
    error = capsys.readouterr().err
    assert "such as --verdict 'gpt large'" in error
    assert "--a-first" not in error


def test_a_judge_and_a_person_may_have_the_same_name():
    """Both tables have a column `label`: the verdicts are good or poor, the labels yes or no."""
    verdicts = [{"id": n, "label": "good" if v else "poor"} for n, v in enumerate(ANSWERS)]
    labels = [{"id": n, "label": "yes" if la else "no"} for n, la in enumerate(LABELS)]
    items = read_check_items(verdicts, judge="label", labels=labels, yes="good")
    assert [item.verdicts["label"] for item in items.items] == ANSWERS
    assert [item.labels["label"] for item in items.items] == LABELS
    blank = [{"id": n, "label": ""} for n in range(12)]
    with pytest.raises(InputError, match="label: no row has a verdict"):
        read_check_items(blank, judge="label", labels=labels)


def test_labels_without_an_id_are_not_joined():
    verdicts = [{"id": "a", "verdict": "yes"}, {"id": "", "verdict": "no"}]
    labels = [{"id": "a", "label": "yes"}, {"id": "", "label": "no"}]
    items = read_check_items(verdicts, labels=labels)
    assert [item.labels["label"] for item in items.items] == [True, None]
    assert "1 row has a label without an id, which is left out" in items.notes


def test_lists_of_verdicts_and_labels_are_of_one_length():
    verdicts, labels = ["yes", "no", "yes"], ["yes", "no"]
    with pytest.raises(InputError, match="found 3 answers and 2 labels, expected as many"):
        read_check_items(verdicts, labels=labels)
    items = read_check_items(verdicts, labels=[*labels, None]).items
    assert [item.labels["label"] for item in items] == [True, False, None]


def test_columns_of_verdicts_by_id_are_guessed_among_others():
    """Of columns in a dict by id, one is called `verdict`; without such a name, all are people."""
    rows = {f"a{n}": {"verdict": word(v), "question": f"q{n // 3}"} for n, v in enumerate(ANSWERS)}
    labels = {f"a{n}": {"jo": word(la), "al": "pass"} for n, la in enumerate(LABELS)}
    items = read_check_items(rows, labels=labels)
    assert (items.judges, items.people, items.group) == (("verdict",), ("jo", "al"), "question")


def test_truth_values_of_numpy_are_answers():
    numpy = pytest.importorskip("numpy")
    verdicts, labels = numpy.array(ANSWERS), numpy.array(LABELS)
    for source, second in ((verdicts, labels), (list(verdicts), list(labels))):
        items = read_check_items(source, labels=second).items
        assert [item.verdicts["verdict"] for item in items] == ANSWERS
        assert [item.labels["label"] for item in items] == LABELS


def test_a_series_of_polars_is_a_list_of_answers():
    polars = pytest.importorskip("polars")
    items = read_check_items(polars.Series(ANSWERS), labels=polars.Series(LABELS)).items
    assert [item.labels["label"] for item in items] == LABELS


def test_labels_may_have_another_column_of_ids(tmp_path):
    rows = [[n, 20 - n, word(v)] for n, v in enumerate(ANSWERS)]
    verdicts = write_csv(tmp_path / "v.csv", "item,index,verdict", rows)
    labels = [{"nr": n, "label": word(la)} for n, la in enumerate(LABELS)]
    items = read_check_items(verdicts, id="item", labels=labels)
    assert [item.labels["label"] for item in items.items] == LABELS
    note = "the table of labels has no column 'item': labels are joined by 'nr'"
    assert note in items.notes
    assert note not in read_check_items(verdicts, labels=labels).notes


def promptfoo(*, rated: int) -> dict[str, Any]:
    """Return results of promptfoo, in which a person's rating overrides the whole verdict."""
    results = []
    for number, (verdict, label) in enumerate(pairs()):
        parts = [{"pass": verdict, "assertion": {"type": "llm-rubric"}}]
        if number < rated:
            parts.append({"pass": label, "assertion": {"type": "human"}})
        whole = parts[-1]["pass"]
        row = {"testIdx": number, "promptIdx": 0, "vars": {"topic": f"t{number}"}, "success": whole}
        grading = {"pass": whole, "componentResults": parts}
        results.append(row | {"response": {"output": "o"}, "gradingResult": grading})
    return {"evalId": "e", "results": {"version": 3, "results": results}, "config": {}}


def test_promptfoo_compares_the_model_with_the_person(tmp_path, capsys):
    path = tmp_path / "results.json"
    path.write_text(json.dumps(promptfoo(rated=10)))
    items = read_check_items(str(path))
    assert (items.judges, items.people) == (("passed",), ("human",))
    assert [item.verdicts["passed"] for item in items.items] == ANSWERS
    assert [item.labels["human"] for item in items.items] == [*LABELS[:10], None, None]
    assert run("check", str(path)) == 0
    printed = capsys.readouterr().out
    assert "read as results of promptfoo" in printed
    assert "judge: column passed; people: column human" in printed
    assert "2 answers have no label" in printed


def test_a_promptfoo_assertion_is_named_by_its_metric_or_its_type(tmp_path):
    content = promptfoo(rated=0)
    for row in content["results"]["results"]:
        row["gradingResult"]["componentResults"] += [
            {"pass": True, "assertion": {"type": "llm-rubric", "metric": "tone"}},
            {"pass": True, "assertion": {"type": "contains"}},
            {"pass": True, "assertion": {}},
        ]
    path = tmp_path / "results.json"
    path.write_text(json.dumps(content))
    first = read_check_items(str(path), judge="tone", human="llm-rubric").items[0]
    assert (first.verdicts["tone"], first.labels["llm-rubric"]) == (True, ANSWERS[0])
    for name in ("contains", "assertion"):
        items = read_check_items(str(path), judge=name, human="tone").items
        assert items[0].verdicts[name] is True


def test_promptfoo_verdicts_of_tests_with_a_threshold(tmp_path):
    """One of two parts fails and the whole passes; a person's rating replaces the whole."""
    results = promptfoo(rated=2)["results"]["results"]
    for row in results:
        row["testCase"] = {"threshold": 0.5, "metadata": {"human": "pass"}}
        row["gradingResult"]["componentResults"] += [
            {"pass": True, "assertion": {"type": "a"}},
            {"pass": False, "assertion": {"type": "b"}},
        ]
    for row in results[2:]:
        row["gradingResult"]["pass"] = True
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"results": results}))
    items = read_check_items(str(path), judge="passed").items
    assert [item.verdicts["passed"] for item in items] == [None] * 2 + [True] * 10
    assert "replaced the verdict of a test with a threshold" in items[0].unscored["passed"]


def test_a_promptfoo_assertion_without_a_result_leaves_the_test_unscored(tmp_path):
    content = promptfoo(rated=12)
    first = content["results"]["results"][0]["gradingResult"]["componentResults"]
    first.append({"assertion": {"type": "contains"}})
    (tmp_path / "results.json").write_text(json.dumps(content))
    items = read_check_items(str(tmp_path / "results.json"), judge="passed").items
    assert [item.verdicts["passed"] for item in items] == [None, *ANSWERS[1:]]


def test_members_of_a_promptfoo_assertion_set_do_not_count_on_their_own(tmp_path):
    """The set passes with one of its two members, as its threshold allows."""
    results = promptfoo(rated=12)["results"]["results"]
    members = [
        {"pass": True, "assertion": {"type": "a"}},
        {"pass": False, "assertion": {"type": "b"}},
    ]
    for row in results:
        verdict, rating = row["gradingResult"]["componentResults"]
        whole = {"pass": True, "assertion": {"type": "set"}, "componentResults": members}
        row["gradingResult"]["componentResults"] = [whole, *members, verdict, rating]
    (tmp_path / "results.json").write_text(json.dumps({"results": results}))
    items = read_check_items(str(tmp_path / "results.json"), judge="passed").items
    assert [item.verdicts["passed"] for item in items] == ANSWERS


def test_a_file_without_labels_says_how_to_get_them(tmp_path, capsys):
    path = tmp_path / "results.json"
    path.write_text(json.dumps(promptfoo(rated=0)))
    assert run("check", str(path)) == 2
    assert "promptfoo view" in capsys.readouterr().err
    labels = [[str(n + 1), word(label)] for n, label in enumerate(LABELS)]
    second = write_csv(tmp_path / "labels.csv", "id,label", labels)
    assert run("check", str(path), "--verdict", "passed", "--labels", second) == 0


def sample(number: int, verdict: bool, label: bool) -> dict[str, Any]:
    history = [{"value": "CI"[not verdict]}]
    if label is not verdict:
        edit = {"value": "CI"[not label], "provenance": {"author": "jo"}}
        history.append(edit)
    score = {"value": "CI"[not label], "history": history if len(history) > 1 else []}
    answer = {"id": f"s{number}", "epoch": 1, "input": "i", "output": {"completion": "c"}}
    return answer | {"scores": {"model_graded_qa": score}, "metadata": {"human_label": word(label)}}


@pytest.mark.parametrize("packed", [False, True])
def test_logs_of_inspect_are_read(tmp_path, packed):
    samples = [sample(n, v, la) for n, (v, la) in enumerate(pairs())]
    path = tmp_path / ("log.eval" if packed else "log.json")
    if packed:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("header.json", "{}")
            for number, content in enumerate(samples):
                archive.writestr(f"samples/{number:02d}_epoch_1.json", json.dumps(content))
    else:
        path.write_text(json.dumps({"version": 2, "eval": {"task": "t"}, "samples": samples}))
    items = read_check_items(str(path), judge="model_graded_qa", human="human")
    assert [item.verdicts["model_graded_qa"] for item in items.items] == ANSWERS
    assert [item.labels["human"] for item in items.items] == LABELS


def test_a_log_of_inspect_with_an_odd_history_is_read(tmp_path):
    samples = [sample(n, v, la) for n, (v, la) in enumerate(pairs())]
    samples[0]["scores"]["model_graded_qa"]["history"] = True
    (tmp_path / "log.json").write_text(json.dumps({"samples": samples}))
    items = read_check_items(str(tmp_path / "log.json"), judge="model_graded_qa", human="human")
    assert items.items[0].verdicts["model_graded_qa"] is True


def test_edits_of_scores_in_inspect_are_labels_only_of_values(tmp_path):
    """A person changed the value of s0, only the explanation of s1, and added the score of s2."""
    author = {"provenance": {"author": "jo"}}
    histories = [
        [{"value": "C"}, {"value": "I", **author}],
        [{"value": "C"}, {"value": "UNCHANGED", "explanation": "e", **author}],
        [{"value": "C", **author}],
    ]
    samples = [sample(number, True, True) for number in range(3)]
    for log, history in zip(samples, histories, strict=True):
        log["scores"]["model_graded_qa"] = {"value": history[0]["value"], "history": history}
        log["metadata"] = {}
    (tmp_path / "log.json").write_text(json.dumps({"samples": samples}))
    items = read_check_items(str(tmp_path / "log.json"))
    assert [item.verdicts["model_graded_qa"] for item in items.items] == [True, True, None]
    assert [item.labels["human model_graded_qa"] for item in items.items] == [False, None, True]


def test_labels_in_the_metadata_of_inspect_are_of_different_people(tmp_path):
    samples = [sample(n, v, v) for n, v in enumerate(ANSWERS)]
    for log, label in zip(samples, LABELS, strict=True):
        log["metadata"] = {"human_label": word(label), "reviewer": "pass"}
    (tmp_path / "log.json").write_text(json.dumps({"samples": samples}))
    items = read_check_items(str(tmp_path / "log.json"))
    assert items.people == ("human (human_label)", "human (reviewer)")
    assert [item.labels["human (human_label)"] for item in items.items] == LABELS
    assert {item.labels["human (reviewer)"] for item in items.items} == {True}


def test_several_labelled_metrics_must_be_chosen(tmp_path, capsys):
    cases = []
    for number, (verdict, label) in enumerate(pairs()):
        results = {
            side: [
                {"from_name": name, "value": {"choices": [word(answer)]}}
                for name in ("tone", "facts")
            ]
            for side, answer in (("annotations", label), ("predictions", verdict))
        }
        case = {"id": number, "data": {"text": "t"}}
        case["annotations"] = [{"completed_by": 7, "result": results["annotations"]}]
        case["predictions"] = [{"model_version": "m", "result": results["predictions"]}]
        cases.append(case)
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(cases))
    assert run("check", str(path)) == 2
    error = capsys.readouterr().err
    assert "people labelled several things (tone, facts)" in error
    assert "--verdict tone" in error
    items = read_check_items(str(path), judge="facts")
    assert items.people == ("human facts",)
