"""`pnyx files validate --track`: the rules of tracks, beside autojudge-base's own verifier."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import pytest

import autojudge_fixture as theirs
from pnyx.formats import FORMATS, ReportRequest, track_rules
from pnyx.formats.tracks import rules as home
from pnyx.formats.tracks.checks import check_run
from pnyx.formats.tracks.rules import CATEGORIES, Finding, packaged_rules
from pnyx.reports.writing.submission import form_of
from tries import quick_cases

pytestmark = pytest.mark.usefixtures("own_place")

OURS = ("run_id_characters", "sentences_key")
"""What autojudge-base does not check."""

TOPIC = "What is known of tea?"
MARCO = "msmarco_v2.1_doc_16_287012450#4_490828734"
UUID = "0c9edf97-e549-4983-b212-9a3241a616ea_1027347338"
SHARD = "shard_00459_61697"


def good(track: str) -> dict:
    """A response that the track accepts without a word."""
    rag = {"team_id": "t", "run_id": "r", "narrative_id": "1", "narrative": TOPIC}
    report = {"team_id": "t", "run_id": "r", "topic_id": "1"}
    return {
        "rag24": {
            "run_id": "r", "topic_id": "1", "topic": TOPIC, "references": [MARCO],
            "response_length": 3, "answer": [{"text": "Tea is old.", "citations": [0]}],
        },
        "rag25": {
            "metadata": {**rag, "type": "automatic"}, "references": [MARCO],
            "answer": [{"text": "Tea is old.", "citations": [0]}],
        },
        "rag26": {
            "metadata": {**rag, "run_desc": "d"}, "references": [SHARD],
            "answer": [{"text": "Tea is old.", "citations": [SHARD]}],
        },
        "ragtime25": {
            "metadata": {**report, "task": "english"}, "references": [UUID],
            "responses": [{"text": "Tea is old.", "citations": {UUID: 0.5}}],
        },
        "ragtime26": {
            "metadata": {**report, "run_desc": "d"}, "references": [UUID],
            "responses": [{"text": "Tea is old.", "citations": {UUID: 0.5}}],
        },
        "dragun25": {
            "metadata": {**report, "type": "automatic", "use_starter_kit": 0},
            "responses": [{"text": "Tea is old.", "citations": [MARCO]}],
        },
        "neuclir": {
            "metadata": report, "references": ["any id"],
            "responses": [{"text": "Tea is old.", "citations": ["any id"]}],
        },
        "kiddie": {
            "metadata": report,
            "responses": [{"text": "Tea is old.", "citations": ["any id"]}],
        },
    }[track]  # fmt: skip


TRACKS = ("rag24", "rag25", "rag26", "ragtime25", "ragtime26", "dragun25", "neuclir", "kiddie")
THEIRS = ("rag25", "rag26", "ragtime25", "ragtime26", "dragun25", "kiddie")


@pytest.fixture
def files(tmp_path):
    def files(*rows: dict | str) -> tuple[str, str]:
        run, topics = tmp_path / "run.jsonl", tmp_path / "topics.jsonl"
        lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
        run.write_text("\n".join(lines) + "\n")
        request = {"request_id": "1", "title": TOPIC, "problem_statement": "p", "limit": 40}
        topics.write_text(json.dumps(request) + "\n")
        return str(run), str(topics)

    return files


def found_by(call, *argv: str) -> set[tuple[str, str]]:
    code, out, _ = call("files", "validate", *argv, "--json")
    result = json.loads(out)
    found = {("error", row["category"]) for row in result["faults"]}
    found |= {("warning", row["category"]) for row in result["warnings"]}
    assert (code == 2) == (not result["ok"]) == any(one == "error" for one, _ in found)
    assert {category for _, category in found} <= set(CATEGORIES)
    return found


@pytest.mark.parametrize("track", TRACKS)
def test_a_good_run_passes_without_a_word(track, files, call):
    run, topics = files(good(track))
    code, out, err = call("files", "validate", run, "--track", track, "--topics", topics)
    source = track_rules(track).source
    assert (code, err) == (0, "")
    assert out == f"{run}: ok ({track} by the rules of {source}, 1 record)\n"
    if track in THEIRS:
        assert theirs.findings(run, track, topics) == set()


def sentence(row: dict, **changes: object) -> None:
    (row["answer"] if "answer" in row else row["responses"])[0].update(changes)


def metadata(row: dict, **changes: object) -> None:
    row.get("metadata", row).update(changes)


def renamed(row: dict, name: str, value: object) -> None:
    """Give the topic's id under one name only."""
    for other in ("topic_id", "narrative_id"):
        drop(row, other)
    metadata(row, **{name: value})


def drop(row: dict, name: str) -> None:
    row.get("metadata", row).pop(name, None)


BREAKS = {
    "no run": lambda row: drop(row, "run_id"),
    "no team": lambda row: metadata(row, team_id=" "),
    "no topic": lambda row: [drop(row, name) for name in ("topic_id", "narrative_id")],
    "two topics": lambda row: metadata(row, topic_id="1", narrative_id="2"),
    "a number as topic_id": lambda row: renamed(row, "topic_id", 1),
    "a number as narrative_id": lambda row: renamed(row, "narrative_id", 1),
    "a number as request_id": lambda row: metadata(row, request_id=1),
    "null as topic_id": lambda row: metadata(row, topic_id=None),
    **{
        f"{value!r} as {name}": lambda row, name=name, value=value: metadata(row, **{name: value})
        for name, value in [
            ("team_id", 5),
            ("run_id", ["x"]),
            ("run_desc", 5),
            ("type", {"x": 1}),
            ("task", "x"),
            ("task", "english"),
            ("task", 5),
            ("narrative", 5),
            ("description", 2.5),
            ("limit", "x"),
            ("limit", "7"),
            ("limit", 2.5),
            ("limit", None),
            ("limit", True),
            ("use_starter_kit", "yes"),
            ("use_starter_kit", 1.0),
            ("collection_ids", "x"),
            ("collection_ids", [5]),
            ("collection_ids", None),
            ("creator", "x"),
            ("creator", None),
            ("extra", ["x"]),
            ("evaldata", 5),
            ("evaldata", None),
        ]
    },
    "unknown topic": lambda row: [
        metadata(row, **{name: "9"})
        for name in ("topic_id", "narrative_id")
        if name in row.get("metadata", row)
    ],
    "no type": lambda row: [drop(row, name) for name in ("type", "run_desc", "task")],
    "long name": lambda row: metadata(row, run_id="r" * 26),
    "other text": lambda row: metadata(row, narrative="Something else?"),
    "no sentences": lambda row: row.update({k: [] for k in ("answer", "responses") if k in row}),
    "blank": lambda row: sentence(row, text="  "),
    "one blank": lambda row: (row.get("answer") or row["responses"]).append(
        {"text": "", "citations": (row.get("answer") or row["responses"])[0]["citations"]}
    ),
    "too long": lambda row: sentence(row, text="word " * 1100),
    "indices": lambda row: sentence(row, citations=[0]),
    "index out of range": lambda row: sentence(row, citations=[7]),
    "negative index": lambda row: sentence(row, citations=[-1]),
    "ids": lambda row: sentence(row, citations=[MARCO]),
    "other ids": lambda row: sentence(row, citations=["x"]),
    "scores": lambda row: sentence(row, citations={UUID: 1}),
    "no number": lambda row: sentence(row, citations={UUID: "high"}),
    "many citations": lambda row: sentence(row, citations=[SHARD, SHARD + "1", SHARD + "2", "x"]),
    "none cited": lambda row: sentence(row, citations=[]),
    "mixed": lambda row: sentence(row, citations=[0, "x"]),
    "no references": lambda row: row.pop("references", None),
    "empty references": lambda row: row.update(references=[]),
    "a reference twice": lambda row: row.update(references=[*row.get("references", ()), "x", "x"]),
    "uncited reference": lambda row: row.update(references=[*row.get("references", ()), SHARD]),
    "many references": lambda row: row.update(
        references=[*row.get("references", ()), *(f"{MARCO}{i}" for i in range(100))]
    ),
    "text is a number": lambda row: sentence(row, text=5),
    "answer is text": lambda row: row.update({k: "x" for k in ("answer", "responses") if k in row}),
}


@pytest.mark.parametrize("track", THEIRS)
@pytest.mark.parametrize("broken", BREAKS)
def test_broken_runs_are_found_as_by_autojudge_base(broken, track, files, call):
    row = good(track)
    BREAKS[broken](row)
    run, topics = files(row)
    expected = theirs.findings(run, track, topics)
    found = found_by(call, run, "--track", track, "--topics", topics)
    if ("error", "structural") in expected:  # it stops at the first
        assert any(severity == "error" for severity, _ in found)
    else:
        assert {one for one in found if one[1] not in OURS} == expected


@pytest.mark.parametrize("track", THEIRS)
def test_topics_given_twice_and_missing(track, files, call):
    row = good(track)
    run, topics = files(row, row)
    Path(topics).write_text(
        "".join(
            json.dumps({"request_id": one, "title": TOPIC, "limit": 40}) + "\n" for one in "123"
        )
    )
    expected = theirs.findings(run, track, topics)
    found = found_by(call, run, "--track", track, "--topics", topics)
    assert found == expected
    assert {category for _, category in found} == {"duplicate_topics", "missing_topics"}


@pytest.mark.parametrize(("missing", "ending"), [(12, ", t12"), (13, ", t12 and 1 more")])
def test_twelve_topics_without_a_response_are_named(missing, ending, files):
    topics = ["1", *(f"t{n}" for n in range(1, missing + 1))]
    requests = {topic: ReportRequest(topic, TOPIC) for topic in topics}
    results = check_run(files(good("neuclir"))[0], track_rules("neuclir"), requests)
    (problem,) = (finding.problem for finding in results if isinstance(finding, Finding))
    assert problem.startswith(f"{missing} of {missing + 1} topics have no response: t1, ")
    assert problem.endswith(ending)


def test_our_rules_are_those_of_autojudge_base():
    ours = packaged_rules()
    names = {field.name for field in dataclasses.fields(home.TrackRules)} - {
        "source", "run_id_pattern", "flat", "one_run", "response_length",
        "check_duplicate_citations", "references_required", "nuggets", "typed_metadata",
    }  # fmt: skip
    known = dict(theirs.specs())
    assert set(known) == set(ours) - {"rag24", "neuclir"}
    for track, spec in known.items():
        for name in names:
            assert getattr(ours[track], name) == (getattr(spec, name) or BLANK.get(name)), name


BLANK = {
    "collection_ids": (), "recommended_metadata": (), "forbid_extra_metadata": False,
    "require_exact_narrative": False, "references_optional": False, "smells": (),
}  # fmt: skip
"""What stands for nothing, where that is not None."""


def test_smells_that_a_track_does_not_name_are_those_of_autojudge_base():
    dict(theirs.specs())  # imported, or skipped
    from autojudge_base.track_spec import DEFAULT_SMELLS, KNOWN_SMELL_CATEGORIES

    assert home.DEFAULT_SMELLS == DEFAULT_SMELLS
    assert set(KNOWN_SMELL_CATEGORIES) <= set(CATEGORIES)


@pytest.mark.parametrize("track", THEIRS)
def test_installed_rules_are_read_and_equal_the_packaged_ones(track):
    pytest.importorskip("yaml")
    found = track_rules(track)
    if found.source == "pnyx":
        pytest.skip("autojudge-base is not installed")
    assert found.source.startswith("autojudge-base 1.")
    assert dataclasses.replace(found, source="pnyx") == packaged_rules()[track]


# The packaged rules, alone --------------------------------------------------------------------


RAG24 = {
    "20 references": (
        lambda row: row.update(references=[f"{MARCO}{i}" for i in range(21)]),
        {("error", "references_max"), ("warning", "references_uncited")},
    ),
    "a reference twice": (
        lambda row: row.update(references=[MARCO, MARCO]), {("error", "references_duplicate")},
    ),
    "an id that goes on": (
        lambda row: row.update(references=[MARCO + "x"]), {("error", "docid_pattern")},
    ),
    "ids": (
        lambda row: sentence(row, citations=[MARCO]), {("error", "citation_format")},
    ),
    "a document twice": (
        lambda row: sentence(row, citations=[0, 0]), {("warning", "citation_duplicate")},
    ),
    "wrong length": (lambda row: row.update(response_length=4), {("warning", "response_length")}),
    "no length": (lambda row: row.pop("response_length"), {("error", "metadata")}),
    # NFKC makes a space and a combining accent of an acute accent.
    "401 words": (
        lambda row: row.update(
            answer=[{"text": "a\u00b4b " + "word " * 399, "citations": [0]}], response_length=401
        ),
        {("warning", "length")},
    ),
    "other text": (lambda row: row.update(topic="Tea?"), {("error", "narrative")}),
    "no text": (lambda row: row.pop("topic"), {("error", "metadata"), ("error", "narrative")}),
    "no references": (
        lambda row: row.pop("references"),
        {("error", "references_missing"), ("error", "reference_index")},
    ),
    "metadata": (lambda row: row.update(metadata={}), {("error", "structural"),
                                                      ("warning", "missing_topics")}),
}  # fmt: skip


@pytest.mark.parametrize("broken", RAG24)
def test_rules_of_2024(broken, files, call):
    row = good("rag24")
    change, expected = RAG24[broken]
    change(row)
    run, topics = files(row)
    if broken == "metadata":  # no run is known that lacks a topic
        expected = {("error", "structural")}
    assert found_by(call, run, "--track", "rag24", "--topics", topics) == expected


def test_a_run_uses_no_starter_kit_unless_it_says_so():
    form = form_of(track_rules("dragun25"))
    assert form.metadata == {"type": "automatic", "use_starter_kit": 0}


def test_a_file_of_2024_holds_one_run(files, call):
    other = {**good("rag24"), "run_id": "s", "topic_id": "2"}
    run, _ = files(good("rag24"), other)
    assert found_by(call, run, "--track", "rag24") == {("error", "run_id_mixed")}


def test_neuclir_wants_references_and_knows_no_ids(files, call):
    row = good("neuclir")
    del row["references"]
    sentence(row, citations=[f"any id {i}" for i in range(9)], text="x" * 41)
    run, topics = files(row)
    found = found_by(call, run, "--track", "neuclir", "--topics", topics)
    assert found == {("error", "references_missing"), ("warning", "length")}


@pytest.mark.parametrize(("name", "fits"), [("a-b_c.9", True), (".a", False), ("a b", False)])
def test_characters_of_a_name(name, fits, files, call):
    row = good("ragtime26")
    metadata(row, run_id=name)
    run, _ = files(row)
    found = found_by(call, run, "--track", "ragtime26")
    assert found == (set() if fits else {("error", "run_id_characters")})


def test_lines_name_the_place_and_warnings_are_few(files, call):
    row = good("ragtime26")
    sentence(row, text="x" * 41)
    rows = []
    for topic in range(7):
        one = json.loads(json.dumps(row))
        metadata(one, topic_id=str(topic))
        rows.append(one)
    run, topics = files(*rows, '{"metadata": ')
    Path(topics).write_text(
        "".join(
            json.dumps({"request_id": str(n), "title": TOPIC, "limit": 40}) + "\n" for n in range(7)
        )
    )
    code, out, err = call("files", "validate", run, "--track", "ragtime26", "--topics", topics)
    assert code == 2
    assert out.startswith(f"{run}:8: not valid JSON")
    lines = err.splitlines()
    assert lines[0] == f"pnyx: warning: {run}:1: responses has 41 characters, expected at most 40"
    assert lines[-1] == "pnyx: warning: 2 more on length"
    assert len(lines) == 6
    code, out, err = call(
        "files", "validate", run, "--track", "ragtime26", "--topics", topics, "--fail-on-warnings"
    )
    assert (code, err, out.count("expected at most 40")) == (2, "", 7)
    Path(run).write_text("".join(json.dumps(row) + "\n" for row in rows[:5]))
    _, _, err = call("files", "validate", run, "--track", "ragtime26", "--topics", topics)
    assert (err.count("expected at most 40"), " more on " in err) == (5, False)


def test_requests_of_a_track(tmp_path, call):
    path = tmp_path / "requests.jsonl"
    rows = ({"request_id": "1", "title": "T", "limit": 9}, {"request_id": "2", "title": "T"},
            {"request_id": "3", "title": "T", "limit": "long"})  # fmt: skip
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    code, out, err = call("files", "validate", path, "--track", "ragtime26")
    assert code == 2
    assert out == f"{path}:3: '3': limit: found long, expected a positive whole number\n"
    assert err == (
        f"pnyx: warning: {path}:2: no limit: the length of its report cannot be checked\n"
    )
    assert call("files", "validate", path, "--track", "rag26")[0] == 2


def test_bad_calls(tmp_path, files, call):
    run, _ = files(good("kiddie"))
    code, _, err = call("files", "validate", run, "--track", "rag23")
    assert code == 2
    assert "no track 'rag23', expected one of" in err
    code, _, err = call("files", "validate", run, "--topics", run)
    assert (code, "--topics requires --track" in err) == (2, True)
    trec = tmp_path / "run.trec"
    trec.write_text("1 Q0 a 1 2.0 t\n")
    code, _, err = call("files", "validate", trec, "--track", "rag26")
    assert (code, "found run, --track checks a run of responses" in err) == (2, True)
    assert err.count("\n") == 1


def test_nugget_banks_are_told_from_runs(tmp_path, call):
    path = tmp_path / "banks.jsonl"
    path.write_text(FORMATS["ragtime26-nuggets"].example)
    code, out, err = call("files", "validate", path, "--track", "ragtime26")
    assert (code, out, err) == (0, f"{path}: ok (ragtime26-nuggets, 1 record)\n", "")
    code, _, err = call("files", "validate", path, "--track", "rag26")
    assert (code, "rag26 takes no nugget banks" in err) == (2, True)
    assert call("files", "validate", path, "--track", "ragtime26", "--topics", path)[0] == 2
    row = json.loads(path.read_text())
    row["metadata"]["run_id"] = "r" * 26
    path.write_text(json.dumps(row))
    code, out, _ = call("files", "validate", path, "--track", "ragtime26")
    assert (code, "expected at most 25" in out) == (2, True)
    path.write_text(FORMATS["nuggetizer"].example)
    code, _, err = call("files", "validate", path, "--track", "ragtime26")
    assert (code, "ragtime26 takes ragtime26-nuggets" in err) == (2, True)


HOSTILE = (
    {"metadata": [], "answer": []},
    {"metadata": {"run_id": {"a": 1}, "topic_id": True}, "answer": [{"text": "a", "citations": 5}]},
    {"metadata": {"run_id": "r\u001b[31m", "topic_id": "\u202e"}, "answer": [{}]},
    {"metadata": {}, "responses": [[], "x", None]},
    {"metadata": {}, "answer": [{"text": "a", "citations": [1e400]}]},
    {"metadata": {}, "answer": [{"text": "a", "citations": [10**400]}], "references": []},
    {"metadata": {}, "answer": [{"text": "a", "citations": [True]}], "references": "abc"},
    {"answer": 5},
)


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("row", HOSTILE)
def test_hostile_lines_are_one_line_each(track, row, files, call):
    run, _ = files(json.dumps(row).replace("Infinity", "1e999"))
    code, out, err = call("files", "validate", run, "--track", track)
    assert code == 2
    assert "Traceback" not in out + err
    assert "\x1b" not in out + err
    assert "\u202e" not in out + err


REAL = Path(os.environ.get("PNYX_DATA", "none")) / "reportgen"


@pytest.mark.parametrize("track", quick_cases(THEIRS, {"rag25"}))
def test_real_runs_are_found_as_by_autojudge_base(track, call):
    runs = sorted(REAL.glob("*/T1_run_*.jsonl")) + sorted(REAL.glob("kiddie/run*.jsonl"))
    runs += sorted(REAL.glob("spot_check/my_best_run*.jsonl"))
    if not runs:
        pytest.skip("PNYX_DATA has no reportgen")
    for run in runs:
        found = found_by(call, str(run), "--track", track)
        ours = {one for one in found if one[1] not in OURS}
        expected = theirs.findings(str(run), track, None)
        if ("error", "structural") in expected:
            assert any(severity == "error" for severity, _ in ours)
        else:
            assert ours == expected, run


def test_a_reference_given_twice_is_read_and_written_as_it_is(files, tmp_path, call):
    row = good("rag25")
    row["references"] = [MARCO + "0", MARCO, MARCO]
    sentence(row, citations=[2])
    run, _ = files(row)
    out = tmp_path / "out.jsonl"
    assert call("files", "validate", run)[0] == 0
    assert call("files", "convert", run, "--to", "rag25", "--style", "indices", "-o", out)[0] == 0
    written = json.loads(out.read_text())
    assert written["references"] == row["references"]
    assert written["answer"][0]["citations"] == [1]
