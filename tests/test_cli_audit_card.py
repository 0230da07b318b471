"""Agreement of raters in Python, and `pnyx audit card` through the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

import planted_judges as planted
from chat_server import ChatServer
from command import rows_of, write_rows
from command import run as pnyx
from pnyx.audit.card import cost_of
from pnyx.core.errors import InputError
from pnyx.judging import measure_raters
from pnyx.stats.base import Bootstrap
from raters_fixture import alpha_by_coincidences
from test_cli_audit import preference_items, run, support_items

pytestmark = pytest.mark.usefixtures("own_place")

NO_DRAWS = Bootstrap(draws=0)
RATED = st.lists(st.tuples(*[st.sampled_from([1.0, 2.0, 3.0, 5.0])] * 3), min_size=2, max_size=20)


def labels_of(values, *, dimension="clarity", annotator="") -> list[dict]:
    more = {"annotator": annotator} if annotator else {}
    return [
        {"id": f"i{n}", "dimension": dimension, "value": v, **more} for n, v in enumerate(values)
    ]


def answers_of(values, *, judge="judge", task="quality", dimension="clarity") -> list[dict]:
    return [
        {"id": f"i{n}", "task": task, "value": v, "probability": None, "judge": judge,
         "unscored": None if v is not None else "refusal", "dimension": dimension}
        for n, v in enumerate(values)
    ]  # fmt: skip


def references(x: np.ndarray, y: np.ndarray) -> dict[str, float | None]:
    codes = np.unique([x, y], return_inverse=True)[1].reshape(2, -1)
    constant = len(set(x)) < 2 or len(set(y)) < 2
    table = np.stack([x, y])
    return {
        **{f"alpha_{n}": alpha_by_coincidences(table, n)
           for n in ("nominal", "ordinal", "interval")},
        "accuracy": float((x == y).mean()),
        "kappa": None if len({*x, *y}) < 2 else float(metrics.cohen_kappa_score(*codes)),
        "spearman": None if constant else float(scipy.stats.spearmanr(x, y).statistic),
        "kendall": None if constant else float(scipy.stats.kendalltau(x, y).statistic),
    }  # fmt: skip


@settings(deadline=None)
@given(RATED)
def test_all_measures_are_those_of_scipy_scikit_learn_and_the_book(rows):
    judge, first, second = (list(column) for column in zip(*rows, strict=True))
    labels = [labels_of(first), labels_of(second)]
    found = measure_raters(answers_of(judge), labels, bootstrap=NO_DRAWS)
    sides = {("judge", "labels 1"): (judge, first), ("judge", "labels 2"): (judge, second),
             ("labels 1", "labels 2"): (first, second)}  # fmt: skip
    assert [one.names for one in found.compared] == list(sides)
    for one in found.compared:
        expected = references(*map(np.array, sides[one.names]))
        for name, value in expected.items():
            measured = one.per_dimension["clarity"][name].value
            assert (measured is None) == (value is None), name
            assert measured == pytest.approx(value, abs=1e-9), name
            assert one.mean[name].value == measured


# The card ----------------------------------------------------------------------------------------


def judged(tmp_path: Path, *trials: str, reply=planted.good_support) -> tuple[str, str]:
    path = support_items(40)
    rows = rows_of(path)
    labels = write_rows("people.jsonl", [{"id": r["id"], "value": r["label"]} for r in rows])
    with ChatServer(reply=reply) as server:
        pnyx("judge", "support", path, "--out", "R", "--judge", server.spec)
        for name in trials:
            more = ("--sentences", "0,1") if name == "hallucination" else ()
            run("run", "--trial", name, path, "--out", f"S-{name}", "--judge", server.spec, *more)
    return path, labels


def test_a_card_of_a_good_judge_advises_against_nothing(tmp_path, capsys):
    _, labels = judged(tmp_path, "noise", "hallucination")
    capsys.readouterr()
    folders = ("R", "S-noise", "S-hallucination")
    assert run("card", *folders, "--labels", labels, "--out", "card.html") == 0
    assert "0 reasons against a use; see card.html" in capsys.readouterr().err
    page = Path("card.html").read_text()
    assert page.count("data:image/svg+xml;base64,") == 3  # two curves, a reliability diagram
    assert "<script" not in page
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    assert run("card", *folders, "--labels", labels, "--out", "-") == 0
    card = json.loads(capsys.readouterr().out)
    assert card["judge"] == "test"
    assert card["not_for"] == []
    not_run = "joint order length injection paraphrase repeat stance self format asker verbosity"
    assert card["not_known"] == [f"trials that were not run: {', '.join(not_run.split())}"]
    assert card["asked"][0]["agreement"]["measures"]["alpha_nominal"]["value"] == 1
    assert card["asked"][0]["cost"]["tokens_per_answer"] > 0


def test_a_card_names_the_prompts_or_says_that_there_are_none(capsys):
    path = support_items(8)
    pnyx("judge", "support", path, "--out", "packaged")
    with ChatServer(reply=planted.good_support) as server:
        pnyx("judge", "support", path, "--out", "asked", "--judge", server.spec)
    capsys.readouterr()
    for folder, named in (("packaged", False), ("asked", True)):
        assert run("card", folder, "--out", f"{folder}.md") == 0
        assert run("card", folder, "--out", "-") == 0
        prompts = json.loads(capsys.readouterr().out)["asked"][0]["prompts"]
        page = Path(f"{folder}.md").read_text()
        assert bool(prompts) is named
        assert ("none: no language model" in page) is not named
        assert all(prompt in page.replace("\\", "") for prompt in prompts)
        assert "No measurement speaks against using it." in page
    labels = [
        {"id": row["id"], "value": not row["value"]} for row in rows_of("asked/answers.jsonl")
    ]
    write_rows("labels.jsonl", labels)
    assert run("card", "asked", "--labels", "labels.jsonl", "--out", "advice.md") == 0
    page = Path("advice.md").read_text()
    assert "No measurement speaks against using it." not in page
    assert "Do not replace people's verdicts with its verdicts" in page


@pytest.mark.all
def test_a_card_of_a_bad_judge_says_what_it_is_not_for(tmp_path, capsys):
    _, labels = judged(tmp_path, "noise", "injection", reply=planted.obeying(
        lambda _: planted.verdict(True, 1.0)))  # fmt: skip
    assert run("card", "R", "S-noise", "S-injection", "--labels", labels, "--out", "c.md") == 0
    page = Path("c.md").read_text()
    for said in (
        "Do not use it to estimate how many of the retrieved documents are irrelevant",
        "Do not let it judge texts by strangers",
        "Do not replace people",
        "recalibrate them",
        "not shown better than chance",
    ):
        assert said in page


def test_a_card_escapes_hostile_names(tmp_path):
    path = preference_items(6)
    with ChatServer(reply=planted.good_preference) as server:
        model = f"{server.url}#<script>alert(1)</script>"
        assert pnyx("judge", "preference", path, "--out", "R", "--judge", model) == 0
    assert run("card", "R", "--out", "c.html") == 0
    page = Path("c.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_folders_of_two_judges_or_of_none_are_refused(tmp_path, capsys):
    path = support_items(6)
    for folder, name in (("R1", "one"), ("R2", "two")):
        with ChatServer(reply=planted.good_support) as server:
            pnyx("judge", "support", path, "--out", folder, "--judge", f"{server.url}#{name}")
    capsys.readouterr()
    assert run("card", "R1", "R2", "--out", "c.md") == 2
    assert "R2: is of a different judge ('two') than R1 ('one')" in capsys.readouterr().err
    assert run("card", ".", "--out", "c.md") == 2
    assert "expected a finished results folder" in capsys.readouterr().err
    assert run("card", "R1", "--out", "c.pdf") == 2
    assert "ends in .html, .md, .json" in capsys.readouterr().err


def test_a_file_of_labels_without_any_answer_is_an_error():
    with pytest.raises(InputError, match="no answer"):
        measure_raters(answers_of([1]), [[{"id": "x", "value": 1}]])


@pytest.mark.parametrize(
    ("manifest", "tokens", "usd"),
    [
        ({"counts": {"asked": 4}}, 0, 0.0),  # the packaged judge
        ({"counts": {"asked": 4}, "models": [{"spent": {"cost_usd": 0.02}}],
          "store": {"asked": 5, "from_store": 0},
          "tokens": {"prompt_tokens": 390, "completion_tokens": 10}}, 100, 0.005),
        ({"counts": {"asked": 4}, "models": [{"spent": {"cost_usd": None}}],
          "store": {"asked": 4}, "tokens": {}}, None, None),  # no usage, no price
        ({"counts": {"asked": 4}, "models": [{"spent": {"cost_usd": 0.0}}],
          "store": {"from_store": 4}, "tokens": {"prompt_tokens": 400}}, 100, None),
    ],
)  # fmt: skip
def test_what_an_answer_costs_is_a_number_only_where_it_is_known(manifest, tokens, usd):
    cost = cost_of(manifest)
    assert (cost["tokens_per_answer"], cost["usd_per_answer"]) == (tokens, usd)


def test_a_trial_whose_summary_is_not_whole_is_refused(tmp_path, capsys):
    path = preference_items(6)
    with ChatServer(reply=planted.good_preference) as server:
        asking = (
            "run",
            "--trial",
            "order",
            path,
            "--task",
            "preference",
            "--judge",
            f"{server.url}#good",
        )
        assert run(*asking, "--out", "R") == 0
    capsys.readouterr()
    Path("R/summary.json").write_text('{"trial": "order"}')
    assert run("card", "R", "--out", "c.md") == 2
    assert "R: has no complete summary of its trial" in capsys.readouterr().err
    assert not Path("c.md").exists()
