"""Write docs/reference/cli.md, a page for each command below it, cli-build.md and cli-crawl.md
from the help texts.

python lab/cli_reference.py          # writes them
python lab/cli_reference.py --check  # exit status 1 if one is out of date; a test checks this
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import click

from pnyx.cli import COMMANDS, app
from pnyx.cli.params import HELP_ALL
from pnyx.cli.settings import SettingOption
from pnyx.core.rooms import room_commands
from pnyx_build.cli import command as build
from pnyx_crawl.commands import web

DOCS = Path(__file__).parents[1] / "docs" / "reference"
INTRO = """# The command line

This page is made from the help texts by `python lab/cli_reference.py`; do not edit it.

Messages and progress go to standard error, results to standard output. `-` is standard input or
output; inputs may be gzip. `--json` makes every command's output machine-readable. Exit status:
0 done, 2 bad usage or input (one line says where and what was expected), 3 finished with something
unscored, 130 interrupted. If the reader of the output closes the pipe (`| head`), the command stops
quietly with 0.
"""


BUILD = """# pnyx build

The commands of the plugin `pnyx-build` (`pip install pnyx-build`), made from their help texts by
`python lab/cli_reference.py`; do not edit this page.
"""
CRAWL = """# Corpora from the web

The command of the plugin `pnyx-crawl` (`pip install pnyx-crawl`), made from its help text by
`python lab/cli_reference.py`; do not edit this page.
"""


LIST = """
## Commands

| command | what it does |
|---|---|
{rows}

## Settings

`--set NAME=VALUE` sets a value that is rarely needed; it may be repeated. A switch needs no value.
A file of settings is described in [Name a judge](judges.md).

| setting | meaning | commands |
|---|---|---|
{settings}

```{{toctree}}
:hidden:

{pages}
cli-build
cli-crawl
```
"""


@mock.patch("pnyx.core.plugins.plugins", return_value={})
def pages(_: mock.Mock) -> dict[str, str]:
    """Return each page by its name, the same whatever plugins are installed here."""
    first = _section("pnyx", app)
    summaries = {verb: door.summary for verb, door in room_commands().items()}
    rows = "\n".join(f"| [{verb}](cli/{verb}.md) | {text} |" for verb, text in summaries.items())
    below = "\n".join(f"cli/{verb}" for verb in COMMANDS)
    listed = LIST.format(rows=rows, pages=below, settings="\n".join(_settings()))
    by_name = {"cli.md": "\n".join([INTRO, first]) + listed}
    for verb in COMMANDS:
        by_name[f"cli/{verb}.md"] = "\n".join(_verb(verb, COMMANDS[verb], top="#"))
    by_name["cli-build.md"] = "\n".join([BUILD, *_verb("build", build)])
    return by_name | {"cli-crawl.md": "\n".join([CRAWL, _section("pnyx files web", web)])}


def _settings() -> Iterator[str]:
    """Yield a row for each setting and meaning: its name and values, its help, its commands."""
    commands: dict[tuple[str, str], list[str]] = {}
    for name, command in _leaves("", COMMANDS):
        context = click.Context(command)
        for option in command.params:
            if isinstance(option, SettingOption) and (record := option.get_help_record(context)):
                commands.setdefault(record, []).append(name)
    for (setting, text), names in sorted(commands.items()):
        cells = (f"`{setting}`", text, ", ".join(f"`{name}`" for name in names))
        row = " | ".join(cell.replace("|", r"\|") for cell in cells)
        yield f"| {row} |"


def _leaves(above: str, commands: Mapping[str, Any]) -> Iterator[tuple[str, click.Command]]:
    for name, command in commands.items():
        path = f"{above} {name}".strip()
        if not isinstance(command, click.Group):
            yield path, command
        below = command.commands if isinstance(command, click.Group) else command.words
        yield from _leaves(path, below)


def _verb(verb: str, command: Any, top: str = "##") -> list[str]:
    below = command.commands if isinstance(command, click.Group) else command.words
    parts = [
        _section(f"pnyx {verb} {name}", subcommand, f"{top}#") for name, subcommand in below.items()
    ]
    return [_section(f"pnyx {verb}", command, top), *parts]


def _section(name: str, command: click.Command, level: str = "##") -> str:
    context = click.Context(
        command, info_name=name, terminal_width=88, max_content_width=88, color=False
    )
    context.help_option_names = ["-h", "--help"]
    context.meta[HELP_ALL] = True
    return f"{level} {name}\n\n```text\n{command.get_help(context).rstrip()}\n```\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    (DOCS / "cli").mkdir(exist_ok=True)
    for name, text in pages().items():
        if not check:
            (DOCS / name).write_text(text, encoding="utf-8")
        elif not (DOCS / name).is_file() or (DOCS / name).read_text(encoding="utf-8") != text:
            sys.exit(f"docs/reference/{name} is out of date")


if __name__ == "__main__":
    main()
