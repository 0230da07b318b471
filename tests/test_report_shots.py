"""`pnyx judge report --set shots`: what a server is sent, node by node, and what is never sent."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

from argue_report import DOCUMENTS, REPORT, write_files
from chat_server import ChatServer
from pnyx.core.records import NODES
from pnyx.judging.llm.prompts import load_prompt

pytestmark = pytest.mark.usefixtures("own_place")

ASKED = {
    "nugget": (
        "Which numbered lines does the text give?",
        "How far does the text give this statement?",
    ),
    "support": (
        "Which of these statements does the document support?",
        "Does the document support the statement?",
    ),
    "negative": "Which of these sentences say that something is not known?",
    "needs-citation": "Which of these sentences need a source?",
    "unanswerable": "To which of these questions does the sentence say that there is no answer?",
}
"""Task -> how its prompts end."""


def examples(count: int = 4, nodes=NODES) -> list[dict]:
    """As many examples of each node, half of them yes."""
    return [
        {
            "id": f"{node}-{n}",
            "node": node,
            "text": f"Text {n} shown at {node}.",
            "statement": f"Statement {n} shown at {node}.",
            "value": "yes" if n % 2 else "no",
        }
        for node in nodes
        for n in range(count)
    ]


def write(rows: list[dict], name: str = "examples.jsonl") -> Path:
    path = Path(name)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def sent(server: ChatServer) -> list[str]:
    return [row["messages"][-1]["content"] for row in server.asked()]


def judged(call, tmp_path, rows, *more, shots=4, out="out", **server_options):
    run, bank = write_files(tmp_path)
    path = write(rows)
    with ChatServer(**server_options) as server:
        arguments = (
            "judge",
            "report",
            run,
            "--nuggets",
            bank,
            "--judge",
            server.spec,
            "--out",
            out,
        )
        status, printed, said = call(
            *arguments, "--set", f"shots={shots}", "--set", f"examples={path}", *more
        )
        return status, sent(server), said, printed


def counted(prompt: str) -> int:
    return len(re.findall(r"^(?:Statement|Sentence|Question) \d+:$|^\d+\. ", prompt, re.M))


def always(*yes: str):
    """A model that says yes at these tasks, and no at the others."""

    def reply(prompt: str) -> str:
        (task,) = by_task([prompt])
        words = ("support", "not_support") if task == "nugget" else ("yes", "no")
        one = {"answer": words[task not in yes], "confidence": 0.9}
        if prompt.endswith(ASKED["nugget"][0]):
            numbers = range(1, counted(prompt) + 1) if task in yes else ()
            return json.dumps({"given": [{"number": number, **one} for number in numbers]})
        one |= {"reason": ""}
        if not counted(prompt):
            return json.dumps(one | {"evidence": ""} if task == "support" else one)
        return json.dumps({str(n): one for n in range(1, counted(prompt) + 1)})

    return reply


def by_task(prompts: list[str]) -> dict[str, list[str]]:
    found = defaultdict(list)
    for prompt in prompts:
        (task,) = [name for name, end in ASKED.items() if prompt.endswith(end)]
        found[task].append(prompt)
    return found


@pytest.mark.parametrize("batch", [1, 50])
def test_each_node_shows_its_own_examples_and_no_others(batch, tmp_path, call):
    answer = always(*ASKED)
    status, prompts, said, _ = judged(
        call, tmp_path, examples(), "--set", f"batch={batch}", reply=answer
    )
    assert status == 3, said  # one document has no text
    shown = defaultdict(set)
    for prompt in prompts:
        (node,) = set(re.findall(r"Text \d shown at (\w+)\.", prompt))  # those of one node only
        (task,) = by_task([prompt])
        shown[task].add(node)
        assert len(re.findall(r"^Statement \d shown at", prompt, re.M)) == 4
        marks = re.findall(r"\? (yes|no|support|not given)$", prompt, re.M)
        assert len(marks) == 4
        assert len(set(marks)) == 2
    assert shown == {
        "nugget": {"relevant", "answers"},
        "support": {"attests"},  # all sentences without citations are negative here
        "negative": {"negative"},
        "unanswerable": {"unanswerable"},
    }
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert manifest["settings"]["shots"] == 4
    assert len(manifest["settings"]["examples"]) == 64


def test_a_sentence_that_needs_a_source_is_shown_the_examples_of_its_nodes(tmp_path, call):
    answer = always("nugget", "support", "needs-citation")
    _, prompts, _, _ = judged(call, tmp_path, examples(), reply=answer)
    nodes = {name for p in prompts for name in re.findall(r"Text \d shown at (\w+)\.", p)}
    assert nodes == {"relevant", "answers", "attests", "negative", "needs_citation", "said_before"}


def test_a_nugget_given_in_part_is_shown_so_with_its_question(tmp_path, call):
    rows = examples(2, ["answers"])
    rows[0] |= {"value": "partially", "question": "What was shown?"}
    _, prompts, _, _ = judged(call, tmp_path, rows, shots=2)
    (prompt, *_) = [p for p in by_task(prompts)["nugget"] if "shown at answers" in p]
    assert "How far does the text give it? partial_support\n" in prompt
    assert "The question that it answers:" in prompt
    assert "\nWhat was shown?\n" in prompt


def test_without_shots_and_at_other_tasks_nothing_is_sent_otherwise(tmp_path, call):
    run, bank = write_files(tmp_path)
    with ChatServer(reply=always("nugget", "support")) as server:
        call("judge", "report", run, "--nuggets", bank, "--judge", server.spec, "--out", "plain")
        plain = by_task(sent(server))
        keys = {row["key"] for row in server.asked()}
    _, prompts, _, _ = judged(
        call, tmp_path, examples(4, ["negative"]), reply=always("nugget", "support")
    )
    some = by_task(prompts)
    assert set(some) == {"negative"} < set(plain)  # the store knows all others
    hashes = {
        out: {
            row["id"]: row["prompt_hash"]
            for row in map(json.loads, Path(out, "answers.jsonl").read_text().splitlines())
        }
        for out in ("plain", "out")
    }
    shared = hashes["plain"].keys() & hashes["out"].keys()
    changed = {name for name in shared if hashes["plain"][name] != hashes["out"][name]}
    assert changed == {name for name in shared if name.endswith("/negative")}
    with ChatServer(reply=always("nugget", "support")) as server:  # byte for byte what it was
        arguments = ("--judge", server.spec, "--out", "again", "--store", "new.sqlite")
        call("judge", "report", run, "--nuggets", bank, *arguments)
        assert {row["key"] for row in server.asked()} == keys


def test_with_other_examples_all_is_asked_anew(tmp_path, call):
    judged(call, tmp_path, examples())
    rows = [row | {"statement": row["statement"] + " Anew."} for row in examples()]
    status, prompts, said, _ = judged(call, tmp_path, rows)
    assert status in (0, 3), said
    assert all(p.count(" Anew.") == 4 for p in prompts)
    assert prompts


def test_what_is_judged_is_never_its_own_example(tmp_path, call):
    own, free = REPORT[5][0], REPORT[8][0]  # sentences without citations
    cited, document = REPORT[0][0], DOCUMENTS["d1"]
    rows = [
        *examples(),
        # By words, whatever the case and the report around them; by id; as a part of a document.
        {"id": "w", "node": "negative", "text": "Else.", "statement": own.upper(), "value": "yes"},
        {"id": "run-a/7/9/negative", "node": "negative", "text": "A.", "statement": "B.",
         "value": "no"},
        {"id": "a", "node": "attests", "text": document[:40], "statement": cited, "value": "yes"},
        {"id": "r", "node": "relevant", "text": f"Title. {DOCUMENTS['d5']}",
         "statement": "The reform was paid for by parking fees.", "value": "yes"},
    ]  # fmt: skip
    status, prompts, said, _ = judged(call, tmp_path, rows, shots=6, out="refused")
    assert (status, prompts) == (2, []), said  # no node has three of both
    every = [row | {"id": f"{row['id']}-2"} for row in examples()]
    every = [row | {"statement": row["statement"] + " More."} for row in every]
    status, prompts, said, _ = judged(call, tmp_path, [*rows, *every], shots=10, out="refused")
    assert (status, prompts) == (2, []), said
    status, prompts, said, _ = judged(call, tmp_path, [*rows, *every], shots=8)
    found = by_task(prompts)
    for prompt in found["negative"]:
        shots, _, asked = prompt.rpartition("Sentence 1:")
        last = shots.rpartition("<<<report")[0]
        for sentence, example in ((own, own.upper()), (free, "\nB.\n")):
            if sentence in asked:
                assert example not in last
    assert any(own.upper() in p for p in found["negative"])  # with the others it is shown
    for prompt in found["support"]:
        if cited in prompt.rpartition("Statement 1:")[2]:
            assert cited not in prompt.rpartition("<<<document")[0]
    for prompt in found["nugget"]:
        if DOCUMENTS["d5"] in prompt.rpartition("<<<text")[2]:
            asked = prompt.rpartition("<<<information")[2]
            assert ("parking fees" in asked) + ("Title." in prompt) < 2
    assert "4 examples not shown with the same question" in said


def test_an_example_that_two_nodes_lack_is_not_needed(tmp_path, call):
    status, prompts, said, _ = judged(call, tmp_path, examples(2, ["unanswerable"]), shots=2)
    assert status in (0, 3), said
    assert prompts
    assert not any("shown at" in p for p in prompts if not p.endswith(ASKED["unanswerable"]))


GOOD = examples(2, ["attests"])


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (
            [GOOD[0] | {"node": "attest"}],
            r"examples.jsonl:1: node: found attest, expected one of ",
        ),
        ([GOOD[0], GOOD[1] | {"value": "perhaps"}], r"examples.jsonl:2: value: found perhaps"),
        ([GOOD[0] | {"value": None}], r"examples.jsonl:1: value: "),
        ([GOOD[0] | {"value": "partially"}], r"examples.jsonl:1: value: found partially"),
        ([GOOD[0] | {"statement": " "}], r"examples.jsonl:1: statement is empty"),
        ([GOOD[0], GOOD[0]], r"examples.jsonl:2: .*id"),
        ([{"id": "1", "text": "A."}], r"examples.jsonl:1: no node"),
        ([], r"holds no examples"),
        (GOOD, r"examples.jsonl: found 1 examples at attests that are yes, expected 2"),
    ],
)
def test_a_bad_file_is_one_line(rows, problem, tmp_path, call):
    status, prompts, said, _ = judged(call, tmp_path, rows)
    assert (status, prompts) == (2, [])
    assert re.search(problem, said.replace("\\", "/")), said
    assert len(said.strip().splitlines()) == 1
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--set", "shots=2"), "--set shots requires a language model and examples"),
        (("--set", "examples=examples.jsonl"), "--set examples requires --set shots"),
        (("--set", "shots=3", "--set", "examples=examples.jsonl"), "even"),
        (("--set", "shots=2", "--set", "examples=examples.jsonl"), "requires a language"),
    ],
)
def test_options_that_change_nothing_are_refused(options, problem, tmp_path, call):
    run, bank = write_files(tmp_path)
    write(examples())
    model = () if problem == "requires a language" else ("--judge", "http://127.0.0.1:9/v1#test")
    arguments = ("judge", "report", run, "--nuggets", bank, "--out", "out", *model, *options)
    status, _, said = call(*arguments)
    assert (status, len(said.strip().splitlines())) == (2, 1), said
    assert problem in said


@pytest.mark.parametrize(
    ("name", "plain"),
    [("nugget", "nugget-list"), ("support", "support-many")]
    + [(name, name) for name in ("negative", "needs-citation", "unanswerable")],
)
def test_the_prompts_with_examples_say_what_those_without_say(name, plain):
    """But for the examples and a paragraph on them they are the same, word for word."""
    shown, usual = load_prompt(f"{name}-examples"), load_prompt(plain)
    parts = re.split(
        r"\n\nYou may be shown examples first: .*?(?=\n\nReply )", shown.system, flags=re.S
    )
    assert "".join(parts) == usual.system
    assert len(parts) == 2
    assert shown.user.partition("{% endfor %}\n")[2].strip() == usual.user.strip()
    assert (shown.form, shown.max_tokens) == (usual.form, usual.max_tokens)


def test_a_plan_counts_the_examples(tmp_path, call):
    run, bank = write_files(tmp_path)
    write(examples())
    tokens = {}
    for shots in (0, 4):
        more = ("--set", f"shots={shots}", "--set", "examples=examples.jsonl") if shots else ()
        with ChatServer() as server:
            arguments = ("judge", "report", run, "--nuggets", bank, "--judge", server.spec)
            status, printed, said = call(*arguments, "--plan", "--json", *more)
            assert (status, server.asked()) == (0, []), said
        tokens[shots] = json.loads(printed)["models"][0]["prompt_tokens"][0]
    assert tokens[4] > 1.2 * tokens[0]
