"""What the answers of a results folder cost, by its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def cost_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return calls, how many of them the store answered, and tokens and dollars an answer.

    All are 0 where no language model was asked. Tokens are None where the server told none, dollars
    also where a price is not known or answers came from the store.
    """
    models = manifest.get("models", ())
    if not models:
        return {"calls": 0, "from_store": 0, "tokens_per_answer": 0, "usd_per_answer": 0.0}
    store, tokens = manifest.get("store", {}), manifest.get("tokens", {})
    asked = sum(store.get(name, 0) for name in ("asked", "shared"))
    stored, answers = store.get("from_store", 0), manifest["counts"]["asked"]
    total = sum(tokens.get(name, 0) for name in ("prompt_tokens", "completion_tokens"))
    costs = [one.get("spent", {}).get("cost_usd") for one in models]
    known = asked and not stored and answers and None not in costs
    return {
        "calls": asked + stored,
        "from_store": stored,
        "tokens_per_answer": round(total / answers) if total and answers else None,
        "usd_per_answer": sum(costs) / answers if known else None,
    }
