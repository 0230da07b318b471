"""Limits of what judges read and write: the last value inside and the first beyond."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

import pnyx
from pnyx.core.errors import InputError
from pnyx.judging.calibration.curves import (
    Platt,
    Temperature,
    best_f1_threshold,
    curve_from,
    fit,
    folds_of,
    log_odds,
    logistic,
)
from pnyx.judging.calibration.recalibration import read_calibration
from pnyx.judging.calibration.selective import choose_thresholds, error_bound
from pnyx.judging.dimensions.own import read_own
from pnyx.judging.llm.prompts import Prompt, parse_prompt, prompt_bytes
from pnyx.judging.llm.templates import TemplateFault, check_template, rendered
from pnyx.judging.passages import pieces_of, read_passage, wording
from pnyx.judging.questions import Support
from pnyx.judging.students.rules import RuleJudge

# --- passages


@pytest.mark.parametrize(("count", "read"), [(200, 200), (201, 200)])
def test_two_hundred_sentences_of_a_text_are_read(count, read):
    text = " ".join(f"Parks in town {n} are closed." for n in range(count))
    assert len(read_passage(text).sentences) == read


def test_a_window_has_up_to_three_sentences():
    sentences = "Fares rose. Riders left. Towns paid. Buses stopped."
    windows = read_passage(sentences).windows
    assert len(windows) == 4 + 3 + 2
    assert "Fares rose. Riders left. Towns paid." in windows
    assert sentences not in windows


@pytest.mark.parametrize(("length", "pieces"), [(1200, [1200]), (1201, [1200, 1])])
def test_a_sentence_is_cut_after_1200_characters(length, pieces):
    assert [len(sentence) for sentence in read_passage("a" * length).sentences] == pieces


@pytest.mark.parametrize(("words", "pieces"), [(128, [128]), (129, [100, 29])])
def test_a_text_of_more_than_128_words_is_read_in_pieces_of_100(words, pieces):
    text = " ".join(["word"] * words)
    assert [len(piece.split()) for piece in pieces_of(text)] == pieces


@pytest.mark.parametrize(("words", "read"), [(4000, 40), (4001, 40), (3901, 40), (3900, 39)])
def test_forty_pieces_of_a_text_are_read(words, read):
    assert len(pieces_of(" ".join(["word"] * words))) == read


@pytest.mark.parametrize(
    ("statement", "copy", "overlap"),
    [
        ("a b c d e", 1.0, 1.0),
        ("a b c d x", 0.5, 0.8),  # (0.8 - 0.6) / 0.4
        ("a b c x y", 0.0, 0.6),
        ("a b c", 0.75, 1.0),  # three words of the four that count in full
        ("a b c d", 1.0, 1.0),
    ],
)
def test_how_far_a_statement_copies_a_passage(statement, copy, overlap):
    compared = wording(statement, read_passage("A b c d e f g h."))
    assert (compared.copy, compared.overlap) == pytest.approx((copy, overlap))


def test_the_first_400_words_of_a_statement_are_compared():
    passage = read_passage("word.")
    statement = " ".join(["word"] + ["other"] * 399)
    assert wording(statement, passage).overlap == 1 / 400
    assert wording(f"{statement} other", passage).overlap == 1 / 400
    assert wording(f"{statement.removesuffix(' other')}", passage).overlap == 1 / 399


# --- calibration


def test_probabilities_are_clipped_at_half_of_the_sixth_decimal():
    """ln(5e-7 / (1 - 5e-7)) = -14.5086572; ln(1e-6 / (1 - 1e-6)) = -13.8155096."""
    assert log_odds([0.0, 1e-7, 5e-7, 1e-6]) == pytest.approx(
        [-14.5086572, -14.5086572, -14.5086572, -13.8155096], abs=1e-7
    )
    assert log_odds([1.0]) == pytest.approx([14.5086572], abs=1e-7)


def test_calibrated_probabilities_have_twelve_decimals():
    """1 / (1 + e^27) is 1.8795e-12, and 1 / (1 + e^2) is 0.1192029220221176."""
    assert logistic(log_odds([0.5]) - 27).tolist() == [2e-12]
    assert logistic(log_odds([0.5]) - 2).tolist() == [0.119202922022]


def test_temperatures_are_from_a_hundredth_to_a_hundred():
    perfect = fit("temperature", [0.4, 0.6], [False, True])
    useless = fit("temperature", [0.4, 0.6], [True, False])
    assert dataclasses.asdict(perfect) == {"temperature": pytest.approx(0.01)}
    assert useless == Temperature(100.0)
    for beyond in (0.0099, 100.1):
        with pytest.raises(ValueError, match=r"expected 0\.01 to 100"):
            Temperature(beyond)


def calibration(path: Path, **changes: Any) -> str:
    """Write a calibration file as version 1 has it, with changes."""
    row = {
        "format": "pnyx-calibration", "format_version": 1, "judge": "j", "task": "support",
        "source": "", "prompts": [], "sure": None, "about": {},
        "method": "temperature", "parameters": {"temperature": 2.0}, "threshold": 0.5,
    }  # fmt: skip
    path.write_text(json.dumps(row | changes) + "\n")
    return str(path)


@pytest.mark.parametrize(("slope", "intercept"), [(1e6, 0), (0, 1e6), (0, -1e6)])
def test_a_platt_curve_has_numbers_of_at_most_a_million(slope, intercept):
    curve = curve_from("platt", {"slope": slope, "intercept": intercept})
    assert curve == Platt(slope, intercept)
    with pytest.raises(InputError, match="of more than 1e6"):
        curve_from("platt", {"slope": slope * 1.001, "intercept": intercept * 1.001})


def test_only_version_1_of_a_calibration_file_is_read(tmp_path):
    assert read_calibration(calibration(tmp_path / "c.json")).judge == "j"
    with pytest.raises(InputError, match="format_version: found 2, this Pnyx reads 1"):
        read_calibration(calibration(tmp_path / "c.json", format_version=2))


def test_a_calibration_file_has_at_most_16_mib(tmp_path):
    path = Path(calibration(tmp_path / "c.json"))
    text = path.read_text().rstrip()
    blanks = "\n".join([" " * (1 << 20)] * 16)[: 16 * (1 << 20) + 15 - len(text)]
    path.write_text(f"{text}\n{blanks}")  # the line breaks do not count
    assert read_calibration(path).judge == "j"
    path.write_text(f"{text}\n {blanks}")
    with pytest.raises(InputError, match="too large for a calibration"):
        read_calibration(path)


@pytest.mark.parametrize(("answers", "kept"), [(71, 0), (72, 72)])
def test_the_first_region_has_the_answers_that_half_of_the_level_needs(answers, kept):
    """0.95^72 = 0.0249 is at most 0.05 / 2, and 0.95^71 = 0.0262 is not."""
    chosen = choose_thresholds([0.1] * answers, [False] * answers, 0.05)
    assert chosen.no.kept == kept


@pytest.mark.parametrize(("right", "kept", "wrong"), [(300, 284, 0), (500, 503, 3)])
def test_regions_grow_in_23_equal_steps(right, kept, wrong):
    """Of 1,000 answers, regions have 72, 81 ... 253, 284, 319 ... 449, 503, 564 ... and 1,000."""
    probabilities = [n / 4000 for n in range(1, 1001)]
    chosen = choose_thresholds(probabilities, [n >= right for n in range(1000)], 0.05)
    assert (chosen.low, chosen.no.kept, chosen.no.errors) == (kept / 4000, kept, wrong)


def test_answers_of_a_topic_that_are_wrong_together_count_as_fewer():
    """Of 50 topics with two answers each, both of one are wrong: the share is 0.02.

    The residuals are 1.96 once and -0.04 for 49 topics: squares sum to 3.92. The design effect is
    50 / 49 * 3.92 / 100 / (0.02 * 0.98) = 2.04: 100 answers count as 49, and 2 errors as 1.
    """
    labels = [n < 2 for n in range(100)]
    groups = [n // 2 for n in range(100)]
    chosen = choose_thresholds([0.1] * 100, labels, 0.2, groups)
    assert (chosen.no.kept, chosen.no.errors) == (100, 2)
    assert chosen.no.design_effect == pytest.approx(50 / 49 * 0.0392 / 0.0196)
    assert chosen.no.bound == pytest.approx(error_bound(1, 49))
    alone = choose_thresholds([0.1] * 100, labels, 0.2, range(100))
    assert alone.no.design_effect == pytest.approx(100 / 99)
    ungrouped = choose_thresholds([0.1] * 100, labels, 0.2)
    assert ungrouped.no.bound == pytest.approx(error_bound(2, 100))


@pytest.mark.parametrize(
    ("probabilities", "labels", "threshold"),
    [
        ([0.2, 0.4], [False, True], 0.3),  # between both
        ([0.4], [True], 0.4),
        ([0.2, 0.4, 0.6], [False, False, True], 0.5),
        ([0.2, 0.4, 0.6], [True, False, False], 0.2),  # 1/2 from the lowest, else 0
        ([0.1, 0.2, 0.3, 0.4], [True, False, True, True], 0.1),  # 6/7; from 0.3 on only 4/5
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [True, False, False, True, False, True], 0.35),
    ],
)
def test_the_threshold_has_the_best_f1_and_is_the_highest_of_equals(
    probabilities, labels, threshold
):
    """Last row: 2 of 3 with 1 wrong is F1 4/6, and all three with 3 wrong is 6/9."""
    assert best_f1_threshold(probabilities, labels) == pytest.approx(threshold)


@pytest.mark.parametrize(
    ("groups", "folds"),
    [("aabbc", 3), ("abcdefg", 5), ("a", 1)],
)
def test_there_are_at_most_five_folds_of_whole_groups(groups, folds):
    numbers = folds_of(groups)
    assert len(set(numbers)) == folds
    assert len(set(zip(groups, numbers, strict=True))) == len(set(groups))


# --- dimensions of a file


def dimensions(path: Path, low: int, high: int) -> Path:
    path.write_text(
        f'name = "n"\n[scale]\nlow = {low}\nhigh = {high}\n[dimensions.wit]\ndefinition = "It."\n'
    )
    return path


@pytest.mark.parametrize(
    ("low", "high", "described", "levels"),
    [
        (1, 10, "1, 2, 3, 4, 5, 6, 7, 8, 9 or 10", 10),
        (1, 11, "a whole number from 1 to 11", 2),
        (-50, 50, "a whole number from -50 to 50", 2),
        (0, 1, "0 or 1", 2),
    ],
)
def test_a_scale_of_up_to_ten_values_is_listed(tmp_path, low, high, described, levels):
    scale = read_own(str(dimensions(tmp_path / "d.toml", low, high))).scale
    assert (scale.values_in_words, len(scale.levels)) == (described, levels)


@pytest.mark.parametrize(("low", "high"), [(0, 101), (1, 1), (-50, 51)])
def test_a_scale_has_two_to_101_values(tmp_path, low, high):
    path = dimensions(tmp_path / "d.toml", low, high)
    with pytest.raises(InputError, match=f"expected more than low, which is {low}, by at most 100"):
        read_own(str(path))


# --- prompts and templates

BASE = prompt_bytes("support").decode()


@pytest.mark.parametrize(
    ("field", "inside", "beyond"),
    [
        ("version", (0, 2147483647), (-1, 2147483648)),
        ("max_tokens", (1, 1000000), (0, 1000001)),
        ("per_item_tokens", (0, 1000000), (-1, 1000001)),
    ],
)
def test_the_range_of_a_number_of_a_prompt(field, inside, beyond):
    lines = [line for line in BASE.splitlines() if not line.startswith(f"{field} = ")]

    def read(value: int) -> Prompt:
        content = "\n".join([lines[0], f"{field} = {value}", *lines[1:]])
        return parse_prompt(content.encode(), path="p.toml")

    assert [getattr(read(value), field) for value in inside] == list(inside)
    for value in beyond:
        with pytest.raises(InputError, match=f"'{field}': found {value}, expected"):
            read(value)


def test_a_prompt_file_has_at_most_256_kib(tmp_path):
    path = tmp_path / "p.toml"
    longest = BASE.encode() + b"#" * (256 * 1024 - len(BASE.encode()))
    path.write_bytes(longest)
    assert prompt_bytes(str(path)) == longest
    path.write_bytes(longest + b"#")
    with pytest.raises(InputError, match="is longer than 256 KB"):
        prompt_bytes(str(path))


@pytest.mark.parametrize(("more", "allowed"), [("", True), ("x", False)])
def test_a_prompt_becomes_at_most_64_mib_long(more, allowed):
    source = "{% for x in many %}{{ text }}{% endfor %}{{ end }}"
    inputs = {"many": ["x"] * 64, "text": "a" * 1024 * 1024, "end": more}
    if allowed:
        assert len(rendered(source, inputs)) == 67_108_864
    else:
        with pytest.raises(TemplateFault, match="becomes longer than 67,108,864 characters"):
            rendered(source, inputs)


@pytest.mark.parametrize(("ifs", "allowed"), [(28, True), (29, False)])
def test_how_deep_a_template_is_nested(ifs, allowed):
    source = "{% if text %}" * ifs + "{{ text }}" + "{% endif %}" * ifs
    if allowed:
        check_template(source, ["text"])
    else:
        with pytest.raises(TemplateFault, match="nested too deep"):
            check_template(source, ["text"])


# --- answers


@pytest.mark.parametrize(("length", "seen"), [(2000, True), (2001, False)])
def test_rules_read_2000_characters_of_a_sentence(length, seen):
    end = " the reason is unknown"
    statement = "a" * (length - len(end)) + end
    (verdict,) = pnyx.ask(RuleJudge(), [Support("1", statement, statement, task="negative")])
    assert getattr(verdict, "value", None) is seen


def test_ten_answers_are_printed():
    rows = [Support(f"id{n}", f"Fares fell in {n}.", "Fares fell.") for n in range(11)]
    lines = repr(pnyx.ask(RuleJudge(), rows)).splitlines()
    assert [line.split()[0] for line in lines if line.startswith("id")] == [
        "id", *(f"id{n}" for n in range(10))
    ]  # fmt: skip
