"""`pnyx files validate`: check a file against its format, and list every fault with its line."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli import EXIT_BAD_INPUT
from pnyx.cli.options import say_account, warn
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, OptionError, PnyxError, count_of, escaped
from pnyx.core.spec import Spec, opt, topics_opt
from pnyx.search.open_engine import engine_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pnyx.formats import Format, TrackRules

MAX_JSON_FAULTS = 10_000
"""Most faults in the JSON output, which is held in memory."""

_WARNED = 5
"""Warnings shown of each category; a whole run may share one category."""


class ValidateSpec(Spec, rare="strict strict_files"):
    """Options of `pnyx files validate`."""

    format: str | None = opt(None, metavar="NAME", default_text="recognised")
    track: str | None = opt(None, metavar="TRACK")
    topics: str | None = topics_opt(None, needs="track")
    strict: bool = opt(
        False,
        "Count warnings about a run, or from --track, as faults.",
        "--fail-on-warnings",
        replaces=("--strict",),
    )
    strict_files: bool = opt(False)


@verb("validate", restricts=True, short_help="Check a file against its format.")
@click.argument("file")
def command(file: str, spec: ValidateSpec, as_json: bool) -> int:
    """Check FILE (a corpus, questions, run, qrels, responses, nuggets or index) for faults.

    Prints `FILE: ok (FORMAT, N records)`, or the features of an index, and exits 0; or prints a
    line `FILE:LINE: problem` for every fault and exits 2. `-` is standard input.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx files validate ex/qrels.txt
      ex/qrels.txt: ok (qrels, 112 records)

    \b
    More: pnyx files validate --help-all, docs/reference/formats.md.
    \f
    gzip is recognised; an index may be an address. With --track, a run, requests or nugget banks
    are checked by the rules of the track; --topics are its topics or requests, which give limits
    and texts, and show missing and unknown topics. Warnings do not change the status: those of the
    track, and those about a run: ranks that disagree with scores, ranks below 1, several tags,
    equal scores, more than 1,000 documents of a topic.

    \b
      pnyx files validate gold.jsonl --format labels
      pnyx files validate run.jsonl --track ragtime26 --topics requests.jsonl
    """
    spec.check_needs()
    name = spec.format
    if engine_type(file) or _is_index(file):
        if name is not None or spec.track is not None:
            raise OptionError("--format and --track require a file, and this is an index")
        return _check_index(file, as_json=as_json)
    from pnyx.formats import check, find_format, track_rules
    from pnyx.formats.runs.run_checks import checked_run

    rules = None if spec.track is None else track_rules(spec.track)
    try:
        file_format = find_format(file, name)
    except InputError as error:
        return _Findings(file, as_json=as_json).report((error,), name)
    if rules is not None and file_format.kind == "nuggets":
        _check_banks(file, file_format, rules, spec)
    elif rules is not None:
        return _by_track(file, file_format, rules, spec, as_json=as_json)
    rows: Iterator[Any] = check(
        file,
        file_format,
        on_warning=None if as_json else warn,
        on_account=None if as_json else say_account,
        strict_files=spec.strict_files,
    )
    if file_format.kind == "run":
        rows = checked_run(rows, lines=file_format.name == "run")
    elif spec.strict:
        raise OptionError("--fail-on-warnings requires a run as FILE, or --track")
    return _Findings(file, strict=spec.strict, as_json=as_json).report(rows, file_format.name)


def _is_index(file: str) -> bool:
    """Whether a path is an index, even one without a manifest."""
    manifest = Path(file, "manifest.json")
    try:
        return file != "-" and (
            Path(file, "segment-000001.data").exists()
            or (manifest.is_file() and b'"pnyx-index"' in manifest.read_bytes())
        )
    except OSError:
        return False


def _check_index(file: str, *, as_json: bool) -> int:
    """Check an index, print the outcome and its features, and return the exit status."""
    from pnyx.search.open_engine import verify_index

    try:
        index = verify_index(file)
    except InputError as error:
        if error.path is None:  # an invalid address is not shown: it may hold a password
            raise
        return _Findings(file, as_json=as_json).report((error,), "pnyx-index")
    features = {name: index.feature_info(name) for name in ("quality", "vectors", "clusters")}
    counts = {name: info.documents if info else 0 for name, info in features.items()}
    if as_json:
        result = {"file": file, "format": "pnyx-index", "ok": True, "records": len(index)}
        click.echo(json.dumps({**result, "features": counts, "faults": [], "fault_count": 0}))
        return 0
    parts = [f"{name} of {n}" if n != len(index) else name for name, n in counts.items() if n]
    parts += [f"no {name}" for name, n in counts.items() if not n]
    _say_ok(file, ", ".join(["index", count_of(len(index), "document"), *parts]))
    return 0


def _say_ok(file: str, kind: str) -> None:
    name = "standard input" if file == "-" else escaped(file)
    click.echo(f"{name}: ok ({kind})")


# --track -----------------------------------------------------------------------------------------


def _by_track(
    file: str, file_format: Format, rules: TrackRules, spec: ValidateSpec, *, as_json: bool
) -> int:
    """Check a run or requests by the rules of a track, and return the exit status."""
    from pnyx.formats import Options, check_requests, check_run, read_requests

    # Lines that could be responses or documents are treated as a run, whose reader reports what is
    # missing.
    if file_format.kind not in ("responses", "questions") and file_format.name != "jsonl":
        kinds = "a run of responses, requests or nugget banks"
        raise InputError(f"found {file_format.name}, --track checks {kinds}", path=file)
    if file_format.kind == "questions":
        rows = check_requests(file_format.scan(file, Options()), rules)
    else:
        topics = spec.topics
        requests = {} if topics is None else {r.id: r for r in read_requests(topics)}
        rows = check_run(file, rules, requests)
    findings = _Findings(file, strict=spec.strict, as_json=as_json)
    return findings.report(rows, file_format.name, rules)


def _check_banks(file: str, file_format: Format, rules: TrackRules, spec: ValidateSpec) -> None:
    """Raise if the track does not take this format of nugget banks."""
    if not rules.nuggets:
        raise InputError(
            f"found {file_format.name}, {rules.track} takes no nugget banks", path=file
        )
    if file_format.name != rules.nuggets:
        expected = f"{rules.track} takes {rules.nuggets}"
        raise InputError(f"found {file_format.name}, {expected} (pnyx files convert)", path=file)
    for name in ("topics", "strict"):
        if spec.given(name):
            raise OptionError(f"{spec.flag(name)} requires a run of responses")


class _Findings:
    """Prints findings as they are made: errors on standard output, warnings on standard error."""

    def __init__(self, file: str, *, strict: bool = False, as_json: bool) -> None:
        self._file, self._strict, self._json = file, strict, as_json
        self._rows: dict[str, list[dict[str, Any]]] = {"error": [], "warning": []}
        self._counts: dict[str, Counter[str]] = {"error": Counter(), "warning": Counter()}

    def report(self, rows: Iterable[Any], name: str | None, rules: TrackRules | None = None) -> int:
        """Print all findings among the rows of a format, and return the exit status."""
        from pnyx.formats import Finding

        records = 0
        for row in rows:
            if isinstance(row, PnyxError):
                self._add("error", row)
            elif isinstance(row, Finding):
                fault = InputError(row.problem, path=self._file, line=row.line)
                severity = "error" if self._strict else row.severity
                self._add(severity, fault, topic=row.topic or None, category=row.category)
            else:
                records += 1
        errors, warnings = (self._counts[name].total() for name in ("error", "warning"))
        if self._json:
            self._print_json(name, rules, records)
            return EXIT_BAD_INPUT if errors else 0
        for category, count in self._counts["warning"].items():
            if count > _WARNED:
                warn(f"{count - _WARNED} more on {category}")
        if not errors:
            of = name if rules is None else f"{rules.track} by the rules of {rules.source}"
            warned = f", {count_of(warnings, 'warning')}" if warnings else ""
            _say_ok(self._file, f"{of}, {count_of(records, 'record')}{warned}")
        return EXIT_BAD_INPUT if errors else 0

    def _print_json(self, name: str | None, rules: TrackRules | None, records: int) -> None:
        errors, warnings = self._counts["error"], self._counts["warning"]
        result = {
            "file": self._file,
            "format": name,
            **({} if rules is None else {"track": rules.track, "rules": rules.source}),
            "ok": not errors,
            "records": records,
            "faults": self._rows["error"],
            "fault_count": errors.total(),
            "warnings": self._rows["warning"],
            "warning_count": warnings.total(),
            "categories": {"error": dict(errors), "warning": dict(warnings)},
        }
        click.echo(json.dumps(result))

    def _add(self, severity: str, fault: PnyxError, **about: str | None) -> None:
        counts, category = self._counts[severity], about.get("category") or "format"
        counts[category] += 1
        if not self._json:
            if severity == "error":
                click.echo(str(fault))
            elif counts[category] <= _WARNED:
                warn(str(fault))
        elif isinstance(fault, InputError) and counts.total() <= MAX_JSON_FAULTS:
            row = {"path": fault.path, "line": fault.line, **about, "problem": fault.problem}
            self._rows[severity].append(row)
