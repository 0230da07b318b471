"""Limits and decisions of `pnyx label`, each at its boundary."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

pytest.importorskip("starlette", reason="starlette is not installed")

from starlette.datastructures import FormData

from command import write_rows
from label_fixture import OPEN, Person, item_rows, labelling, opened
from pnyx.core.errors import InputError
from pnyx.formats.label_words import ADJUDICATED
from pnyx.judging.questions import Preference, Ranking, Rating, Support
from pnyx.judging.tasks import TASKS
from pnyx.judging.verdicts import read_verdicts
from pnyx.web.label.commands import about
from pnyx.web.label.forms import check_places, form_of
from pnyx.web.label.journal import LabelJournal
from pnyx.web.label.label_log import Act, Book, disputed, label_rows
from pnyx.web.label.label_session import Share
from pnyx.web.label.organiser import agreement_of
from pnyx.web.label.people import People, is_turned, shared_out, token_of
from pnyx.web.label.submitted_forms import draft_of, show_of, version_of


@pytest.fixture(autouse=True)
def _closing():
    yield
    while OPEN:
        OPEN.pop().close()


def answered(who: str, item: str, value: object = True, **more) -> Act:
    return Act(who, item, "answer", (0,), {"": value}, **more)


# Names and tokens ---------------------------------------------------------------------------------


def test_a_name_is_remembered_for_a_year(tmp_path):
    with labelling(tmp_path, "support", item_rows("support", 1)) as (_, _, address):
        client = Person(address, "ann").client
        sent = {"data": {"name": " Zoë B "}, "follow_redirects": False}
        cookie = client.post("/enter", **sent).headers["set-cookie"]
        parts = cookie.lower().split("; ")
        assert parts[0] == "pnyx_annotator=zo%c3%ab%20b"
        assert {"max-age=31536000", "httponly", "samesite=strict"} <= set(parts)
        assert "secure" not in parts
        assert "Zoë B" in client.get("/").text
        by_proxy = client.post("/enter", headers={"x-forwarded-proto": "https"}, **sent)
        assert "secure" in by_proxy.headers["set-cookie"].lower().split("; ")
        left = client.post("/leave", follow_redirects=False).headers["set-cookie"]
        assert 'pnyx_annotator=""' in left


def test_a_token_has_24_hexadecimal_digits_of_the_secret_and_the_name():
    """HMAC-SHA256 of "ann" with the key "secret", as any other program computes it."""
    assert token_of("secret", "ann") == "aad4e6199b77de3305e56899"
    people = People(["ann"], "secret", token="mine")
    assert people.tokens == {"organiser": "mine", "ann": "aad4e6199b77de3305e56899"}


# Forms --------------------------------------------------------------------------------------------


def test_nine_documents_can_be_ranked():
    task = TASKS["ranking"]
    check_places(task, [Ranking("nine", "q", ("d",) * 9)], "items.jsonl")
    with pytest.raises(InputError, match=r"'ten' has 10 documents, and people can rank at most 9"):
        check_places(task, [Ranking("ten", "q", ("d",) * 10)], "items.jsonl")
    form = form_of(Ranking("r", "q", ("a", "b", "c")))
    assert form.levels == ("1: serves the query best.", "3: serves it least.")
    assert [field.label for field in form.fields] == ["Document 1", "Document 2", "Document 3"]
    assert [choice.value for choice in form.fields[0].choices] == [1, 2, 3]


@pytest.mark.parametrize(
    ("scale", "values", "last"),
    [
        ((0.0, 10.0), [0, 2.5, 5, 7.5, 10], "10: fully (key 5)"),
        ((0.0, 100.0), [0, 25, 50, 75, 100], "100: fully (key 5)"),
    ],
)
def test_a_scale_without_words_has_five_even_steps(scale, values, last):
    form = form_of(Rating("r", "A text.", ("clarity",), scale))
    assert [choice.value for choice in form.fields[0].choices] == values
    assert [choice.key for choice in form.fields[0].choices] == ["1", "2", "3", "4", "5"]
    assert form.levels[-1] == last


def test_a_form_names_what_is_judged():
    rating = Rating("r", "A text.", ("clarity",), (1.0, 5.0))
    assert [block.label for block in form_of(rating).texts] == ["Text"]
    with_others = replace(rating, other="Another.", documents=("x", "y"))
    assert [block.label for block in form_of(with_others).texts] == [
        "Argument", "The other argument", "Document 1", "Document 2",
    ]  # fmt: skip
    preference = Preference("p", "Which?", "a", "b", documents=("x",))
    assert [block.label for block in form_of(preference).texts] == ["A", "B", "Text"]
    two = replace(preference, documents=("x", "y"))
    assert [block.label for block in form_of(two).texts[2:]] == ["Document 1", "Document 2"]


def test_a_statement_that_is_the_question_is_shown_once():
    same = Support("s", "A text.", "Is it so? ", question="Is it so?")
    assert [block.label for block in form_of(same).reference] == ["Question"]
    other = replace(same, statement="It is so.")
    assert [block.label for block in form_of(other).reference] == ["Question", "Statement"]


def test_values_of_a_file_are_chosen_only_if_they_are_of_the_same_type():
    form = form_of(Rating("r", "A text.", ("clarity", "overall"), (1.0, 5.0)))
    assert form.marks({"clarity": 1, "overall": 5}) == (0, 4)
    assert form.marks({"clarity": True, "overall": None}) == (None, None)
    assert form.words(2) == "2"
    assert form.words(7) == "7"
    yes = form_of(Support("s", "A text.", "It is so."))
    assert (yes.words(True), yes.words(False), yes.single) == ("Yes", "No", True)
    places = form_of(Ranking("r", "q", ("a", "b", "c")))
    assert places.marks({"": [2, 0, 1]}) == (1, 2, 0)
    assert places.marks({"": [0, 1]}) == (None, None, None)
    assert places.words([2, 0, 1]) == "3 > 1 > 2"


# What a browser submits ---------------------------------------------------------------------------


def submitted(**fields: str) -> Act:
    return draft_of(form_of(Support("i", "A text.", "It is so.")), FormData(fields), "ann", "i")


def test_a_comment_has_4000_characters():
    assert len(submitted(comment="c" * 4000).comment) == 4000
    assert submitted(comment=" a\r\nb " + "c" * 3998).comment == "a\nb " + "c" * 3996


@pytest.mark.parametrize(
    ("sent", "seconds"),
    [("0", 0.0), ("86400", 86400.0), ("86400.1", None), ("-0.1", None), ("nan", None), ("", None),
     ("soon", None)],
)  # fmt: skip
def test_an_item_takes_a_day_at_most(sent, seconds):
    assert submitted(seconds=sent).seconds == seconds


@pytest.mark.parametrize(
    ("sent", "mark"), [("0", 0), ("1", 1), ("2", None), ("-1", None), ("1.0", None), ("", None)]
)
def test_a_choice_is_one_of_those_offered(sent, mark):
    assert submitted(f0=sent).marks == (mark,)


def test_a_form_says_its_version_and_its_filter():
    assert version_of(FormData({"version": "999999999"})) == 999_999_999
    for odd in ("1000000000", "", "-1", "x"):
        assert version_of(FormData({"version": odd})) == -1
    assert [show_of({"show": show}) for show in ("open", "other", "")] == ["open", "", ""]


def test_a_skip_keeps_its_reason_before_the_comment_and_no_doubt(tmp_path):
    with labelling(tmp_path, "support", item_rows("support", 4)) as (desk, _, address):
        ann = Person(address, "ann")
        reason = "The text is broken"
        for place, comment, kept in (
            (1, "", reason),
            (2, "in the middle", f"{reason}: in the middle"),
            (3, f"{reason}: again", f"{reason}: again"),
        ):
            ann.see(f"/item/{place}")
            ann.send(do="skip", reason=reason, comment=comment, unsure="1", seconds="1.26")
            act = desk.state("ann", place - 1).act
            assert (act.does, act.comment, act.unsure, act.seconds) == ("skip", kept, False, 1.3)
        ann.see("/item/3")
        ann.send(0, do="answer", reason=reason, unsure="1", seconds="2")
        act = desk.state("ann", 2).act
        assert (act.comment, act.unsure, act.seconds) == ("", True, 3.3)  # both visits together


# Lists of items -----------------------------------------------------------------------------------


def test_a_hundred_items_are_listed_a_page(tmp_path):
    with labelling(tmp_path, "support", item_rows("support", 101)) as (_, _, address):
        ann = Person(address, "ann")

        def listed(path: str) -> list[str]:
            return list(dict.fromkeys(re.findall(r'"/item/(\d+)[?"]', ann.see(path).text)))

        assert listed("/items") == [f"{n}" for n in range(1, 101)]
        assert listed("/items?page=2") == ["101"]
        assert listed("/items?page=3") == ["101"]
        ann.see("/item/101")
        ann.send(0)
        assert listed("/items?show=answered") == ["101"]
        assert listed("/items?show=open&page=2") == [f"{n}" for n in range(1, 101)]


def test_the_next_open_item_comes_after_the_answered_one_and_then_from_the_start(tmp_path):
    with opened(tmp_path, "support", item_rows("support", 4)) as desk:
        assert [desk.following("ann", position) for position in (-1, 0, 2, 3)] == [0, 1, 3, 0]
        for item in ("i1", "i4"):
            desk.record(answered("ann", item, unsure=item == "i4"), 0)
        assert [desk.following("ann", position) for position in (-1, 1, 2, 3)] == [1, 2, 1, 1]
        assert desk.following("ann", 3, "unsure") is None  # the item itself does not follow
        assert desk.following("ann", 0, "unsure") == 3
        desk.record(Act("ann", "i2", "skip", comment="odd"), 0)
        desk.record(Act("ann", "i3", "draft", comment="so far"), 0)
        shown = {
            show: [n for n in range(4) if desk.shows("ann", n, show)]
            for show in ("", "open", "answered", "unsure", "skipped", "commented")
        }
        assert shown == {
            "": [0, 1, 2, 3], "open": [2], "answered": [0, 3], "unsure": [3], "skipped": [1],
            "commented": [1],
        }  # fmt: skip
        total, groups = desk.progress("ann")
        assert total == (3, 4, 1, 1)
        assert groups == {"buses": (1, 2, 0, 0), "tea": (2, 2, 1, 1)}
        assert desk.summary() == {"items": 4, "answered": 2, "answers": 2, "annotators": 1}


def test_a_person_without_items_has_done_0_of_0(tmp_path):
    rows = item_rows("support", 2)
    with opened(tmp_path, "support", rows, annotators=("ann", "ben"), overlap=1) as desk:
        assert desk.progress("cy") == ((0, 0, 0, 0), {})
        assert desk.progress("ann")[0] == (0, 1, 0, 0)
        assert desk.order(ADJUDICATED) == [0, 1]


def test_a_judge_differs_only_where_both_have_an_answer(tmp_path):
    verdicts = [
        {"id": name, "task": "support", "value": value, "unscored": why, "judge": "j"}
        for name, value, why in (("i1", True, None), ("i2", False, None), ("i3", None, "refused"))
    ]
    suggested = {verdict.key: verdict for verdict in read_verdicts(verdicts)}
    with opened(tmp_path, "support", item_rows("support", 4), suggested=suggested) as desk:
        for item in ("i1", "i2", "i3", "i4"):
            desk.record(answered("ann", item), 0)
        assert [desk.differing("ann", n) for n in range(4)] == [[], [""], [], []]
        assert [desk.shows("ann", n, "differs") for n in range(4)] == [False, True, False, False]


# Agreement and disputes ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "scale", "differ"),
    [
        ((1, 2), [1, 2, 3], False),
        ((1, 3), [1, 2, 3], True),
        ((0, 1), [0, 1], True),
        ((0, 2.5, 5), [0, 2.5, 5], True),
        ((2.5, 5), [0, 2.5, 5], False),
        ((1, 7), [1, 2, 3], False),  # 7 is not on the scale
        ((7, 8), [1, 2, 3], False),
    ],
)
def test_people_differ_by_more_than_one_step(values, scale, differ):
    acts = [Act(f"p{n}", "i", "answer", values={"wit": value}) for n, value in enumerate(values)]
    assert disputed(acts, {"wit": scale}) == (["wit"] if differ else [])


def test_an_item_is_disputed_from_two_answers_on(tmp_path):
    with opened(tmp_path, "quality", item_rows("quality", 1)) as desk:
        cells = desk.questions[0].cells
        for n, who in enumerate(("ann", "ben")):
            assert desk.disputes() == []
            values = dict.fromkeys(cells, 1) | {cells[0]: 1 + 2 * n, cells[1]: 1 + n}
            desk.record(Act(who, "i1", "answer", (0,) * len(cells), values), 0)
        assert desk.disputed(desk.questions[0]) == [cells[0]]
        decision = Act(ADJUDICATED, "i1", "answer", (0,) * len(cells), dict.fromkeys(cells, 3))
        desk.record(decision, 0)
        assert [act.who for act in desk.book.answers("i1")] == ["ann", "ben"]
        assert desk.book.people == ["ann", "ben"]


@pytest.mark.parametrize(("labels", "draws"), [(20_000, 1000), (20_001, 200)])
def test_more_than_20000_labels_get_fewer_draws(monkeypatch, labels, draws):
    measured = []

    def measure(_, files, *, bootstrap):
        measured.append((len(files[0]), bootstrap.draws))
        return SimpleNamespace(compared=[None], clustered_by="item", clusters=1)

    monkeypatch.setattr("pnyx.judging.measures.raters.measure_raters", measure)
    questions = [Support(f"i{n}", "A text.", "So.") for n in range(10_000)]
    people = {questions[0].id: 2 + (labels - 20_000)}
    answers = {
        question.id: [answered(f"p{n}", question.id) for n in range(people.get(question.id, 2))]
        for question in questions
    }
    desk = SimpleNamespace(questions=questions, book=SimpleNamespace(answers=answers.__getitem__))
    page = agreement_of(desk)
    assert measured == [(labels, draws)]
    assert (page.draws, page.items, page.drawn_by) == (draws, (10_000, 10_000), ("item", 1))


def test_agreement_needs_an_item_that_two_people_answered():
    questions = [Support(f"i{n}", "A text.", "So.") for n in range(3)]
    answers = {"i0": [answered("ann", "i0")], "i1": [answered("ben", "i1")], "i2": []}
    desk = SimpleNamespace(questions=questions, book=SimpleNamespace(answers=answers.__getitem__))
    page = agreement_of(desk)
    assert (page.compared, page.items) == (None, (0, 2))
    assert page.reason == "No item has answers of two people yet."
    answers["i0"].append(answered("ben", "i0", [1, 0]))
    assert agreement_of(desk).reason == "Agreement is not measured for rankings."


def test_the_organisers_form_has_the_choices_on_which_all_agree(tmp_path):
    with labelling(tmp_path, "quality", item_rows("quality", 1)) as (desk, _, address):
        cells = desk.questions[0].cells
        for n, who in enumerate(("ann", "ben")):
            marks = (2, 2 * n, *[0] * (len(cells) - 2))
            values = dict(zip(cells, (mark + 1 for mark in marks), strict=True))
            desk.record(Act(who, "i1", "answer", marks, values), 0)
        page = Person(address, "boss").see("/adjudicate/1").text
        assert 'name="f0" value="2" data-key="3" checked' in page
        assert 'name="f2" value="0" data-key="1" checked' in page
        assert not any(f'name="f1" value="{mark}" data-key="{mark + 1}" checked' in page
                       for mark in range(3))  # fmt: skip


# The journal --------------------------------------------------------------------------------------


def test_a_line_of_the_journal_has_what_differs_from_the_defaults():
    assert Act("ann", "i", "skip").row() == {"who": "ann", "item": "i", "does": "skip"}
    full = Act("ann", "i", "answer", (0, None), {"": 0}, True, "c", 0.0, "ab", "now", "j")
    assert full.row() == {
        "who": "ann", "item": "i", "does": "answer", "marks": [0, None], "values": {"": 0},
        "unsure": True, "comment": "c", "seconds": 0.0, "shown": "ab", "at": "now", "seen": "j",
    }  # fmt: skip
    assert Act.of_row(full.row()) == full


def test_labels_are_sorted_by_annotator_and_leave_out_what_is_unknown():
    question = Support("i", "A text.", "So.", group="")
    acts = [answered("ben", "i", seconds=0.0), answered("ann", "i", False, comment="c")]
    assert label_rows(question, acts) == [
        {"id": "i", "value": False, "annotator": "ann", "uncertain": False, "comment": "c"},
        {"id": "i", "value": True, "annotator": "ben", "uncertain": False, "seconds": 0.0},
    ]


def test_a_draft_after_an_answer_leaves_the_answer():
    book = Book([answered("ann", "i"), Act("ann", "i", "draft", (1,))])
    state = book.state("ann", "i")
    assert (state.answered, state.latest.does, state.version, book.count) == (True, "draft", 2, 2)
    book.apply(Act("ann", "i", "undo"))
    assert (state.act, state.latest.does, state.ever) == (None, "answer", True)


def test_a_labelling_is_continued_with_the_same_shares_only(tmp_path):
    questions = TASKS["support"].read(write_rows(tmp_path / "i.jsonl", item_rows("support", 2)))
    two = Share(("ann", "ben"), 1)
    assert two.row() == {
        "--overlap": 1, "--shuffle": False, "--seed": 0, "--annotators": ["ann", "ben"],
    }  # fmt: skip
    assert Share(("ann", "ben")).row()["--annotators"] == []  # others may join
    identity = about(TASKS["support"], questions, two)
    with LabelJournal(tmp_path / "labels.jsonl", identity):
        pass
    for share, words in (
        (Share(("ann", "cy"), 1), "was begun with --annotators ann,ben, found ann,cy"),
        (Share(("ann", "ben")), "was begun with --overlap 1, found none"),
        (Share(("ann", "ben"), 1, shuffle=True), "was begun with --shuffle False, found True"),
    ):
        other = about(TASKS["support"], questions, share)
        with pytest.raises(InputError, match=words), LabelJournal(tmp_path / "labels.jsonl", other):
            pass


def test_a_seed_draws_the_same_shares_and_sides_in_every_version():
    shares = {"ann": [0, 5], "ben": [2, 4], "cy": [1, 3]}
    assert shared_out(6, list(shares), 1, 0) == shares
    turned = [n for n in range(8) if is_turned(f"i{n}", "ann", 0)]
    assert turned == [1, 3, 6, 7]


def test_the_organiser_is_led_from_dispute_to_dispute(tmp_path):
    with labelling(tmp_path, "support", item_rows("support", 4)) as (desk, _, address):
        for item, values in (("i2", (True, False)), ("i4", (False, True))):
            for who, value in zip(("ann", "ben"), values, strict=True):
                comment = f"{who} on {item}"
                desk.record(answered(who, item, value, comment=comment, seconds=3.0), 0)
        boss = Person(address, "boss")
        page = boss.see("/adjudicate")
        assert str(page.url).endswith("/adjudicate/2")
        assert ("ann on i2" in page.text, "ann on i4" in page.text) == (True, False)
        boss.send(0)
        page = boss.see("/adjudicate")
        assert str(page.url).endswith("/adjudicate/4")
        assert "ann on i4" in page.text
        boss.send(1)
        assert str(boss.see("/adjudicate").url).endswith("/organise")
        assert desk.summary() == {"items": 4, "answered": 2, "answers": 4, "annotators": 2}
        decided = [row for row in desk.rows() if row["annotator"] == ADJUDICATED]
        assert [(row["id"], row["value"]) for row in decided] == [("i2", True), ("i4", False)]
