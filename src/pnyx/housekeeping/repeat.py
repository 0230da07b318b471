"""`pnyx files repeat`: reproduce results from their record, and compare them byte by byte."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from pnyx._version import __version__
from pnyx.cli.options import EXIT_UNSCORED, say
from pnyx.cli.params import Raw, verb
from pnyx.cli.record import changed_input, check_record, input_hash, versions
from pnyx.cli.rerun import (
    TrustSpec,
    allowed_addresses,
    arguments_of,
    environment_of,
    from_store,
    trusted_record,
)
from pnyx.core.errors import InputError, count_of, escaped, shorten
from pnyx.core.files import read_json
from pnyx.core.network import network_limited_to
from pnyx.core.restricted_mode import no_text
from pnyx.core.spec import file_opt, out_opt
from pnyx.formats.text_types import FileName
from pnyx.judging.answers import ANSWERS, MANIFEST

EXIT_DIFFERS = 1

_WHY = ("judge", "prompts", "plan", "settings", "counts")
"""Manifest entries that may explain why results differ, the most important first."""


class RepeatSpec(TrustSpec, heading="Repeating"):
    """Options of `pnyx files repeat`."""

    inputs: FileName = file_opt(
        ".", "Folder in which relative paths of the record are looked up.", metavar="DIR"
    )
    store: FileName | None = file_opt(None, default_text="$PNYX_STORE, else the user's data folder")
    out: FileName | None = out_opt(
        None, metavar="DIR", writes="files", default_text="a temporary folder"
    )


@verb("repeat", short_help="Reproduce results from their record, and compare the bytes.")
@click.argument("record", type=Raw())
def command(record: str, spec: RepeatSpec, as_json: bool) -> int:
    """Reproduce the results of RECORD, and check that they are byte-identical.

    RECORD is a results folder of pnyx judge, judge report or nuggets assign, or a manifest. No
    language model is asked: replies are read from --store. Exit status 1: different.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx judge support ex/items.jsonl --out results
      $ pnyx files repeat results
      results: the same bytes (1 file)

    \b
    More: pnyx files repeat --help-all, docs/recipes/reports-campaign.md.
    \f
    A manifest is manifest.json of a results folder, or FILE.manifest.json next to a leaderboard of
    pnyx measure report --strict. It names the command with all its options, the hashes of its
    inputs, and its prompts, judges, seeds and versions. Inputs are compared with their hashes
    before anything is done. Copy the judgement store of the original machine (pnyx store --export),
    and name it with --store. If the results differ, one line says what.

    RECORD may come from a stranger, so it chooses only packaged models and files of this machine.
    If it names a language model, a judge of a plugin or an address (an index in a cluster, a data
    set to download), the command ends with exit status 2 and says which --with to add. No other
    network connection is opened.

    \b
      pnyx files repeat judged/manifest.json --inputs /mnt/campaign
      pnyx files repeat judged-llm --with llm=http://127.0.0.1:8000/v1#my-model
    """
    manifest, folder = _read(record)
    manifest["record"] = trusted_record(manifest["record"], spec.values(), record)
    if problem := changed_input(manifest["record"], Path(spec.inputs)):
        return _end(record, problem, (), as_json)
    expected = _expected(manifest)
    if not expected:
        raise InputError("its command wrote no comparable file", path=record)
    with contextlib.ExitStack() as stack:
        out = spec.out or stack.enter_context(tempfile.TemporaryDirectory(prefix="pnyx-repeat-"))
        problem = _again(manifest, spec, Path(out).absolute())
        hashes = {name: input_hash(str(Path(out) / name)) for name in expected}
        different = [name for name, sha256 in expected.items() if hashes[name] != sha256]
        if different and not problem:
            problem = _explained(manifest, folder, Path(out), different[0])
    here = ((name, input_hash(str(folder / Path(name).name))) for name in expected)
    edited = [Path(name).name for name, digest in here if digest not in (None, expected[name])]
    if edited and not problem:
        problem = (
            f"{edited[0]} was changed after it was written; its record produces a different file"
        )
    return _end(record, problem, expected, as_json)


def _read(path: str) -> tuple[dict[str, Any], Path]:
    """Return a manifest with its record, and its folder."""
    manifest_path = Path(path) / MANIFEST if Path(path).is_dir() else Path(path)
    manifest = read_json(manifest_path)
    record = (manifest or {}).get("record")
    if manifest is None or not isinstance(record, dict):
        raise InputError(
            "holds no record of how it was made; expected results, or a manifest, of pnyx judge, "
            "judge report or measure report --strict",
            path=path,
        )
    check_record(record, path)
    for name in (*record["writes"].values(), *_expected(manifest)):
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise InputError(f"a reproduced file would be outside its folder: {name!r}", path=path)
    return manifest, manifest_path.parent


def _expected(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the SHA-256 of each file that the recorded command wrote in its output folders."""
    outputs = dict(manifest["record"].get("outputs", {}))
    if "answers_sha256" in manifest:
        outputs[f"out/{ANSWERS}"] = manifest["answers_sha256"]
    return outputs


def _again(manifest: Mapping[str, Any], spec: RepeatSpec, out: Path) -> str:
    """Run the recorded command with its outputs in a folder; return why it failed, if it did."""
    from pnyx.cli import app

    record = manifest["record"]
    stored = [] if spec.store is None else ["--store", str(Path(spec.store).absolute())]
    with contextlib.ExitStack() as stack:
        stack.enter_context(environment_of(record))
        stack.enter_context(network_limited_to(allowed_addresses(record, spec.values())))
        stack.enter_context(contextlib.chdir(spec.inputs))
        outputs = {
            option: str(out / written_path) for option, written_path in record["writes"].items()
        }
        words = arguments_of(record, outputs, from_store(record, stored))
        for path in outputs.values():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        if manifest.get("no_text"):
            stack.enter_context(no_text(Exception))
        status = app.main(args=words, prog_name="pnyx", standalone_mode=False)
    return "" if status in (None, 0, EXIT_UNSCORED) else f"the command ended with status {status}"


def _explained(manifest: Mapping[str, Any], folder: Path, out: Path, name: str) -> str:
    """Return which file differs, where, and what else differs from the record."""
    first = _first_difference(folder / Path(name).name, out / name)
    return f"{Path(name).name} differs{first}{''.join(_reasons(manifest, out))}"


def _first_difference(recorded: Path, repeated: Path) -> str:
    if not (recorded.is_file() and repeated.is_file()):
        return ""
    with recorded.open("rb") as first, repeated.open("rb") as second:
        for number, (before, now) in enumerate(zip(first, second, strict=False), 1):
            if before != now:
                return f" from line {number} on"
    return " in length"


def _reasons(manifest: Mapping[str, Any], out: Path) -> Iterator[str]:
    """Yield what has changed since the record was made."""
    here = {"pnyx": __version__, **versions()}
    then = {"pnyx": manifest.get("pnyx"), **manifest["record"].get("versions", {})}
    for name, was in then.items():
        if here.get(name) != was:
            yield f"; {name} is {here.get(name)}, was {was}"
    repeated = read_json(out / "out" / MANIFEST) or {}
    for name in _WHY:
        if repeated and repeated.get(name) != manifest.get(name):
            now, was = (shorten(record.get(name), 120) for record in (repeated, manifest))
            yield f"; {name}: {now}, was {was}"
            return


def _end(record: str, problem: str, expected: Any, as_json: bool) -> int:
    """Print the outcome, and return the exit status."""
    import json

    if as_json:
        row = {"record": escaped(record), "same": not problem, "files": list(expected)}
        click.echo(json.dumps({**row, "problem": problem or None}))
    elif problem:
        say(f"{escaped(record)}: {problem}")
    else:
        click.echo(f"{escaped(record)}: the same bytes ({count_of(len(expected), 'file')})")
    return EXIT_DIFFERS if problem else 0
