"""Dimensions of one's own: from the file through a language model to answers and measures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chat_server import ChatServer
from command import called, refuser, rows_of, run, write_rows
from planted_judges import blocks
from pnyx.judging.dimensions.own import read_own
from pnyx.judging.tasks import TASKS
from pnyx.web.label.forms import form_of

pytestmark = pytest.mark.usefixtures("own_place")
refused = refuser("judge", "quality")
FILE = """
name = "letters"
[scale]
low = 1
high = 4
levels = ["1: not at all", "2: hardly", "3: mostly", "4: fully"]

[dimensions.politeness]
definition = "It addresses the reader with respect."

[dimensions.plainness]
label = "Plain words"
definition = "A twelve-year-old understands each sentence."

[[examples]]
text = "Dear Madam, kindly note the hours."
scores = { politeness = 4, plainness = 2 }

[[examples]]
text = "We open at nine."
scores = { plainness = 4 }
"""
ITEMS = [
    {"id": "a", "text": "Dear Sir, thank you.", "group": "g"},
    {"id": "b", "text": "Get lost.", "dimensions": ["politeness"], "group": "h"},
]


@pytest.fixture
def paths(tmp_path):
    (tmp_path / "own.toml").write_text(FILE)
    return write_rows("items.jsonl", ITEMS), "own.toml"


def polite(prompt: str) -> str:
    """Scores politeness by a word, and plainness by the length, on the scale of the file."""
    text = [text for label, text in blocks(prompt) if label == "text"][-1]  # after the examples
    asked = prompt[prompt.rindex("The dimension") :]
    scores = {"politeness": 4 if "Dear" in text else 1, "plainness": 3}
    return json.dumps(
        {name: {"reason": "", "score": n} for name, n in scores.items() if f"{name}: " in asked}
    )


def manifest_of(folder: str) -> dict:
    return json.loads(Path(folder, "manifest.json").read_text())


def shown(server: ChatServer) -> list[str]:
    return ["\n".join(m["content"] for m in row["messages"]) for row in server.asked()]


@pytest.mark.parametrize("form", ["listwise", "pointwise"])
def test_a_file_says_what_is_asked_on_which_scale_with_which_examples(paths, form):
    items, own = paths
    with ChatServer(reply=polite) as server:
        code = run("judge", "quality", items, "--dimensions", own, "--judge", server.spec,
                   "--judge-format", form, "--out", "r")  # fmt: skip
        asked = shown(server)
    assert code == 0
    rows = {(row["id"], row["dimension"]): row for row in rows_of("r")}
    assert set(rows) == {("a", "politeness"), ("a", "plainness"), ("b", "politeness")}
    assert all(row["scale"] == [1, 4] for row in rows.values())
    assert (rows["a", "plainness"]["value"], rows["a", "plainness"]["normalised"]) == (
        3, pytest.approx(2 / 3)
    )  # fmt: skip
    assert all(row["aspect"] is None for row in rows.values())  # `plainness` is not Wachsmuth's
    assert len(asked) == (2 if form == "listwise" else 3)
    whole = next(text for text in asked if "plainness: A twelve-year-old" in text)
    assert "2: hardly" in whole
    assert "1, 2, 3 or 4" in whole
    assert "argumentation" not in whole
    assert "We open at nine." in whole
    assert "plainness: 4" in whole
    alone = next(text for text in asked if "plainness: A twelve-year-old" not in text)
    assert "politeness: 4" in alone
    assert "We open at nine." not in alone
    manifest = manifest_of("r")
    told = manifest["settings"]["dimensions"]
    assert (told["name"], told["dimensions"]) == ("letters", ["politeness", "plainness"])
    assert len(told["sha256"]) == 64
    assert [prompt["name"] for prompt in manifest["prompts"]] == ["quality-own"]


def test_another_file_is_another_run_and_the_same_asks_nothing_again(paths, tmp_path, capsys):
    items, own = paths
    with ChatServer(reply=polite) as server:
        arguments = ("judge", "quality", items, "--dimensions", own, "--judge", server.spec)
        assert run(*arguments, "--out", "r") == 0
        count = len(server.asked())
        assert run(*arguments, "--out", "r") == 0
        assert len(server.asked()) == count
        first = manifest_of("r")["settings"]["dimensions"]["sha256"]
        (tmp_path / "own.toml").write_text(FILE.replace("with respect", "with great respect"))
        assert run(*arguments, "--out", "s") == 0
        assert len(server.asked()) == 2 * count
    assert manifest_of("s")["settings"]["dimensions"]["sha256"] != first


def test_answers_are_measured_and_put_on_trial_as_others_are(paths, capsys):
    items, own = paths
    labels = [{"id": "a", "dimension": "politeness", "value": 4},
              {"id": "b", "dimension": "politeness", "value": 2}]  # fmt: skip
    with ChatServer(reply=polite) as server:
        asking = ("--dimensions", own, "--judge", server.spec)
        assert run("judge", "quality", items, *asking, "--out", "r") == 0
        assert run("audit", "run", "--trial", "length", items, *asking, "--out", "s") == 0
    path = write_rows("labels.jsonl", labels)
    code, out, _ = called(capsys, "measure", "r", "--labels", path, "--json")
    measures = json.loads(out)["per_dimension"]["politeness"]
    assert code == 0
    assert measures["mean_absolute_error"]["value"] == pytest.approx(0.5)  # 0 and 1
    assert {row["dimension"] for row in rows_of("s")} == {"politeness", "plainness"}


@pytest.mark.parametrize(
    ("change", "line", "problem"),
    [
        (("low = 1", "low = 1.5"), 4, "low: found 1.5, expected a whole number"),
        (("high = 4", "high = 1"), 5, "high: found 1, expected more than low"),
        (("high = 4", "high = 5"), 6, "levels: expected 5 texts"),
        (('definition = "It', 'defnition = "It'), 9, "defnition: expected definition or label"),
        (('definition = "It addresses the reader with respect."', ""), 8,
         "politeness: has no definition"),
        (("politeness = 4, ", "politeness = 5, "), 17, "politeness: found 5, expected 1 to 4"),
        (("scores = { plainness = 4 }", "scores = { charm = 4 }"), 21, "charm: is no dimension"),
        (("[dimensions.politeness]", "[dimensions.clarity]"), 8, "clarity: is a dimension that"),
        (("[dimensions.politeness]", '[dimensions."not polite"]'), 8, "expected a name of"),
        (("[scale]", "[scales]"), 3, "scales: expected name, reviewed, drafted_by, scale"),
        (("[scale]", "[scale"), 3, "not valid TOML"),
        (("[scale]", "reviewed = false\n[scale]"), 3, "found false: a draft, expected true"),
        (("[scale]", 'reviewed = "no"\n[scale]'), 3, "found 'no', expected true or false"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_one_line(paths, tmp_path, capsys, change, line, problem):
    items, own = paths
    (tmp_path / "own.toml").write_text(FILE.replace(*change))
    said = refused(capsys, items, "--dimensions", own, "--judge", "http://127.0.0.1:9/v1#m",
                   "--out", "r")  # fmt: skip
    assert f"own.toml:{line}: " in said
    assert problem in said


def test_choices_that_do_not_go_together(paths, capsys):
    items, own = paths
    llm = ("--judge", "http://127.0.0.1:9/v1#m", "--out", "r")
    assert "--dimensions requires a language model (--judge)" in refused(
        capsys, items, "--dimensions", own, "--out", "r"
    )
    assert "the file of --dimensions already sets it" in refused(
        capsys, items, "--dimensions", own, "--set", "scale=5", *llm
    )
    assert "no such file" in refused(capsys, items, "--dimensions", "x.toml", *llm).lower()
    other = write_rows("other.jsonl", [{"id": "a", "text": "x", "dimensions": ["cogency"]}])
    said = refused(capsys, other, "--dimensions", own, *llm)
    assert "found 'cogency', expected politeness, plainness" in said
    assert refuser("judge", "support")(capsys, items, "--dimensions", own, *llm)


def test_people_get_the_same_dimensions_and_scale(paths, capsys):
    items, own = paths
    first, second = TASKS["quality"].read(items, custom=read_own(own))
    form = form_of(first)
    assert [field.label for field in form.fields] == ["Politeness", "Plain words"]
    assert [(c.value, c.explanation) for c in form.fields[0].choices] == [
        (1, "not at all"), (2, "hardly"), (3, "mostly"), (4, "fully")
    ]  # fmt: skip
    assert form.fields[1].guidance == "A twelve-year-old understands each sentence."
    assert len(form_of(second).fields) == 1
    label = refuser("label")
    assert "the file of --dimensions defines it" in label(
        capsys, "quality", items, "--dimensions", own, "--scale", "5", "--out", "l.jsonl"
    )
    assert "--dimensions requires the task quality" in label(
        capsys, "support", items, "--dimensions", own, "--out", "l.jsonl"
    )


KIND = {"name": "politeness", "label": "Polite", "definition": 'Is it\nkind, not "rude"?\x7f\u202e'}
DRAFT = {
    "dimensions": [KIND, {"name": "plainness", "label": "Plain", "definition": "Short words."}],
    "levels": ["1: not at all", "2", "fully"],
    "examples": [
        {"text": "Dear Sir,\nthanks.", "scores": [{"dimension": "politeness", "score": 3}]},
    ],
}
DRAFTING = ("judge", "dimensions", "Are our letters <<<polite>>>?", "--high", "3")


def test_a_model_drafts_a_file_that_is_taken_once_a_person_has_reviewed_it(paths, capsys):
    items, _ = paths
    with ChatServer(reply=json.dumps(DRAFT)) as server:
        asking = (*DRAFTING, "--llm", server.spec)
        code, plan, _ = called(capsys, *asking, "--plan", "--json")
        assert (code, json.loads(plan)["models"][0]["calls"], server.asked()) == (0, 1, [])
        code, out, err = called(capsys, *asking, "--out", "draft.toml", "--json")
        (request,) = shown(server)
        assert called(capsys, *asking, "--out", "again.toml")[0] == 0
        assert len(server.asked()) == 1  # the second reply is the store's
    assert code == 0
    assert err.startswith("pnyx: cost: 1 call of test, ")
    assert json.loads(out) == {
        "out": "draft.toml", "dimensions": ["politeness", "plainness"], "examples": 1
    }  # fmt: skip
    assert "polite" in dict(blocks(request))["task"]
    assert "clarity" in dict(blocks(request))["names"]
    assert "found false: a draft" in refused(
        capsys, items, "--dimensions", "draft.toml", "--judge", server.spec, "--out", "r"
    )
    assert "exists and may have been edited" in refuser(*DRAFTING[:2])(
        capsys, *DRAFTING[2:], "--llm", server.spec, "--out", "draft.toml"
    )
    draft = Path("draft.toml")
    assert "\\u202e" in draft.read_text()  # who reviews it sees it
    Path("cut.toml").write_text(draft.read_text().replace("reviewed = false", ""))
    assert "found none: a draft" in refused(
        capsys, items, "--dimensions", "cut.toml", "--judge", server.spec, "--out", "r"
    )
    draft.write_text(draft.read_text().replace("reviewed = false", "reviewed = true"))
    own = read_own(draft)
    assert own.scale.levels == ("1: not at all", "2: 2", "3: fully")
    assert own.dimensions["politeness"].definition == 'Is it kind, not "rude"?\x7f\u202e'
    assert own.examples == [("Dear Sir,\nthanks.", (("politeness", 3),))]
    with ChatServer(reply=polite) as server:
        asking = ("--dimensions", draft, "--judge", server.spec, "--out", "r")
        assert run("judge", "quality", items, *asking) == 3  # a 4 is off the scale
    assert manifest_of("r")["settings"]["dimensions"]["drafted_by"] == "test"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"levels": ["low", "high"]}, "levels: List should have at least 3 items"),
        ({"levels": ["low", " ", "high"]}, "levels.1: String should have at least 1 character"),
        ({"dimensions": [{**KIND, "name": "clarity"}]}, "clarity: is a dimension"),
        ({"dimensions": [KIND] * 2}, "not valid TOML (Cannot declare"),
        ({"dimensions": [{**KIND, "name": "a]\nreviewed = true"}]}, "name: String"),
        ({"examples": [{"text": "x", "scores": [{"dimension": "charm", "score": 1}]}]},
         "charm: is no dimension"),
        ({"examples": [{"text": "x", "scores": [{"dimension": "plainness", "score": 4}]}]},
         "less than or equal to 3"),
    ],
)  # fmt: skip
def test_a_reply_that_is_no_rubric_leaves_no_file(paths, capsys, change, problem):
    with ChatServer(reply=json.dumps({**DRAFT, **change})) as server:
        code, out, err = called(capsys, *DRAFTING, "--llm", server.spec, "--out", "draft.toml")
        assert len(server.asked()) == 2  # once more, with the problem named
    assert (code, out) == (3, "")
    assert problem in err
    assert "no usable rubric: nothing was written" in err
    assert not Path("draft.toml").exists()


def test_what_cannot_be_drafted_is_one_line(paths, capsys):
    drafting = refuser("judge", "dimensions")
    asking = ("--llm", "http://127.0.0.1:9/v1#m", "--out", "draft.toml")
    assert "TASK is empty" in drafting(capsys, " ", *asking)
    assert "high: found 1, expected 2 to 11" in drafting(capsys, "Polite?", "--high", "1", *asking)
    assert "Missing option '--out'" in drafting(capsys, "Polite?", *asking[:2])
    assert "requires a language model: add --llm" in drafting(capsys, "Polite?", *asking[2:])
