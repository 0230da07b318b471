"""What every option of every command refuses, and every address: one line, exit status 2."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from chat_server import ChatServer
from command import run
from pnyx.cli import COMMANDS, app
from pnyx.cli.settings import Number, NumberRange, Raw, SettingOption, Text
from pnyx.core.errors import InputError
from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.models.http.addresses import is_address, shown_address

NO_UTF8 = b"a\xff".decode("utf-8", "surrogateescape")


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield each command that does something, by its words."""

    def below(words: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                found = command.get_command(context, name)
                assert found is not None
                yield from below(f"{words} {name}", found)
        else:
            yield words.strip(), command
            for name, found in getattr(command, "words", {}).items():
                yield from below(f"{words} {name}", found)

    yield from below("", app)


ALL = dict(commands())


def parameters(kinds: tuple[type, ...]) -> list[tuple[str, click.Parameter]]:
    return [(w, p) for w, c in ALL.items() for p in c.params if isinstance(p.type, kinds)]


def refused(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command that must end with one printable line and exit status 2."""
    status = run(*arguments)
    said = capfd.readouterr()
    assert status == 2, said
    assert said.err.startswith("pnyx: "), said
    assert said.err.count("\n") == 1, said
    assert said.err.rstrip("\n").isprintable()
    return said.err


def test_all_numbers_are_of_the_kinds_that_refuse_what_is_none():
    assert {words.split()[0] for words in ALL} >= set(COMMANDS)  # a plugin adds its own
    floats = parameters((click.types.FloatParamType,))
    assert len(floats) > 50
    for words, parameter in floats:
        assert isinstance(parameter.type, Number | NumberRange), (words, parameter.name)


@pytest.mark.all
def test_no_number_is_nan_or_infinite(own_place, capfd):
    for words, parameter in parameters((Number, NumberRange)):
        for value in ("nan", "NaN", "inf", "-inf", "1e400", "-1e400", "Infinity"):
            said = refused(capfd, *words.split(), *_words(parameter, value))
            assert _words(parameter, "")[-1].rstrip("=") in said, (words, value, said)
    for words, option in (
        ("annotate label --all --annotations-out o", "--thresholds"),
        ("measure x --thresholds --labels l", "--at"),
    ):
        for value in ("nan", "0.3,nan", "inf", "1e400"):
            refused(capfd, *words.split(), option, value)


def _words(parameter, *values):
    """Return the words of the command line that give an option or a setting its values."""
    if isinstance(parameter, SettingOption):
        return ["--set", f"{parameter.setting}={values[0]}"]
    if len(values) == 1 and parameter.opts[-1].startswith("--"):
        return [f"{parameter.opts[-1]}={values[0]}"]
    return [parameter.opts[-1], *values]


def _field(parameter):
    """Return a parameter's name without that of its spec."""
    return parameter.name.rpartition("__")[2]


def test_text_that_is_not_utf_8_is_refused(own_place, capfd):
    texts = parameters((Text,))
    assert {"tag", "columns", "definition", "embedder"} <= {_field(p) for _, p in texts}
    for words, parameter in texts:
        given = _words(parameter, *[NO_UTF8] * parameter.nargs)
        assert "expected text in UTF-8" in refused(capfd, *words.split(), *given), words


def test_options_take_text_or_are_declared_as_names_of_files():
    for words, option in parameters((click.types.StringParamType,)):
        if isinstance(option, click.Option):
            assert isinstance(option.type, Text | Raw), (words, option.name)


def test_files_whose_names_are_not_utf_8_are_read_and_written(own_place, capfd):
    document = {"id": "1", "text": "Fares fell."}
    Path(NO_UTF8).write_text(json.dumps(document) + "\n")
    Path("items.jsonl").write_text(json.dumps({**document, "statement": "Cheap."}) + "\n")
    for arguments in (
        ("files", "validate", NO_UTF8),
        ("files", "convert", NO_UTF8, "--to", "jsonl", "--out", f"{NO_UTF8}.out"),
        ("index", NO_UTF8, "--out", f"{NO_UTF8}.index"),
        ("search", f"{NO_UTF8}.index", "fares"),
        ("search", f"{NO_UTF8}.index", f"fares {NO_UTF8}", "--json"),
        ("judge", "support", "items.jsonl", "--out", f"{NO_UTF8}.answers"),
    ):
        assert run(*arguments) == 0, (arguments, capfd.readouterr())
    capfd.readouterr()
    refused(capfd, "argue", f"{NO_UTF8}.index", f"Fares {NO_UTF8}?", "--html", "h.html")
    assert not Path("h.html").exists()
    refused(capfd, "judge", "support", f"no{NO_UTF8}", "--out", "o")
    refused(capfd, "judge", "support", NO_UTF8, "--judge", f"openai:{NO_UTF8}", "--out", "o")
    refused(capfd, "judge", "support", NO_UTF8, "--judge", f"http://h/v1#{NO_UTF8}", "--out", "o")


# --- addresses

SECRET = "SECRET"
BAD = [
    *("http://256.1.1.1:8000/v1", "http://192.168.010.1:8000/v1", "http://①:9/v1"),
    *("http://[::1]x/v1", "http://h:99999/v1", "http://h:0/v1", "http://a..b/v1", "http://a b/v1"),
    *("http://" + "a" * 64 + ".example/v1", "http://h\\x/v1", "http://\u00ad/v1", "http://*/v1"),
    *("http://" + "x." * 200 + "example/v1", "http://h/" + "x" * 70_000, "ftp://h/v1"),
    *(f"http://h/v1?key={SECRET}", f"http://user:{SECRET}@h/v1", f"http://{SECRET}@h/v1"),
    *(f"http://user:{SECRET}/a@h/v1", f"http://user:a?{SECRET}@h/v1", f"http:user:{SECRET}@h/v1"),
    *(f"user:{SECRET}@h/v1", f"http://u@v:{SECRET}@h/v1", f"h/v1?key={SECRET}"),
    f"HTTP://user:{SECRET}@256.1.1.1/v1",
]


@pytest.mark.parametrize("address", BAD)
def test_an_address_that_cannot_be_asked_is_one_line_that_tells_no_secret(
    own_place, capfd, address
):
    Path("i.jsonl").write_text('{"id": "1", "text": "Fares fell.", "statement": "Cheap."}\n')
    assert not is_address(address)
    for arguments in (
        ["judge", "support", "i.jsonl", "--judge", f"{address}#m", "--out", "o"],
        ["judge", "support", "i.jsonl", "--judge", f"{address}#m", "--plan"],
        ["index", "i.jsonl", "--out", "i.index", "--vectors", "--embedder", f"{address}#m"],
    ):
        assert SECRET not in refused(capfd, *arguments)
    assert not {"o", "i.index"} & {path.name for path in Path().iterdir()}
    with pytest.raises(InputError) as caught:
        ChatEndpoint(address, "m")
    assert SECRET not in str(caught.value)


def test_argue_and_doctor_show_no_secret_either(own_place, capfd):
    address = f"http://user:{SECRET}@256.1.1.1/v1?key={SECRET}#m"
    Path("d.jsonl").write_text('{"id": "1", "text": "Fares fell."}\n')
    run("index", "d.jsonl", "--out", "i.index")
    capfd.readouterr()
    assert SECRET not in refused(capfd, "argue", "i.index", "Fares?", "--llm", address)
    assert run("doctor", "--llm", address, "--json") == 2
    said = capfd.readouterr()
    assert "found 'http://***@256.1.1.1/v1?***'" in said.err
    assert SECRET not in said.err + said.out


@pytest.mark.parametrize(
    "where", [f"#m?key={SECRET}", f"#m=1&key={SECRET}?", f"?key={SECRET}#m", f"#key={SECRET}"]
)
def test_a_query_behind_the_model_is_refused_and_not_shown(own_place, capfd, where):
    Path("i.jsonl").write_text('{"id": "1", "text": "Fares fell.", "statement": "Cheap."}\n')
    with ChatServer() as server:
        spec = f"{server.url}{where}"
        said = refused(capfd, "judge", "support", "i.jsonl", "--judge", spec, "--out", "o")
    assert SECRET not in said
    assert not server.asked()


@pytest.mark.parametrize(
    "address",
    [
        *("http://127.0.0.1:8000/v1", "https://api.example.org/v1/", "http://[::1]:1/v1"),
        *("http://localhost", "http://gpu_box.local:1", "http://b\u00fccher.example/v1"),
        *("http://[fe80::1%25eth0]/v1", "http://h/a%20b/c@d", "http://xn--bcher-kva.example."),
    ],
)
def test_addresses_that_can_be_asked(address):
    assert is_address(address)
    assert ChatEndpoint(address, "m").address == address.rstrip("/")


def test_what_is_shown_of_an_address():
    assert shown_address("http://h/v1#org/model:tag") == "http://h/v1#org/model:tag"
    assert shown_address("http://u:p@h/v1#m") == "http://***@h/v1#m"
    assert shown_address("http://h/v1?a=b#m") == "http://h/v1?***"
    assert shown_address("http://h/v1#key=b") == "http://h/v1#***"
