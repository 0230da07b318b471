"""Sentences that say again what another one says: the rule, and what they count in measures."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command import write_rows
from pnyx.core.errors import InputError
from pnyx.formats import read_responses
from pnyx.formats.reports.judged_report import (
    JudgedCitation,
    JudgedReport,
    JudgedSentence,
    NodeAnswer,
    TreePath,
    report_of_row,
)
from pnyx.formats.text.lookalikes import name_shape, undisguised
from pnyx.reports import measure_report, measure_reports, read_judged_reports
from pnyx.reports.measures.registry import MAIN
from pnyx.reports.tree.repetition import repeated_sentences
from pnyx.stats import Bootstrap

FARES = "Halden halved its bus fares in May."


@pytest.mark.parametrize(
    "again",
    [
        FARES,
        "HALDEN HALVED ITS BUS FARES IN MAY",
        "Halden halved its bus fares -- in May!",
        "In May, Halden halved its bus fares.",
        "Indeed, it is well known that Halden halved its bus fares in May, as experts have noted.",
        "Hаldеn hаlvеd its bus fаrеs in Mаy.",  # Cyrillic letters
        "Hal\u200bden hal\u00adved its b\u2060us fares in May.",
        "Háldén hålved its büs fares in Mäy.",
        "\u202eHalden\u202c halved its bus fares in May.",
        "Halden halved its bus fares in \U0001d40c\U0001d41a\U0001d432.",
    ],
)
def test_a_disguised_or_padded_copy_is_a_repetition(again):
    assert repeated_sentences([FARES, again]).count(None) == 1
    assert repeated_sentences([again, FARES]).count(None) == 1


@pytest.mark.parametrize(
    "other",
    [
        "Ridership rose by a third by autumn.",
        "Halden doubled its tram fares in May.",
        "Oslo halved its rail fares in May.",
        "",
        "!!!",
    ],
)
def test_another_statement_is_no_repetition(other):
    assert repeated_sentences([FARES, other]) == [None, None]


def words(count: int, first: int = 0) -> str:
    return " ".join(f"word{n}" for n in range(first, first + count))


@pytest.mark.parametrize(
    ("count", "changed", "repeats"),
    [
        (20, 3, True),  # 17 of 20 are 85 %
        (20, 4, False),
        (7, 1, True),  # 6 of 7 are 86 %
        (6, 1, False),  # 5 of 6 are 83 %
        (1, 0, True),
        (1, 1, False),
    ],
)
def test_the_share_of_words_at_its_boundary(count, changed, repeats):
    other = f"{words(count - changed)} {words(changed, first=1000)}"
    assert repeated_sentences([words(count), other]) == [None, 0 if repeats else None]
    longer = f"{other} {words(30, first=2000)}"
    assert repeated_sentences([words(count), longer]) == [1 if repeats else None, None]
    assert repeated_sentences([longer, words(count)]) == [None, 0 if repeats else None]


def test_fragments_of_a_sentence_repeat_it_and_it_repeats_none_of_them():
    fragments = ["Halden.", "Bus fares.", "In May.", "Halden halved."]
    assert repeated_sentences([*fragments, FARES]) == [4, 4, 4, 4, None]
    assert repeated_sentences([FARES, *fragments]) == [None, 0, 0, 0, 0]
    assert repeated_sentences(["It is.", "Is it?", "It is not."]) == [None, 0, None]


def test_small_changes_do_not_add_up():
    chain = [words(20, first=3 * n) for n in range(4)]  # each shares 17 of 20 with the next
    assert repeated_sentences(chain) == [None, 0, None, 2]


def test_sentences_without_spaces_between_words():
    said = "哈尔登五月份将公交车票价减半。"
    assert repeated_sentences([said, f"众所周知,{said}", "特罗姆瑟的渡轮全年运行。"]) == [
        1,
        None,
        None,
    ]


def test_names_that_look_alike_have_one_shape():
    alike = ["Run-1", "run_l", "RUN–I", "rún-1 ", "\u200brun-1", "гun-1".replace("г", "r")]
    assert len(set(map(name_shape, alike))) == 1
    assert len({name_shape("bm25"), name_shape("bm26"), name_shape("bm.25")}) == 3
    assert undisguised("Ｆａｒｅｓ") == "fares"


# What they count ----------------------------------------------------------------------------------

YES, NO, OPEN = NodeAnswer(True), NodeAnswer(False), NodeAnswer(None)


def cites(*verdicts: tuple[str, NodeAnswer, NodeAnswer], repeats: int | None = None) -> Any:
    citations = tuple(JudgedCitation(doc, relevant, attests) for doc, relevant, attests in verdicts)
    steps = tuple(
        TreePath(("relevant=yes", f"attests={attests.value}"), "reward", 1.0, doc)
        if attests.value
        else TreePath(("relevant=yes", "attests=no"), "penalty", -1.0, doc)
        for doc, _, attests in verdicts
    )
    return JudgedSentence("s", citations, {}, (), steps, repeats=repeats)


def values(*sentences: JudgedSentence, strict: bool = True) -> dict[str, Any]:
    measured = measure_report(JudgedReport("t", "r", sentences), strict=strict)
    return {name: (m.value, m.scored, m.asked) for name, m in measured.items()}


GOOD, BAD = cites(("d1", YES, YES)), cites(("d2", YES, NO))


def test_a_repeated_yes_counts_once_and_every_no_counts():
    good, bad = replace(GOOD, repeats=0), replace(BAD, repeats=1)
    once = values(GOOD, BAD)
    assert values(GOOD, BAD, good, good)["sentence_precision"] == (0.5, 2, 2)
    for name in (*MAIN, "sentence_precision_all", "reward", "penalty", "net_reward"):
        assert values(GOOD, BAD, good, good)[name] == once[name]
    assert values(GOOD, BAD, bad)["sentence_precision"] == (1 / 3, 3, 3)
    assert values(GOOD, BAD, bad)["citation_precision"] == (1 / 3, 3, 3)
    assert values(GOOD, BAD, bad)["penalty"][0] == -2
    assert values(GOOD, BAD, good, good, strict=False)["sentence_precision"] == (3 / 4, 4, 4)
    assert values(GOOD, BAD, good, good, strict=False)["reward"][0] == 3


def test_a_false_variant_does_not_hide_among_copies_of_a_true_sentence():
    false = cites(("d1", YES, NO), repeats=0)
    good = replace(GOOD, repeats=0)
    assert values(GOOD, good, good, false)["sentence_precision"] == (1 / 2, 2, 2)
    assert values(false, good, good, good)["sentence_precision"] == (1 / 2, 2, 2)
    assert values(GOOD, false)["sentence_precision"] == (1 / 2, 2, 2)


def test_citations_of_repetitions_count_once_for_each_document():
    other = cites(("d1", YES, YES), ("d3", YES, YES), repeats=0)
    mixed = cites(("d1", YES, YES), ("d2", YES, NO), repeats=0)
    assert values(GOOD, other, other)["citation_precision"] == (1.0, 2, 2)
    assert values(GOOD, mixed, mixed)["citation_precision"] == (1 / 3, 3, 3)
    assert values(GOOD, mixed, mixed)["citation_relevance"] == (1.0, 2, 2)
    assert values(GOOD, mixed, mixed)["sentence_precision"] == (1 / 3, 3, 3)


def test_what_is_unscored_in_a_repetition_is_no_yes():
    open_ = cites(("d1", YES, OPEN), repeats=0)
    assert values(GOOD, open_, open_)["sentence_precision"] == (1.0, 1, 3)


def test_repeated_negative_statements_are_confirmed_once():
    def negative(confirmed: bool, repeats: int | None = None) -> JudgedSentence:
        found = {"negative": YES, "unanswerable": NodeAnswer(confirmed)}
        step = TreePath(("negative=yes", "unanswerable=yes"), "reward", 1.0)
        steps = (step,) if confirmed else ()
        return JudgedSentence("s", (), found, (), steps, repeats=repeats)

    some = negative(True), negative(True, 0), negative(False), negative(False, 2)
    assert values(*some)["negatives_confirmed"] == (1 / 3, 3, 3)
    assert values(*some)["reward"][0] == 1


def test_lengths_count_everything_that_was_submitted():
    good = replace(GOOD, repeats=0)
    assert values(GOOD, good)["sentences"][0] == values(GOOD, good)["citations"][0] == 2


def test_shares_over_all_topics_tell_the_repetitions_of_reports_apart():
    reports = [
        JudgedReport("1", "r", (BAD, GOOD, replace(GOOD, repeats=1))),
        JudgedReport("2", "r", (GOOD, replace(GOOD, repeats=0), BAD)),
    ]
    (run,) = measure_reports(reports, strict=True, bootstrap=Bootstrap(0)).runs
    assert run.pooled["sentence_precision"] == 2 / 4
    (run,) = measure_reports(reports, bootstrap=Bootstrap(0)).runs
    assert run.pooled["sentence_precision"] == 4 / 6
    assert (run.repeated, run.precision_once) == (2, 0.5)


def test_a_repetition_is_written_and_read_again_and_a_wrong_one_is_refused(tmp_path):
    report = JudgedReport("t", "r", (GOOD, replace(GOOD, repeats=0)))
    rows = report.row()["sentences"]
    assert ["repeats" in row for row in rows] == [False, True]
    assert report_of_row(report.row()).sentences[1].repeats == 0
    for first, second in ((0, None), (None, 1), (None, -1), (None, 2), (1, 0)):
        wrong = JudgedReport(
            "t", "r", (replace(GOOD, repeats=first), replace(GOOD, repeats=second))
        )
        file = write_rows(tmp_path / "reports.jsonl", [wrong.row()])
        with pytest.raises(InputError, match="expected the position of a sentence that is new"):
            list(read_judged_reports(file))


# On real submissions ------------------------------------------------------------------------------


DATA = Path(os.environ.get("PNYX_DATA", Path(__file__).parents[2] / "shared/data")) / "reportgen"


def test_real_reports_have_few_repetitions():
    if not (DATA / "ragtime26_bitem").is_dir() or not (DATA / "kiddie").is_dir():
        pytest.skip("needs the files of TREC (PNYX_DATA)")
    shares = {}
    files = [*DATA.glob("ragtime26_bitem/T1_*.jsonl"), *DATA.glob("kiddie/run*.jsonl")]
    for path in files:
        found = [
            first
            for report in read_responses(str(path))
            for first in repeated_sentences([sentence.text for sentence in report.sentences])
        ]
        shares[path.name] = (len(found) - found.count(None)) / len(found)
    assert max(shares.values()) < 0.04
    assert [shares[f"run{n}.jsonl"] for n in range(1, 5)] == [0.0] * 4
