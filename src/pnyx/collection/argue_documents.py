"""`pnyx.argue`: both sides of a question, argued from documents of any kind, in one call."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pnyx.collection.documents import Collection, warn_in_python
from pnyx.collection.documents import open as open_collection
from pnyx.core.errors import InputError, shorten

if TYPE_CHECKING:
    from pnyx.cases.argument import Tell
    from pnyx.cases.case import Case, Writer
    from pnyx.cases.plan import Plan
    from pnyx.core.records import Question
    from pnyx.judging.base import Judge
    from pnyx.search.engine import Engine
    from pnyx.search.pipeline import Searcher


def argue(
    documents: object,
    question: Question | str,
    *,
    llm: str | None = None,
    judge: Judge | None = None,
    writer: Writer | None = None,
    plan: Plan | None = None,
    tell: Tell | None = None,
    **options: Any,
) -> Case:
    """Argue both sides of a question, each sentence cited, each citation judged.

        case = pnyx.argue("documents", "Should voting be compulsory?")
        print(case.pro, case.con)
        case.save("report.html")

    Args:
        documents: a file or folder of documents, which are indexed first as `pnyx argue` does: the
            index is kept next to them, and refreshed when files change; or an index folder or its
            address, a collection, an index or `Searcher`, or whatever else `pnyx.open` takes.
        question: the contentious question.
        llm: language model as in `--llm`; by default that of `$PNYX_LLM`, if there is one.
        judge: replaces the judge that `llm` and the options choose; likewise `writer`, `plan`
            (sizes and options) and `tell` (called at each step), see `pnyx.cases.argue`. They
            exclude `llm` and `options`.
        writer: see `judge`.
        plan: see `judge`.
        tell: see `judge`.
        options: those of `pnyx argue`: `--per-side 3` is `per_side=3`.

    Raises:
        InputError: there are no documents or no question, one is wrong, or the index cannot be kept
            next to the documents.
        ModelError: the language model cannot be used.
    """
    parts = {"judge": judge, "writer": writer, "plan": plan, "tell": tell}
    chosen_parts = {name: part for name, part in parts.items() if part is not None}
    if chosen_parts or _is_engine(documents):
        chosen = {**({} if llm is None else {"llm": llm}), **options}
        return _argue_by_parts(documents, question, chosen_parts, chosen)
    return _collection(documents, llm).argue(question, **options)


def _argue_by_parts(
    documents: object, question: Question | str, parts: Mapping[str, Any], chosen: Mapping[str, Any]
) -> Case:
    from pnyx.cases.argument import argue as argue_from_engine

    if chosen:
        name = shorten(next(iter(chosen)), 40)
        excluding = f"it excludes {next(iter(parts))}" if parts else "expected documents or a path"
        raise InputError(f"{name} cannot be chosen here: {excluding}")
    engine = documents if _is_engine(documents) else _collection(documents, None).index
    return argue_from_engine(cast("Engine | Searcher", engine), question, **parts)


def _is_engine(documents: object) -> bool:
    from pnyx.search.pipeline import Searcher

    return isinstance(documents, Searcher) or hasattr(documents, "retrieve")


def _collection(documents: object, llm: str | None) -> Collection:
    """Open documents; for a path, the index that is kept next to them."""
    from pnyx.search.open_engine import open_index, stands_for_index
    from pnyx.search.source_index import IndexReporting, keep_index

    if isinstance(documents, str | Path) and not stands_for_index(documents):
        folder = keep_index(str(documents), reporting=IndexReporting(warn=warn_in_python))
        return Collection(open_index(folder), str(documents), llm)
    return open_collection(documents, llm=llm)
