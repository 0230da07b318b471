"""How an index is searched: the options that `pnyx search` and `pnyx argue` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click
from click.core import ParameterSource

from pnyx.cli.options import warn
from pnyx.cli.values import Number, NumberRange

if TYPE_CHECKING:
    from pnyx.judge.base import Judge
    from pnyx.judge.completions import StoredModel
    from pnyx.models.embedding import Embedder
    from pnyx.search.index import Index
    from pnyx.search.perspectives import PerspectiveSource
    from pnyx.search.pipeline import Searcher, SearchPlan
    from pnyx.search.scoring import Scoring

__all__ = ["asks_model", "open_searcher", "searching_options"]

F = TypeVar("F", bound=Callable[..., Any])

# The names are those of `pnyx.search.scoring`, whose import would load numpy for --help.
_LEXICAL = ("dirichlet", "bm25", "touche")
_PERSPECTIVES = 8

_FLAT = click.option(
    "--flat", is_flag=True, help="Touché: by topic and quality alone (R fixed to 1)."
)
_LEXICAL_PART = click.option(
    "--lexical",
    type=click.Choice(_LEXICAL),
    help="What hybrid fuses with the dense ranking  [default: dirichlet].",
)
_FUSION = click.option(
    "--fusion",
    type=click.Choice(["minmax", "zscore", "rrf"]),
    help="How hybrid fuses: normalised scores or reciprocal ranks  [default: minmax].",
)
_EMBEDDER = click.option(
    "--embedder",
    metavar="SPEC",
    help="That of the index: minilm-int8 (packaged) or http://HOST:PORT/v1#MODEL  "
    "[default: minilm-int8].",
)

_SCORING = (
    click.option(
        "--model",
        type=click.Choice(["auto", *_LEXICAL, "dense", "hybrid"]),
        default="auto",
        show_default=True,
        help="What ranks: touche needs an index with --clusters --quality, dense and hybrid one "
        "with --vectors; auto is hybrid where the index has vectors, else dirichlet.",
    ),
    click.option("--mu", type=Number(), help="Dirichlet prior, in tokens  [default: 2000]."),
    click.option("--k1", type=Number(), help="BM25 saturation  [default: 1.2]."),
    click.option("--b", type=Number(), help="BM25 length normalisation  [default: 0.75]."),
    click.option("--wc", type=Number(), help="Touché: weight of the topic  [default: 10]."),
    click.option("--wq", type=Number(), help="Touché: weight of quality  [default: 5]."),
    _FLAT,
    _LEXICAL_PART,
    _FUSION,
    click.option(
        "--dense-weight",
        type=NumberRange(0, 1),
        help="Of the dense scores, with --fusion minmax or zscore  [default: 0.6].",
    ),
    _EMBEDDER,
)

_STAGES = (
    click.option(
        "--rerank",
        is_flag=True,
        help="Rerank: listwise by --llm, or without it by the packaged judge, each by itself.",
    ),
    click.option(
        "--pointwise", is_flag=True, help="With --rerank and --llm: judge each document by itself."
    ),
    click.option(
        "--threshold",
        type=Number(),
        metavar="P",
        help="In place of a number of documents: judge each of the best --depth by itself and keep "
        "those that are relevant with at least this probability, most probable first.",
    ),
    click.option(
        "--window",
        type=click.IntRange(2),
        help="Documents the model orders at once  [default: 20].",
    ),
    click.option("--step", type=click.IntRange(1), help="By how many it moves  [default: 10]."),
    click.option(
        "--diversify",
        type=click.Choice(["mmr", "perspectives"]),
        help="Show every side: maximal marginal relevance, or a search for each perspective.",
    ),
    click.option(
        "--lambda",
        "lam",
        type=Number(),
        help="Of mmr: relevance against novelty, 0 to 1  [default: 0.75].",
    ),
    click.option(
        "--perspectives",
        type=click.Path(),
        help="File of perspectives  [default: from --llm, else from the index].",
    ),
    click.option(
        "--count",
        type=click.IntRange(1, 50),
        help="Perspectives at most  [default: 8; all of the file].",
    ),
    click.option(
        "--depth",
        type=click.IntRange(1),
        help="How many of the best are reranked, held to --threshold, diversified or put on a "
        "side  [default: 100].",
    ),
)


def searching_options(function: F) -> F:
    """Add --model with its parameters, --rerank and --diversify, which `open_searcher` takes."""
    for option in reversed((*_SCORING, *_STAGES)):
        function = option(function)
    return function


def open_searcher(
    ctx: click.Context,
    index: Index,
    options: dict[str, Any],
    model: StoredModel | None,
    judge: Judge | None,
) -> Searcher:
    """Make what searches an index as the options say.

    Args:
        ctx: of the command: an option of no use is refused if it was given.
        index: what is searched.
        options: those of `searching_options`; also `stance` and `certainty`, where a command has
            them.
        model: the language model of --llm.
        judge: what reranks and finds sides; None for the packaged judge.

    Raises:
        InputError: a value out of range, a file that cannot be used.
        UsageError: an option that would change nothing.
    """
    from dataclasses import replace

    from pnyx.search.pipeline import Searcher

    by_itself = options["pointwise"] or options["threshold"] is not None
    plan = _plan(options, listwise=model is not None and not by_itself)
    plan = replace(plan, scoring=_chosen(index, plan.scoring, options["embedder"]))
    _check_used(ctx, plan, options)
    return Searcher(
        index,
        plan,
        embedder=_embedder(plan, options["embedder"]),
        judge=judge,
        perspectives=_perspectives(index, plan, options, model, judge),
    )


def asks_model(options: dict[str, Any]) -> bool:
    """Say whether the search itself has anything to ask a language model."""
    views = options["diversify"] == "perspectives" and options["perspectives"] is None
    judged = options["rerank"] or options["threshold"] is not None
    return bool(judged or options.get("stance") or views)


def _plan(options: dict[str, Any], *, listwise: bool) -> SearchPlan:
    from pnyx.search.pipeline import SearchPlan
    from pnyx.search.rerank import Listwise

    rerank: Literal["listwise", "pointwise"] | None = None
    if options["rerank"] or options["threshold"] is not None:
        rerank = "listwise" if listwise else "pointwise"
    window = options["window"] or 20
    stages = {
        "lam": options["lam"],
        "depth": options["depth"],
        "threshold": options["threshold"],
        "stance": options.get("stance"),
        "certainty": options.get("certainty"),
    }
    return SearchPlan(
        scoring=_scoring(options),
        rerank=rerank,
        listwise=Listwise(window, options["step"] or min(10, window)),
        diversify=options["diversify"],
        **{name: value for name, value in stages.items() if value is not None},
    )


def _scoring(options: dict[str, Any]) -> Scoring:
    from pnyx.search.scoring import Scoring

    names = ("mu", "k1", "b", "wc", "wq")
    parameters = {name: options[name] for name in names if options[name] is not None}
    others = {name: options[name] for name in ("lexical", "fusion", "dense_weight")}
    return Scoring(
        options["model"],
        parameters,
        flat=options["flat"],
        **{name: value for name, value in others.items() if value is not None},
    )


def _chosen(index: Index, scoring: Scoring, spec: str | None) -> Scoring:
    """Return what auto stands for; whoever names an embedder wants the vectors to be used."""
    from dataclasses import replace

    from pnyx.models.embedding import PACKAGED, embedder_from
    from pnyx.search.plan import AUTO
    from pnyx.search.scoring import choose_scoring

    named = scoring.model == AUTO and spec not in (None, PACKAGED)
    chosen = choose_scoring(index, scoring, embedder_from(spec).name if named else PACKAGED)
    if not chosen.note:
        return chosen.scoring
    if spec is not None:
        return replace(scoring, model="hybrid")
    warn(f"ranked by {chosen.scoring}, without the index's vectors: {chosen.note}")
    return chosen.scoring


def _check_used(ctx: click.Context, plan: SearchPlan, options: dict[str, Any]) -> None:
    """Refuse options that would change nothing: whoever gives one means it."""
    views = plan.diversify == "perspectives"
    needs = {
        "lexical": (plan.scoring.model == "hybrid", "--model hybrid"),
        "fusion": (plan.scoring.model == "hybrid", "--model hybrid"),
        "dense_weight": (
            plan.scoring.model == "hybrid" and plan.scoring.fusion != "rrf",
            "--model hybrid and --fusion minmax or zscore",
        ),
        "embedder": (
            plan.scoring.embeds or plan.diversify == "mmr",
            "--model touche, dense or hybrid, or --diversify mmr",
        ),
        "pointwise": (bool(options["rerank"]), "--rerank"),
        "window": (plan.rerank == "listwise", "--rerank by --llm"),
        "step": (plan.rerank == "listwise", "--rerank by --llm"),
        "lam": (plan.diversify == "mmr", "--diversify mmr"),
        "perspectives": (views, "--diversify perspectives"),
        "count": (views, "--diversify perspectives"),
        "depth": (plan.staged, "--rerank, --threshold, --diversify or --stance"),
        "llm": (ctx.command.name != "search" or asks_model(options), _ASKING),
    }
    for name, (used, needed) in needs.items():
        if not used and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            flag = "--lambda" if name == "lam" else f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{flag} goes with {needed}")


_ASKING = "--rerank, --threshold, --stance or --diversify perspectives"


def _embedder(plan: SearchPlan, spec: str | None) -> Embedder | None:
    if not plan.scoring.embeds and spec is None:
        return None
    from pnyx.models.embedding import embedder_from

    return embedder_from(spec)


def _perspectives(
    index: Index,
    plan: SearchPlan,
    options: dict[str, Any],
    model: StoredModel | None,
    judge: Judge | None,
) -> PerspectiveSource | None:
    if plan.diversify != "perspectives":
        return None
    count = options["count"]
    if options["perspectives"] is not None:
        from pnyx.search.perspectives import FilePerspectives

        return FilePerspectives(options["perspectives"], count=count)
    if model is not None:
        from pnyx.search.perspectives import LlmPerspectives

        return LlmPerspectives(model, count=count or _PERSPECTIVES)
    from pnyx.search.perspectives_index import IndexPerspectives

    return IndexPerspectives(index, count=count or _PERSPECTIVES, judge=judge)
