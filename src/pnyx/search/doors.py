"""What this room registers with Pnyx."""

from __future__ import annotations

from typing import Final

from pnyx.core.rooms import CommandDoor, ReaderDoor

OPENERS: Final = {"index": "pnyx.search.open_engine:open_index"}
"""Opens the documents that judges are asked about."""

COMMANDS: Final = (
    CommandDoor(
        "index",
        "pnyx.search.index_command:command",
        40,
        "Documents",
        "Build a searchable index of documents or arguments.",
    ),
    CommandDoor(
        "search",
        "pnyx.search.commands:command",
        50,
        "Documents",
        "Search an index for a question or a file of topics.",
    ),
    CommandDoor(
        "perspectives",
        "pnyx.search.perspectives_command:command",
        60,
        "Documents",
        "List perspectives on a question, from an index or a model.",
    ),
    CommandDoor("search tune", "pnyx.search.tune_command:command", 10),
    CommandDoor("measure retrieval", "pnyx.search.measure_command:retrieval", 10),
)

READERS: Final = {
    "qrels": ReaderDoor("pnyx.search.pages.readers:read_runs", "retrieval"),
    "index": ReaderDoor(
        "pnyx.search.pages.readers:read_index",
        "collection",
        manifest="pnyx-index",
        documents="pnyx.search.pages.readers:document_finder",
    ),
}
"""Part of a source -> its reader."""

COMPARISONS: Final = {"runs": "pnyx.search.pages.run_pair:show_runs"}
"""Kind of pair -> builder of the page that compares two."""
