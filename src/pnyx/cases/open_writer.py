"""Searchers and writers from their specs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pnyx.core.errors import OptionError

if TYPE_CHECKING:
    from pnyx.cases.case import Writer
    from pnyx.cases.options import ArgueSpec
    from pnyx.cases.plan import Plan
    from pnyx.judging.store.completions import StoredModel


def argue_plan(spec: ArgueSpec) -> Plan:
    """Return the plan of an argument."""
    from pnyx.cases.plan import Plan
    from pnyx.core.records import SIDES

    sides = SIDES if spec.stance == "both" else (spec.stance,)
    return spec.make(Plan, sides=sides, by_passages=True)


def open_writer(spec: ArgueSpec, model: StoredModel | None) -> Writer:
    """Return the writer of a side."""
    kind = spec.writer or ("extractive" if model is None else "llm")
    if spec.examples and kind != "llm":
        raise OptionError("--examples requires --llm")
    for name in ("words", "prompt"):
        if spec.given(name) and kind != "llm":
            raise OptionError(f"{spec.flag(name)} requires --llm: without it sentences are quoted")
    if kind == "extractive":
        from pnyx.cases.extractive import ExtractiveWriter

        return ExtractiveWriter(points=spec.points)
    if model is None:
        raise OptionError("--writer llm requires --llm")
    from pnyx.cases.generate import LlmWriter, read_examples

    examples = read_examples(spec.examples) if spec.examples else ()
    return LlmWriter(
        model,
        points=spec.points,
        context=spec.context,
        examples=examples,
        shots=spec.shots,
        words=spec.words,
        prompt=spec.prompt,
    )
