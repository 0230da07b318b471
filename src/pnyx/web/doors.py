"""What this room adds to Pnyx."""

from __future__ import annotations

from typing import Final

from pnyx.core.rooms import CommandDoor, PageDoor

REPORTS: Final = {"response": "pnyx.web.results.response_texts:ResponseTexts"}
"""Kind of a report in the catalogue -> what reads its texts."""

COMMANDS: Final = (
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
        "Look at results in a browser: reports, judgements, figures.",
    ),
    CommandDoor(
        "serve",
        "pnyx.web.ask.serve_command:command",
        20,
        "Documents",
        "Serve pages to search documents and argue from them; an API.",
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
