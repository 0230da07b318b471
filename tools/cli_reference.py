"""Write docs/cli.md and docs/cli-build.md from the help texts, so that they cannot differ.

python tools/cli_reference.py          # writes them
python tools/cli_reference.py --check  # exit 1 if one is out of date; a test holds it
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from unittest import mock

import click

from pnyx.cli import COMMANDS, app

DOCS = Path(__file__).parents[1] / "docs"
INTRO = """# The command line

This page is made from the help texts by `python tools/cli_reference.py`; do not edit it.

Messages and progress go to standard error, results to standard output. `-` is standard input or
output; inputs may be gzip. `--json` makes every command's output machine-readable. Exit status:
0 done, 2 bad usage or input (one line says where and what was expected), 3 finished with something
unscored, 130 interrupted. If the reader of the output closes the pipe (`| head`), the command stops
quietly with 0.
"""


BUILD = """# pnyx build

The commands of the plugin `pnyx-build` (`pip install pnyx-build`), made from their help texts by
`python tools/cli_reference.py`; do not edit this page.
"""


def pages() -> dict[str, str]:
    """Return each page by its name."""
    with mock.patch("pnyx.cli.plugins", return_value={}):  # whatever is installed here
        parts = [INTRO, _section("pnyx", app)]
    for verb in COMMANDS:
        parts += _verb(verb, f"pnyx.cli.{verb}")
    return {
        "cli.md": "\n".join(parts),
        "cli-build.md": "\n".join([BUILD, *_verb("build", "pnyx_build.cli")]),
    }


def _verb(verb: str, module: str) -> list[str]:
    command = importlib.import_module(module).command
    below = command.commands if isinstance(command, click.Group) else command.words
    parts = [_section(f"pnyx {verb} {name}", one, "###") for name, one in below.items()]
    return [_section(f"pnyx {verb}", command), *parts]


def _section(name: str, command: click.Command, level: str = "##") -> str:
    context = click.Context(
        command, info_name=name, terminal_width=88, max_content_width=88, color=False
    )
    context.help_option_names = ["-h", "--help"]
    return f"{level} {name}\n\n```text\n{command.get_help(context).rstrip()}\n```\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    for name, text in pages().items():
        if not check:
            (DOCS / name).write_text(text, encoding="utf-8")
        elif (DOCS / name).read_text(encoding="utf-8") != text:
            sys.exit(f"docs/{name} is out of date")


if __name__ == "__main__":
    main()
