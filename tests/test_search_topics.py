"""Topics of a corpus matched with questions in other words, negated ones among them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pnyx.core.errors import InputError
from pnyx.core.records import Argument, Document, Question
from pnyx.judging.answers import Judged, Provenance, Unscored
from pnyx.judging.questions import Support
from pnyx.judging.students.judge import PackagedJudge
from pnyx.search import topics
from pnyx.search.build import build_index
from pnyx.search.hits import list_hits
from pnyx.search.pipeline import Searcher
from pnyx.search.plan import SearchPlan
from pnyx.search.polarity import compare, read_claim, same_words
from pnyx.search.sides import CORPUS_LABEL, label_on, match_labels, sided_by_label
from pnyx.search.topics import TopicMatch, TopicMatcher, labelled_topics, near_topics
from tries import tries

LEGAL = "Prostitution Should Be Legal"
OTHERS = ["Breastfeeding should be compulsory", "Taxes on fruit juices should be reduced"]
PARAPHRASES = Path(__file__).parents[1] / "lab/argue/paraphrases.txt"


def match(question: str, topic: str, *named: str):
    return TopicMatcher(named).match(question, [topic, *OTHERS])[topic]


@pytest.mark.parametrize(
    ("topic", "question", "relation"),
    [
        (LEGAL, "Should prostitution be legal?", 1),
        pytest.param(LEGAL, "Prostitution should be made legal", 1, marks=pytest.mark.all),
        pytest.param(LEGAL, "Should prostitution be legalised?", 1, marks=pytest.mark.all),
        (LEGAL, "Should prostitution be banned?", -1),
        pytest.param(LEGAL, "Prostitution ought to be illegal", -1, marks=pytest.mark.all),
        ("We should abolish speed cameras", "Should we keep speed cameras?", -1),
        ("We should abolish speed cameras", "Should we get rid of speed cameras?", 1),
        pytest.param(
            "Voting should be compulsory",
            "Should everybody be obliged to vote?",
            1,
            marks=pytest.mark.all,
        ),
        pytest.param(
            "This House would ban boxing", "Should boxing stay legal?", -1, marks=pytest.mark.all
        ),
        pytest.param(
            "This House would ban boxing", "Should boxing be outlawed?", 1, marks=pytest.mark.all
        ),
        pytest.param(
            "Homework does more harm than good", "Is homework harmful?", 1, marks=pytest.mark.all
        ),
    ],
)
def test_paraphrases_are_matched_the_right_way_round(topic, question, relation):
    found = match(question, topic)
    assert (found.used, found.relation) == (True, relation)
    assert found.probability >= 0.5
    assert 0 <= found.same + found.opposite <= 1 + 1e-9


@pytest.mark.parametrize(
    ("topic", "question"),
    [
        (OTHERS[0], "Should voting be compulsory?"),
        ("This House would ban alcohol", "Should smoking be banned?"),
        ("Scotland should become independent", "Should we abolish the monarchy?"),
        ("", "Should voting be compulsory?"),
        (LEGAL, ""),
        (LEGAL, "   "),
    ],
)
def test_another_matter_is_not_matched(topic, question):
    found = TopicMatcher().match(question, [topic, *OTHERS])
    assert not any(one.used for one in found.values())
    assert "" not in found


def test_without_the_detector_fewer_topics_count_and_none_is_read(monkeypatch):
    def loaded(*_):
        raise AssertionError("the detector was loaded")

    monkeypatch.setattr("pnyx.judging.students.judge.load_perspective_student", loaded)
    matcher = TopicMatcher(reads=False)
    found = matcher.match("Should prostitution be made legal?", [LEGAL, *OTHERS])
    assert [topic for topic, match in found.items() if match.used] == [LEGAL]
    unsure = matcher.match("Is it right to pay for sex?", [LEGAL, *OTHERS])
    assert not any(match.used for match in unsure.values())


def test_topics_whose_words_rule_out_that_their_labels_count_are_not_embedded(monkeypatch):
    question = "Should prostitution be made legal?"
    matcher = TopicMatcher(reads=False)
    every = matcher.match(question, [LEGAL, *OTHERS])
    assert matcher.match(question, [LEGAL, *OTHERS], every=False) == {LEGAL: every[LEGAL]}

    def loaded(*_):
        raise AssertionError("the encoder was loaded")

    monkeypatch.setattr("pnyx.models.embed.encoder.load_encoder", loaded)
    assert matcher.match("Is it right to pay for sex?", [LEGAL, *OTHERS], every=False) == {}


@pytest.mark.parametrize(("reads", "counted"), [(True, True), (False, False)])
def test_topics_left_out_are_those_whose_labels_do_not_count(reads, counted):
    titles = list(dict.fromkeys(title for title, _, _ in _paraphrases()))[:6]
    texts = [text for title, text, _ in _paraphrases() if title in titles[:2]]
    matcher = TopicMatcher(reads=reads)
    for text in texts:
        every = matcher.match(text, titles)
        some = matcher.match(text, titles, every=False)
        assert {t for t, m in some.items() if m.used} == {t for t, m in every.items() if m.used}
        assert (len(some) == len(titles)) is counted


@pytest.mark.parametrize(
    ("plan", "reads"),
    [(SearchPlan(), False), (SearchPlan(stance="pro"), True),
     (SearchPlan(diversify="perspectives"), True)],
)  # fmt: skip
def test_the_detector_is_asked_where_sides_are(plan, reads, tmp_path, monkeypatch):
    asked = []

    def read(questions):
        asked.extend(questions)
        return [0.0] * (len(questions) // 2)

    monkeypatch.setattr(topics, "_differences", read)
    index = build_index([Argument("1", "Sex work is work.", topic=LEGAL)], tmp_path / "i")
    searcher = Searcher(index, plan, judge=PackagedJudge("stance"))
    searcher.matcher.match("Should prostitution be legalised?", [LEGAL])
    assert bool(asked) is reads


def _paraphrases():
    title = ""
    for line in PARAPHRASES.read_text("utf-8").splitlines():
        mark, text = line.split(" ", 1)
        if mark == "=":
            title = text
        elif mark in "+-":
            yield title, text, 1 if mark == "+" else -1


def test_words_alone_tell_most_paraphrases_from_negated_ones():
    told = [
        compare(read_claim(title), read_claim(text)).agree == way
        for title, text, way in _paraphrases()
    ]
    assert len(told) > 400
    assert sum(told) > 0.85 * len(told)


@pytest.mark.parametrize(
    ("a", "b", "agree"),
    [
        ("Ban zoos", "Allow zoos", -1),
        ("Ban zoos", "Do not allow zoos", 1),
        ("The ban on zoos should be lifted", "Zoos should be allowed", 1),
        ("The ban on zoos should be lifted", "Zoos should be banned", -1),
        ("Phase out coal", "Keep coal", -1),
        ("Freedom matters more than security", "Security matters more than freedom", -1),
        ("Tablets should replace books", "Books should be replaced by tablets", 1),
        ("Pensions should be private", "Pensions should be public", -1),
        ("Nobody should be forced to vote", "Voting should be optional", 1),
        ("It is too dangerous to be allowed", "It should be banned", 1),
        ("Zoos hurt animals, so they must close", "Zoos should close", 1),
    ],
)
def test_words_that_turn_a_claim(a, b, agree):
    assert compare(read_claim(a), read_claim(b)).agree == agree


TEXTS = st.text(max_size=80) | st.lists(
    st.sampled_from("ban not zoos keep than should the too rid get of replaced by and , ?".split())
).map(" ".join)


@given(TEXTS, TEXTS)
def test_comparing_words_is_symmetric_and_total(a, b):
    left, right = read_claim(a), read_claim(b)
    assert compare(left, right) == compare(right, left)
    own = compare(left, left)
    assert (own.agree, own.unknown) == (1, 0)


@settings(max_examples=tries(30), deadline=None)
@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=4))
def test_matching_takes_any_text(question, topics):
    found = TopicMatcher().match(question, topics)
    assert set(found) == {topic for topic in topics if topic.strip()}
    for one in found.values():
        assert min(one.same, one.opposite) >= 0
        assert one.same + one.opposite <= 1 + 1e-6


def test_the_very_words_need_no_model(monkeypatch):
    def loaded(*_):
        raise AssertionError("a model was loaded")

    monkeypatch.setattr("pnyx.search.topics.matter_features", loaded)
    assert same_words(LEGAL, "Should prostitution not be legal?") == -1
    found = TopicMatcher().match("Should prostitution not be legal?", [LEGAL])[LEGAL]
    assert (found.why, found.relation, found.probability) == ("words", -1, 1.0)


def test_a_topic_named_by_hand_counts_whatever_its_words():
    question = "Should voting be compulsory?"
    named = match(question, OTHERS[0], "breastfeeding  SHOULD be compulsory")
    assert (named.used, named.relation, named.why) == (True, 1, "named")
    turned = match(question, OTHERS[0], f"not: {OTHERS[0]}")
    assert (turned.used, turned.relation, turned.probability) == (True, -1, 1.0)


@pytest.mark.parametrize("named", [("",), ("not:",), ("Ban zoos", "not: ban zoos")])
def test_useless_names_are_refused(named):
    with pytest.raises(InputError, match=r"^topic: "):
        TopicMatcher(named)


def test_a_name_that_no_passage_has_is_reported_with_those_there_are():
    matcher = TopicMatcher(["Ban zoos"])
    assert matcher.problems(["ban ZOOS"]) == []
    (line,) = matcher.problems([LEGAL, "", LEGAL])
    assert line == (
        "no passage found has a label on the topic “Ban zoos”: "
        "those found are on “Prostitution Should Be Legal”"
    )
    (line,) = matcher.problems([])
    assert line.endswith("none found has a label")


def _argument(stance, topic=LEGAL, conclusion="It protects workers."):
    return Argument("a", conclusion, stance=stance, topic=topic)


@pytest.mark.parametrize(
    ("question", "stance", "side"),
    [
        ("Prostitution should be made legal", "pro", "pro"),
        ("Prostitution should be made legal", "con", "con"),
        ("Should prostitution be banned?", "pro", "con"),
        ("Should prostitution be banned?", "con", "pro"),
        ("Should prostitution be banned?", "neutral", None),
    ],
)
def test_a_label_becomes_a_verdict_with_its_probability(question, stance, side):
    document = _argument(stance)
    (found,) = match_labels(Question("q", question), [document], TopicMatcher())
    sided = sided_by_label(document, found)
    assert sided is not None
    assert sided.side == side
    for name, answer in sided.verdicts.items():
        assert isinstance(answer, Judged)
        assert answer.value is (name == side)
        assert answer.provenance.judge == CORPUS_LABEL
        assert answer.provenance.details["topic"] == LEGAL
        assert answer.provenance.details["stance"] == stance
        assert (answer.probability is None) == (side is None)
    if side is not None:
        assert sided.verdicts[side].probability == found.probability


def test_where_a_source_names_no_topic_the_label_is_on_the_conclusion():
    document = _argument("con", topic="", conclusion="Prostitution should be banned")
    (found,) = match_labels(Question("q", "Should prostitution be legal?"), [document],
                            TopicMatcher())  # fmt: skip
    assert found is not None
    assert label_on(document, found) == "pro"


def test_what_has_no_label_has_no_match():
    documents = [Document("d", "Text."), _argument(None)]
    assert match_labels(Question("q", LEGAL), documents, TopicMatcher()) == [None, None]
    assert sided_by_label(documents[1], None) is None


def test_topics_are_counted_those_that_count_first():
    question = Question("q", "Prostitution should be made legal")
    documents = [_argument("pro", OTHERS[0]), _argument("pro"), _argument("con")]
    found = labelled_topics(match_labels(question, documents, TopicMatcher()))
    assert [(one.match.topic, one.passages, one.match.used) for one in found] == [
        (LEGAL, 2, True),
        (OTHERS[0], 1, False),
    ]


def test_four_words_on_each_side_are_compared():
    claim = "Trains buses trams bikes cars rather than planes ships ferries rockets balloons"
    before, after = read_claim(claim).order
    assert before == {"buse", "tram", "bike", "car"}
    assert after == {"plane", "ship", "ferri", "rocket"}


@pytest.mark.parametrize(
    ("reads", "way", "used"),
    [(True, 0.93, True), (True, 0.929, False), (False, 0.95, True), (False, 0.949, False)],
)
def test_a_topics_labels_count_from_a_certain_direction(monkeypatch, reads, way, used):
    matter = topics._weights().matter
    monkeypatch.setattr(
        topics, "_logistic", lambda rows, w: np.full(len(rows), 1.0 if w is matter else way)
    )
    match = TopicMatcher(reads=reads).match("Should zoos be banned?", ["Are zoos cruel?"])
    assert match["Are zoos cruel?"].used == used


def test_each_direction_is_read_both_ways(monkeypatch):
    """Topic and question, and the reverse: one column for each side."""
    monkeypatch.setattr(topics, "_differences", lambda supports: [1.0, 0.5, 2.0, 0.25])
    rows = topics.way_features("Should zoos be banned?", ["Are zoos cruel?"])
    assert rows[0, 4:].tolist() == [1.5, 2.25]
    assert abs(rows[0, :4]).sum() <= 1


def test_a_missing_verdict_tells_no_direction(monkeypatch):
    class Judge:
        def judge(self, asked):
            return [Unscored("none", by), Judged(True, by, 0.9), Judged(True, by, 0.9),
                    Judged(False, by, 0.1)]  # fmt: skip

    by = Provenance("written")
    monkeypatch.setattr("pnyx.judging.students.judge.load_perspective_student", Judge)
    asked = [Support("", "a", str(n)) for n in range(4)]
    assert topics._differences(asked) == [0.0, pytest.approx(2 * math.log(9))]


@pytest.mark.parametrize(
    ("probability", "difference"),
    [(0.92, 2 * math.log(0.92 / 0.08)), (0.93, 5.0), (0.999, 5.0), (0.001, -5.0)],
)
def test_a_direction_counts_up_to_5_log_odds(monkeypatch, probability, difference):
    by = Provenance("written")
    answers = [Judged(True, by, probability), Judged(False, by, 1 - probability)]
    judge = type("Judge", (), {"judge": lambda *_: answers})
    monkeypatch.setattr("pnyx.judging.students.judge.load_perspective_student", judge)
    asked = [Support("", "a", str(n)) for n in range(2)]
    assert topics._differences(asked) == [pytest.approx(difference)]


def test_topics_are_offered_where_none_is_the_questions():
    likely = [("no", 0.01), ("a", 0.1), ("b", 0.3), ("c", 0.05), ("d", 0.03), ("x" * 1001, 0.2)]
    matches = [TopicMatch(topic, p, 0.0, "meaning", used=False) for topic, p in likely]
    found = labelled_topics([*matches, matches[1]])
    assert [(one.match.topic, one.passages) for one in near_topics(found)] == [
        ("b", 1),
        ("a", 2),
        ("c", 1),
    ]
    used = TopicMatch("mine", 1.0, 0.0, "words", used=True)
    assert near_topics(labelled_topics([*matches, used])) == ()
    assert near_topics(()) == ()


def test_a_label_that_cannot_count_shows_its_topic_without_probabilities(tmp_path):
    argument = Argument("1", "Sex work is work.", stance="pro", topic=LEGAL)
    searcher = Searcher(build_index([argument], tmp_path / "i"))
    (hit,) = searcher.search("Is sex work immoral?")
    unknown = dict.fromkeys(("relation", "same", "opposite", "why", "stance"))
    assert hit.label is not None
    assert hit.label.model_dump() == {"topic": LEGAL, "used": False, **unknown}
    (shown,) = list_hits(searcher.search("Is sex work immoral?"), searcher, every_topic=True)
    assert shown.match is not None
    assert 0 < shown.match.same + shown.match.opposite < 1
