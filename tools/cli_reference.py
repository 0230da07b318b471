"""Write docs/cli.md from the help texts, so that the two cannot differ; a test holds it.

python tools/cli_reference.py          # writes docs/cli.md
python tools/cli_reference.py --check  # exit 1 if it is out of date
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

import click

from pnyx.cli import COMMANDS, app

TARGET = Path(__file__).parents[1] / "docs" / "cli.md"
INTRO = """# The command line

This page is made from the help texts by `python tools/cli_reference.py`; do not edit it.

Messages and progress go to standard error, results to standard output. `-` is standard input or
output; inputs may be gzip. `--json` makes every command's output machine-readable. Exit status:
0 done, 2 bad usage or input (one line says where and what was expected), 3 finished with something
unscored, 130 interrupted. If the reader of the output closes the pipe (`| head`), the command stops
quietly with 0.
"""


def reference() -> str:
    parts = [INTRO, _section("pnyx", app)]
    for verb in COMMANDS:
        command = importlib.import_module(f"pnyx.cli.{verb}").command
        parts.append(_section(f"pnyx {verb}", command))
        below = command.commands if isinstance(command, click.Group) else command.words
        parts += [_section(f"pnyx {verb} {n}", c, "###") for n, c in below.items()]
    return "\n".join(parts)


def _section(name: str, command: click.Command, level: str = "##") -> str:
    context = click.Context(
        command, info_name=name, terminal_width=88, max_content_width=88, color=False
    )
    context.help_option_names = ["-h", "--help"]
    return f"{level} {name}\n\n```text\n{command.get_help(context).rstrip()}\n```\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    text = reference()
    if parser.parse_args().check:
        sys.exit(TARGET.read_text(encoding="utf-8") != text)
    TARGET.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
