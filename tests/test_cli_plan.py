"""What a run will cost, and that it costs no more: --plan, --budget, --prices, --from-store."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from chat_server import ChatServer
from command import rows_of, write_rows
from command import run as pnyx

pytestmark = pytest.mark.usefixtures("own_place")


def support(count: int, texts: int | None = None, text: str = "Text") -> str:
    rows = [
        {
            "id": f"i{n}",
            "text": f"{text} {n if texts is None else n % texts}.",
            "statement": f"Buses got cheaper in {n}.",
            "group": f"g{n % 4}",
        }
        for n in range(count)
    ]
    return write_rows("items.jsonl", rows)


def preferences(count: int) -> str:
    rows = [
        {"id": f"p{n}", "a": f"Yes {n}.", "b": f"No {n}.", "question": "Is it?"}
        for n in range(count)
    ]
    return write_rows("pairs.jsonl", rows)


def ratings(count: int) -> str:
    return write_rows(
        "texts.jsonl", [{"id": f"t{n}", "text": f"Tea {n} is good."} for n in range(count)]
    )


def run(capsys, *arguments: str) -> tuple[int, Any, str]:
    """Run `pnyx judge --json`; return its status, what it printed, and its messages."""
    capsys.readouterr()
    status, shown = pnyx("judge", *arguments, "--json"), capsys.readouterr()
    return status, json.loads(shown.out) if shown.out else None, shown.err


RUNS = {
    "single": ("support", lambda: support(12), ()),
    "shared": ("support", lambda: support(12, texts=3), ()),
    "batch": ("support", lambda: support(13, texts=2), ("--set", "batch=4")),
    "samples": ("support", lambda: support(5), ("--set", "samples=3")),
    "rating": ("quality", lambda: ratings(3), ("--set", "samples=2")),
    "preference": ("preference", lambda: preferences(4), ()),
    "preferences": ("preference", lambda: preferences(2), ("--set", "samples=2")),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_plan_asks_nothing_and_says_what_the_run_then_asks(name, capsys):
    task, make, more = RUNS[name]
    path = make()
    with ChatServer(logprobs="words") as server:
        arguments = (task, path, "--judge", server.spec, *more)
        status, plan, _ = run(capsys, *arguments, "--plan")
        assert (status, server.log) == (0, [])
        (planned,) = plan["models"]
        status, manifest, _ = run(capsys, *arguments, "--out", "out")
        assert status == 0
        asked = len(server.asked())
        assert planned["calls"] == manifest["store"]["asked"] == asked > 0
        for which in ("prompt_tokens", "completion_tokens"):
            low, high = planned[which]
            assert low <= manifest["tokens"][which] <= high
        _, after, _ = run(capsys, *arguments, "--plan")
        assert after["models"][0]["calls"] == 0
        assert after["models"][0]["from_store"] == asked
        assert len(server.asked()) == asked


def test_a_plan_counts_only_what_the_store_lacks_and_learns_from_it(capsys):
    with ChatServer() as server:
        run(capsys, "support", support(8), "--judge", server.spec, "--out", "out")
        path = support(20)
        _, plan, _ = run(capsys, "support", path, "--judge", server.spec, "--plan")
        (planned,) = plan["models"]
        assert (planned["calls"], planned["from_store"], planned["learnt_from"]) == (12, 8, 8)
        _, manifest, _ = run(capsys, "support", path, "--judge", server.spec, "--out", "more")
    assert manifest["store"]["asked"] == 12
    low, high = planned["prompt_tokens"]
    assert low * 0.9 <= manifest["tokens"]["prompt_tokens"] <= high * 1.1


def test_a_plan_asks_no_second_order_where_the_first_was_refused(capsys):
    texts = ["Yes.", "[[refusal]] Yes.", "[[400]] Yes."]
    rows = [{"id": t, "a": t, "b": "No.", "question": "Is it?"} for t in texts]
    path = write_rows("pairs.jsonl", rows)
    with ChatServer() as server:
        arguments = ("preference", path, "--judge", server.spec)
        assert run(capsys, *arguments, "--concurrency", "1", "--out", "out")[0] == 3
        assert len(server.asked()) == 4
        _, plan, _ = run(capsys, *arguments, "--plan")
    (planned,) = plan["models"]
    assert (planned["calls"], planned["from_store"]) == (2, 3), "both orders of the third"


def test_a_plan_reads_like_a_plan(capsys):
    Path("prices.toml").write_text("[models]\ntest = { input = 2.0, output = 8.0 }\n")
    with ChatServer() as server:
        arguments = [
            "support",
            support(1000),
            "--judge",
            server.spec,
            "--set",
            "prices=prices.toml",
        ]
        assert pnyx("judge", *arguments, "--plan") == 0
    shown = capsys.readouterr().out
    assert server.log == []
    assert "1000 questions for test" in shown
    assert re.search(r"calls +1,000 \(0 from the store\)", shown)
    assert re.search(r"price +\$\d+\.\d{4} to \$\d+\.\d{4}", shown)


def test_without_a_model_a_plan_costs_nothing(capsys):
    status, plan, _ = run(capsys, "support", support(3), "--plan")
    assert (status, plan["models"]) == (0, [])


# --- budgets


@pytest.mark.all
@pytest.mark.parametrize("more", [(), ("--set", "batch=3"), ("--concurrency", "1")])
def test_a_budget_of_tokens_is_never_exceeded_and_more_of_it_completes(capsys, more):
    path = support(24, texts=6)
    with ChatServer(["500", "cut_body", "reset"]) as server:
        arguments = ("support", path, "--judge", server.spec, "--out", "out", *more)
        status, manifest, _ = run(capsys, *arguments, "--set", "budget-tokens=12000")
        billed = server.billed["prompt_tokens"] + server.billed["completion_tokens"]
        assert status == 3
        assert 0 < billed <= 12000
        counts = manifest["counts"]
        assert counts["scored"] > 0
        assert counts["reasons"] == {"budget": 24 - counts["scored"]}
        first = set(server.answered())
        status, manifest, _ = run(capsys, *arguments, "--set", "budget-tokens=1000000")
        assert (status, manifest["counts"]["scored"]) == (0, 24)
        assert max(Counter(server.answered()).values()) == 1
        assert first < set(server.answered())


def test_a_budget_in_dollars_needs_a_price_and_is_kept(capsys):
    path = support(24)
    with ChatServer() as server:
        arguments = ("support", path, "--judge", server.spec, "--out", "out")
        status, _, error = run(capsys, *arguments, "--budget", "0.05")
        assert status == 2
        assert "--set prices=FILE" in error
        assert len(error.splitlines()) == 1
        assert server.log == []
        prices = "[models]\ntest = { input = 10.0, cached_input = 1.0, output = 30.0 }\n"
        Path("prices.toml").write_text(prices)
        status, manifest, _ = run(
            capsys, *arguments, "--set", "prices=prices.toml", "--budget", "0.08"
        )
        fresh = server.billed["prompt_tokens"] - server.billed["cached_tokens"]
        cost = fresh * 10 + server.billed["cached_tokens"] + server.billed["completion_tokens"] * 30
        assert status == 3
        assert 0 < cost / 1e6 <= 0.08
        assert manifest["models"][0]["spent"]["cost_usd"] == pytest.approx(cost / 1e6)
        assert set(manifest["counts"]["reasons"]) == {"budget"}


def test_a_budget_too_small_for_one_question_asks_none(capsys):
    with ChatServer() as server:
        arguments = ("support", support(3), "--judge", server.spec, "--out", "out")
        status, manifest, _ = run(capsys, *arguments, "--set", "budget-tokens=10")
        assert server.log == []
    assert status == 3
    assert manifest["counts"]["reasons"] == {"budget": 3}


# --- from the store alone


def test_stored_replies_are_judged_anew_without_a_call(capsys, monkeypatch):
    texts = ["Fine.", "[[prose]] One.", "[[400]] Two.", "[[refusal]] Three."]
    rows = [{"id": str(n), "text": t, "statement": "S."} for n, t in enumerate(texts)]
    path = write_rows("items.jsonl", rows)
    with ChatServer() as server:
        arguments = ("support", path, "--judge", server.spec, "--out", "out")
        assert run(capsys, *arguments)[0] == 3
        before = rows_of("out")
        asked = len(server.log)
        status, manifest, _ = run(capsys, *arguments, "--from-store")
        assert (status, rows_of("out"), len(server.log)) == (3, before, asked)
        assert manifest["store"]["missing"] == 1
        assert manifest["store"]["asked"] == 0

        from pnyx.judging.forms.support import SupportForm

        strict = SupportForm.read

        def lenient(self, call, text):
            said = '{"reason": "", "evidence": "", "answer": "yes", "confidence": 0.9}'
            return strict(self, call, said if text[:4] == "Yes," else text)

        monkeypatch.setattr(SupportForm, "read", lenient)
        assert run(capsys, *arguments, "--from-store")[0] == 3
        assert len(server.log) == asked
    after = rows_of("out")
    assert before[1]["unscored"].startswith("schema")
    assert (after[1]["value"], after[1]["probability"]) == (True, 0.9)
    assert [*after[:1], *after[2:]] == [*before[:1], *before[2:]]


def test_what_was_never_asked_is_unscored_from_the_store(capsys):
    status, manifest, _ = run(
        capsys, "support", support(3), "--judge", "http://127.0.0.1:9/v1#test", "--out", "out",
        "--from-store",
    )  # fmt: skip
    assert status == 3
    assert manifest["counts"]["reasons"] == {"not_in_store": 3}


# --- several models, several addresses, several times


def test_one_model_at_two_addresses_shares_the_questions(capsys):
    with ChatServer(delay=0.01) as one, ChatServer(delay=0.01) as two:
        arguments = ("support", support(40), "--judge", one.spec, "--judge", two.spec)
        status, manifest, _ = run(capsys, *arguments, "--out", "out")
        both = Counter([*one.answered(), *two.answered()])
        assert (status, len(both), both.total()) == (0, 40, 40)
        assert min(len(one.asked()), len(two.asked())) >= 8
    assert manifest["judge"] == "test"
    assert len(manifest["models"]) == 1


def test_two_models_are_a_panel(capsys):
    yes = '{"reason": "", "evidence": "", "answer": "yes", "confidence": 0.8}'
    no = yes.replace("yes", "no")
    with ChatServer(reply=yes) as one, ChatServer(reply=no) as two:
        specs = ("--judge", f"{one.url}#a", "--judge", f"{two.url}#b")
        _, plan, _ = run(capsys, "support", support(3), *specs, "--plan")
        assert [(m["model"], m["calls"]) for m in plan["models"]] == [("a", 3), ("b", 3)]
        arguments = ("support", support(3), *specs)
        status, manifest, _ = run(capsys, *arguments, "--set", "combine=mean", "--out", "out")
    assert status == 0
    assert manifest["judge"] == "panel-mean(a, b)"
    for row in rows_of("out"):
        assert (row["value"], row["probability"]) == (True, 0.5)
        assert row["notes"]["votes"] == [True, False]


def test_samples_ask_in_another_order_and_answers_are_read_back_in_the_first(capsys):
    path = ratings(1)
    with ChatServer() as server:
        arguments = (
            "quality",
            path,
            "--judge",
            server.spec,
            "--set",
            "samples=4",
            "--set",
            "combine=majority",
        )
        status, manifest, _ = run(capsys, *arguments, "--out", "out")
        schemas = [
            r["parameters"]["response_format"]["json_schema"]["schema"] for r in server.asked()
        ]
        orders = [tuple(schema["properties"]) for schema in schemas]
        temperatures = {row["parameters"]["temperature"] for row in server.asked()}
    assert status == 0
    assert manifest["judge"] == "test x4 majority"
    assert len(set(orders)) == 4
    assert len({frozenset(order) for order in orders}) == 1
    assert temperatures == {0}
    rows = rows_of("out")
    from pnyx.judging.dimensions import dimensions_of

    assert [row["dimension"] for row in rows] == list(dimensions_of("quality"))
    assert all(row["value"] in (1, 2, 3, 1.5, 2.5) for row in rows)


@pytest.mark.all
def test_a_calibration_and_a_cascade_of_it(capsys):
    path = support(40)
    labels = write_rows("labels.jsonl", [{"id": f"i{n}", "value": n % 3 > 0} for n in range(40)])
    with ChatServer() as cheap, ChatServer() as strong:
        run(capsys, "support", path, "--judge", f"{cheap.url}#cheap", "--out", "first")
        fit = ("--out", "c.json", "--error", "0.45", "--method", "platt")
        assert pnyx("judge", "calibrate", "first", "--labels", labels, *fit) == 0
        arguments = (
            "support",
            path,
            "--judge",
            f"{cheap.url}#cheap",
            "--set",
            "calibration=c.json",
        )
        asked = len(cheap.log)
        status, manifest, _ = run(capsys, *arguments, "--out", "mended")
        assert (status, len(cheap.log)) == (0, asked)
        assert manifest["judge"].startswith("cheap+platt@")
        assert all("uncalibrated" in row["notes"] for row in rows_of("mended"))
        arguments = (
            "support",
            path,
            "--judge",
            f"{strong.url}#strong",
            "--set",
            f"cheap={cheap.url}#cheap",
        )
        _, plan, _ = run(capsys, *arguments, "--set", "cascade=c.json", "--plan")
        assert strong.log == []
        status, manifest, _ = run(capsys, *arguments, "--set", "cascade=c.json", "--out", "both")
        assert (status, len(cheap.log)) == (0, asked)
    planned = {model["model"]: model["calls"] for model in plan["models"]}
    stages = Counter(row["notes"]["stage"] for row in rows_of("both"))
    assert planned == {"strong": stages["strong"], "cheap": 0}
    assert len(strong.asked()) == stages["strong"]
    assert stages.total() == 40


def test_a_cascade_from_a_model_to_itself_is_refused(capsys):
    """Addresses of one model are opened as one: the strong judge must not become the encoder."""
    model = "http://127.0.0.1:9/v1#one"
    for cheap in (model, "http://127.0.0.1:10/v1#one"):
        arguments = (
            "--judge",
            model,
            "--set",
            f"cheap={cheap}",
            "--set",
            "cascade=c.json",
            "--out",
            "out",
        )
        status, _, error = run(capsys, "support", support(2), *arguments)
        assert (status, error) == (2, "pnyx: cheap and --judge name the same model, 'one'\n")


USELESS = [
    ("--set", "samples=3"),
    ("--set", "batch=4"),
    ("--set", "prompt=support-direct"),
    ("--set", "probability=tok"),
    ("--set", "max-tokens=9"),
    ("--budget", "1"),
    ("--set", "budget-tokens=100"),
    ("--from-store",),
    ("--set", "cascade=c.json"),
]


@pytest.mark.parametrize("option", USELESS, ids=" ".join)
def test_an_option_that_would_change_nothing_is_refused(capsys, option):
    items = support(2)
    labels = write_rows("labels.jsonl", [{"id": f"i{n}", "value": True} for n in range(2)])
    status, _, error = run(capsys, "support", items, "--out", "out", *option)
    assert status == 2
    shown = " ".join(option).partition("=")[0]
    shown = shown if option[0] == "--set" else option[0]
    assert error.startswith(f"pnyx: {shown} requires a language model")
    status, _, error = run(capsys, "support", items, "--judge", labels, "--out", "out", *option)
    assert status == 2
    cascade = "does not apply to people's labels"
    said = cascade if "cascade" in shown else "requires a language model"
    assert error.startswith(f"pnyx: {shown} {said}")
    assert not Path("out").exists()


# --- a prompt of one's own


def test_a_prompt_file_is_used_and_recorded(capsys):
    from pnyx.judging.llm.prompts import prompt_bytes

    own = prompt_bytes("support").decode().replace('name = "support"', 'name = "mine"')
    own = own.replace("version = 2", 'version = 7\ntask = "support"')
    own = own.replace("You decide whether", "You, of all judges, decide whether")
    Path("mine.toml").write_text(own)
    with ChatServer() as server:
        arguments = ("support", support(2), "--judge", server.spec, "--set", "prompt=mine.toml")
        status, manifest, _ = run(capsys, *arguments, "--out", "out")
    assert status == 0
    assert [(p["name"], p["version"]) for p in manifest["prompts"]] == [("mine", 7)]
    sent = {row["parameters"]["response_format"]["json_schema"]["name"] for row in server.asked()}
    assert sent == {"mine"}


@pytest.mark.parametrize(
    ("name", "said"),
    [("no.toml", "no.toml"), ("quality", "it asks quality, not support"), ("nothing", "no prompt")],
)
def test_a_prompt_that_cannot_be_used_is_one_line(capsys, name, said):
    status, _, error = run(
        capsys, "support", support(1), "--judge", "http://127.0.0.1:9/v1#m", "--out", "o",
        "--set", f"prompt={name}",
    )  # fmt: skip
    assert status == 2
    assert said in error
    assert len(error.splitlines()) == 1
