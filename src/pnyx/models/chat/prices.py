"""Prices of models: a packaged table, and files that add to it or override it."""

from __future__ import annotations

import functools
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from pnyx.core.errors import InputError, shorten
from pnyx.core.files import read_toml

_DATED = re.compile(r"(-\d{4}-\d{2}-\d{2}|-\d{8}|-latest)$")
_FIELDS = ("input", "cached_input", "output")


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens; `output` includes thinking."""

    input: float
    cached_input: float
    output: float

    def cost(self, prompt: int, completion: int, cached: int = 0) -> float:
        """Return the cost in US dollars; `cached` tokens are included in `prompt`."""
        fresh = prompt - cached
        return (fresh * self.input + cached * self.cached_input + completion * self.output) / 1e6

    def cost_at_most(self, prompt: int, completion: int) -> float:
        """Return the highest possible cost in US dollars, cached or not."""
        return (prompt * max(self.input, self.cached_input) + completion * self.output) / 1e6


def price_of(model: str, overrides: Mapping[str, Price] | None = None) -> Price | None:
    """Return the price of a model; None if it is unknown, which is not the same as 0.

    A dated name (`-2025-01-31`, `-20250131`, `-latest`) that is not listed has the price of the
    name without its date. `overrides` (from `read_prices`) take precedence.
    """
    names = (model, _DATED.sub("", model))
    for table in (overrides or {}, _packaged()):
        for name in (*names, *(name.lower() for name in names)):
            if name in table:
                return table[name]
    return None


def read_prices(path: str | Path) -> dict[str, Price]:
    """Read a price file: TOML, a table `[models]` of `"NAME" = { input = 0.15, output = 0.6 }`.

    `cached_input` is optional; all prices are in US dollars per million tokens.

    Raises:
        InputError: not TOML, or not prices; with the line if the file shows it.
    """
    value, lines = read_toml(path)
    models = value.get("models")
    if not isinstance(models, dict) or not models:
        raise InputError(
            'found no prices, expected a table [models] with "NAME" = { input = .., output = .. }',
            path=path,
        )
    prices = {}
    for name, entry in models.items():
        problem = _problem(entry)
        if problem:
            where = next((n for n, text in enumerate(lines, 1) if name in text), None)
            raise InputError(f"{shorten(name, 40)}: {problem}", path=path, line=where)
        prices[name] = _price(entry)
    return prices


def _problem(entry: Any) -> str | None:
    if not isinstance(entry, dict):
        return f"found {shorten(entry, 40)}, expected a table with input and output"
    for name in entry:
        if name not in _FIELDS:
            return f"found {shorten(name, 40)!r}, expected input, cached_input or output"
    for name in ("input", "output"):
        if name not in entry:
            return f"{name} is missing (US dollars for a million tokens)"
    for name, price in entry.items():
        number = isinstance(price, int | float) and not isinstance(price, bool)
        if not number or not math.isfinite(price) or price < 0:
            return f"{name} is {shorten(price, 40)}, expected US dollars for a million tokens"
    return None


def _price(entry: Mapping[str, float]) -> Price:
    cached = entry.get("cached_input", entry["input"])
    return Price(float(entry["input"]), float(cached), float(entry["output"]))


@functools.cache
def _packaged() -> dict[str, Price]:
    text = resources.files("pnyx.models").joinpath("prices.toml").read_text(encoding="utf-8")
    return {name: _price(entry) for name, entry in tomllib.loads(text)["models"].items()}
