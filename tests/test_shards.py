"""`--shard I/N` on several machines, and `pnyx files merge`: the files of a run in one go."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from argue_report import scripted, write_files
from chat_server import ChatServer
from command import caller, killed_and_run_again, refuser, rows_of, write_rows
from pnyx.core.folders import file_hash
from pnyx.formats import load_example
from pnyx.judging.runs.shards import Shard
from pnyx.judging.store.store import Store
from pnyx.reports.runs import _dealt

pytestmark = pytest.mark.usefixtures("own_place")
call = caller()
refused = refuser("files", "merge")

TIMES = ("started", "finished")


def support_items(count=24):
    """Write items, several on each text."""
    passages = load_example().arguments
    return write_rows(
        "items.jsonl",
        (
            {"id": f"i{n}", "text": passages[n % 9].text, "statement": f"Fares fell {n} times."}
            for n in range(count)
        ),
    )


def in_shares(call, of, *command, suffix="", expected=0):
    """Judge all shares, each in a store of its own; return their names."""
    names = []
    out = "--annotations-out" if "annotate" in command else "--out"
    for number in range(of, 0, -1):  # in any order
        names.append(f"share{number}{suffix}")
        options = ("--shard", f"{number}/{of}", out, names[-1], "--store", f"{number}.sqlite")
        status, _, said = call(*command, *options)
        assert status in (0, expected), said
    return names


def merged(call, names, out="merged", status=0):
    code, printed, said = call("files", "merge", *names, "--out", out, "--json")
    assert code == status, said
    return json.loads(printed)


def manifest_of(out):
    return json.loads((Path(out) / "manifest.json").read_text())


def check_same(whole="whole", other="merged", but=TIMES):
    """Hold merged results to those of the run in one go."""
    names = sorted(path.name for path in Path(whole).iterdir())
    assert names == sorted(path.name for path in Path(other).iterdir())
    for name in names:
        if name != "manifest.json":
            assert (Path(whole) / name).read_bytes() == (Path(other) / name).read_bytes(), name
    one, two = manifest_of(whole), manifest_of(other)
    assert {k: v for k, v in one.items() if k not in but} == {
        k: v for k, v in two.items() if k not in but
    }
    assert list(one) == list(two)


@pytest.mark.all
def test_the_shares_of_the_packaged_judge_are_the_run(call):
    command = ("judge", "support", support_items())
    assert call(*command, "--out", "whole")[0] == 0
    names = in_shares(call, 3, *command)
    parts = [rows_of(name) for name in names]
    assert sum(map(len, parts)) == 24
    assert all(0 < len(part) < 24 for part in parts)
    shared = [{row["id"][1:] for row in part} for part in parts]
    texts = [{int(number) % 9 for number in part} for part in shared]
    assert not set.intersection(*texts)  # what is asked of one text is asked on one machine
    shard = manifest_of("share2")["shard"]
    assert (shard["number"], shard["of"]) == (2, 3)
    manifest = merged(call, names)
    assert manifest == manifest_of("merged")
    check_same()
    assert merged(call, names)["counts"]["asked"] == 24  # again: the same files


@pytest.mark.slow
def test_a_models_replies_are_merged_and_nothing_is_asked_again(call):
    path = write_rows("q.jsonl", ({"id": f"i{n}", "text": f"Text {n}."} for n in range(9)))
    with ChatServer() as server:
        command = ("judge", "quality", path, "--judge", server.spec)
        whole = (*command, "--store", "whole.sqlite")
        assert call(*whole, "--out", "whole")[0] == 0
        asked = len(server.asked())
        names = in_shares(call, 4, *command)
        assert len(server.asked()) == 2 * asked  # each by one machine
        tokens = merged(call, names)["tokens"]
        stores = [f"{number}.sqlite" for number in (1, 2, 3, 4)]
        code, printed, _ = call("files", "merge", *stores, "--out", "all.sqlite", "--json")
        totals = json.loads(printed)
        assert (code, totals["added"], totals["conflicts"]) == (0, asked, 0)
        code, printed, _ = call("files", "merge", *stores, "--out", "all.sqlite", "--json")
        assert json.loads(printed)["added"] == 0
        assert call(*command, "--store", "all.sqlite", "--out", "again")[0] == 0
        assert len(server.asked()) == 2 * asked
    check_same(but=(*TIMES, "store", "models", "tokens"))  # what the server has cached
    assert tokens["prompt_tokens"] == manifest_of("whole")["tokens"]["prompt_tokens"]
    assert Path("again/answers.jsonl").read_bytes() == Path("whole/answers.jsonl").read_bytes()


@pytest.mark.all
@pytest.mark.slow
def test_kill_9_of_a_share_and_again_asks_nothing_that_was_stored(call):
    path = write_rows(
        "items.jsonl",
        ({"id": f"i{n}", "text": f"Text {n}.", "statement": "It is."} for n in range(80)),
    )
    with ChatServer(delay=0.05) as server:
        command = ["judge", "support", path, "--shard", "1/2"]
        plan = json.loads(call(*command, "--judge", server.spec, "--plan", "--json")[1])
        of = plan["questions"]
        assert 20 < of < 60
        command += ["--out", "share"]
        killed_and_run_again(server, command, after=10, of=of, concurrency=4)
    assert len(rows_of("share")) == of


def test_annotations_are_merged_into_any_format_and_known_again(call):
    command = ("annotate", "label", relevance_items())
    assert call(*command, "--annotations-out", "whole.jsonl")[0] == 0
    names = in_shares(call, 3, *command, suffix=".jsonl")
    merged(call, names, "merged.jsonl")
    assert Path("merged.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()
    code, said, _ = call(*command, "--annotations-out", "merged.jsonl")
    assert (code, "all from an earlier run" in said) == (0, True)
    assert "exists already" in call("files", "merge", *names, "--out", "merged.jsonl")[2]
    call(*command, "--annotations-out", "whole.parquet")
    merged(call, names, "merged.parquet")
    assert Path("merged.parquet").read_bytes() == Path("whole.parquet").read_bytes()
    code, _, said = call(*command, "--shard", "1/2", "--annotations-out", "s.parquet")
    assert (code, "a share is .jsonl" in said) == (2, True)
    code, _, said = call(*command, "--shard", "1/2", "--annotations-out", names[0])
    assert (code, "with another --shard" in said) == (2, True)


def relevance_items():
    passages = load_example().arguments[:12]
    rows = ({"id": p.id, "question": "Is it fair?", "document": p.text} for p in passages)
    return write_rows("pairs.jsonl", rows)


@pytest.mark.all
@pytest.mark.slow
def test_the_shares_of_reports_are_the_run(call):
    reports, bank = write_files(Path())
    line, nuggets = Path(reports).read_text(), Path(bank).read_text()
    Path(reports).write_text("".join(line.replace('"7"', f'"{n}"') for n in range(40)))
    Path(bank).write_text("".join(nuggets.replace('"7"', f'"{n}"') for n in range(40)))
    with ChatServer(reply=scripted) as server:
        command = ("judge", "report", reports, "--nuggets", bank, "--judge", server.spec)
        assert call(*command, "--out", "whole", "--store", "w.sqlite")[0] == 3
        names = in_shares(call, 3, *command, expected=3)
    merged(call, names, status=3)
    check_same(but=(*TIMES, "store", "models", "tokens"))  # the topics ask the same here


@pytest.mark.all
def test_a_bench_measures_the_merged_verdicts(call):
    example = load_example()
    texts = {q.id: q.text for q in example.questions}
    views = write_rows(
        "views.jsonl",
        (
            {
                "id": p.id,
                "question_id": p.question_id,
                "text": p.text,
                "question": texts[p.question_id],
            }
            for p in example.perspectives[:12]
        ),
    )
    rows = ({"id": a.id, "text": a.text} for a in example.arguments[:30])
    assert call("index", write_rows("c.jsonl", rows), "--out", "x.index")[0] == 0
    command = ("compare", "retrievers", "--index", "x.index", "--perspectives", views)
    command += ("--retrievers", "bm25", "--cutoff", "4", "--draws", "20")
    code, _, said = call(*command, "--shard", "1/2", "--out", "b1")
    assert (code, "one --lambda" in said) == (2, True)
    command += ("--variants", "plain")
    assert call(*command, "--out", "whole")[0] == 0
    names = in_shares(call, 2, *command)
    files = [f"{name}/verdicts.jsonl" for name in names]
    merged(call, files, "merged/verdicts.jsonl")
    code, _, said = call(*command, "--out", "merged")
    assert code == 0, said
    for name in ("verdicts.jsonl", "measures.json", "runs/bm25.run"):
        assert (Path("whole") / name).read_bytes() == (Path("merged") / name).read_bytes()


@pytest.fixture
def halves(call):
    """The two shares of six items, judged by labels: i1 and i4, and the other four."""
    items = [{"id": f"i{n}", "text": f"Text {n}.", "statement": "It is."} for n in range(6)]
    labels = write_rows("gold.jsonl", ({"id": item["id"], "value": True} for item in items))
    b, a = in_shares(
        call, 2, "judge", "support", write_rows("items.jsonl", items), "--judge", labels
    )
    assert [row["id"] for row in rows_of(a)] == ["i1", "i4"]
    return a, b


def change_manifest(share, **fields):
    Path(share, "manifest.json").write_text(json.dumps(manifest_of(share) | fields))


def test_shares_that_are_not_one_run_are_refused_in_one_line(call, halves, capsys):
    a, b = halves
    command = ("judge", "support", "items.jsonl", "--judge")
    assert "shares are missing of 2: 2" in refused(capsys, a, "--out", "o")
    assert f"{a}: is given twice" in refused(capsys, a, b, a, "--out", "o")
    assert f"./{a}: is share 1, as is {a}" in refused(capsys, a, b, f"./{a}", "--out", "o")
    shutil.copy("gold.jsonl", "others.jsonl")
    call(*command, "others.jsonl", "--shard", "2/2", "--out", "other")
    assert "another run than share1: judge differs" in refused(capsys, a, "other", "--out", "o")
    write_rows("items.jsonl", rows_of("items.jsonl")[:5])
    call(*command, "gold.jsonl", "--shard", "2/2", "--out", "fewer")
    assert "items_sha256 differs" in refused(capsys, a, "fewer", "--out", "o")
    call(*command, "gold.jsonl", "--out", "whole")
    assert "is not a finished share of a run" in refused(capsys, a, "whole", "--out", "o")
    assert "nothing: is not there, expected a share of a run" in refused(
        capsys, a, "nothing", "--out", "o"
    )
    assert "for another shard" in refused(capsys, a, b, "--out", a)
    write_rows(f"{b}/answers.jsonl", rows_of(b)[1:])
    assert "judge this share again" in refused(capsys, a, b, "--out", "o")
    assert not Path("o").exists()


def test_shares_and_stores_are_not_merged_with_each_other(call, capsys):
    shares = in_shares(call, 2, "judge", "support", support_items())
    (annotations,) = in_shares(call, 1, "annotate", "label", relevance_items(), suffix=".jsonl")
    with Store("s.sqlite"):
        pass
    assert call("store", "--store", "s.sqlite", "--export", "exported.jsonl")[0] == 0
    for share in (shares[0], annotations):
        for store in ("s.sqlite", "exported.jsonl", "-"):
            said = refused(capsys, share, store, "--out", "o")
            assert f"{'' if store == '-' else store}: is read as a judgement store" in said
            assert f"and {share} as a share of a run: merge them separately" in said
            said = refused(capsys, store, share, "--out", "o")
            assert f"{share}: is read as a share of a run, and {store} as a judgement store" in said
    assert "the shares of a run require --out" in refused(capsys, *shares)
    assert not Path("o").exists()


@pytest.mark.parametrize(
    ("shard", "said"),
    [
        pytest.param(
            {"number": 0},
            "shard: number: found 0, expected a whole number from 1",
            marks=pytest.mark.all,
        ),
        pytest.param(
            {"number": True},
            "shard: number: found True, expected an integer",
            marks=pytest.mark.all,
        ),
        pytest.param(
            {"number": 1.0}, "shard: number: found 1.0, expected an integer", marks=pytest.mark.all
        ),
        pytest.param(
            {"number": "1"}, "shard: number: found 1, expected an integer", marks=pytest.mark.all
        ),
        ({"number": 3}, "shard: number 3 is greater than of 2"),
        pytest.param(
            {"of": 0}, "shard: of: found 0, expected a whole number from 1", marks=pytest.mark.all
        ),
        pytest.param(
            {"settings_sha256": None},
            "shard: settings_sha256: found None, expected text",
            marks=pytest.mark.all,
        ),
    ],
)
def test_a_damaged_number_of_a_share_is_said_as_it_is(shard, said, call, capsys):
    """Not that the share is missing, or that it is there twice."""
    a, b = in_shares(call, 2, "judge", "support", support_items())
    manifest = manifest_of(b)
    manifest["shard"] |= shard
    Path(b, "manifest.json").write_text(json.dumps(manifest))
    line = refused(capsys, a, b, "--out", "o")
    assert f"{b}: manifest.json is damaged ({said})" in line


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[1:], "item 1 of 6 is in none of the shares"),
        (
            lambda rows: [row for row in rows if row["id"] != "i3"],
            "item 4 of 6 is in none of the shares",
        ),
        (lambda rows: rows[:-1], "item 6 of 6 is in none of the shares"),
        (
            lambda rows: [*rows, rows[0] | {"id": "i6", "shard_position": 6}],
            "the shares have 7 items, expected 6",
        ),
        (
            lambda rows: [rows[0], {"id": "i2"}],
            "share2/answers.jsonl:2: shard_position is missing or damaged",
        ),
        (
            lambda rows: [rows[0] | {"shard_position": True}],
            "share2/answers.jsonl:1: shard_position is missing or damaged",
        ),
    ],
    ids=["first", "middle", "last", "extra", "no position", "true"],
)
def test_shares_whose_items_are_not_those_of_the_run_are_refused(change, message, halves, capsys):
    """Each item is in exactly one share: an item is never lost without a message."""
    a, b = halves
    write_rows(f"{b}/answers.jsonl", change(rows_of(b)))
    change_manifest(b, answers_sha256=file_hash(Path(b, "answers.jsonl")))
    assert message in refused(capsys, a, b, "--out", "o")
    assert not Path("o/manifest.json").exists()


def test_calls_of_shares_are_added_up_and_their_models_named(call, halves):
    a, b = halves
    for share, calls, cost, names in ((a, 3, 0.5, "m"), (b, 4, None, "n")):
        change_manifest(
            share,
            tokens={"prompt_tokens": calls, "cost": cost},
            models=[{"name": "judge", "host": names, "calls": calls}],
        )
    manifest = merged(call, halves)
    assert manifest["tokens"] == {"prompt_tokens": 7, "cost": None}  # a part of a cost is not it
    assert manifest["models"] == [{"name": "judge", "host": "m, n", "calls": 7}]
    assert manifest["counts"]["scored"] == 6
    assert [row["id"] for row in rows_of("merged")] == [f"i{n}" for n in range(6)]


@pytest.mark.parametrize("other", [{}, {"tokens": {"calls": "3"}}, {"tokens": {"calls": [3]}}])
def test_calls_that_cannot_be_added_up_are_refused(other, halves, capsys):
    a, b = halves
    change_manifest(a, tokens={"calls": 3})
    change_manifest(b, **other)
    message = refused(capsys, a, b, "--out", "o")
    assert f"{a}, {b}: manifest.json is damaged: tokens is missing or of another type" in message


@pytest.mark.parametrize("wrong", ["0/2", "3/2", "2", "1/0", "a/b", "1/99999"])
def test_a_shard_that_is_none_is_one_line(wrong, call):
    code, _, said = call("judge", "support", "nothing.jsonl", "--shard", wrong, "--out", "o")
    assert code == 2
    assert f"--shard: found '{wrong}', expected I/N" in said


@pytest.mark.parametrize("name", ["nuggets assign", "annotate label"])
def test_what_needs_all_answers_takes_no_shard(name, call):
    assert "--shard" not in call(*name.split(), "--help")[1]


def test_three_shards_judge_each_block_of_reports_once():
    """A block has sixteen reports or more, here of two topics."""
    topics = [SimpleNamespace(reports=[None] * 8) for _ in range(10)]
    whole = list(_dealt(topics, None))
    assert [len(block) for block in whole] == [2] * 5
    for number, own in ((1, {0, 3}), (2, {1, 4}), (3, {2})):
        blocks = list(_dealt(topics, Shard(number, 3)))
        assert blocks == [block if n in own else [] for n, block in enumerate(whole)]
