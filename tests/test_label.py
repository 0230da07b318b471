"""`pnyx label`: forms of every task, the journal, sharing out, and pages over real HTTP."""

from __future__ import annotations

import json
import os
import resource
import signal
import time
from dataclasses import replace
from itertools import combinations
from urllib.parse import urlencode

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command import run as pnyx
from command import write_rows
from label_fixture import OPEN, PART, Person, item_rows, labelling, labels_in, opened
from page_fixture import served_by_command
from pnyx.core.errors import InputError, OptionError, PnyxError
from pnyx.formats.label_words import ADJUDICATED
from pnyx.judging.answers import Judged
from pnyx.judging.base import ask
from pnyx.judging.lookup import HumanLabels
from pnyx.judging.measures.raters import measure_raters
from pnyx.judging.questions import Ranking
from pnyx.judging.tasks import TASKS
from pnyx.judging.verdicts import read_verdicts
from pnyx.web.label.forms import MOST_PLACES, form_of
from pnyx.web.label.journal import LabelJournal, journal_of
from pnyx.web.label.label_log import Act, Book, disputed
from pnyx.web.label.people import People, is_turned, order_of, shared_out, token_of
from tries import tries

pytest.importorskip("starlette", reason="starlette is not installed")
every_task = pytest.mark.parametrize("task", TASKS)


@pytest.fixture(autouse=True)
def _closing():
    yield
    while OPEN:
        OPEN.pop().close()


# --- forms: made of the question's kind, for every task there is


def questions_of(task, tmp_path, count=1):
    return TASKS[task].read(write_rows(tmp_path / "items.jsonl", item_rows(task, count)))


@every_task
def test_every_task_has_a_form_whose_choices_are_its_answers(task, tmp_path):
    (question,) = questions_of(task, tmp_path)
    for turned in (False, True):
        form = form_of(question, turned=turned)
        assert form.asks.endswith("?")
        assert form.texts
        assert len(form.fields) >= 1
        for field in form.fields:
            keys = [choice.key for choice in field.choices]
            assert len(set(keys)) == len(keys) >= 2
            assert not set(keys) & set("uscjkz?"), "these keys do something else"
            if not form.places:
                for choice in field.choices:
                    assert question.value_of(choice.value) is not None, choice
        marks = tuple(range(len(form.fields))) if form.places else (1,) * len(form.fields)
        values = form.values(marks)
        assert list(values) == list(dict.fromkeys(question.cells))
        assert form.marks(values) == marks
        assert form.words(next(iter(values.values())))
        with pytest.raises(InputError, match="not everything is answered"):
            form.values((None,) * len(form.fields))


@every_task
def test_a_form_shows_all_that_a_judge_is_told(task, tmp_path):
    (question,) = questions_of(task, tmp_path)
    form = form_of(question)
    shown = " ".join(block.text for block in (*form.reference, *form.guidelines, *form.texts))
    for name in question.parts:
        value = getattr(question, name)
        for text in (value,) if isinstance(value, str) else value:
            assert text in shown, name


def test_a_quality_form_has_the_dimensions_and_the_scale_in_words(tmp_path):
    (question,) = questions_of("quality", tmp_path)
    form = form_of(question)
    assert len(form.fields) == 15
    assert [c.explanation for c in form.fields[0].choices] == ["low", "average", "high"]
    assert form.fields[-1].label == "Overall quality"
    five = form_of(replace(question, scale=(1, 5)))
    assert [c.value for c in five.fields[0].choices] == [1, 2, 3, 4, 5]
    yes_no = form_of(replace(question, scale=(0, 1)))
    assert [(c.value, c.key) for c in yes_no.fields[0].choices] == [(1, "y"), (0, "n")]


def test_turned_sides_change_places_and_keep_their_meaning(tmp_path):
    (question,) = questions_of("preference", tmp_path)
    plain, turned = form_of(question), form_of(question, turned=True)
    assert [b.text for b in plain.texts[:2]] == [question.a, question.b]
    assert [b.text for b in turned.texts[:2]] == [question.b, question.a]
    assert plain.values((0,)) == {"": "a"}
    assert turned.values((0,)) == {"": "b"}
    assert turned.values((2,)) == {"": "tie"}
    assert (plain.side_order, turned.side_order) == ("ab", "ba")


def test_places_become_an_order_and_each_is_given_once(tmp_path):
    question = Ranking("1", "q", ("x", "y", "z"))
    form = form_of(question)
    # x is second, y third, z first.
    assert form.values((1, 2, 0)) == {"": [2, 0, 1]}
    with pytest.raises(InputError, match="same place"):
        form.values((0, 0, 1))


def test_long_rankings_are_refused(tmp_path, call):
    row = {"id": "long", "query": "q", "documents": ["d"] * (MOST_PLACES + 1)}
    items = write_rows(tmp_path / "items.jsonl", [row])
    code, _, said = call("label", "ranking", items, "--out", str(tmp_path / "l.jsonl"))
    assert code == 2
    assert "item 'long' has 10 documents, and people can rank at most 9" in said
    assert not journal_of(tmp_path / "l.jsonl").exists()


# --- the book and the journal

ITEMS = ("x", "y", "z")
WHO = ("ann", "ben")


def recorded(drawn):
    """Return the acts that can have been recorded: an undo is of what its person said last."""
    acts: list[Act] = []
    book = Book()
    for who, item, does, value in drawn:
        if does == "undo" and not (item := book.last(who)):
            continue
        said = {"": value} if does == "answer" else {}
        acts.append(Act(who, item, does, (0,), said, bool(value)))
        book.apply(acts[-1])
    return acts


DOES = ("answer", "skip", "draft", "undo")
ACTS = st.tuples(*map(st.sampled_from, (WHO, ITEMS, DOES, (True, False, "partially"))))
histories = st.lists(ACTS, max_size=25).map(recorded)


def replayed(acts):
    """What counts in the end, written anew: a stack of what each person confirmed."""
    stacks: dict[str, list[Act]] = {}
    for act in acts:
        own = stacks.setdefault(act.who, [])
        if act.does == "undo":
            own.pop()
        elif act.does != "draft":
            own.append(act)
    return {(one.who, one.item): one for own in stacks.values() for one in own}


def test_a_thousand_acts_of_a_person_can_be_undone():
    """And no more are held, or the memory of a server would grow with each answer."""
    items = [f"i{number}" for number in range(1_001)]
    book = Book(Act("ann", item, "answer", (0,), {"": True}) for item in items)
    for item in reversed(items[1:]):
        assert book.last("ann") == item
        book.apply(Act("ann", item, "undo"))
    assert book.last("ann") == ""
    with pytest.raises(InputError):
        book.apply(Act("ann", "i0", "undo"))
    assert book.state("ann", "i0").act is not None


@given(histories)
def test_the_last_word_counts(acts):
    book, expected = Book(acts), replayed(acts)
    for who in WHO:
        for item in ITEMS:
            assert book.state(who, item).act == expected.get((who, item))
            done = [a for a in acts if (a.who, a.item) == (who, item)]
            assert book.state(who, item).version == len(done)


@settings(deadline=None, max_examples=tries(60))
@given(histories, st.data())
def test_a_crash_anywhere_leaves_what_was_acknowledged(tmp_path_factory, acts, data):
    labels = tmp_path_factory.mktemp("crash") / "labels.jsonl"
    about = {"task": "support"}
    with LabelJournal(labels, about) as journal:
        for act in acts:
            journal.add(act)
    file = journal_of(labels) / "acts.jsonl"
    written = file.read_bytes()
    cut = data.draw(st.integers(0, len(written)))
    file.write_bytes(written[:cut])
    whole = acts[: written[:cut].count(b"\n")]
    with LabelJournal(labels, about) as journal:
        assert list(journal.acts()) == whole
        more = Act("ann", "x", "answer", (1,), {"": False})
        journal.add(more)
    with LabelJournal(labels, about) as journal:
        assert list(journal.acts()) == [*whole, more]


def test_a_full_disk_leaves_the_journal_as_it_was(tmp_path, monkeypatch):
    labels = tmp_path / "labels.jsonl"
    first, second = (Act("ann", item, "answer", (0,), {"": True}) for item in "xy")
    with LabelJournal(labels, {}) as journal:
        journal.add(first)

        def full(handle):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as broken:
            broken.setattr("pnyx.search.lexical.manifest.os.fsync", full)
            with pytest.raises(PnyxError, match="cannot be written: No space left"):
                journal.add(second)
        assert list(journal.acts()) == [first]
        journal.add(second)
    with LabelJournal(labels, {}) as journal:
        assert list(journal.acts()) == [first, second]


def test_an_answer_that_a_full_disk_refused_is_never_written(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    first, after = (Act("ann", item, "answer", (0,), {"": True}) for item in "xz")
    long = Act("ann", "y", "answer", (0,), {"": True}, comment="c" * 500)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with LabelJournal(tmp_path / "labels.jsonl", {}) as journal:
        journal.add(first)
        acts = journal.folder / "acts.jsonl"
        whole = acts.read_bytes()
        try:
            # The operating system takes a part of the line, and then nothing, as a full disk does.
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 100, before[1]))
            for _ in range(3):
                with pytest.raises(PnyxError, match="cannot be written"):
                    journal.add(long)
                assert acts.read_bytes() == whole
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, handler)
        journal.add(after)
        assert list(journal.acts()) == [first, after]
    with LabelJournal(tmp_path / "labels.jsonl", {}) as journal:
        assert list(journal.acts()) == [first, after]


def test_two_processes_do_not_share_a_journal(tmp_path):
    words = "another process is writing to these labels"
    with LabelJournal(tmp_path / "l", {}), pytest.raises(PnyxError, match=words):
        LabelJournal(tmp_path / "l", {}).__enter__()


@pytest.mark.parametrize("line", ["[]", "{}", '{"who": "a"', '{"who":"a","item":"b","does":"x"}'])
def test_a_damaged_line_is_named(tmp_path, line):
    with LabelJournal(tmp_path / "l", {}) as journal:
        journal.add(Act("ann", "x", "answer"))
    file = journal_of(tmp_path / "l") / "acts.jsonl"
    file.write_text(line + "\n" + file.read_text())
    with (
        LabelJournal(tmp_path / "l", {}) as journal,
        pytest.raises(InputError, match="damaged") as found,
    ):
        list(journal.acts())
    assert found.value.line == 1


def test_ratings_one_step_apart_are_no_dispute():
    def rated(*values):
        return [Act(str(n), "x", "answer", values={"clarity": v}) for n, v in enumerate(values)]

    scale = {"clarity": [1, 2, 3]}
    assert disputed(rated(1, 2), scale) == []
    assert disputed(rated(1, 3), scale) == ["clarity"]
    assert disputed(rated(0, 1), {"clarity": [0, 1]}) == ["clarity"]
    assert disputed(rated(True, "partially"), {}) == ["clarity"]
    assert disputed(rated(True, True), {}) == []
    assert disputed([], {}) == []


# --- sharing out


@given(st.integers(0, 60), st.integers(1, 6), st.data())
def test_each_item_goes_to_as_many_as_wanted_and_loads_are_even(count, people, data):
    names = [f"p{n}" for n in range(people)]
    overlap = data.draw(st.one_of(st.none(), st.integers(1, people)))
    shares = shared_out(count, names, overlap, seed=3)
    assert shares == shared_out(count, names, overlap, seed=3)
    for item in range(count):
        assert sum(item in own for own in shares.values()) == (overlap or people)
    loads = [len(own) for own in shares.values()]
    assert max(loads) - min(loads) <= 1


def test_pairs_of_annotators_mix():
    shares = shared_out(300, ["a", "b", "c", "d"], 2, seed=0)
    shared = [len(set(shares[x]) & set(shares[y])) for x, y in combinations(shares, 2)]
    assert sum(shared) == 300
    assert min(shared) > 30  # 50 each on average


def test_orders_and_sides_are_drawn_for_each_annotator_by_the_seed():
    own = {who: order_of(range(50), who, 0, shuffle=True) for who in WHO}
    assert own["ann"] != own["ben"]
    assert sorted(own["ann"]) == list(range(50))
    assert order_of(range(50), "ann", 0, shuffle=True) == own["ann"]
    assert order_of(range(50), "ann", 1, shuffle=True) != own["ann"]
    turned = sum(is_turned(f"item {n}", "ann", 0) for n in range(1000))
    assert 430 < turned < 570
    assert any(is_turned(str(n), "ann", 0) != is_turned(str(n), "ben", 0) for n in range(20))


def test_names_are_names():
    for names in (["ann", "Ann"], [""], ["adjudicated"], ["organiser"], ["x\ny"], ["x" * 61]):
        with pytest.raises(OptionError):
            People(names, "secret")
    assert token_of("s", "ann") != token_of("s", "ben") != token_of("t", "ben")


# --- over HTTP


@every_task
def test_people_answer_every_task_and_the_labels_answer_as_a_judge(task, tmp_path):
    rows = item_rows(task, 3)
    with labelling(tmp_path, task, rows) as (desk, _, address):
        form = desk.form(desk.questions[0], "ann")
        marks = tuple(range(len(form.fields))) if form.places else (0,) * len(form.fields)
        ann = Person(address, "ann")
        for _ in rows:
            assert form.asks in ann.page.text
            ann.send(*marks)
        assert "All 3 items are done" in ann.page.text
        expected = [desk.form(q, "ann").values(marks) for q in desk.questions]
        questions = list(desk.questions)
    labels = str(tmp_path / "labels.jsonl")
    assert len(list(read_verdicts(labels, "labels"))) == sum(map(len, expected))
    judge = HumanLabels(labels)
    for question, values in zip(questions, expected, strict=True):
        (answer,) = ask(judge, [question])
        assert isinstance(answer, Judged), answer
        said = [question.value_of(value) for value in values.values()]
        assert answer.value == (said if len(said) > 1 else said[0])


def test_labels_give_the_figures_that_a_hand_computes(tmp_path, capsys):
    # The judge says yes to 1-3, no to 4-6. People: yes to 1, 2, 4 and 5; no to 3 and 6.
    rows = item_rows("support", 6)
    with labelling(tmp_path, "support", rows) as (_, _, address):
        ann = Person(address, "ann")
        for mark in (0, 0, 1, 0, 0, 1):
            ann.send(mark)
    said = {"task": "support", "unscored": None, "judge": "j"}
    judged = [{"id": f"i{n}", "value": n <= 3, **said} for n in range(1, 7)]
    answers = write_rows(tmp_path / "answers.jsonl", judged)
    assert pnyx("measure", answers, "--labels", tmp_path / "labels.jsonl", "--json") == 0
    found = json.loads(capsys.readouterr().out)["measures"]
    # Agreed on 1, 2 and 6; tp 2, fp 1, fn 2: F1 4/7. Chance is .5, so kappa 0.
    assert found["accuracy"]["value"] == pytest.approx(3 / 6)
    assert found["kappa"]["value"] == pytest.approx(0)
    assert found["f1"]["value"] == pytest.approx(4 / 7)
    assert found["accuracy"]["scored"] == 6


def test_what_is_recorded_of_an_answer(tmp_path):
    rows = item_rows("relevance", 3)
    with labelling(tmp_path, "relevance", rows) as (_, _, address):
        ann = Person(address, "ann")
        ann.send(1, unsure="1", comment="  half of it\r\n", seconds="12.34")
        ann.send(path="/item/2", do="skip", reason="The text is broken")
        ann.send(2, seconds="")
    first, second = labels_in(tmp_path)
    assert (first["id"], first["value"], first["uncertain"]) == ("i1", "partially", True)
    assert (first["annotator"], first["group"]) == ("ann", "buses")
    assert (first["comment"], first["seconds"]) == ("half of it", 12.3)
    assert first["at"].endswith("+00:00")
    assert (second["id"], second["value"], second["uncertain"]) == ("i3", False, False)
    assert "seconds" not in second
    with opened(tmp_path, "relevance", rows) as desk:
        skip = desk.state("ann", 1).act
        assert (skip.does, skip.comment) == ("skip", "The text is broken")
        total, groups = desk.progress("ann")
        assert (total.done, total.all, total.skipped, total.unsure) == (3, 3, 1, 1)
        assert (groups["buses"].done, groups["tea"].done) == (2, 1)


def test_which_side_came_first_is_recorded(tmp_path):
    rows = item_rows("preference", 8)
    with labelling(tmp_path, "preference", rows) as (_, _, address):
        ann = Person(address, "ann")
        for _ in rows:
            ann.send(0)  # always the one on the left
    labels = labels_in(tmp_path)
    assert {row["shown"] for row in labels} == {"ab", "ba"}
    assert all(row["value"] == row["shown"][0] for row in labels)


@pytest.mark.parametrize(("number", "status"), [("0", 404), ("1", 303), ("3", 303), ("4", 404)])
def test_an_item_is_opened_by_its_number(tmp_path, number, status):
    with labelling(tmp_path, "support", item_rows("support", 3)) as (_, _, address):
        ann = Person(address, "ann")
        page = ann.client.get("/jump", params={"to": number}, follow_redirects=False)
        assert page.status_code == status
        if status == 303:
            assert page.headers["location"].endswith(f"/item/{number}")


def test_an_undo_takes_back_and_a_changed_answer_replaces(tmp_path):
    with labelling(tmp_path, "support", item_rows("support", 3)) as (desk, _, address):
        ann = Person(address, "ann")
        ann.send(0)
        ann.send(0)
        ann.undo()
        assert '<b class="num">2</b>' in ann.page.text
        assert 'value="0" data-key="y" checked' in ann.page.text  # still chosen, not confirmed
        assert [row["id"] for row in desk.rows()] == ["i1"]
        ann.send(1)
        ann.see("/item/1")
        ann.send(1)
        assert [(row["id"], row["value"]) for row in desk.rows()] == [("i1", False), ("i2", False)]
        ann.undo()  # of the change: the first answer counts again
        assert [(row["id"], row["value"]) for row in desk.rows()] == [("i1", True), ("i2", False)]
        sent = {"item": "i3", "version": "0"}
        assert ann.client.post("/undo", data=sent).status_code == 409
        assert ann.client.post("/undo", data={"item": "nothing"}).status_code == 400


@pytest.mark.parametrize(
    ("twice", "path"),
    [("f0", "/item/1"), ("comment", "/item/1"), ("do", "/item/1"), ("version", "/item/1"),
     ("item", "/undo"), ("name", "/enter")],
)  # fmt: skip
def test_a_form_with_a_field_twice_is_refused_in_one_line(tmp_path, twice, path):
    """Whether the first or the last was meant, nobody can tell."""
    with labelling(tmp_path, "support", item_rows("support", 2)) as (desk, _, address):
        ann = Person(address, "ann")
        sent = {**ann.fields, "do": "answer", "f0": "0", "comment": "", "item": "i1", "name": "ben"}
        body = urlencode([*sent.items(), (twice, "1")])
        kind = {"content-type": "application/x-www-form-urlencoded"}
        found = ann.client.post(path, content=body, headers={**kind, "accept": "application/json"})
        assert found.status_code == 400
        said = f"the form has the field {twice!r} twice, expected once"
        assert found.json()["error"] == {"status": 400, "message": said}
        page = ann.client.post(path, content=body, headers={**kind, **PART})
        assert page.status_code == 400
        assert list(desk.rows()) == []
        assert desk.state("ann", 0).version == 0
        ann.send(0)  # the same once
        assert [row["value"] for row in desk.rows()] == [True]


def test_a_file_is_no_answer_and_no_comment(tmp_path):
    with labelling(tmp_path, "support", item_rows("support", 1)) as (desk, _, address):
        ann = Person(address, "ann")
        lines = "".join(
            f'--x\r\ncontent-disposition: form-data; name="{name}"{more}\r\n\r\n{value}\r\n'
            for name, more, value in (
                ("do", "", "answer"), ("f0", "", "0"), ("version", "", "0"),
                ("comment", '; filename="a.txt"', "words"),
            )
        )  # fmt: skip
        kind = {"content-type": "multipart/form-data; boundary=x", "accept": "application/json"}
        found = ann.client.post("/item/1", content=f"{lines}--x--\r\n", headers=kind)
        assert found.status_code == 400
        assert list(desk.rows()) == []


def test_a_stale_tab_overwrites_nothing(tmp_path):
    with labelling(tmp_path, "support", item_rows("support", 2)) as (desk, _, address):
        first, second = Person(address, "ann"), Person(address, "ann")
        first.send(0)
        found = second.send(1)  # a form made before the other answered
        assert found.status_code == 409
        assert "answered elsewhere after this page was opened" in found.text
        assert 'data-key="y" checked' in found.text
        assert [row["value"] for row in desk.rows()] == [True]
        second.send(1)  # now that it was seen
        assert [row["value"] for row in desk.rows()] == [False]


def test_nobody_sees_what_others_say_until_it_is_decided(tmp_path):
    rows = item_rows("support", 2)
    with labelling(tmp_path, "support", rows, annotators=("ann", "ben")) as (desk, people, address):
        assert httpx2.get(f"{address}/next").status_code == 401
        ann = Person(address, token=people.tokens["ann"])
        ben = Person(address, token=people.tokens["ben"])
        ann.see("/next")
        ann.send(0, comment="zebra")
        ann.send(0)
        ben.see("/next")
        for path in ("/", "/next", "/item/1", "/items", "/items?show=answered"):
            assert "zebra" not in ben.see(path).text
        for path in ("/organise", "/organise/labels", "/adjudicate", "/adjudicate/1"):
            assert ben.see(path).status_code == 403, path
        ben.see("/next")
        ben.send(1)
        ben.send(0)
        boss = Person(address, token=people.tokens["organiser"])
        assert "People disagree on <b" in boss.page.text
        boss.see("/adjudicate")
        assert "zebra" in boss.page.text
        assert ">ann<" not in boss.page.text
        boss.send(0)
        assert ">ann</th>" in boss.page.text  # the names, once it is decided
        third = [row for row in desk.rows() if row["annotator"] == ADJUDICATED]
        assert [(row["id"], row["value"]) for row in third] == [("i1", True)]
        assert "1</span> decided" in boss.see("/organise").text
    (answer, _) = ask(HumanLabels(tmp_path / "labels.jsonl"), desk.questions)
    assert answer.value is True


def test_the_organiser_sees_the_agreement_that_measures_give(tmp_path):
    rows = item_rows("support", 4)
    with labelling(tmp_path, "support", rows) as (_, _, address):
        for name, marks in (("ann", (0, 0, 1, 1)), ("ben", (0, 1, 1, 1))):
            person = Person(address, name)
            for mark in marks:
                person.send(mark)
        page = person.see("/organise").text
    # Agreed 3 of 4; chance .5 * .25 + .5 * .75 = .5, so kappa (.75 - .5) / .5.
    assert "75 %" in page
    assert "0.500 <span" in page
    found = measure_raters(None, [str(tmp_path / "labels.jsonl")])
    assert found.compared[0].mean["accuracy"].value == pytest.approx(0.75)
    assert found.compared[0].mean["kappa"].value == pytest.approx(0.5)


def test_a_third_decision_alone_counts_where_it_is(tmp_path):
    def label(who, value):
        return {"id": "i1", "value": value, "annotator": who}

    labels = [label("ann", True), label(ADJUDICATED, False), label("ben", True), label("cy", True)]
    labels += [{"id": "i2", "value": True, "annotator": who} for who in ("ann", "ben", "cy")]
    path = write_rows(tmp_path / "labels.jsonl", labels)
    first, second = ask(HumanLabels(path), questions_of("support", tmp_path, 2))
    assert (first.value, second.value) == (False, True)
    said = {"task": "support", "unscored": None, "judge": "j"}
    rows = [{"id": "i1", "value": False, **said}, {"id": "i2", "value": True, **said}]
    found = measure_raters(rows, [path])
    assert found.compared[0].mean["accuracy"].value == 1.0  # the judge with the decision
    assert found.compared[-1].raters == 3  # who decides is no rater


def test_drafts_are_kept_and_are_no_labels(tmp_path):
    rows = item_rows("quality", 1)
    with labelling(tmp_path, "quality", rows) as (desk, _, address):
        ann = Person(address, "ann")
        sent = {**ann.fields, "do": "draft", "f0": "2", "comment": "so far"}
        found = ann.client.post("/item/1", data=sent, headers=PART)
        assert found.json() == {"version": 1}
        assert list(desk.rows()) == []
    with labelling(tmp_path, "quality", rows) as (desk, _, address):
        ann = Person(address, "ann")
        assert 'name="f0" value="2" data-key="3" checked' in ann.page.text
        assert "so far" in ann.page.text
        found = ann.send(2)  # one of fifteen
        assert found.status_code == 400
        assert "Not everything is answered: Local relevance." in found.text


def by_a_robot(*ids: str) -> dict:
    """What a judge said of items: a no, and rather sure."""
    said = {"task": "support", "value": False, "probability": 0.125, "unscored": None}
    verdicts = read_verdicts([{"id": name, **said, "judge": "robot"} for name in ids])
    return {one.key: one for one in verdicts}


def test_who_decides_twice_has_not_seen_the_judge(tmp_path):
    rows = item_rows("support", 1)
    suggested = by_a_robot("i1")
    both = {"annotators": ("ann", "ben"), "suggested": suggested}
    with labelling(tmp_path, "support", rows, **both) as (desk, people, address):
        for name, mark in (("ann", 0), ("ben", 1)):
            person = Person(address, token=people.tokens[name])
            person.see("/next")
            person.send(mark)
        boss = Person(address, token=people.tokens["organiser"])
        boss.see("/adjudicate")
        for mark in (0, 1):
            boss.send(mark)
            assert "robot" not in boss.page.text
        (third,) = [row for row in desk.rows() if row["annotator"] == ADJUDICATED]
        assert (third["value"], "seen" in third) == (False, False)


def test_a_judge_is_seen_after_ones_own_answer_and_never_before(tmp_path):
    rows = item_rows("support", 2)
    suggested = by_a_robot("i1", "i2")
    with labelling(tmp_path, "support", rows, suggested=suggested) as (desk, _, address):
        ann = Person(address, "ann")
        assert "robot" not in ann.page.text
        ann.send(0)
        assert "robot" in ann.page.text
        assert '<b class="num">1</b>' in ann.page.text
        ann.send(1)  # changed, having seen it
        assert '<b class="num">2</b>' in ann.page.text
        assert "robot" not in ann.page.text
        ann.send(0)
        first, second = desk.rows()
        assert (first["value"], first["seen"]) == (False, "robot")
        assert "seen" not in second
        assert "i2" not in ann.see("/items?show=open").text
        assert "1 item<" in ann.see("/items?show=differs").text


@pytest.mark.parametrize("how", ["undo", "skip", "restart"])
def test_that_a_judge_was_seen_is_not_taken_back(tmp_path, how):
    rows = item_rows("support", 1)
    suggested = by_a_robot("i1")
    with labelling(tmp_path, "support", rows, suggested=suggested) as (desk, _, address):
        ann = Person(address, "ann")
        ann.send(0)
        assert "robot" in ann.page.text
        if how == "skip":
            ann.send(path="/item/1", do="skip")
        else:
            ann.undo()
        if how != "restart":
            ann.see("/item/1")
            ann.send(1)
            assert [(row["value"], row["seen"]) for row in desk.rows()] == [(False, "robot")]
    if how == "restart":  # without --suggest: the journal knows
        with labelling(tmp_path, "support", rows) as (desk, _, address):
            ann = Person(address, "ann")
            ann.see("/item/1")
            ann.send(1)
            assert [(row["value"], row["seen"]) for row in desk.rows()] == [(False, "robot")]


def test_hostile_items_names_and_comments_are_text(tmp_path):
    bad = "<script>alert(1)</script>\u202e"
    rows = [{**row, "statement": bad, "group": bad} for row in item_rows("support", 2)]
    with labelling(tmp_path, "support", rows) as (_, _, address):
        ann = Person(address, "<b>ann</b>")
        ann.send(0, comment=bad)
        for path in ("/", "/item/1", "/item/2", "/items", "/organise", "/adjudicate/1"):
            page = ann.see(path).text
            assert "<script>alert" not in page, path
            assert "<b>ann" not in page, path
            assert "\u202e" not in page, path
        for path in ("/item/0", "/item/3", f"/item/{'9' * 20}", "/jump?to=9", "/adjudicate/9"):
            assert ann.see(path).status_code == 404, path
        assert ann.see("/items?page=999&show=nothing").status_code == 200
        assert ann.client.post("/enter", data={"name": "adjudicated"}).status_code == 400
        other = {"origin": "https://evil.example"}
        assert ann.client.post("/item/2", data={"f0": "0"}, headers=other).status_code == 403


# --- the command


def test_other_items_or_another_task_are_refused(tmp_path, call):
    out = str(tmp_path / "labels.jsonl")
    with opened(tmp_path, "support", item_rows("support", 2)) as desk:
        desk.record(Act("ann", "i1", "answer", (0,), {"": True}), 0)
    same = tmp_path / "items.jsonl"
    more = write_rows(tmp_path / "more.jsonl", item_rows("support", 3))
    cases = {
        "begun with other items": ["support", more],
        "begun with task support, found negative": ["negative", str(same)],
        "begun with --seed 0, found 1": ["support", str(same), "--seed", "1"],
    }
    for words, args in cases.items():
        code, _, said = call("label", *args, "--out", out)
        assert (code, said.count("\n")) == (2, 1), said
        assert words in said
    assert [row["id"] for row in labels_in(tmp_path)] == ["i1"]
    mine = tmp_path / "mine.jsonl"
    mine.write_text("precious")
    code, _, said = call("label", "support", str(same), "--out", str(mine))
    assert (code, mine.read_text()) == (2, "precious")
    assert "was not written by pnyx label" in said


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nothing", "ITEMS"], "expected one of: support"),
        (["support", "ITEMS", "--scale", "5"], "--scale requires the task quality"),
        (["support", "ITEMS", "--overlap", "1"], "--overlap requires --annotators"),
        (["support", "ITEMS", "--annotators", "a,b", "--overlap", "3"], "there are 2 --annotators"),
        (["support", "ITEMS", "--annotators", "a,a"], "repeats a name"),
        (["support", "ITEMS", "--annotators", ""], "'--annotators': it is empty"),
        (["support", "ITEMS", "--host", "0.0.0.0"], "--token"),
        (["support", "BROKEN"], "broken.jsonl:1: no text"),
        (["support", "ITEMS", "--suggest", "OTHERS"], "holds no answer on support"),
    ],
)
def test_bad_usage_is_one_line(tmp_path, call, args, words):
    files = {
        "ITEMS": write_rows(tmp_path / "items.jsonl", item_rows("support", 1)),
        "BROKEN": write_rows(tmp_path / "broken.jsonl", [{"id": "1"}]),
        "OTHERS": write_rows(
            tmp_path / "others.jsonl",
            [{"id": "z", "task": "support", "value": True, "unscored": None, "judge": "j"}],
        ),
    }
    given = [files.get(arg, arg) for arg in args]
    before = sorted(tmp_path.iterdir())
    code, _, said = call("label", *given, "--out", str(tmp_path / "labels.jsonl"))
    assert code == 2
    assert words in said
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.all
@pytest.mark.slow
def test_a_killed_process_loses_no_answer(tmp_path):
    items = write_rows(tmp_path / "items.jsonl", item_rows("support", 12))
    args = ["label", "support", items, "--out", str(tmp_path / "labels.jsonl")]
    with served_by_command(args) as (address, process):
        ann = Person(address, "ann")
        for n in range(10):
            assert ann.send(n % 2).status_code == 200
        os.kill(process.pid, signal.SIGKILL)
        process.wait(120)
    with served_by_command(args) as (address, _):
        ann = Person(address, "ann")
        assert '<b class="num">11</b>' in ann.page.text  # goes on where it stopped
        rows = labels_in(tmp_path)
        assert [row["value"] for row in rows] == [True, False] * 5
        assert [row["id"] for row in rows] == [f"i{n}" for n in range(1, 11)]


@pytest.mark.all
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_is_ended_has_written_all(tmp_path, how):
    items = write_rows(tmp_path / "items.jsonl", item_rows("support", 2))
    args = ["label", "support", items, "--out", str(tmp_path / "labels.jsonl")]
    with served_by_command(args) as (address, process):
        Person(address, "ann").send(0)
        process.send_signal(how)
        assert process.wait(120) == 130
        assert len(labels_in(tmp_path)) == 1


def test_labels_are_always_a_labels_file(tmp_path):
    """LABELS follows within moments, and is whole whenever it is looked at."""
    with labelling(tmp_path, "quality", item_rows("quality", 30)) as (_, _, address):
        ann = Person(address, "ann")
        for _ in range(30):
            ann.send(*[0] * 15)
            if labels_in(tmp_path):  # empty until the first answer is written, moments later
                list(read_verdicts(tmp_path / "labels.jsonl", "labels"))
        limit = time.monotonic() + 120
        while len(labels_in(tmp_path)) < 450 and time.monotonic() < limit:
            time.sleep(0.02)
        assert len(labels_in(tmp_path)) == 450
