"""Lines that decide, each at its boundary: a change of one of them once went unnoticed."""

from __future__ import annotations

import random
from dataclasses import make_dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pnyx
from chat_server import ChatServer
from pnyx.audit.card import _by_results, alpha_of
from pnyx.audit.trials.contradictions import _far_from
from pnyx.audit.trials.falling_scores import _judged, sum_joint
from pnyx.cases.page.build import _measure
from pnyx.cases.passage_sides import PassageStances, SideChances, relevance_of
from pnyx.cases.report_plan import WritingPlan
from pnyx.cli.measure.tables import few_warning
from pnyx.core.errors import InputError, OptionError, PnyxError
from pnyx.core.records import Passage, Question, question_id
from pnyx.core.spec import opt, opts_of
from pnyx.formats import ReportRequest
from pnyx.formats.cells import python_literal
from pnyx.formats.reports.judged_report import JudgedCitation, NodeAnswer
from pnyx.judging.answers import Provenance
from pnyx.judging.judge_names import UNMEASURED, introduced
from pnyx.judging.llm.judge import LlmJudge
from pnyx.judging.llm.requests import Asking
from pnyx.judging.measures.documents import join_documents
from pnyx.judging.measures.ppi import prediction_powered
from pnyx.judging.measures.raters import measure_raters
from pnyx.judging.measures.trials import Decline, measure_decline
from pnyx.judging.passages import find_evidence
from pnyx.judging.questions import AGAIN, Rating, Support
from pnyx.judging.runs.shards import Shard
from pnyx.judging.shots import RatedExample, RatedPool
from pnyx.judging.statements import statements_of
from pnyx.models.chat.open_endpoint import endpoint_from
from pnyx.models.chat.pool import _FAILURES, EndpointPool, _Health
from pnyx.models.http.addresses import is_address
from pnyx.perspectives.measures.table import PERSPECTIVE_MEASURES, parse_perspective_measure
from pnyx.relevance.definitions import _shortened
from pnyx.reports.options import WeightSpec
from pnyx.reports.tree.opened_sentence import citation_steps
from pnyx.reports.tree.plan import Weights
from pnyx.reports.writing.candidates import queries_of
from pnyx.search.opensearch import schema
from pnyx.search.opensearch.answers import ClusterAnswer
from pnyx.search.opensearch.documents import StoredDocuments
from pnyx.search.quotable import is_quotable
from pnyx.search.topics import TopicMatch, TopicMatcher
from pnyx.stats.base import Bootstrap, Measured
from pnyx.stats.significance import differ
from pnyx.web.label.people import check_name

LEAST = 0.25


@pytest.mark.parametrize(
    ("fall", "low", "high", "strictly", "outcome"),
    [
        (0.25, 0.1, 0.4, True, "passed"),
        (0.2499, 0.1, 0.4, True, "unclear"),  # falls, but by less than it must
        (0.13, 0.1, 0.25, True, "unclear"),  # half of it is not enough; it may be 0.25
        (0.13, 0.1, 0.2499, True, "failed"),
        (0.3, 0.0, 0.6, True, "unclear"),
        (0.3, 0.001, 0.6, True, "passed"),
        (0.0, -0.3, 0.3, True, "failed"),
        (0.3, 0.1, 0.5, False, "unclear"),
        (0.3, 0.1, 0.5, None, "unscored"),
        (None, None, None, True, "unscored"),
    ],
)
def test_a_score_must_fall_by_all_that_is_required(fall, low, high, strictly, outcome):
    none, measured = Measured(None, 0, 40), Measured(fall, 40, 40, low, high)
    curve = Decline((0.0, 1.0), (none, none), none, (none,), measured, strictly, 2)
    assert _judged(curve, "share", LEAST)[0] == outcome


@pytest.mark.parametrize(
    ("noise", "lies", "outcome"), [(0.3, 0.4, "passed"), (0.3, 0.0, "failed"), (0.0, 0.4, "failed")]
)
def test_noise_alone_and_lies_alone_decide_a_joint_trial(noise, lies, outcome):
    falls = {(("0", "0"), ("0.5", "0")): noise, (("0", "0"), ("0", "2")): lies}
    none = Measured(None, 0, 40)

    def decline(cells, levels, _):
        fall = falls.get((cells[0], cells[-1]), 0.2)  # of both together
        measured = Measured(fall, 40, 40, fall - 0.1, fall + 0.1)
        return Decline(tuple(levels), (none, none), none, (none,), measured, fall > 0, 2)

    uses = {(level, count): () for level in ("0", "0.5") for count in ("0", "2")}
    posed = SimpleNamespace(uses=uses, items=[SimpleNamespace(task="support")])
    stress = SimpleNamespace(tolerance=0.1)
    sheet = SimpleNamespace(posed=posed, stress=stress, decline=decline, dimensions=())
    summary = sum_joint(sheet)
    assert summary["outcome"] == outcome
    falls = [summary["measures"][name].value for name in ("fall_noise", "fall_hallucination")]
    assert falls == [noise, lies]


def test_a_document_is_relevant_from_half_of_a_scale():
    """Of 1 to 5, the half is 3: (3 - 1) / 4."""
    answer = {
        "id": "a", "task": "rag", "dimension": "context_relevance", "judge": "j", "value": 3,
        "unscored": None, "scale": [1, 5], "doc_ids": ["x", "y", "z"],
        "notes": {"documents": [3, 2.99, None]},
    }  # fmt: skip
    joined = join_documents([answer], lambda _: True)
    verdicts = [(pair.verdict.id, pair.verdict.value) for pair in joined.pairs]
    assert verdicts == [("a/x", True), ("a/y", False), ("a/z", None)]


@pytest.mark.parametrize(("parts", "searches"), [(21, 23), (22, 24), (23, 24)])
def test_a_request_is_searched_for_by_24_queries_at_most(parts, searches):
    """One for the request as a whole, one for its title and one for each part."""
    problem = " ".join(f"What do the {n} zoos of town {n} cost?" for n in range(10, 10 + parts))
    request = ReportRequest("r", "What do zoos cost?", problem=problem)
    assert len(queries_of(request, WritingPlan())) == searches


@pytest.mark.parametrize(("words", "whole"), [(200, True), (201, False)])
def test_an_example_of_a_definition_has_at_most_200_words(words, whole):
    text = " ".join(["word"] * words)
    assert (_shortened(text) == text) is whole


@pytest.mark.parametrize(("words", "whole"), [(300, True), (301, False)])
def test_a_rated_example_has_at_most_300_words(words, whole):
    text = " ".join(["word"] * words)
    pool = RatedPool([RatedExample("e", text, (("clarity", 0.5),))], 1)
    (shot,) = pool.shown(Rating("q", "Another text.", ("clarity",), (1, 3))).shots
    assert (shot.text == text) is whole


def test_two_raters_are_compared_from_two_common_items():
    rows = [{"id": "a", "value": 1, "annotator": name} for name in ("ann", "bob")]
    rows += [
        {"id": "b", "value": 2, "annotator": "ann"},
        {"id": "c", "value": 2, "annotator": "bob"},
    ]
    assert raters_accuracy(rows) is None
    assert raters_accuracy([*rows, {"id": "b", "value": 3, "annotator": "bob"}]) == 0.5


def raters_accuracy(rows):
    (compared,) = measure_raters(None, [rows], bootstrap=Bootstrap(0)).compared
    return compared.mean["accuracy"].value


@pytest.mark.parametrize(
    ("number", "after", "lowest", "highest"),
    [
        (20, "% of them", 50, 65),  # 30 to 45 more
        (49, " per cent", 79, 94),
        (50, "%", 5, 20),  # or less, so that it stays a percentage
        (100, " percent", 55, 70),
        (101, "%", 3 * 101 + 1, 9 * 101 + 3),
        (20, " parks", 3 * 20 + 1, 9 * 20 + 3),
        (1999, "", 1960, 1988),  # a year stays one
        (999, "", 3 * 999 + 1, 9 * 999 + 3),
    ],
)
def test_a_number_is_contradicted_by_one_of_its_kind_that_is_far_off(
    number, after, lowest, highest
):
    others = {_far_from(number, after, random.Random(seed)) for seed in range(200)}
    assert lowest <= min(others)
    assert max(others) <= highest


def test_ten_documents_are_found_by_default():
    rows = [{"id": f"d{n}", "text": f"Zoos keep {n} pandas."} for n in range(11)]
    assert len(pnyx.open(rows, features=()).search("zoos")) == 10


@pytest.mark.parametrize(
    ("relevant", "attests", "outcome", "same_weights"),
    [
        (None, False, "penalty", True),
        (None, False, "unscored", False),  # it cannot be known which of two penalties it is
        (None, True, "unscored", True),
        (None, None, "unscored", True),
        (True, None, "unscored", True),
        (True, False, "penalty", False),
        (False, None, "penalty", False),
    ],
)
def test_unscored_relevance_is_a_penalty_only_where_either_way_weighs_the_same(
    relevant, attests, outcome, same_weights
):
    weights = Weights(irrelevant=-1.0, unattested=-1.0 if same_weights else -2.0)
    citation = JudgedCitation("d", NodeAnswer(relevant), NodeAnswer(attests))
    (step,) = citation_steps([citation], weights)
    assert step.outcome == outcome
    assert (step.weight is None) is (outcome == "unscored")


def test_a_question_that_is_asked_again_shares_no_stored_reply(monkeypatch, tmp_path):
    monkeypatch.setenv("PNYX_STORE", str(tmp_path / "store.sqlite"))
    first = Support("a", "Fares were halved.", "Fares fell.")
    again = Support("b", "Fares were halved.", "Fares fell.", extra={AGAIN: 1})
    asking = Asking()
    samples = {asking.request([question]).sample for question in (first, again)}
    assert len(samples) == 2
    with ChatServer() as server:
        judge = LlmJudge(server.spec)
        for _ in range(2):
            pnyx.ask(judge, [first, again])
        assert len(server.answered()) == 2  # neither shares the other's; both are stored


@pytest.mark.parametrize(
    ("within", "allowed", "refused"),
    [
        ("(0, 1)", (1e-9, 0.5, 1 - 1e-9), (0.0, 1.0, -0.1)),
        ("[0, 1]", (0.0, 1.0), (-1e-9, 1.0 + 1e-9)),
        ("(0, 1]", (1e-9, 1.0), (0.0,)),
        ("[0, 1)", (0.0,), (1.0,)),
        ("(0, inf)", (1e-9, 1e300), (0.0, float("inf"), float("nan"))),
    ],
)
def test_a_range_allows_its_ends_only_where_they_are_closed(within, allowed, refused):
    ((_, option),) = opts_of(make_dataclass("Ranged", [("x", float, opt(0.5, "x", within=within))]))
    assert all(option.allows(number) for number in allowed)
    assert not any(option.allows(number) for number in refused)


def test_an_address_rests_at_its_third_failure_and_not_before():
    with ChatServer() as a, ChatServer() as b:
        pool = endpoint_from([a.spec, b.spec])
        assert isinstance(pool, EndpointPool)
        health = _Health(pool.endpoints[0])
    assert _FAILURES == 3
    assert [health.failed() for _ in range(3)] == [False, False, True]
    assert health.wait > 0
    health.served()
    assert health.wait == 0
    assert [health.failed() for _ in range(2)] == [False, False]
    assert health.wait == 0


@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
def test_a_stored_vector_is_of_finite_numbers(odd):
    stored = object.__new__(StoredDocuments)
    stored._features = {"vectors": {"dimensions": 2}}
    good = ClusterAnswer(schema.coded(np.array([0.5, 1.0])), None, "GET /x")
    assert stored._value("vector", good).tolist() == [0.5, 1.0]
    with pytest.raises(PnyxError, match="2 finite numbers"):
        stored._value("vector", ClusterAnswer(schema.coded(np.array([0.5, odd])), None, "GET /x"))


def test_a_literal_of_a_cell_is_read_up_to_a_million_characters():
    longest = 1 << 20
    text = f"[{'1,' * ((longest - 2) // 2)}]"
    assert len(text) == longest
    assert len(python_literal(text)) == (longest - 2) // 2
    assert python_literal(f"{text} ") is None
    assert python_literal(f"'{'a' * longest}'", longest=float("inf")) == "a" * longest


@pytest.mark.parametrize(("pro", "con", "yes"), [(0.3, 0.2, True), (0.3, 0.199999, False)])
def test_a_passage_argues_a_side_from_one_half_on(pro, con, yes):
    verdict = relevance_of(SideChances(pro, con), "passages")
    assert (verdict.value, verdict.probability) == (yes, round(pro + con, 6))


@pytest.mark.parametrize(
    ("pro", "con", "by", "yes"),
    [
        (0.3, 0.3, None, True),  # 0.3 / 0.6 is one half, enough for a judge of passages
        (0.2999, 0.3001, None, False),
        (0.3, 0.2, Provenance("llm"), True),  # a language model's chance must be 0.6
        (0.2999, 0.2001, Provenance("llm"), False),
    ],
)
def test_how_clearly_a_passage_must_argue_a_side(pro, con, by, yes):
    question = Question("q", "Should voting be compulsory?")
    judge = SimpleNamespace(name="passages", card="")
    stances = PassageStances(judge, question, {"Text.": SideChances(pro, con, by)})
    (verdict,) = pnyx.ask(stances, [Support("1", "Text.", statements_of(question)[0])])
    assert (verdict.value, verdict.probability) == (yes, round(pro / (pro + con), 6))


@pytest.mark.parametrize(("length", "is_read"), [(4000, True), (4001, False)])
def test_the_longest_quotation_that_is_looked_for(length, is_read):
    quote = "a" * length
    assert find_evidence(quote, f"It says {quote} here.") == (quote if is_read else "")


@pytest.mark.parametrize(
    ("same", "opposite", "figure"),
    [(0.99, 0.01, "(p = 0.99)"), (0.9901, 0.0, "(p > 0.99)"), (0.2, 0.905, "(p = 0.91)")],
)
def test_a_match_that_is_nearly_certain_has_no_more_digits(same, opposite, figure):
    match = TopicMatch("Voting", same, opposite, "meaning", used=True)
    assert match.reason.endswith(figure)


def test_the_deepest_cutoff_of_a_measure_of_perspectives():
    assert (PERSPECTIVE_MEASURES["MRecall"] @ 1_000_000).k == 1_000_000
    for depth in (0, 1_000_001):
        with pytest.raises(ValueError, match="expected 1 to 1000000"):
            PERSPECTIVE_MEASURES["MRecall"] @ depth


@pytest.mark.parametrize(("labels", "is_estimated"), [(3, False), (4, True)])
def test_a_prediction_powered_mean_needs_four_labels(labels, is_estimated):
    people, judge = [1.0, 0.0, 1.0, 0.0][:labels], [0.9, 0.2, 0.8, 0.1][:labels]
    estimate = prediction_powered(people, judge, [0.7, 0.3, 0.6])
    assert (estimate.corrected.value is not None) is is_estimated
    assert estimate.people.value == pytest.approx(sum(people) / labels)


@pytest.mark.parametrize("count", [16, 17])
def test_up_to_sixteen_differences_all_signs_are_tried(count):
    """All of 16 differences are 1: of 2^16 patterns only two are as far from 0."""
    (test,) = differ(np.ones((count, 1)), "randomisation", Bootstrap(draws=0))
    assert (test.test.p == pytest.approx(2 / 2**count, rel=1e-9)) is (count == 16)


@pytest.mark.parametrize(("length", "allowed"), [(1, True), (60, True), (61, False), (0, False)])
def test_an_annotators_name_has_at_most_sixty_characters(length, allowed):
    name = "n" * length
    if allowed:
        assert check_name(f" {name} ") == name
    else:
        with pytest.raises(OptionError, match="expected 1 to 60 printable characters"):
            check_name(name)


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("1/1", True),
        ("10000/10000", True),
        ("10000/10001", False),
        ("0/2", False),
        ("3/2", False),
        ("2/2", True),
    ],
)
def test_shards_are_numbered_from_one_to_ten_thousand(text, allowed):
    if allowed:
        shard = Shard.read(text)
        assert f"{shard.number}/{shard.of}" == text
    else:
        with pytest.raises(OptionError, match="expected I/N"):
            Shard.read(text)


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("http://a.org/" + "p" * 1987, True),  # 13 + 1,987 = 2,000 characters
        ("http://a.org/" + "p" * 1988, False),
        ("http://" + "a" * 63 + ".org", True),
        ("http://" + "a" * 64 + ".org", False),
        ("http://" + ".".join(["a" * 63] * 3 + ["b" * 61]), True),  # 3 * 64 + 61 = 253
        ("http://" + ".".join(["a" * 63] * 3 + ["b" * 62]), False),
        ("http://a.org:1", True),
        ("http://a.org:0", False),
    ],
)
def test_an_address_is_as_long_as_clients_allow(url, allowed):
    assert is_address(url) is allowed


@pytest.mark.parametrize(("count", "quotable"), [(5, False), (6, True), (60, True), (61, False)])
def test_a_sentence_of_six_to_sixty_words_can_be_quoted(count, quotable):
    assert is_quotable(" ".join(["word"] * (count - 1) + ["end."])) is quotable


@pytest.mark.parametrize(
    ("names", "shown"),  # of capitals; half of six words are not too many
    [(3, True), (4, False)],
)
def test_a_sentence_of_mostly_names_is_not_quoted(names, shown):
    words = [f"Xa{n}" for n in range(names)]
    assert is_quotable(" ".join(["the", *words, *["word"] * (5 - names)])) is shown


@pytest.mark.parametrize(("topics", "more"), [(5, False), (6, True)])
def test_five_topics_are_named_where_a_name_has_no_label(topics, more):
    (line,) = TopicMatcher(["Ban zoos"]).problems([f"Topic {n}" for n in range(topics)])
    assert line.endswith(" and others") is more
    assert line.count("“Topic") == 5


def test_the_deepest_cutoff_that_a_measures_name_has():
    assert str(parse_perspective_measure("MRecall@1000000")) == "MRecall@1000000"
    for depth in ("0", "1000001"):
        with pytest.raises(InputError, match="a depth from 1 to 1000000"):
            parse_perspective_measure(f"MRecall@{depth}")


@pytest.mark.parametrize(("length", "whole"), [(120, True), (121, False)])
def test_a_card_of_up_to_120_characters_is_shown_whole(length, whole):
    card = "c" * length
    (line,) = introduced({"j": card})
    assert line == (f"j: {card}" if whole else "j; accuracy: pnyx doctor")
    card = UNMEASURED.rjust(length, "c")
    (line,) = introduced({"j": card})
    assert line == (f"j: {card}" if whole else f"j: not measured; {UNMEASURED}")


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("a" * 61, "a" * 60),
        ("Is " + "a" * 57 + "?", "is-" + "a" * 57),  # 60
        ("a" * 59 + " b", "a" * 59),  # no hyphen at the end
        ("?", "question"),
    ],
)
def test_a_topic_id_made_from_a_question_has_at_most_sixty_characters(question, topic):
    assert question_id(question) == topic


def advice(unscored: int = 0, asked: int = 100, **result: Any) -> str:
    """Return what the card of a judge advises against, from results on support."""
    counts = {"unscored": unscored, "asked": asked}
    return "; ".join(
        line["advice"] for line in _by_results({"task": "support", "counts": counts, **result})
    )


def agreement(alpha: float, high: float = 0.9, people: float | None = None) -> dict[str, Any]:
    """Return a judge's alpha with a person, and the least alpha of two people."""
    judge = {alpha_of("support"): {"value": alpha, "high": high}}
    compared = [{"kind": "human-judge", "mean": judge, "between": ["judge", "ann"]}]
    if people is not None:
        both = {alpha_of("support"): {"value": 0.95, "low": people}}
        compared.append({"kind": "human-human", "mean": both, "between": ["ann", "bob"]})
    return {"agreement": {"compared": compared}}


def calibration(ece: float = 0.05, auroc: float = 0.9, low: float | None = 0.8) -> dict[str, Any]:
    measures = {"ece": {"value": ece}, "auroc": {"value": auroc, "low": low}}
    return {"calibration": {"measures": measures}}


@pytest.mark.parametrize(
    ("at_limit", "beyond", "advised"),
    [
        ({"unscored": 1, "asked": 20}, {"unscored": 51, "asked": 1000}, "answer to every item"),
        (agreement(0.667), agreement(0.6669), "Do not replace people's verdicts"),
        (agreement(0.8, 0.9, 0.9), agreement(0.8, 0.9, 0.901), "People agree with each other"),
        (calibration(ece=0.1), calibration(ece=0.1001), "recalibrate"),
        (calibration(low=0.5001), calibration(low=0.5), "Do not rank by its probabilities"),
        (calibration(0.05, 0.5001, None), calibration(0.05, 0.5, None), "Do not rank"),
    ],
)
def test_a_card_advises_against_a_use_beyond_its_limit(at_limit, beyond, advised):
    assert advice(**at_limit) == ""
    assert advised in advice(**beyond)


@pytest.mark.parametrize(("topics", "lines"), [(9, 1), (10, 0)])
def test_intervals_over_fewer_than_ten_topics_are_warned_of(topics, lines):
    assert len(few_warning(Bootstrap(20), topics, "topic")) == lines
    assert few_warning(Bootstrap(0), topics, "topic") == []


def test_a_passage_is_a_part_if_its_document_has_another():
    assert [Passage("d", count=count).is_part for count in (1, 2)] == [False, True]


def test_the_first_unknown_dimension_is_named():
    rating = Rating("1", "A text.", ("overall", "charm", "wit"), (1.0, 5.0))
    assert rating.fault() == "task: quality has no dimension 'charm'"


def test_no_weight_of_a_report_may_be_negative():
    assert [option.bounds[0] for _, option in opts_of(WeightSpec)] == [0] * 7


@pytest.mark.parametrize(("value", "number"), [(1.0, "1.00"), (2.0, "2"), (1.5, "1.50")])
def test_a_whole_number_above_one_has_no_digits_on_the_page_of_a_case(value, number):
    assert _measure("sources", Measured(value, 3, 3)).value == number


@pytest.mark.parametrize(("reaching", "counted"), [((4, 4, 2), 3), ((5, 4, 2), 2)])
def test_a_level_counts_if_half_of_the_items_reach_it(reaching, counted):
    present = np.arange(5)[:, None] < np.array(reaching)
    table = np.where(present, 0.5, np.nan)
    decline = measure_decline((0.0, 0.5, 1.0), table, present, np.arange(5), Bootstrap(0))
    assert decline.counted == counted
