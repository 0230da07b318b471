"""Each kind of `--judge SPEC`, files of judges, and `--set NAME=VALUE`, by the command line."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from chat_server import ChatServer
from command import caller, rows_of, write_rows
from pnyx.judging.llm import prompts

call = caller()

ITEMS = [
    {"id": f"i{n}", "text": f"In May {n} bus lines were cut.", "statement": "Lines were cut."}
    for n in range(3)
]
LABELS = [{"id": "i0", "value": True}, {"id": "i1", "value": False}, {"id": "i2", "value": True}]
NOBODY = "http://127.0.0.1:1/v1#nobody"


@pytest.fixture(autouse=True)
def files(own_place) -> None:
    write_rows("items.jsonl", ITEMS)
    write_rows("people.jsonl", LABELS)


@pytest.fixture
def support(call):
    """Run `pnyx judge support items.jsonl --out results`; return its exit status and messages."""

    def support(*arguments: object, out: str = "results") -> tuple[int, str]:
        status, _, error = call("judge", "support", "items.jsonl", "--out", out, *arguments)
        return status, error

    return support


@pytest.fixture
def refusal(support):
    """Return the one line that refuses a command, which wrote nothing."""

    def refusal(*arguments: object) -> str:
        status, error = support(*arguments)
        assert (status, error.count("\n")) == (2, 1), error
        assert not Path("results").exists()
        return " ".join(error.split())

    return refusal


def judges(out: str = "results") -> set[str]:
    return {row["judge"] for row in rows_of(out)}


def recorded(out: str = "results") -> dict[str, Any]:
    options: dict[str, Any] = json.loads(Path(out, "manifest.json").read_text())["record"][
        "options"
    ]
    return options


# --- who answers


def test_a_file_of_labels_and_earlier_answers_are_distinguished_by_their_rows(support):
    assert support("--judge", "people.jsonl")[0] == 0
    assert judges() == {"labels:people.jsonl"}
    values = [row["value"] for row in rows_of("results")]
    assert values == [True, False, True]
    shutil.copy("results/answers.jsonl", "former.jsonl")
    for number, name in enumerate(("results", "former.jsonl")):
        assert support("--judge", name, out=f"again{number}")[0] == 0
        assert {name.partition(":")[0] for name in judges(f"again{number}")} == {"lookup"}
        assert [row["value"] for row in rows_of(f"again{number}")] == values


def test_the_record_of_a_file_with_an_odd_name_is_repeated(support, call):
    """Such a name is not taken for an address with a user or a query."""
    shutil.copy("people.jsonl", "ann@b?.jsonl")
    assert support("--judge", "ann@b?.jsonl")[0] == 0
    assert recorded()["judge"] == ["ann@b?.jsonl"]
    assert call("files", "repeat", "results")[0] == 0


def test_packaged_answers_despite_a_model_of_the_environment(support, monkeypatch):
    assert support(out="default")[0] == 0
    monkeypatch.setenv("PNYX_LLM", NOBODY)
    assert support("--judge", "packaged")[0] == 0
    assert "nobody" not in Path("results/manifest.json").read_text()
    assert rows_of("results") == rows_of("default")


def test_several_models_vote(support):
    with ChatServer() as server:
        other = server.spec.partition("#")[0] + "#other"
        assert support("--judge", server.spec, "--judge", other)[0] == 0
        models = [row["parameters"]["model"] for row in server.asked()]
    assert {model: models.count(model) for model in models} == {"test": 3, "other": 3}
    assert judges() == {"panel(test, other)"}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ((NOBODY, "people.jsonl"), "--judge: people.jsonl answers alone; only language models"),
        (("people.jsonl", "packaged"), "--judge: people.jsonl answers alone; only language"),
        (("nobody",), "--judge: found 'nobody', which is not a file or folder, expected a lang"),
        (("",), "--judge: it is empty, expected a language model"),
        (("-",), "--judge: - is a stream, expected a file or folder"),
        (("empty.jsonl",), "empty.jsonl: it is empty, expected people's labels or a judge's"),
        (("folder",), "folder: holds no answers.jsonl and no student.json: expected results"),
    ],
)
def test_names_of_no_judge(refusal, names, message):
    Path("empty.jsonl").touch()
    Path("folder").mkdir()
    assert message in refusal(*(word for name in names for word in ("--judge", name)))


def test_a_pipe_is_refused_before_its_rows_are_lost(refusal, tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe")
    assert "pipe is a stream, expected a file or folder" in refusal("--judge", "pipe")


@pytest.mark.parametrize(
    ("judge", "setting", "message"),
    [
        ("people.jsonl", "threshold=0.7", "--set threshold does not apply to people's labels"),
        ("former", "calibration=c.json", "--set calibration does not apply to earlier results"),
        ("people.jsonl", "cascade=c.json", "--set cascade does not apply to people's labels"),
        ("people.jsonl", "engine=ray", "--set engine does not apply to people's labels"),
        ("people.jsonl", "samples=3", "--set samples requires a language model"),
        ("packaged", "temperature=1", "--set temperature requires a language model"),
        ("packaged", "cheap=local", "--set cheap requires --set cascade"),
    ],
)
def test_settings_without_effect_are_refused(support, refusal, judge, setting, message):
    if judge == "former":
        assert support("--judge", "people.jsonl", out="former")[0] == 0
    assert message in refusal("--judge", judge, "--set", setting)


@pytest.mark.parametrize(
    ("words", "judge", "message"),
    [
        ("audit run items.jsonl", "people.jsonl", "(people's labels) cannot"),
        ("judge report reports.jsonl --nuggets bank", "former", "(earlier results) cannot answer"),
    ],
)
def test_kinds_that_cannot_answer_a_command(support, call, words, judge, message):
    assert support("--judge", "people.jsonl", out="former")[0] == 0
    status, _, error = call(*words.split(), "--judge", judge, "--out", "results")
    assert (status, message in error) == (2, True), error
    assert not Path("results").exists()


def test_without_a_name_the_models_of_the_environment_answer(support, monkeypatch):
    with ChatServer() as server:
        monkeypatch.setenv("PNYX_LLM", server.spec)
        assert support()[0] == 0
        assert judges() == {"test"}
        assert support("--judge", "packaged", out="packaged")[0] == 0
        assert judges("packaged") != {"test"}
        assert len(server.asked()) == len(ITEMS)


def test_an_unknown_name_is_refused_without_its_password(refusal):
    error = refusal("--judge", "htps://me:secret@host/v1?key=secret#m")
    assert "which is not a file or folder" in error
    assert "secret" not in error


@pytest.mark.parametrize("judge", ["people.jsonl", "former"])
def test_shares_by_labels_or_answers_of_other_content_are_not_merged(support, call, judge):
    def answers(last: bool) -> None:
        write_rows("people.jsonl", [*LABELS[:2], {"id": "i2", "value": last}])
        shutil.rmtree("former", ignore_errors=True)
        assert support("--judge", "people.jsonl", out="former")[0] == 0

    answers(True)
    assert support("--judge", judge, "--shard", "1/2", out="share1")[0] == 0
    assert support("--judge", judge, "--shard", "2/2", out="share2")[0] == 0
    assert call("files", "merge", "share1", "share2", "--out", "whole")[0] == 0
    answers(False)
    assert support("--judge", judge, "--shard", "2/2", out="other")[0] == 0
    status, _, error = call("files", "merge", "share1", "other", "--out", "mixed")
    assert (status, "other" in error) == (2, True), error
    assert not Path("mixed").exists()


def test_a_threshold_next_to_a_cascade_is_refused(refusal):
    error = refusal("--judge", NOBODY, "--set", "threshold=0.4", "--set", "cascade=c.json")
    assert "threshold and cascade exclude each other" in error


# --- a file of a judge


def test_settings_of_a_file_are_read_recorded_and_repeated_without_it(support, call):
    with ChatServer() as server:
        Path("panel.toml").write_text(f'judge = "{server.spec}"\nsamples = 3\ncombine = "mean"\n')
        assert support("--judge", "panel.toml")[0] == 0
        assert len(server.asked()) == 9
        assert judges() == {"test x3 mean"}
        record = recorded()
        assert (record["judge"], record["samples"], record["combine"]) == (
            [server.spec], 3, "mean",
        )  # fmt: skip
        Path("panel.toml").unlink()
        status, out, error = call("files", "repeat", "results", "--with", f"judge={server.spec}")
        assert (status, out) == (0, "results: the same bytes (1 file)\n"), error
        assert len(server.asked()) == 9


def test_the_command_line_takes_precedence_over_the_file_and_this_over_config(support):
    with ChatServer() as server:
        Path("panel.toml").write_text(f'judge = ["{server.spec}"]\nsamples = 3\n')
        Path("c.toml").write_text('judge = "packaged"\nsamples = 5\ncombine = "mean"\n')
        file, config = ("--judge", "panel.toml"), ("--config", "c.toml")
        for number, (options, samples) in enumerate([
            ((*file, "--set", "samples=2"), 2), ((*file, *config), 3), ((*config, *file), 3),
        ]):  # fmt: skip
            assert support(*options, out=f"o{number}")[0] == 0
            record = recorded(f"o{number}")
            assert (record["judge"], record["samples"]) == ([server.spec], samples)
    assert recorded("o2")["combine"] == "mean"


def test_a_config_names_a_judge_or_its_file(support):
    Path("judge.toml").write_text('judge = "people.jsonl"\n')
    for number, name in enumerate(("people.jsonl", "judge.toml")):
        Path("c.toml").write_text(f'judge = "{name}"\n')
        assert support("--config", "c.toml", out=f"o{number}")[0] == 0
        assert judges(f"o{number}") == {"labels:people.jsonl"}


def test_files_next_to_the_file_are_found(support):
    Path("there").mkdir()
    shutil.move("people.jsonl", "there/people.jsonl")
    Path("there/judge.toml").write_text('judge = "people.jsonl"\n')
    assert support("--judge", "there/judge.toml")[0] == 0
    assert recorded()["judge"] == ["there/people.jsonl"]


def test_a_prompt_next_to_the_file_is_found(support):
    Path("there").mkdir()
    shutil.copy(
        Path(prompts.__file__).parents[1] / "prompts/support-direct.toml", "there/mine.toml"
    )
    with ChatServer() as server:
        Path("there/judge.toml").write_text(f'judge = "{server.spec}"\nprompt = "mine.toml"\n')
        assert support("--judge", "there/judge.toml")[0] == 0
    assert recorded()["prompt"] == "there/mine.toml"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ""),  # $PNYX_LLM, else packaged
        ("sample = 3", "j.toml: found 'sample', expected a setting of pnyx judge: "),
        ("depth = 3", "j.toml: found 'depth', expected a setting of pnyx judge: "),  # not a setting
        ("samples = 0", "j.toml: samples: 0 is not in the range 1<=x<=100."),
        ("samples = 2.5", "j.toml: samples: '2.5' is not a valid integer"),
        ("samples = true", "j.toml: samples: 'true' is not a valid integer"),
        ('samples = "many"', "j.toml: samples: 'many' is not a valid integer"),
        ("expected-scores = 3", "j.toml: expected-scores: "),
        ('combine = "sum"', "j.toml: combine: 'sum' is not one of 'auto', 'majority', 'mean'."),
        ("judge = 3", "j.toml: judge: expected a text or a list of texts"),
        ("[judge]\nname = 1", "j.toml: judge: expected a text or a list of texts"),
        ("judge = ", "j.toml: not valid TOML"),
        ('judge = "k.toml"', "--judge k.toml: a file of settings is named alone"),
        (None, "j.toml: cannot be read: No such file"),
    ],
)
def test_a_wrong_file_is_one_line(support, refusal, content, message):
    if content is not None:
        Path("j.toml").write_text(content)
    if not message:
        assert support("--judge", "j.toml")[0] == 0
        return
    assert message in refusal("--judge", "j.toml")


def test_a_file_is_the_only_judge(refusal):
    Path("j.toml").write_text('judge = "people.jsonl"\n')
    for names in (("j.toml", NOBODY), (NOBODY, "j.toml")):
        options = [word for name in names for word in ("--judge", name)]
        assert "--judge j.toml: a file of settings is named alone" in refusal(*options)


def test_fields_of_requests_are_a_table(support):
    with ChatServer() as server:
        Path("j.toml").write_text(f'judge = "{server.spec}"\nrequest = {{top_k = 5}}\n')
        assert support("--judge", "j.toml")[0] == 0
        assert {row["parameters"]["top_k"] for row in server.asked()} == {5}


# --- settings


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("sample=3", "--set sample: no such setting; did you mean samples?"),
        ("zzz=3", "--set zzz: no such setting; expected one of "),
        ("out=x", "--set out: no such setting; "),
        ("=3", "--set : no such setting; "),
        ("samples=0", "--set samples: 0 is not in the range 1<=x<=100."),
        ("samples", "--set samples: 'true' is not a valid integer"),
        ("samples=", "--set samples: '' is not a valid integer"),
        ("samples=2.5", "--set samples: '2.5' is not a valid integer"),
        ("expected-scores=maybe", "--set expected-scores: 'maybe' is not a valid boolean"),
        ("combine=sum", "--set combine: 'sum' is not one of 'auto', 'majority', 'mean'."),
    ],
)
def test_a_wrong_setting_is_one_line(refusal, setting, message):
    assert message in refusal("--judge", NOBODY, "--set", setting)


def test_a_setting_is_on_by_its_name_and_off_by_false_and_the_last_value_wins(call):
    write_rows("texts.jsonl", [{"id": "1", "text": "Buses should be free. They save time."}])
    saved = ("judge", "quality", "texts.jsonl", "--judge", NOBODY, "--save-config", "c.toml")
    for settings, value in (
        (("expected-scores",), True),
        (("expected_scores",), True),
        (("expected-scores=true", "expected-scores=false"), False),
        (("samples=2", "samples=4"), 4),
    ):
        assert call(*saved, *(word for text in settings for word in ("--set", text)))[0] == 0
        options = tomllib.loads(Path("c.toml").read_text())["judge"]
        assert options[settings[0].partition("=")[0].replace("_", "-")] is value or value == 4
        assert value != 4 or options["samples"] == 4
        Path("c.toml").unlink()


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--samples", "--samples is a setting: use --set samples=VALUE"),
        ("--expected-scores", "--expected-scores is a setting: use --set expected-scores"),
        ("--budget-tokens", "--budget-tokens is a setting: use --set budget-tokens=VALUE"),
        ("--llm", "--llm was removed: use --judge"),
        ("--labels", "--labels was removed: use --judge"),
        ("--lookup", "--lookup was removed: use --judge"),
        ("--student", "--student was removed: use --judge"),
    ],
)
def test_a_removed_flag_says_what_to_use(refusal, flag, message):
    assert message in refusal(flag, "1")


def test_saved_options_with_settings_give_the_same_answers(support):
    with ChatServer() as server:
        options = ("--judge", server.spec, "--set", "samples=2", "--set", 'request={"top_k": 5}')
        assert support(*options)[0] == 0
        assert support(*options, "--save-config", "c.toml", out="unused")[0] == 0
        assert not Path("unused").exists()
        saved = tomllib.loads(Path("c.toml").read_text())["judge"]
        assert (saved["judge"], saved["samples"]) == ([server.spec], 2)
        saved_options = ("--config", "c.toml", "--store", "other.sqlite")
        assert support(*saved_options)[0] == 0
        assert {row["parameters"]["top_k"] for row in server.asked()} == {5}
        assert len(server.asked()) == 12
    assert recorded()["samples"] == 2
    assert judges() == {"test x2"}


def test_help_all_lists_settings_and_help_does_not(call):
    short, full = call("judge", "--help")[1], call("judge", "--help-all")[1]
    assert "--set NAME=VALUE" not in short
    assert "--set NAME=VALUE" in full
    assert "samples=N" not in short
    assert "samples=N" in full
    assert "expected-scores=true" in full
    assert "--samples" not in full


# --- records of strangers


@pytest.mark.parametrize("judge", ["evil.toml", "http://127.0.0.1:1/v1#m", "openai:m"])
def test_a_record_may_not_choose_a_judge_that_reaches_further(support, call, judge):
    Path("evil.toml").write_text(f'judge = "{NOBODY}"\n')
    assert support("--judge", "people.jsonl")[0] == 0
    manifest = json.loads(Path("results/manifest.json").read_text())
    manifest["record"]["options"]["judge"] = [judge]
    Path("results/manifest.json").write_text(json.dumps(manifest))
    status, _, error = call("files", "repeat", "results")
    assert status == 2
    assert f"a judge (judge: {judge})" in error
    assert "if you trust it, add --with" in error
