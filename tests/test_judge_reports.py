"""The judgment tree in memory: every path worked by hand, and what is asked for it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argue_report import (
    ASKED,
    ATTESTED,
    BANK,
    NUGGETS,
    RUN,
    STEPS,
    TOPIC,
    YES,
    PlannedJudge,
    questions,
    response,
)
from pnyx.core.errors import InputError
from pnyx.core.nuggets import Nugget, NuggetBank
from pnyx.core.records import Citation, Document, Response, Sentence
from pnyx.formats import read_responses, write_responses
from pnyx.formats.reports.judged_report import NodeAnswer
from pnyx.reports.tree.plan import ReportPlan, Weights
from pnyx.reports.tree.walk import judge_reports
from tries import tries

CREDITS = ("attested", "cited", "any")


def judged(judge=None, bank=BANK, of=None, **more):
    (report,) = judge_reports([of or response()], [bank], judge or PlannedJudge(), **more)
    return report


def steps_of(report):
    return tuple(
        tuple((" ".join(s.path), s.outcome, s.weight, s.about) for s in one.steps)
        for one in report.sentences
    )


def test_each_sentence_takes_its_way_through_the_tree():
    judge = PlannedJudge()
    report = judged(judge)
    assert steps_of(report) == STEPS
    assert tuple(one.attested for one in report.sentences) == ATTESTED
    found = {n.id: (tuple(a.given for a in n.answers), n.answered) for n in report.nuggets}
    assert found == NUGGETS
    assert Counter(one.task for one in judge.asked) == ASKED
    assert len({one.id for one in judge.asked}) == len(judge.asked)
    assert {one.id for one in judge.asked} >= YES
    assert report.relevant == ("d1", "d2", "d3", "d9")


@pytest.mark.parametrize("style", ["ids", "scores", "indices"])
def test_the_style_of_citations_changes_nothing(style, tmp_path):
    path = tmp_path / "run.jsonl"
    with path.open("w") as stream:
        write_responses(stream, [response(style)], style, "ragtime")
    (read,) = read_responses(str(path))
    assert judged(of=read) == judged()


# What is open stays open ------------------------------------------------------------------------

IDS = sorted(one.id for one in questions())


@given(st.sets(st.sampled_from(IDS)), st.sets(st.sampled_from(IDS)), st.sampled_from(CREDITS))
@settings(max_examples=tries(60), deadline=None)
def test_what_is_settled_stays_whatever_the_unscored_answers_would_be(yes, unscored, credit):
    plan = ReportPlan(credit=credit)
    open_ = judged(PlannedJudge(yes, sorted(unscored)), plan=plan)
    for resolved in (yes | unscored, yes - unscored):
        settled = judged(PlannedJudge(resolved), plan=plan)
        for one, other in zip(open_.sentences, settled.sentences, strict=True):
            for citation, known in zip(one.citations, other.citations, strict=True):
                assert citation.relevant.value in (None, known.relevant.value)
            ends = {s.about: s for s in other.steps if s.about.startswith("d")}
            for step in one.steps:
                if step.about.startswith("d") and step.outcome != "unscored":
                    assert (step.outcome, step.weight) == (
                        ends[step.about].outcome,
                        ends[step.about].weight,
                    )
        for one, other in zip(open_.nuggets, settled.nuggets, strict=True):
            for answer, known in zip(one.answers, other.answers, strict=True):
                assert answer.given in (None, known.given)
            assert one.answered in (None, other.answered)


def test_an_unscored_answer_leaves_its_path_open_with_the_reason():
    unscored = [
        f"{RUN}/{TOPIC}/1/answers/n1/1",
        f"{RUN}/{TOPIC}/4/attests/d5",
        f"{RUN}/{TOPIC}/6/negative",
        f"{RUN}/{TOPIC}/9/needs_citation",
    ]
    report = judged(PlannedJudge(unscored=unscored))
    first, fourth, sixth, ninth = (report.sentences[n] for n in (0, 3, 5, 8))
    assert (first.answers, first.unscored_answers) == ((("n1", 0),), (("n1", 1),))
    assert report.nuggets[0].answers[1].given is None
    assert (fourth.attested, fourth.unscored_answers) == (None, (("n3", 0),))
    assert [s.path for s in sixth.steps] == [("negative=unscored",)]
    assert [s.outcome for s in (*sixth.steps, *ninth.steps)] == ["unscored"] * 2
    assert sixth.findings["negative"].why == "refusal: it would not say"
    assert ninth.steps[0].weight is None


def test_a_part_of_an_answer_is_noted_and_not_given():
    partly = f"{RUN}/{TOPIC}/1/answers/n1/1"
    answer = judged(PlannedJudge(partial=[partly])).nuggets[0].answers[1]
    assert (answer.given, answer.partial) == (False, True)


# What can be chosen -----------------------------------------------------------------------------


def test_which_sentences_can_give_answers():
    third, ninth = f"{RUN}/{TOPIC}/3/answers/n1/1", f"{RUN}/{TOPIC}/9/answers/n1/1"
    asked = {}
    for credit in CREDITS:
        judge = PlannedJudge(YES | {third, ninth})
        report = judged(judge, plan=ReportPlan(credit=credit))
        given = report.nuggets[0].answers[1]
        asked[credit] = {q.extra["sentence"] for q in judge.asked if "/answers/" in q.id}
        assert given.sentences == {"attested": (), "cited": (2,), "any": (2, 8)}[credit]
    assert asked == {
        "attested": {1, 2, 4, 7},
        "cited": {1, 2, 3, 4, 5, 7},
        "any": set(range(1, 12)),
    }


def test_an_irrelevant_document_may_be_asked_whether_it_attests():
    attests = f"{RUN}/{TOPIC}/5/attests/d6"
    sentence = judged(PlannedJudge(YES | {attests}), plan=ReportPlan(attest="all")).sentences[4]
    assert sentence.attested is True
    assert [(s.path, s.outcome) for s in sentence.steps] == [(("relevant=no",), "penalty")]


def test_weights_are_those_of_the_outcomes():
    weights = Weights(2.0, 3.0, 5.0, -7.0, -11.0, -13.0, -17.0)
    report = judged(plan=ReportPlan(weights=weights))
    found = [s.weight for one in report.sentences for s in one.steps]
    assert found == [2, 3, 2, 2, 3, -11, 2, 3, -7, 5, None, 0, -13, 0, 0, -17]
    for wrong in ({"attested": -1.0}, {"uncited": 1.0}, {"answered": float("nan")}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Weights(**wrong)


LOOKED_UP = (
    "Fares were halved in May, it says.",
    "The reform halved fares; ridership rose by a third!",
    "Night buses became free",
    "Night buses became almost free.",
    "The reform was paid for by the parking fees.",
)


def test_the_rule_on_words_needs_the_answer_and_a_document_that_the_bank_names():
    cited = ("d1", "d3", "d9", "d2", "d6")
    of = Response(
        TOPIC,
        RUN,
        tuple(Sentence(t, (Citation(d),)) for t, d in zip(LOOKED_UP, cited, strict=True)),
    )
    judge = PlannedJudge(set())
    report = judged(judge, of=of, plan=ReportPlan(answers="lookup"))
    assert judge.asked == []
    # d6 is no document that attests anything, and the bank names none for the claim.
    assert [one.answers for one in report.sentences] == [
        (("n1", 0),),
        (("n2", 0),),
        (),
        (),
        (),
    ]
    assert report.sentences[4].unscored_answers == (("n3", 0),)
    assert [one.findings["answers"].by for one in report.sentences] == ["rule"] * 5
    # The texts are missing, so only what the bank vouches for is certain.
    assert [one.attested for one in report.sentences] == [None] * 5


def test_the_bank_vouches_for_what_an_open_citation_gives():
    of = Response(TOPIC, RUN, (Sentence("Half price now.", (Citation("d1"),)),))
    yes = {f"{RUN}/{TOPIC}/1/answers/{pair}" for pair in ("n1/0", "n1/1")}
    sentence = judged(PlannedJudge(yes), of=of).sentences[0]
    assert sentence.answers == (("n1", 0),)  # d1 attests it, says the bank
    assert sentence.unscored_answers == (("n1", 1),)


def test_qrels_tell_what_the_bank_does_not_name():
    qrels = {TOPIC: {"d5": 0, "d6": 1, "d1": 0}}
    report = judged(qrels=qrels)
    relevant = {c.doc_id: c.relevant for one in report.sentences for c in one.citations}
    assert [relevant[d].value for d in ("d1", "d5", "d6", "d7")] == [True, False, True, None]
    assert relevant["d5"].by == "lookup"
    high = judged(qrels=qrels, plan=ReportPlan(min_grade=2)).sentences[4]
    assert high.citations[0].relevant == NodeAnswer(False, "lookup", "grade 1 in the qrels")


# What is broken or missing ----------------------------------------------------------------------


def test_a_run_gets_a_report_for_each_topic_of_the_banks():
    other = NuggetBank("8", (Nugget("m1", "Who?"),))
    alone = Response("9", "run-b", (Sentence("So it is.", (Citation("x"),)),))
    found = judge_reports([response(), alone], [other, BANK], PlannedJudge())
    assert [(one.run_id, one.topic_id, one.missing) for one in found] == [
        (RUN, "7", False),
        (RUN, "8", True),
        (RUN, "9", True),
        ("run-b", "7", True),
        ("run-b", "8", True),
        ("run-b", "9", False),
    ]
    bankless = found[-1]
    assert bankless.notes[0] == "no nugget bank for the topic"
    assert bankless.sentences[0].citations[0].relevant.value is None
    assert found[0] == judged()


def test_without_a_bank_it_is_still_asked_whether_documents_attest():
    of = Response(
        "9", RUN, (Sentence("It is.", (Citation("x"),)),), documents={"x": Document("x", "It is.")}
    )
    (report,) = judge_reports([of], [], PlannedJudge({f"{RUN}/9/1/attests/x"}))
    assert report.sentences[0].attested is True
    assert report.sentences[0].steps[0].outcome == "unscored"


def test_an_empty_report_and_sentences_without_words():
    assert judged(of=Response(TOPIC, RUN, ())).notes == ("the report is empty",)
    given = [a.given for n in judged(of=Response(TOPIC, RUN, ())).nuggets for a in n.answers]
    assert given == [False] * 5
    judge = PlannedJudge()
    of = Response(TOPIC, RUN, (Sentence("..."), Sentence("—", (Citation("d1"),)), Sentence("")))
    report = judged(judge, of=of)
    assert judge.asked == []
    outcomes = [s.outcome for one in report.sentences for s in one.steps]
    assert outcomes == ["neutral", "penalty", "neutral"]  # no way to leave a sum without a value
    assert report.notes[0] == "3 of 3 sentences have no words"
    assert not report.empty  # it cites
    assert judged(of=Response(TOPIC, RUN, (Sentence("..."), Sentence("")))).empty


# A collection has the last word ------------------------------------------------------------------

COLLECTION = dict(response().documents)


def of_sentences(*cited, documents=()):
    sentences = tuple(Sentence(f"It is so {n}.", (Citation(one),)) for n, one in enumerate(cited))
    return Response(TOPIC, RUN, sentences, documents={one.id: one for one in documents})


class Yes(PlannedJudge):
    """Says yes to everything: what it is not asked alone can be a no."""

    async def answer(self, asked, emit):
        self.yes = {one.id for one in asked}
        await super().answer(asked, emit)


def test_a_document_that_the_collection_lacks_is_a_no_and_is_named():
    report = judged(documents=COLLECTION.get)
    citation = report.sentences[6].citations[0]
    assert (citation.relevant.value, citation.attests.value, citation.unknown) == (
        False,
        False,
        True,
    )
    assert citation.attests.why == "unknown: the collection holds no document of this id"
    assert [s.outcome for s in report.sentences[6].steps] == ["penalty"]
    assert report.notes == (
        "1 cited documents: unknown: the collection holds no document of this id (d7)",
        "1 sentences quote what they cite: not in sentence_precision_own",
    )
    open_ = judged(documents=COLLECTION.get, plan=ReportPlan(unknown_documents="unscored"))
    citation = open_.sentences[6].citations[0]
    assert (citation.relevant.value, citation.attests.value, citation.unknown) == (None, None, True)
    found = judged(documents={**COLLECTION, "d7": Document("d7", "Shops sold more.")}.get)
    assert found.sentences[6].citations[0].relevant.value is False
    assert not found.sentences[6].citations[0].unknown


def test_what_the_bank_or_the_qrels_name_is_not_made_up():
    report = judged(of=of_sentences("d9", "d5"), documents={}.get, qrels={TOPIC: {"d5": 1}})
    first, second = (one.citations[0] for one in report.sentences)
    assert first.relevant.value is second.relevant.value is True
    assert first.attests.value is second.attests.value is None
    assert not first.unknown


@pytest.mark.parametrize("credit", CREDITS)
@pytest.mark.parametrize(
    "made_up",
    ["ghost", "D1", " d1", "d1 ", "d1\u200b"],
    ids=["no id", "case", "before", "after", "0"],
)
def test_a_made_up_citation_gives_no_credit_whatever_text_comes_with_it(made_up, credit):
    own = Document(made_up, "It is so 0. It is so 1.")
    of = of_sentences(made_up, made_up, documents=[own])
    judge = Yes()
    report = judged(judge, of=of, documents=COLLECTION.get, plan=ReportPlan(credit=credit))
    assert [one.attested for one in report.sentences] == [False, False]
    given = [a.given for n in report.nuggets for a in n.answers]
    assert any(given) == (credit == "any")  # where answers are counted over the whole text
    asked = [one.extra["node"] for one in judge.asked]
    assert "attests" not in asked
    assert "relevant" not in asked


def test_what_was_said_with_a_made_up_citation_was_not_cited_before():
    said = Sentence("Taxi drivers lost a tenth.")
    of = Response(TOPIC, RUN, (replace(said, citations=(Citation("ghost"),)), said))
    judge = PlannedJudge({f"{RUN}/{TOPIC}/2/needs_citation"})
    assert judged(judge, of=of).sentences[1].steps[0].outcome == "neutral"
    report = judged(judge, of=of, documents=COLLECTION.get)
    assert report.sentences[1].steps[0].outcome == "penalty"


def test_a_text_of_the_submission_is_never_judged_once_there_is_a_collection():
    lie = Document("d1", "Taxi drivers lost a tenth, and fares were halved in MAY!")
    part = Document("d2", "night  buses in Halden")
    of = of_sentences("d1", "d1", "d2", documents=[lie, part])
    judge = Yes()
    report = judged(judge, of=of, documents=COLLECTION.get)
    assert {one.text for one in judge.asked if one.extra["node"] == "attests"} == {
        COLLECTION["d1"].text,
        COLLECTION["d2"].text,
    }
    # "a", "and", "fares", "halved", "in", "may" of its 11 words are also the collection's; a part
    # of the document is no other text.
    assert report.differing == (("d1", round(5 / 11, 4)),)
    assert "words in common: d1: 45%" in report.notes[0]
    assert judged(Yes(), of=of).differing == ()


def test_runs_that_embed_different_texts_of_a_document_are_named_without_a_collection():
    of = of_sentences("d1", documents=[Document("d1", "It is so 0.")])
    other = replace(of, run_id="run-b", documents=COLLECTION)
    for report in judge_reports([of, other], [BANK], Yes()):
        assert "runs embed different texts of the document" in report.notes[0]


def test_a_citation_given_twice_counts_once_and_padding_by_repetition_is_named():
    of = Response(TOPIC, RUN, (Sentence("It is so.", (Citation("d1"),) * 3),) * 4,
                  documents=COLLECTION)  # fmt: skip
    report = judged(Yes(), of=of)
    assert [len(one.citations) for one in report.sentences] == [1] * 4
    assert "3 sentences repeat another one" in report.notes


def test_two_reports_on_a_topic_and_two_banks_are_refused():
    with pytest.raises(InputError, match="run 'run-a' has two reports on topic '7'"):
        judge_reports([response(), response()], [BANK], PlannedJudge())
    with pytest.raises(InputError, match="topic '7' has two nugget banks"):
        judge_reports([response()], [BANK, BANK], PlannedJudge())


def test_a_document_cited_by_several_runs_is_asked_once_for_each_text():
    def by(run, text):
        changed = {**response().documents, "d5": Document("d5", text)}
        return replace(response(), run_id=run, documents=changed)

    judge = PlannedJudge()
    judge_reports([by("a", "One."), by("b", "One."), by("c", "Other.")], [BANK], judge)
    asked = [one for one in judge.asked if one.extra["node"] == "relevant"]
    assert len([q for q in asked if q.extra["doc_id"] == "d6"]) == 5
    assert Counter(q.text for q in asked if q.extra["doc_id"] == "d5") == {"One.": 5, "Other.": 5}
    assert len({one.id for one in judge.asked}) == len(judge.asked)


@pytest.mark.all
def test_very_many_sentences_take_memory_for_their_verdicts_only():
    sentences = tuple(Sentence(f"Sentence {n} says so.", (Citation("d1"),)) for n in range(5000))
    report = judged(PlannedJudge(set()), of=replace(response(), sentences=sentences))
    assert len(report.sentences) == 5000
    assert {s.outcome for one in report.sentences for s in one.steps} == {"penalty"}
