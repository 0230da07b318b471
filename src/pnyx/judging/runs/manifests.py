"""The manifest of a shard, checked field by field; importing pydantic for this is slow."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import model_validator

from pnyx.formats.rows import Row, must, says

Count = Annotated[int, must(lambda value: value >= 0, "a count")]
_Ordinal = Annotated[int, must(lambda value: value >= 1, "a whole number from 1")]


class _ShareNumber(Row):
    number: _Ordinal
    of: _Ordinal
    settings_sha256: str

    @model_validator(mode="after")
    def _is_one_of(self) -> _ShareNumber:
        if self.number > self.of:
            raise says(f": number {self.number} is greater than of {self.of}")
        return self


class _Items(Row):
    count: Count


class _Counts(Row):
    asked: Count
    scored: Count
    unscored: Count


class _Record(Row):
    options: dict[str, Any]


class ShareManifest(Row):
    """The fields of a manifest that `pnyx files merge` reads."""

    format: Literal["pnyx-results", "pnyx-annotations"]
    shard: _ShareNumber
    counts: _Counts
    items: _Items
    items_sha256: str
    started: str
    finished: str
    record: _Record | None = None
    store: dict[str, Any] | None = None
    tokens: dict[str, Any] | None = None
    models: list[dict[str, Any]] | None = None


class ShareOfResults(ShareManifest):
    """The manifest of a results folder."""

    task: str
    answers_sha256: str
