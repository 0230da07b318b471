"""`pnyx check --a-first --b-first`: agreement, flips and first-slot share, counted by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command import called, refuser, write_rows

BOTH = "--a-first", "forward", "--b-first", "backward"
refused = refuser("check")


def pairs(tmp_path: Path, *kinds: tuple[int, str, str, str], group: int = 0) -> str:
    """Write so many rows of each kind: (count, verdict A first, verdict B first, people)."""
    path = tmp_path / "pairs.csv"
    lines = ["forward,backward,human" + ",question" * bool(group)]
    for count, *cells in kinds:
        lines += [",".join(cells)] * count
    rows = [f"{line},q{n % group}" if group else line for n, line in enumerate(lines[1:])]
    path.write_text("\n".join([lines[0], *rows]) + "\n")
    return str(path)


EXAMPLE = (
    (12, "A", "A", "A"),  # both orders right
    (9, "B", "B", "B"),
    (3, "A", "A", "B"),  # both orders wrong
    (8, "A", "B", "A"),  # the text shown first, both times
    (2, "B", "A", "A"),  # the text shown second
    (4, "A", "tie", "A"),  # a tie in one order
    (2, "tie", "tie", "tie"),
)
"""40 pairs: the orders agree on 26 and flip on 14, of which 8 favour the first text, 2 the second.

The first text wins 26 of 40 half-showings by agreement (13), 8 + 0 of flips, 4 of 0.75: 0.5 * 26 +
8 + 4 * 0.75 = 24 of 40. Flips are ties and people's are not: combined, 12 + 9 + 2 = 23 are right.
"""


def test_flips_and_the_first_slot_are_counted(capsys, tmp_path):
    path = pairs(tmp_path, *EXAMPLE)
    status, out, _ = called(capsys, "check", path, *BOTH, "--human", "human", "--json")
    result = json.loads(out)
    assert status == 0
    counts = "pairs both_orders agree reversed first_both second_both labels tied_labels unscored"
    assert [result[name] for name in counts.split()] == [40, 40, 26, 10, 8, 2, 40, 0, 0]
    values = {name: result[name]["value"] for name in
              ("flips", "first_slot", "combined", "a_first", "b_first", "settled")}  # fmt: skip
    assert values == pytest.approx(
        {
            "flips": 14 / 40,
            "first_slot": 24 / 40,
            "combined": 23 / 40,
            "a_first": (12 + 9 + 8 + 4 + 2) / 40,
            "b_first": (12 + 9 + 2 + 2) / 40,
            "settled": 21 / 24,
        }
    )


def test_the_words_say_the_same(capsys, tmp_path):
    path = pairs(tmp_path, *EXAMPLE)
    words = " ".join(called(capsys, "check", path, *BOTH, "--human", "human")[1].split())
    assert words.startswith("The two orders agree on 26 of 40 pairs; 14 flip (35 %, 95 % interval ")
    assert (
        "Of these, 8 favour the text shown first both times, 2 favour the text shown second and 4 "
        "are a tie in one order only." in words
    )
    assert "The text shown first wins 60 % of the time (" in words
    assert "agrees with people on 23 of 40 pairs (57 %, " in words
    assert "; 88 % with A shown first, 62 % with B shown first." in words
    assert "it is people's choice on 21 of 24 pairs (88 %, " in words


@pytest.mark.parametrize(
    ("kinds", "sentence"),
    [
        ([(20, "A", "B", "A"), (20, "A", "A", "A")], "the judge favours the text shown first."),
        ([(20, "B", "A", "A"), (20, "A", "A", "A")], "the judge favours the text shown second."),
        ([(5, "A", "B", "A"), (5, "B", "A", "A"), (20, "A", "A", "A")],
         "no position bias is shown, as the interval includes 50 %."),
        ([(1, "A", "B", "A")], "there are too few pairs or groups for an interval."),
    ],
)  # fmt: skip
def test_position_bias_is_shown_where_the_interval_excludes_half(capsys, tmp_path, kinds, sentence):
    path = pairs(tmp_path, *kinds)
    assert sentence in " ".join(called(capsys, "check", path, *BOTH)[1].split())


def test_pairs_of_a_question_count_together(capsys, tmp_path):
    kinds = (40, "A", "B", "A"), (40, "A", "A", "A")
    alone = json.loads(called(capsys, "check", pairs(tmp_path, *kinds), *BOTH, "--json")[1])
    path = pairs(tmp_path, *kinds, group=4)
    grouped = json.loads(called(capsys, "check", path, *BOTH, "--group", "question", "--json")[1])
    assert (alone["interval"]["clusters"], grouped["interval"]["clusters"]) == (80, 4)
    assert alone["flips"]["value"] == grouped["flips"]["value"] == 0.5


def test_a_group_called_0_is_a_group_and_a_blank_id_is_not_an_id(capsys, tmp_path):
    table = [
        {"forward": "A", "backward": "A", "question": n % 4, "id": None if n % 2 else "  "}
        for n in range(40)
    ]
    path = write_rows(tmp_path / "pairs.jsonl", table)
    grouped = json.loads(called(capsys, "check", path, *BOTH, "--group", "question", "--json")[1])
    assert grouped["interval"]["clusters"] == 4
    alone = json.loads(called(capsys, "check", path, *BOTH, "--id-column", "id", "--json")[1])
    assert alone["interval"]["clusters"] == 40


def test_cells_by_position_are_turned(capsys, tmp_path):
    """A judge that says 1 both times chose A, then B: by texts 1 is A both times."""
    path = pairs(tmp_path, (30, "1", "1", "A"), (10, "1", "2", "A"))
    _, out, err = called(capsys, "check", path, *BOTH, "--json")
    assert json.loads(out)["agree"] == 30
    by_position = json.loads(called(capsys, "check", path, *BOTH, "--by-position", "--json")[1])
    assert (by_position["agree"], by_position["first_both"]) == (10, 30)
    path = pairs(tmp_path, (21, "1", "2", "A"), (19, "1", "1", "A"))
    _, _, err = called(capsys, "check", path, *BOTH)
    assert "21 of 40 verdicts flip with the order" in " ".join(err.split())
    path = pairs(tmp_path, (20, "1", "2", "A"), (20, "1", "1", "A"))
    assert "flip with the order" not in called(capsys, "check", path, *BOTH)[2]


def test_cells_may_name_the_models_of_their_row(capsys, tmp_path):
    path = tmp_path / "pairs.csv"
    rows = ["gpt,llama,gpt,GPT,gpt"] * 3 + ["llama,gpt,gpt,llama,gpt"]
    path.write_text("\n".join(["model_a,model_b,forward,backward,human", *rows]) + "\n")
    _, out, _ = called(capsys, "check", path, *BOTH, "--human", "human", "--json")
    result = json.loads(out)
    assert (result["agree"], result["second_both"], result["combined"]["value"]) == (3, 1, 0.75)
    path.write_text("\n".join(["model_a,model_b,forward,backward", "gpt,llama,gpt,claude"]) + "\n")
    assert "a model that the columns model_a and model_b name" in refused(capsys, path, *BOTH)
    path.write_text("\n".join(["model_a,model_b,forward,backward", "gpt,gpt,gpt,gpt"]) + "\n")
    assert "forward: found 'gpt', expected A, B or tie" in refused(capsys, path, *BOTH)


def test_an_empty_cell_is_unscored_and_no_tie(capsys, tmp_path):
    path = pairs(tmp_path, (9, "A", "A", "A"), (1, "", "A", "A"))
    status, out, _ = called(capsys, "check", path, *BOTH, "--human", "human", "--json")
    result = json.loads(out)
    assert (status, result["unscored"], result["both_orders"]) == (3, 1, 9)
    assert (result["combined"]["scored"], result["combined"]["asked"]) == (9, 10)
    assert (result["b_first"]["scored"], result["a_first"]["scored"]) == (10, 9)


def test_out_writes_what_json_prints(capsys, tmp_path):
    path, out_file = pairs(tmp_path, *EXAMPLE), tmp_path / "pairs.json"
    status, out, _ = called(capsys, "check", path, *BOTH, "--out", str(out_file))
    assert (status, out.startswith("The two orders agree")) == (0, True)
    printed = called(capsys, "check", path, *BOTH, "--json")[1]
    assert json.loads(out_file.read_text()) == json.loads(printed)
    _, alone, _ = called(capsys, "check", path, *BOTH, "--out", "-")
    assert json.loads(alone) == json.loads(printed)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--a-first", "ahead", "--b-first", "backward"], "no column is called 'ahead'"),
        ([*BOTH, "--human", "people"], "no column is called 'people'"),
        ([*BOTH, "--bar", "kappa=0.6"], "--bar has no effect with --a-first"),
        ([*BOTH, "--html", "x.html"], "--html has no effect with --a-first"),
        (["--a-first", "human", "--b-first", "backward"], "expected A, B or tie"),
    ],
)
def test_pairs_that_cannot_be_read_are_one_line(
    capsys: Any, tmp_path: Path, options: list[str], problem: str
) -> None:
    assert problem in refused(capsys, pairs(tmp_path, (4, "A", "A", "good")), *options)
