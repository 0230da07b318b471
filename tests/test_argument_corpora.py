"""Argument corpora in the shapes in which they are published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pnyx
from command import called
from pnyx.core.errors import InputError
from pnyx.core.records import Argument, Document
from pnyx.formats import faults, sniff
from tries import tries

PLAN = "We should ban zoos"
TABLES = {
    "quality": (
        "argument,topic,set,WA,MACE-P,stance_WA,stance_WA_conf\n"
        f"Zoos keep animals captive.,{PLAN},train,0.9,0.8,1,1\n"
        f"Zoos save species.,{PLAN},train,0.7,0.6,-1,1\n",
        ["1", "2"],
    ),
    "arguments": (
        "arg_id,argument,topic,stance\n"
        f"arg_0_1,Zoos keep animals captive.,{PLAN},1\narg_0_2,Zoos save species.,{PLAN},-1\n",
        ["arg_0_1", "arg_0_2"],
    ),
    "key points": (
        "key_point_id,key_point,topic,stance\n"
        f"kp_0_1,Zoos keep animals captive.,{PLAN},1\nkp_0_2,Zoos save species.,{PLAN},-1\n",
        ["kp_0_1", "kp_0_2"],
    ),
    "pairs": (
        "topic,argument,key_point,stance,label\n"
        f"{PLAN},Zoos keep animals captive.,Freedom counts,1,1\n"
        f"{PLAN},Zoos keep animals captive.,Zoos cost,1,0\n"
        f"{PLAN},Zoos save species.,Species count,-1,1\n",
        ["1", "2"],
    ),
    "claims": (
        '"topicId","topicText","claims.claimId","claims.stance","claims.claimCorrectedText"\n'
        f'"1","{PLAN}","7","PRO","Zoos keep animals captive."\n'
        f'"1","{PLAN}","8","CON","Zoos save species."\n',
        ["7", "8"],
    ),
    "sentential": (
        "topic\tretrievedUrl\tarchivedUrl\tsentenceHash\tsentence\tannotation\tset\n"
        f"{PLAN}\thttp://a.example\thttp://b.example\tx\tZoos keep animals captive.\t"
        "Argument_for\ttrain\n"
        f"{PLAN}\thttp://a.example\thttp://b.example\ty\tZoos save species.\t"
        "Argument_against\ttrain\n",
        ["1", "2"],
    ),
}
KIALO = """Discussion Title: Should zoos be banned?

1. Zoos should be banned.
1.1. Pro: Zoos keep animals
captive.
1.1.1. Con: Some are born there.
1.1.1.1. Con: They still suffer.
1.2. Con: Zoos save species.
1.2.1. Pro: -> See 1.1.1.
1.2.2. Con: Few species are saved.
"""
CLAIMS = [
    {
        "cId": 4,
        "text": PLAN,
        "source": "idebate",
        "perspectives": [
            {"pids": [1, 2], "stance_label_3": "SUPPORT", "evidence": [9]},
            {"pids": [3], "stance_label_3": "UNDERMINE", "evidence": []},
            {"pids": [3], "stance_label_3": "not-a-perspective", "evidence": []},
        ],
    }
]
VIEWS = {1: "Zoos keep animals captive.", 2: "Zoos are prisons.", 3: "Zoos save species."}
POOL = [{"pId": number, "text": text, "source": "idebate"} for number, text in VIEWS.items()]


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(name: str, content: str) -> str:
        (tmp_path / name).write_text(content, encoding="utf-8")
        return str(tmp_path / name)

    return write


@pytest.mark.parametrize("name", TABLES)
def test_a_published_table_becomes_arguments_with_topic_and_stance(write, name):
    content, ids = TABLES[name]
    path = write("table.csv", content)
    assert sniff(path) == "argument-table"
    arguments = list(pnyx.read_evidence(path))
    assert [argument.id for argument in arguments] == ids
    assert all(isinstance(argument, Argument) and argument.topic == PLAN for argument in arguments)
    assert [(argument.text, argument.stance) for argument in arguments] == [
        ("Zoos keep animals captive.", "pro"),
        ("Zoos save species.", "con"),
    ]


def test_what_a_published_table_says_beyond_is_kept(write):
    (first, _) = pnyx.read_evidence(write("t.csv", TABLES["quality"][0]))
    assert dict(first.extra) == {
        "set": "train",
        "WA": "0.9",
        "MACE-P": "0.8",
        "stance_WA": "1",
        "stance_WA_conf": "1",
    }
    (sentence, *_) = pnyx.read_evidence(write("t.tsv", TABLES["sentential"][0]))
    assert sentence.url == "http://b.example"


def test_evidence_and_sentences_without_an_argument_are_documents(write):
    content = TABLES["sentential"][0].replace("Argument_for", "NoArgument")
    (document, argument) = pnyx.read_evidence(write("t.tsv", content))
    assert isinstance(document, Document)
    assert (document.extra["topic"], document.extra["annotation"]) == (PLAN, "NoArgument")
    assert isinstance(argument, Argument)
    evidence = (
        "topic,the concept of the topic,candidate,candidate masked,label,"
        "wikipedia article name,wikipedia url\n"
        f"{PLAN},zoos,Zoos cost much.,TOPIC_CONCEPT cost much.,1,Zoo,http://zoo.example\n"
    )
    (document,) = pnyx.read_evidence(write("e.csv", evidence))
    assert (document.text, document.title, document.url) == (
        "Zoos cost much.",
        "Zoo",
        "http://zoo.example",
    )


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("arg_id,key_point_id,label\na,b,1\n", ":1: found pairs of ids without texts"),
        (
            "topic\tretrievedUrl\tarchivedUrl\tsentenceHash\tannotation\tset\nt\tu\tv\tw\tx\ty\n",
            ":1: no column sentence: the texts of this corpus (UKP) are published separately",
        ),
        (
            "arg_id,argument,topic,stance\na,Zoos.,T,maybe\n",
            ":2: stance: found maybe, expected 1, -1, pro or con",
        ),
        ("arg_id,argument,topic,stance\na,,T,1\n", ":2: argument is empty"),
    ],
)
def test_a_table_that_cannot_be_read_says_why_in_one_line(write, capsys, content, problem):
    path = write("t.csv", content)
    code, out, _ = called(capsys, "files", "validate", path)
    assert code == 2
    assert out.splitlines()[0].startswith(f"{path}{problem}")


def test_the_csv_of_args_me_has_premises_in_python(write):
    premises = "[{'text': 'Zoos keep animals captive.', 'stance': 'PRO', 'annotations': []}]"
    context = "{'sourceDomain': 'debate.org', 'sourceUrl': 'http://d.example'}"
    header = "id,conclusion,premises,context\n"
    path = write("args.csv", f'{header}S1,{PLAN},"{premises}","{context}"\n')
    (argument,) = pnyx.read_evidence(path)
    assert (argument.stance, argument.source, argument.url) == (
        "pro",
        "debate.org",
        "http://d.example",
    )
    assert argument.premises[0].text == "Zoos keep animals captive."
    for cell in ("[" * 5000, "__import__('os')", "[1]", "{'a': nan}"):
        with pytest.raises(InputError, match="expected a JSON list of text"):
            list(pnyx.read_evidence(write("bad.csv", f'{header}S1,{PLAN},"{cell}",\n')))
    for cell in ("{'sourceUrl': ", "['http://d.example']"):
        with pytest.raises(InputError, match=r":2: context: found .*, expected an object"):
            list(pnyx.read_evidence(write("bad.csv", f'{header}S1,{PLAN},"{premises}","{cell}"\n')))


def test_a_claim_of_kialo_has_its_side_on_the_thesis(write):
    path = write("zoos.txt", KIALO)
    assert sniff(path) == "kialo"
    arguments = {argument.id: argument for argument in pnyx.read_evidence(path)}
    assert {name: argument.stance for name, argument in arguments.items()} == {
        "1.1": "pro",
        "1.1.1": "con",
        "1.1.1.1": "pro",
        "1.2": "con",
        "1.2.2": "pro",
    }
    assert arguments["1.1"].text == "Zoos keep animals captive."
    assert arguments["1.2.2"].topic == "Zoos should be banned."
    assert dict(arguments["1.1.1.1"].extra) == {"parent": "1.1.1", "on_parent": "con"}


def test_a_broken_tree_of_kialo_names_the_line(write):
    path = write("k.txt", "stray\n1. Zoos should be banned.\n1.1.1. Pro: Yes.\n")
    assert [str(fault) for fault in faults(path, "kialo")] == [
        f"{path}:1: found 'stray', expected the first claim, such as 1. Zoos are bad.",
        f"{path}:3: claim 1.1.1 comes before 1.1",
    ]


def test_perspectrum_joins_its_pools(write, tmp_path):
    path = write("perspectrum_with_answers_v1.0.json", json.dumps(CLAIMS, indent=1))
    assert sniff(path) == "perspectrum"
    with pytest.raises(InputError, match=r"needs perspective_pool_v1\.0\.json in the same folder"):
        list(pnyx.read_evidence(path))
    pool = write("perspective_pool_v1.0.json", json.dumps(POOL))
    write("evidence_pool_v1.0.json", json.dumps([{"eId": 9, "text": "They cannot leave."}]))
    (pro, con) = pnyx.read_evidence(path)
    assert (pro.id, pro.conclusion, pro.stance, pro.topic) == ("4-1", VIEWS[1], "pro", PLAN)
    assert [premise.text for premise in pro.premises] == ["They cannot leave."]
    assert pro.extra["paraphrases"] == [VIEWS[2]]
    assert (con.conclusion, con.stance, con.premises) == (VIEWS[3], "con", ())
    assert [document.id for document in pnyx.read_evidence(pool)] == ["p1", "p2", "p3"]


@pytest.mark.parametrize(
    ("evidence", "warning"),
    [
        (None, "3 of 3 pieces of evidence are left out, as {} is not in the same folder"),
        ([8], "2 of 3 pieces of evidence are left out, as {} is not complete"),
        ([7, 8, 9], ""),
    ],
)
def test_perspectrum_says_what_evidence_is_missing(write, capsys, evidence, warning):
    views = [{**CLAIMS[0]["perspectives"][0], "evidence": [7, 8, 9]}]
    path = write("claims.json", json.dumps([{**CLAIMS[0], "perspectives": views}]))
    write("perspective_pool_v1.0.json", json.dumps(POOL))
    pool = "evidence_pool_v1.0.json"
    if evidence is not None:
        write(pool, json.dumps([{"eId": number, "text": "x"} for number in evidence]))
    code, _, err = called(capsys, "files", "validate", path)
    assert code == 0
    expected = f"pnyx: warning: {path}: {warning.format(pool)}\n" if warning else ""
    assert err == expected


@pytest.mark.parametrize(("pids", "problem"), [([1, 4], "found 4"), ([], "found none")])
def test_a_perspective_without_its_text_is_a_fault(write, pids, problem):
    views = [{"pids": pids, "stance_label_3": "SUPPORT", "evidence": []}]
    path = write("claims.json", json.dumps([{**CLAIMS[0], "perspectives": views}]))
    write("perspective_pool_v1.0.json", json.dumps(POOL))
    expected = f"item 1: pids: {problem}, expected ids of perspective_pool_v1.0.json"
    assert [fault.problem for fault in faults(path)] == [expected]


def test_pnyx_indexes_and_converts_a_published_corpus(write, tmp_path, capsys):
    path = write("zoos.txt", KIALO)
    out = tmp_path / "out.jsonl"
    assert called(capsys, "files", "convert", path, "--to", "arguments", "-o", out)[0] == 0
    assert len(out.read_text().splitlines()) == 5
    assert called(capsys, "index", path, "--out", tmp_path / "ix", "--words-only")[0] == 0


WORDS = st.sampled_from(
    [
        *("1. ", "1.1. ", "Pro: ", "Con: ", "Discussion Title: ", "-> See", "\n", ",", "\t", '"'),
        *("topic", "argument", "stance_WA", "1", "}]", '[{"pId": '),
        '[{"cId": 1, "text": "a", "perspectives": ',
    ]
)


@pytest.mark.parametrize("name", ["argument-table", "kialo", "perspectrum", "csv"])
@given(content=st.lists(WORDS | st.text(max_size=20), max_size=14).map("".join))
@settings(max_examples=tries(80))
def test_any_text_is_rows_or_one_line_with_its_place(tmp_path_factory, name, content):
    path = tmp_path_factory.mktemp("any") / "t"
    path.write_bytes(content.encode("utf-8", "replace"))
    for fault in faults(str(path), name):
        assert isinstance(fault, InputError)
        assert fault.path == str(path)
        assert "\n" not in str(fault)
