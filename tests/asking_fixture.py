"""A service over the bundled example, for pages, the HTTP API and MCP."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pnyx.formats.bundled_example import load_example
from pnyx.judging.options import PaidModelSpec
from pnyx.judging.students.surface_quality import QualityModel
from pnyx.models.embed.embedder import embedder_from
from pnyx.search import build_index, cluster_documents, embed_documents, score_documents
from pnyx.web.ask.service import AskService, ServerSettings, open_service
from shared_folders import fill_once

VOTING = "Should voting be compulsory?"


@functools.cache
def example_index() -> Path:
    """Build the example's index with everything that can be known of it, once a test run."""
    return fill_once("asking", _build_example) / "example.index"


def _build_example(parent: Path) -> None:
    folder = parent / "example.index"
    build_index(load_example().arguments, folder)
    score_documents(folder, QualityModel.load())
    embed_documents(folder, embedder_from())
    cluster_documents(folder, embedder_from())


@contextlib.contextmanager
def service_of(index: Path | None = None, **model: Any) -> Iterator[AskService]:
    """Open a service; `model` holds fields of `PaidModelSpec`."""
    said: list[str] = []
    asking = ServerSettings(index=str(index or example_index()), model=PaidModelSpec(**model))
    with open_service(asking, said.append) as service:
        yield service
