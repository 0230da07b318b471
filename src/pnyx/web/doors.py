"""What this room adds to Pnyx."""

from __future__ import annotations

from typing import Final

from pnyx.core.rooms import CommandDoor, PageDoor

COMMANDS: Final = (
    CommandDoor(
        "start",
        "pnyx.web.ask.start_command:command",
        20,
        "Documents",
        "Index documents, serve them and open the browser, in one command.",
    ),
    CommandDoor(
        "label",
        "pnyx.web.label.commands:command",
        70,
        "Judges",
        "Let people answer the judges' questions in a browser.",
    ),
    CommandDoor(
        "view",
        "pnyx.web.results.commands:command",
        80,
        "Judges",
        "Look at results in a browser: leaderboards, reports, judgements, figures.",
    ),
    CommandDoor(
        "serve",
        "pnyx.web.ask.serve_command:command",
        10,
        "Servers",
        "Serve pages to search an index and argue from it, and an HTTP API.",
    ),
    CommandDoor(
        "mcp",
        "pnyx.web.ask.mcp_command:command",
        20,
        "Servers",
        "Offer search, perspectives, argue and judge to a language model (MCP).",
    ),
)

PAGES: Final = (
    PageDoor("pnyx.web.results.overview:PAGES", 10),
    PageDoor("pnyx.web.results.boards:PAGES", 20),
    PageDoor("pnyx.web.results.tables:PAGES", 30),
    PageDoor("pnyx.web.results.judgement:PAGES", 50),
    PageDoor("pnyx.web.results.compare:PAGES", 60),
    PageDoor("pnyx.web.results.figures:PAGES", 70),
)
