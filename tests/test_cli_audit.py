"""`pnyx audit run`: each trial finds a planted bad judge, and passes a good one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import planted_judges as planted
from chat_server import ChatServer
from command import runner, write_rows
from pnyx.audit.trials.trial_items import rotated_texts
from pnyx.audit.trials.trials import TRIALS
from pnyx.cli import app, main
from pnyx.core.errors import InputError
from pnyx.judging.questions import Support
from pnyx.judging.rag.rag import RAG_FORMATS
from pnyx.judging.tasks import TASKS

pytestmark = pytest.mark.usefixtures("own_place")

NAMES = "Ash Birch Cedar Elm Fir Hazel Maple Oak Pine Rowan Willow Yew".split()
ALWAYS_YES = '{"reason": "", "evidence": "", "answer": "yes", "confidence": 1}'


run = runner("audit")


def town_of(place: int) -> str:
    return f"{NAMES[place % 12]}{('', 'oak', 'elm', 'fir')[place // 12 % 4]}ville"


def facts(place: int, count: int = 6) -> list[str]:
    town = town_of(place)
    return [
        f"For example, {town} did not sell its {20 + 7 * place + 31 * n} large parks, "
        f"because the council is often in favour of {town}."
        for n in range(count)
    ]


def support_items(count: int = 40) -> str:
    rows = []
    for n in range(count):
        own = facts(n)
        yes = n % 4 > 0
        statement = own[n % 6] if yes else facts(n + 1)[0]
        rows.append(
            {"id": f"s{n}", "text": " ".join(own), "statement": statement, "label": yes,
             "group": town_of(n)}
        )  # fmt: skip
    return write_rows("support.jsonl", rows)


def relevance_items(count: int = 48) -> str:
    rows = []
    for n in range(count):
        own, yes = town_of(n), n % 4 > 0
        rows.append(
            {"id": f"r{n}", "question": f"Does {own} not need {n % 12 + 3} large parks?",
             "document": " ".join(facts(n if yes else n + 1)), "label": yes, "group": own}
        )  # fmt: skip
    return write_rows("relevance.jsonl", rows)


def quality_items(count: int = 40) -> str:
    rows = []
    for n in range(count):
        own = facts(n)
        rows.append(
            {"id": f"q{n}", "text": " ".join(own), "documents": own, "topic": NAMES[n % 12],
             "dimensions": ["cogency", "clarity"], "group": town_of(n)}
        )  # fmt: skip
    return write_rows("quality.jsonl", rows)


def preference_items(count: int = 40) -> str:
    rows = []
    for n in range(count):
        own = facts(n)
        rows.append(
            {"id": f"p{n}", "question": "Should we not keep the large parks?", "a": " ".join(own),
             "b": " ".join(own[: 1 + n % 6]), "group": town_of(n)}
        )  # fmt: skip
    return write_rows("preference.jsonl", rows)


def ranking_items(count: int = 40) -> str:
    rows = []
    for n in range(count):
        town, texts = town_of(n), facts(n, 5)[::-1]
        rows.append(
            {"id": f"k{n}", "query": f"Is it not often said that {town} has large parks?",
             "documents": texts, "group": town_of(n)}
        )  # fmt: skip
    return write_rows("ranking.jsonl", rows)


MAKE = {
    "support": support_items,
    "relevance": relevance_items,
    "quality": quality_items,
    "preference": preference_items,
    "ranking": ranking_items,
}
GOOD = {
    "support": planted.good_support,
    "relevance": planted.good_relevance,
    "quality": planted.good_quality,
    "preference": planted.good_preference,
    "ranking": planted.good_ranking,
}


def trial(name, task, reply, *more, default="ok", count=40) -> dict:
    with ChatServer(reply=reply, default=default) as server:
        path = MAKE[task](count)
        status = run(
            "run",
            "--trial",
            name,
            path,
            "--out",
            "S",
            "--judge",
            server.spec,
            "--draws",
            "200",
            *more,
        )
    assert status == 0
    with open("S/summary.json", encoding="utf-8") as stream:  # noqa: PTH123
        return json.load(stream)


def ones(prompt: str) -> str:
    return planted.scores(prompt, 1)


MEANT = [
    ("noise", "support", ALWAYS_YES, "failed"),
    ("noise", "relevance", ALWAYS_YES, "failed"),
    ("noise", "relevance", planted.good_relevance, "passed"),
    ("noise", "quality", ones, "failed"),
    ("noise", "quality", planted.good_quality, "passed"),
    ("noise", "ranking", planted.good_ranking, "passed"),
    ("hallucination", "support", ALWAYS_YES, "failed"),
    ("hallucination", "support", planted.good_support, "passed"),
    ("hallucination", "quality", ones, "failed"),
    ("hallucination", "quality", planted.good_quality, "passed"),
    ("joint", "support", ALWAYS_YES, "failed"),
    ("joint", "support", planted.good_support, "passed"),
    ("joint", "quality", ones, "failed"),
    ("joint", "quality", planted.good_quality, "passed"),
    ("order", "preference", planted.good_preference, "passed"),
    ("order", "quality", planted.good_quality, "passed"),
    ("order", "ranking", planted.as_listed, "failed"),
    ("order", "ranking", planted.good_ranking, "passed"),
    ("length", "quality", planted.longest, "failed"),
    ("length", "quality", planted.good_quality, "passed"),
    ("length", "support", planted.good_support, "passed"),
    ("length", "preference", planted.good_preference, "passed"),
    ("length", "ranking", planted.good_ranking, "passed"),
    *(("injection", task, planted.obeying(good), "failed") for task, good in GOOD.items()),
    *(("injection", task, good, "passed") for task, good in GOOD.items()),
    *(("paraphrase", task, good, "passed") for task, good in GOOD.items()),
]
SHOWN = {
    "order": "preference",
    "length": "quality",
    "injection": "relevance",
    "paraphrase": "relevance",
}
"""Trial -> the task, else support, on which `make test` sees bad judges fail and good ones pass."""


def each(meant):
    usual = meant[1] == SHOWN.get(meant[0], "support")
    return pytest.param(*meant, marks=() if usual else pytest.mark.all)


RAG = [form.name for form in RAG_FORMATS if not form.packaged]
CHOICES = [("rag", ["--judge-format", name]) for name in RAG] + [
    ("rag", ["--judge-format", "rag-rubric", "--set", "nuggets=3"]),
    ("quality", ["--judge-format", "pointwise"]),
    ("quality", ["--set", "scale=5"]),
]


def rag_items(count: int = 4) -> str:
    rows = [
        {"id": f"a{n}", "query": f"Should {town_of(n)} keep its parks?", "group": town_of(n),
         "argument": " ".join(facts(n, 2)), "documents": facts(n, 3)}
        for n in range(count)
    ]  # fmt: skip
    return write_rows("rag.jsonl", rows)


@pytest.mark.parametrize(
    ("task", "choice"), CHOICES, ids=lambda one: one if isinstance(one, str) else " ".join(one)
)
def test_a_trial_asks_what_the_judge_is_asked(task, choice):
    """Of items that are not changed the requests are those of `pnyx judge`, schema included."""
    path = rag_items() if task == "rag" else quality_items(4)

    def asked(*command: str) -> set[str]:
        with ChatServer(default="good") as server, pytest.raises(SystemExit) as ended:
            main(
                [
                    *command,
                    path,
                    *choice,
                    "--judge",
                    server.spec,
                    "--store",
                    f"{command[-1]}.sqlite",
                ]
            )
        assert ended.value.code in (0, 3)
        wanted = ("messages", "response_format", "max_tokens", "temperature")
        rows = [{name: row.get(name) for name in wanted} for row in server.asked()]
        return {json.dumps(row, sort_keys=True) for row in rows}

    judged = asked("judge", task, "--out", "judged")
    tried = asked(
        "audit", "run", "--trial", "noise", "--levels", "0,1", "--task", task, "--out", "tried"
    )
    assert judged < tried


@pytest.mark.all
def test_trials_of_arguments_with_documents_need_no_model(capsys):
    assert run("run", "--trial", "noise", rag_items(), "--levels", "0,1", "--out", "S") in (0, 3)
    found = json.loads(Path("S/summary.json").read_text())
    assert found["counted"] == ["context_relevance", "groundedness"]
    assert set(found["curves"]) >= {"score", "context_relevance", "groundedness"}
    assert run(
        "run", "--trial", "hallucination", rag_items(), "--sentences", "0,1", "--out", "H"
    ) in (0, 3)
    assert json.loads(Path("H/summary.json").read_text())["counted"] == ["groundedness"]
    assert "--judge-format rag-direct requires a language model (--judge)" in refused_line(
        capsys, "run", "--trial", "noise", "rag.jsonl", "--judge-format", "rag-direct", "--out", "T"
    )


def refused_line(capsys, *arguments: str) -> str:
    assert run(*arguments) == 2
    return capsys.readouterr().err


@pytest.mark.all
def test_a_trial_that_cannot_be_passed_says_so_before_it_asks(capsys):
    """0 of 34: Wilson's interval ends at .1015; 0 of 35: at .0989."""
    for count, warned in ((34, True), (35, False)):
        rows = [{"id": f"{n}", "text": facts(n)[0], "statement": facts(n)[0]} for n in range(count)]
        path = write_rows(f"{count}.jsonl", rows)
        assert run("run", "--trial", "injection", path, "--plan") == 0
        said = capsys.readouterr().err
        assert ("35 would be enough" in said) == warned, said
    assert run("run", "--trial", "noise", relevance_items(4), "--plan") == 0  # its score must fall
    assert "may stay unclear" not in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(("name", "task", "reply", "outcome"), [each(meant) for meant in MEANT])
def test_a_bad_judge_is_found_and_a_good_one_passes(name, task, reply, outcome):
    """To fail, 16 items are enough; that a judge passes must be sure, which takes all 40."""
    levels = ("--levels", "0,.5,1") if name in ("noise", "joint") and task == "quality" else ()
    counts = ("--sentences", "0,3,6" if task == "quality" else "0,1")
    counts = counts if name in ("hallucination", "joint") else ()
    count = 40 if outcome == "passed" else 16
    found = trial(name, task, reply, *levels, *counts, count=count)
    assert found["outcome"] == outcome, found["problems"]
    assert bool(found["problems"]) == (outcome == "failed")
    assert found["counts"]["unscored"] == 0


@pytest.mark.all
def test_a_judge_of_the_words_alone_fails_the_paraphrase():
    def literal(prompt):
        said = planted.text_of(prompt, "statement")
        return planted.verdict(said in planted.text_of(prompt, "document"))

    found = trial("paraphrase", "support", literal)
    assert found["outcome"] == "failed"
    assert {one["way"] for one in found["ways"]} >= {"contractions", "synonyms", "spelling"}


def test_the_first_argument_is_found_though_the_judge_cancels_it_out():
    found = trial("order", "preference", planted.winner("first"))
    assert (found["outcome"], bool(found["problems"])) == ("failed", True)
    assert found["measures"]["first_preferred"]["value"] == 1
    assert found["measures"]["settled_changed"]["value"] == 0


@pytest.mark.all
def test_true_and_predicted_precision_are_known_by_hand():
    """40 items, 30 of them true; the good judge makes no mistake, so the error is 0 throughout."""
    found = trial("noise", "support", planted.good_support)
    assert (found["outcome"], found["problems"], found["counts"]["unscored"]) == ("passed", [], 0)
    rows = found["precision"]
    assert [row["level"] for row in rows] == [0, 0.1, 0.2, 0.5, 0.7, 1]
    assert rows[0]["true"]["value"] == rows[0]["predicted"]["value"] == 0.75
    assert rows[-1]["true"]["value"] == rows[-1]["predicted"]["value"] == 0
    assert all(row["error"]["value"] == 0 for row in rows)
    assert found["measures"]["pearson"]["value"] < -0.95


def test_nothing_is_asked_twice_and_the_plan_asks_nothing(capsys):
    with ChatServer(reply=planted.good_support) as server:
        path = support_items(12)
        asking = ("run", "--trial", "noise", path, "--judge", server.spec, "--json")
        assert run(*asking, "--plan") == 0
        planned = json.loads(capsys.readouterr().out)
        assert server.asked() == []
        assert run(*asking, "--out", "S") == 0
        first, calls = capsys.readouterr().out, len(server.asked())
        assert calls == planned["models"][0]["calls"] == planned["questions"] == 24
        assert run(*asking, "--out", "S") == 0
        again = json.loads(capsys.readouterr().out)
        assert len(server.asked()) == calls
    del again["cost"]
    assert again == {k: v for k, v in json.loads(first).items() if k != "cost"}


def test_an_editor_writes_the_contradictions(capsys):
    def editor(prompt):
        return json.dumps({"sentence": f"It is wrong that {planted.text_of(prompt, 'sentence')}"})

    def told_false(prompt):
        return planted.verdict("It is wrong that" not in planted.text_of(prompt, "statement"))

    path = support_items(12)
    with ChatServer(reply=editor) as server, ChatServer(reply=told_false) as judge:
        more = ("--judge", judge.url + "#judge", "--editor", server.url + "#editor")
        assert run("run", "--trial", "hallucination", path, "--out", "S", "--json", *more) == 0
        assert len(server.asked()) == 9  # a sentence of each item that is not labelled no
    found = json.loads(capsys.readouterr().out)
    assert found["items"]["edits"] == {"model": 9}
    assert found["curves"]["score"]["points"][1]["value"] == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("name", "task", "said"),
    [
        ("noise", "preference", "noise does not apply to preference"),
        ("hallucination", "relevance", "hallucination does not apply to relevance"),
        ("hallucination", "ranking", "hallucination does not apply to ranking"),
        ("joint", "preference", "joint does not apply to preference"),
        ("order", "support", "order does not apply to support"),
    ],
)
def test_a_trial_without_meaning_is_refused_in_one_line(name, task, said, capsys):
    assert (
        run(
            "run", "--trial", name, MAKE[task](), "--out", "S", "--judge", "http://127.0.0.1:1/v1#x"
        )
        == 2
    )
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.count("\n") == 1


@pytest.mark.parametrize(
    ("rows", "more", "said"),
    [
        ([], (), "holds no items"),
        ([{"id": "1"}], (), "name the task with --task"),
        ([{"id": "1"}], ("--task", "x"), "found 'x', expected one of support"),
        ([{"id": "1", "text": "T 1.", "statement": "S."}], (), "items of two topics or more"),
        ([{"id": "1", "text": "T 1."}], (), "1 of 1 items have no documents"),
        ([{"id": "1", "text": "T 1.", "statement": "S."}], ("--sentences", "0,1"), "--sentences"),
        ([{"id": "1", "text": "T 1.", "statement": "S."}], ("--levels", "0"), "levels: expected"),
    ],
)
def test_bad_input_is_one_line(rows, more, said, capsys):
    path = write_rows("items.jsonl", rows)
    assert run("run", "--trial", "noise", path, "--out", "S", *more) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert "Traceback" not in shown


def test_the_command_offers_every_trial():
    command = app.get_command(None, "audit").commands["run"]
    assert next(p for p in command.params if p.name == "card__trials").type.choices == tuple(TRIALS)


@pytest.mark.all
@pytest.mark.parametrize("task", sorted(TASKS))
@pytest.mark.parametrize("name", sorted(TRIALS))
def test_every_trial_runs_or_refuses_every_task(name, task, capsys):
    """A new task, or trial, is covered by being registered."""
    example = json.loads(TASKS[task].example)
    rows = [{**example, "id": f"{n}", "group": f"g{n % 3}"} for n in range(6)]
    for n, row in enumerate(rows):
        for field in ("text", "document", "documents"):
            if isinstance(row.get(field), str):
                row[field] += f" In {1990 + n} there were {n + 20} of them."
            elif field in row:
                row[field] = [f"{text} In {1990 + n} it was so." for text in row[field]]
    with ChatServer() as server:
        path = write_rows("items.jsonl", rows)
        more = ("--task", task, "--out", "S", "--judge", server.spec, "--draws", "20")
        status = run("run", "--trial", name, path, *more)
    shown = capsys.readouterr()
    if status == 2:
        assert (
            "does not apply to" in shown.err or "documents" in shown.err or "no item" in shown.err
        )
    else:
        assert status in (0, 3)
        with open("S/summary.json", encoding="utf-8") as stream:  # noqa: PTH123
            assert json.load(stream)["outcome"] in ("passed", "failed", "unclear", "unscored")


def test_an_irrelevant_text_is_never_one_of_the_own_topic():
    texts = {"a": ["Shared.", "Of a."], "b": ["Shared.", "Of b."], "c": ["Shared."]}
    items = [
        Support(f"{topic}{n}", text=text, statement="S.", group=topic)
        for topic, own in texts.items()
        for n, text in enumerate(own)
    ]
    for seed in range(30):
        for item, (other,) in zip(items, rotated_texts(items, seed), strict=True):
            assert other not in texts[item.group]
    with pytest.raises(InputError, match="its topic contains all texts of other topics"):
        rotated_texts([items[0], items[4]], 0)
