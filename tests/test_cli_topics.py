"""Labels of a corpus and questions in other words, as users of the command line meet them."""

from __future__ import annotations

import json

import pytest

from command import printed
from pnyx.core.records import Argument, Premise
from pnyx.search.build import build_index

pytestmark = pytest.mark.usefixtures("run_once")

TOPIC = "Prostitution Should Be Legal"
OTHER = "It should be compulsory for mothers to breastfeed"
RECORDS = [
    Argument(
        "pro1",
        "Legal prostitution is safer for prostitutes",
        (Premise("Where prostitution is legal, those who sell sex can call the police."),),
        "pro",
        TOPIC,
    ),
    Argument(
        "con1",
        "Prostitution exploits the poor",
        (Premise("Legal prostitution makes a market of people who have no other choice."),),
        "con",
        TOPIC,
    ),
    Argument(
        "milk",
        "Breastfeeding should be compulsory because it is healthy",
        (Premise("A compulsory rule would be banned by no court; mothers vote for it."),),
        "pro",
        OTHER,
    ),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("topics") / "debates.index"
    build_index(RECORDS, path)
    return str(path)


@pytest.mark.parametrize(
    ("question", "label"),
    [
        ("Should prostitution be legal?", "[pro]"),
        ("Prostitution should be made legal", "[pro]"),
        ("Should prostitution be banned?", f"[con: pro on “{TOPIC}”]"),
    ],
)
def test_search_shows_a_label_as_one_on_the_question(index, capsys, question, label):
    lines = printed(capsys, "search", index, question).out.splitlines()
    (line,) = (line for line in lines if "pro1" in line)
    assert line.endswith(label)


def test_search_shows_no_label_of_another_topic(index, capsys):
    question = "Should voting be compulsory?"
    (line, *_) = printed(capsys, "search", index, question).out.splitlines()
    assert "milk" in line
    assert "[" not in line
    (row,) = json.loads(printed(capsys, "search", index, question, "--json").out)
    assert row["stance"] == "pro"
    assert (row["label"]["topic"], row["label"]["used"]) == (OTHER, False)
    assert row["label"]["stance"] is None


@pytest.mark.parametrize(
    ("question", "relation", "sides"),
    [
        ("Should prostitution be legal?", "same", {"pro": "pro1", "con": "con1"}),
        ("Prostitution should be made legal", "same", {"pro": "pro1", "con": "con1"}),
        ("Should prostitution be banned?", "opposite", {"pro": "con1", "con": "pro1"}),
    ],
)
def test_argue_uses_labels_the_right_way_round(index, capsys, tmp_path, question, relation, sides):
    html, md = tmp_path / "a.html", tmp_path / "a.md"
    files = ("--html", str(html), "--md", str(md))
    captured = printed(capsys, "argue", index, question, "--json", *files)
    case = json.loads(captured.out)
    (used,) = (one for one in case["topics"] if one["used"])
    assert (used["topic"], used["relation"], used["passages"]) == (TOPIC, relation, 2)
    for side in case["sides"]:
        assert side["response"]["references"] == [sides[side["stance"]]]
        (verdict,) = (row for row in side["verdicts"] if row["task"] == "stance")
        assert verdict["judge"] == "corpus label"
    said = f"Labels on “{TOPIC}” (2 passages) count: the topic "
    assert said not in captured.err  # the pages say it
    assert said in html.read_text("utf-8")
    assert said in md.read_text("utf-8")


def test_argue_asks_whether_a_near_topic_was_meant(index, capsys, tmp_path):
    html, md = tmp_path / "a.html", tmp_path / "a.md"
    question = "Should mothers feed their babies themselves?"
    files = ("--html", str(html), "--md", str(md))
    captured = printed(capsys, "argue", index, question, "--json", *files)
    case = json.loads(captured.out)
    assert case["near_topics"] == [{"topic": OTHER, "passages": 1}]
    assert f"Did you mean “{OTHER}” (one passage)?" in captured.err
    assert f"Did you mean “{OTHER}” (one passage)?" in md.read_text("utf-8")
    assert f'Did you mean <q dir="auto">{OTHER}</q>' in html.read_text("utf-8")
    asked = printed(capsys, "argue", index, OTHER, "--json")  # as the page's link asks it
    assert json.loads(asked.out)["near_topics"] == []
    assert any(one["used"] for one in json.loads(asked.out)["topics"])
    assert "Did you mean" not in asked.err


@pytest.mark.parametrize(
    ("named", "label"), [(OTHER, "[pro]"), (f"not: {OTHER}", f"[con: pro on “{OTHER}”]")]
)
def test_a_topic_can_be_named_by_hand(index, capsys, named, label):
    found = printed(capsys, "search", index, "Do mothers vote?", "--topic", named)
    assert found.out.splitlines()[0].endswith(label)


def test_a_named_topic_that_is_not_there_is_said(index, capsys):
    captured = printed(capsys, "search", index, "legal prostitution", "--topic", "Ban zoos")
    assert (
        "no passage found has a label on the topic “Ban zoos”: those found are on" in captured.err
    )
    captured = printed(
        capsys, "argue", index, "Should prostitution be legal?", "--topic", "Ban zoos"
    )
    assert "no passage found has a label on the topic “Ban zoos”" in captured.err


def test_useless_names_are_bad_usage(index, capsys, tmp_path):
    captured = printed(capsys, "search", index, "zoos", "--topic", "not:", code=2)
    assert "topic: found 'not:', expected one of the corpus" in captured.err
    topics = tmp_path / "t.jsonl"
    topics.write_text('{"id": "1", "text": "Should zoos close?"}\n', "utf-8")
    files = ("--topics", str(topics), "--out", str(tmp_path / "run"))
    captured = printed(capsys, "search", index, *files, "--topic", "Ban zoos", code=2)
    assert "--topic requires a QUESTION" in captured.err
