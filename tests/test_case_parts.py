"""Parts of an argued case at their boundaries: packing, citations, readings, limits, stand-ins."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from case_fixture import no, unscored, yes
from pnyx.cases.case import Draft, sentence
from pnyx.cases.citations import (
    _quoted,
    judge_citations,
    quoted,
    said_of_citations,
    strongest_first,
    with_scores,
    without_foreign_citations,
)
from pnyx.cases.context import Packed, pack, pack_for, words_per_token
from pnyx.cases.generate import WorkedExample, choose_examples, within_limits
from pnyx.cases.limits import Limits
from pnyx.cases.options import ArgueSpec
from pnyx.cases.question_claims import QuestionReading, _claims, _usable, _usual_language
from pnyx.cases.replies import _citation_numbers, _numbers_in, cited_ids
from pnyx.cases.retrieved_documents import (
    RetrievedDocuments,
    _fused,
    quality_of,
    search_text,
)
from pnyx.cases.stand_ins import StandInJudge, StandInWriter
from pnyx.core.errors import InputError, OptionError
from pnyx.core.records import Citation, Document, Question, Response, Sentence
from pnyx.judging.answers import QUOTED, Judged, Provenance
from pnyx.judging.questions import Rating, Support
from pnyx.models.http.flow import run_blocking

QUESTION = Question("q", "Should zoos be phased out?")


# -- Packing documents into a context -------------------------------------------------------------


def stored(*rates: float, tokens: int = 100) -> Any:
    """Return a model whose stored replies had prompts of these words per token."""
    rows = [
        SimpleNamespace(
            reply=SimpleNamespace(usage={"prompt_tokens": tokens}),
            request=SimpleNamespace(
                messages=[SimpleNamespace(content="a " * round(rate * tokens))]
            ),
        )
        for rate in rates
    ]
    return SimpleNamespace(name="m", store=SimpleNamespace(rows=lambda **_: iter(rows)))


@pytest.mark.parametrize(
    ("model", "rates"),
    [
        (stored(*[0.86] * 4), (0.7,)),
        (stored(*[0.86] * 5), (0.7, 0.85)),
        (stored(*[0.9] * 5), (0.7, 0.9)),
        (stored(*[1.99] * 5), (0.7, 1.95)),
        (stored(*[2.2] * 5), (0.7, 2.0)),
        (stored(*[3.0] * 5), (0.7,)),  # the server has cut these prompts
        (stored(*[0.51] * 3, *[0.86] * 3), (0.7, 0.65)),  # the median is 0.685
        (stored(*[0.52] * 100, *[1.02] * 101), (0.7, 0.75)),  # of the first 200: 0.77
        (stored(*[0.0] * 5), (0.7,)),
        (stored(*[1.0] * 5, tokens=0), (0.7,)),
    ],
)
def test_words_per_token_are_learnt_from_five_to_200_replies(model, rates):
    assert words_per_token(model) == pytest.approx(rates)


class Counting:
    """A model that counts a token for each character, or for each a million."""

    def __init__(self, each: int | None = 1) -> None:
        self.each, self.calls = each, 0

    async def count_tokens(self, texts: Any) -> list[int] | None:
        self.calls += 1
        return None if self.each is None else [self.each * len(text) for text in texts]


def packed(model: Any, texts: list[str], tokens: int) -> Packed:
    documents = [Document(str(n), text) for n, text in enumerate(texts)]
    return run_blocking(lambda: pack_for(model, documents, tokens, 0.7))


def test_documents_that_just_fit_are_not_cut():
    texts = ["word word", "word"]  # 13 characters
    assert packed(Counting(), texts, 13).trimmed == 0
    cut = packed(Counting(), texts, 12)
    assert (cut.trimmed, cut.counted) == (1, True)
    assert [document.text for document in cut.documents] == ["word …", "word"]
    assert cut.problems == [
        "1 of 2 documents were trimmed to fit the context, by the model's own count of tokens"
    ]
    estimated = packed(Counting(None), ["word " * 20], 10)
    assert (estimated.trimmed, estimated.counted) == (1, False)
    assert estimated.problems[0].endswith("by an estimate of tokens")
    assert Packed([], 0).problems == []


def test_a_text_is_cut_four_times_at_most():
    model = Counting(1_000_000)
    text = packed(model, ["word " * 3000], 100).documents[0].text
    assert text == "word …"
    assert model.calls <= 5

    class Growing(Counting):
        """Counts more the more often it is asked, so that no cut is enough."""

        async def count_tokens(self, texts: Any) -> list[int]:
            self.calls += 1
            return [1000 if self.calls == 1 else 101 for _ in texts]

    growing = Growing()
    packed(growing, ["word " * 1000], 100)
    assert growing.calls == 5


def test_a_budget_of_words_is_shared_by_size():
    documents = [Document(str(n), "word " * n) for n in (60, 40)]
    assert pack(documents, 143)[1] == 0  # 100.1 words
    cut, trimmed = pack(documents, 142)  # 99.4
    assert trimmed == 2
    assert [document.text.count("word") for document in cut] == [59, 39]
    assert [d.text.count("word") for d in pack(documents, 1)[0]] == [1, 1]


# -- Citations ------------------------------------------------------------------------------------


def cites(text: str, *ids: str, role: str = "premise") -> Sentence:
    return sentence(role, text, ids)


def test_citations_of_other_documents_are_removed():
    draft = Draft((cites("A.", "a", "x"), cites("B.", "b")), ("earlier",))
    remaining = without_foreign_citations(draft, {"a", "b"})
    assert [[c.doc_id for c in s.citations] for s in remaining.sentences] == [["a"], ["b"]]
    assert remaining.problems == (
        "earlier", "removed a citation of x, which the writer was not given",
    )  # fmt: skip


def test_points_of_the_strongest_documents_come_first():
    sentences = (
        cites("0.", "a"),
        cites("A.", "a", role="conclusion"),
        cites("B.", "b", role="conclusion"),
        cites("b.", "c"),
        cites("N.", role="conclusion"),
    )
    ordered = strongest_first(Draft(sentences), {"a": 0.5, "b": 0.2, "c": 0.9})
    assert [s.text for s in ordered.sentences] == ["B.", "b.", "0.", "A.", "N."]


def test_who_judged_the_citations_is_said():
    assert said_of_citations("j", "w", quotes=True) == "quoted verbatim, so no judge is needed"
    end = "each against the whole cited passage with its title"
    assert said_of_citations("j", "w", quotes=False) == f"judged by j, {end}"
    also = f"judged by j, which also wrote the text, {end}"
    assert said_of_citations("j", "j", quotes=False) == also
    assert said_of_citations("j", "j (argue@1)", quotes=False) == also
    assert said_of_citations("j", "jj", quotes=False) == f"judged by j, {end}"


RESPONSE = Response(
    "q", "r", (cites("Zoos keep animals.", "a", "b"), cites("C.", "a"), cites("D."))
)


def test_only_sentences_whose_citations_are_all_quotations_are_quoted():
    quotation = Judged(True, QUOTED)
    answers = {(0, "a"): quotation, (0, "b"): yes(0.9), (1, "a"): quotation}
    assert quoted(RESPONSE, answers) == 1
    assert quoted(RESPONSE, {**answers, (0, "b"): quotation}) == 2
    scores = [[c.score for c in s.citations] for s in with_scores(RESPONSE, answers).sentences]
    assert scores == [[1.0, 0.9], [1.0], []]
    missing = with_scores(RESPONSE, {(0, "a"): unscored()}).sentences[0]
    assert [c.score for c in missing.citations] == [None, None]


class Yes:
    """A judge that says yes and keeps what it was asked."""

    name, card, kinds = "yes", "", frozenset({Support, Rating})

    def __init__(self, answer: Any = None) -> None:
        self.asked: list[Any] = []
        self._answer = answer

    async def answer(self, questions: Any, emit: Any) -> None:
        self.asked += questions
        for position, _ in enumerate(questions):
            emit(position, self._answer or Judged(True, Provenance("yes"), 0.9))


@pytest.mark.parametrize(
    ("quotes", "asked"), [(True, ["r-1-a"]), (False, ["r-0-a", "r-0-b", "r-1-a"])]
)
def test_a_quotation_needs_no_judge(quotes, asked):
    read = {
        "a": Document("a", "It says: Zoos keep animals. So it is."),
        "b": Document("b", "Zoos[1] keep animals. More follows."),
    }
    judge = Yes()
    answers = run_blocking(lambda: judge_citations("Q?", RESPONSE, read, judge, quotes=quotes))
    assert [question.id for question in judge.asked] == asked
    assert set(answers) == {(0, "a"), (0, "b"), (1, "a")}
    if quotes:
        assert [answers[0, name].evidence for name in "ab"] == [
            "Zoos keep animals.",
            "Zoos[1] keep animals.",
        ]
    assert all(q.cites and q.question == "Q?" and q.group == "q" for q in judge.asked)
    assert _quoted("", "text") == ""
    assert _quoted("Other.", "Text.") == ""


# -- A question as a model reads it ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("yes_", "no_", "claims"),
    [
        ("a" * 300, "b", ("a" * 300, "b")),
        ("a" * 301, "b", None),
        ("b", "a" * 301, None),
        ("Zoos  go.", "Zoos\nstay.", ("Zoos go.", "Zoos stay.")),
        ("Zoos go.", "zoos GO.", None),
        ("...", "Zoos stay.", None),
        ("Zoos go.", "", None),
    ],
)
def test_two_claims_differ_and_have_at_most_300_characters(yes_, no_, claims):
    assert _claims(yes_, no_) == claims
    assert _usable("a" * 300)
    assert not _usable("a" * 301)


@pytest.mark.parametrize(
    ("english", "german", "language"), [(2, 1, "English"), (1, 1, ""), (1, 2, "German"), (0, 0, "")]
)
def test_the_language_of_most_documents(english, german, language):
    texts = ["This is the text of a page that we have."] * english
    texts += ["Das ist der Text einer Seite und wir haben ihn."] * german
    assert _usual_language([*texts, "xyz"]) == language


def test_a_reading_in_words():
    reading = QuestionReading("m", ("A", "B"), ("x", "y"))
    expected = "read by m. yes means “A”, no means “B”. also searched: “x”; “y”"
    assert reading.described(QUESTION) == expected
    assert reading.posed(QUESTION).claims == ("A", "B")
    with_claims = replace(QUESTION, claims=("C", "D"))
    assert reading.described(with_claims) == "read by m. also searched: “x”; “y”"
    assert reading.posed(with_claims).claims == ("C", "D")
    assert QuestionReading("m").described(QUESTION) == "read by m"
    assert QuestionReading("m").posed(QUESTION) is QUESTION
    assert reading.doubts == ()
    failed = replace(reading, problem="timeout")
    assert failed.described(QUESTION) == failed.doubts[0]
    assert failed.doubts == ("m could not read the question (timeout): it is used as it is.",)
    (doubt,) = replace(reading, answerable=False).doubts
    assert doubt.startswith("m says that yes and no do not answer this question.")


def test_rankings_are_fused_by_reciprocal_rank():
    assert _fused([["a", "b", "c"]]) == ["a", "b", "c"]
    assert _fused([["a", "b"], ["b", "c"]]) == ["b", "a", "c"]
    assert search_text(QUESTION) == QUESTION.text
    assert search_text(replace(QUESTION, definition="Of all.")).endswith("? Of all.")


@pytest.mark.parametrize(
    ("copies", "searches", "definition", "expected"),
    [
        (0, 0, "", "PLAN, by question; 1 document retrieved"),
        (1, 0, "d", "PLAN, by question and definition; 1 document retrieved, 1 copy passed over"),
        (2, 3, "", "PLAN, by question and 3 searches in other words; 1 document retrieved, 2 "
         "copies passed over"),
    ],
)  # fmt: skip
def test_a_search_in_words(copies, searches, definition, expected):
    retrieved = RetrievedDocuments([Document("a", "A.")], copies, None, searches)  # type: ignore[arg-type]
    searcher: Any = SimpleNamespace(plan="PLAN")
    assert retrieved.described(searcher, replace(QUESTION, definition=definition)) == expected


# -- Replies of writers ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("2", [2]), ("[1, 2]", [1, 2]), ("Documents 1 and 2", [1, 2]), ("doc #3", [3]),
        ("999999999", [999999999]), ("1234567890", None), ("page 3", None), ("", []),
        ("1-3", None),
    ],
)  # fmt: skip
def test_numbers_have_at_most_nine_digits(text, numbers):
    assert _numbers_in(text) == numbers


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        ([1, 2.0], [1, 2]), ("1", [1]), (3, [3]), ([1.5], [1.5]), ([True], [True]),
        (["1", "x"], ["1", "x"]), ([None], [None]),
    ],
)  # fmt: skip
def test_citations_are_read_as_numbers_or_left(value, numbers):
    assert _citation_numbers(value) == numbers


def test_marks_and_numbers_are_citations():
    documents = [Document(name, "T.") for name in "ab"]
    problems: list[str] = []
    text, ids = cited_ids("Zoos go (document 2) [2].", [1, 3, 1], documents, problems)
    assert ids == ["a", "b"]
    assert "document 2" not in text
    assert problems == ["removed a citation of document 3 from 'Zoos go.': 2 documents were given"]
    text, ids = cited_ids("In (document 7) and (2).", [], documents, [])
    assert "(document 7)" in text


def test_limits_of_a_side():
    roles = ["conclusion", "premise", "premise", "conclusion", "premise", "conclusion"]
    sentences = [cites(f"{n} word.", role=role) for n, role in enumerate(roles)]

    def within(points: int, premises: int | None, words: int | None) -> tuple[str, list[str]]:
        problems: list[str] = []
        remaining = within_limits(sentences, points, premises, words, problems)
        return "".join(s.text[0] for s in remaining), problems

    assert within(3, 2, None) == ("012345", [])
    most = "of 6 sentences: at most 2 points of 1 premises were requested"
    assert within(2, 1, None) == ("0134", [f"left out 2 {most}"])
    problem = "left out 3 of 6 sentences: at most 1 points were requested"
    assert within(1, None, None) == ("012", [problem])
    assert within(3, 2, 12) == ("012345", [])
    assert within(3, 2, 11) == ("01234", ["left out the last 1 of 6 sentences: over 11 words"])
    assert within(3, 2, 1)[0] == ""


def test_examples_of_the_same_side_come_first():
    shots = [WorkedExample(f"Question {n}?", "pro" if n % 2 else "con", (), ()) for n in range(6)]
    chosen = choose_examples(shots, "Question 1?", "pro")
    assert len(chosen) == 3
    assert [shot.side for shot in chosen] == ["pro", "pro", "con"]
    assert "Question 1?" not in [shot.question for shot in chosen]
    assert len(choose_examples(shots, "Other?", "con", 1)) == 1


def test_limits_are_counted_together():
    limits = Limits((("chars", 10), ("words", 3)))
    one, two = Sentence("Zoos go."), Sentence("No.")
    assert limits.fits(["0123456789"])
    assert not limits.fits(["01234567890"])
    assert limits.cut([one, two]) == (one,)
    assert limits.cut([two, one]) == (two,)
    assert limits.share(0.5).most == (("chars", 5), ("words", 1))
    assert limits.left([]) is limits
    assert limits.left(["Zoos go."]).most == (("chars", 1), ("words", 1))
    assert str(limits) == "10 characters and 3 words"


# -- Plans of what would be asked -----------------------------------------------------------------


def test_a_missing_argument_is_as_long_as_it_may_be():
    class Failing:
        name = "w"

        async def write(self, question: Any, side: Any, documents: Any) -> Draft:
            return Draft((), failed=self.fails)

    failing: Any = Failing()
    documents = [Document("a", "A."), Document("b", "B.")]

    def written(points: int, words: int | None = None, fails: bool = True) -> Any:
        failing.fails = fails
        writer = StandInWriter(failing, points, words)
        return run_blocking(lambda: writer.write(QUESTION, "pro", documents)).sentences

    assert len(written(2)) == 8  # each point with three premises
    assert len(written(2, 45)) == 9  # of five words
    assert len(written(2, 44)) == 8
    first = written(1)[0]
    assert len(first.text.split()) == 41
    assert [c.doc_id for c in first.citations] == ["a", "b"]
    assert written(2, fails=False) == ()


@pytest.mark.parametrize(("answer", "value"), [(no(0.2), False), (unscored(), True)])
def test_a_missing_answer_is_yes_in_a_plan(answer, value):
    judge = StandInJudge(Yes(answer))
    answered: dict[int, Any] = {}
    rating = Rating("r", "T.", ("clarity",), (1, 5))
    questions = [Support("s", "T.", "S."), rating]
    run_blocking(lambda: judge.answer(questions, answered.__setitem__))
    assert answered[0].value is value
    assert answered[1] is answer


# -- Options --------------------------------------------------------------------------------------


def test_the_claims_of_a_question():
    assert ArgueSpec(claims=(" A  b", "C")).asked_for("Zoos?").claims == ("A b", "C")
    assert ArgueSpec().asked_for("Should zoos go?", "x").id == "x"
    for claims, problem in (
        ((" ", "C"), "a claim without words"),
        (("A b", "a  B"), "the same claim"),
    ):
        with pytest.raises(OptionError, match=f"--claims: found {problem}"):
            ArgueSpec(claims=claims).asked_for("Should zoos go?")
    with pytest.raises(InputError, match="or name both sides: --claims PRO CON"):
        ArgueSpec().asked_for("Why should zoos go?")
    assert ArgueSpec().asked_for("Why should zoos go?", claims=("A", "B")).claims == ("A", "B")


def test_a_sentence_cites_each_document_once():
    written = sentence("premise", "T.", ["b", "a", "b"])
    assert written.citations == (Citation("b"), Citation("a"))
    assert written.extra == {"role": "premise"}


def test_without_stored_quality_a_document_gets_the_share_of_worse_ones():
    short = "No."
    reasoned = "Zoos should close, because animals suffer in cages and learn nothing there."
    engine: Any = SimpleNamespace(feature_info=lambda _: None)
    documents = [Document("a", reasoned), Document("b", short), Document("c", short)]
    assert quality_of(engine, documents) == ({"a": 2 / 3, "b": 0.0, "c": 0.0}, False)
    assert quality_of(engine, []) == ({}, False)
