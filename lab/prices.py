"""Make src/pnyx/models/prices.toml from the data of genai-prices (MIT licence).

    python -m venv /tmp/prices && /tmp/prices/bin/pip install genai-prices
    /tmp/prices/bin/python lab/prices.py > src/pnyx/models/prices.toml

It includes the chat models that the main vendors offer themselves, without withdrawn models, models
for sound or images, and models whose price depends on more than tokens. If a price depends on the
length of the prompt, the highest is used, so that a budget is never exceeded.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import re
from typing import Any

from genai_prices.data import providers

MAKERS = "openai anthropic google mistral deepseek x-ai cohere moonshotai zai".split()
OTHER = re.compile(
    r"audio|realtime|live|tts|image|embed|moderation|search|research|transcribe|whisper|dall|vision"
    r"|robotics|ocr|computer|banana|omni|sora|veo|lyria|voxtral|rerank|codex|instruct|babbage"
    r"|davinci|curie|\bada|ft|imagine|video|guard|translate|cyber|rosalind|legal|build"
    # Old models, and open weights, which anyone can serve at any price.
    r"|gpt-3|gpt-4-|claude-[v123]|gemini-1|flash-1|pro-1|gpt-oss|gemma|mixtral|mistral-7b"
    r"|open-mistral|gpt-5-\d|-\d{4}$|-\d\d-20\d\d|beta|-exp|pixtral|aya|zai-",
    re.IGNORECASE,
)
DATED = re.compile(r"(-\d{4}-\d{2}-\d{2}|-\d{8}|-latest)$")


def names(model: Any) -> list[str]:
    """Return the names of a model: its own, and the exact names in its rule."""
    clauses = [model.match, *getattr(model.match, "or_", [])]
    equals = [clause.equals for clause in clauses if hasattr(clause, "equals")]
    return [name for name in dict.fromkeys([model.id, *equals]) if re.fullmatch(r"[\w.\-]+", name)]


def highest(price: Any) -> float | None:
    """Return a price as a number: the highest if it depends on the length."""
    if price is None:
        return None
    tiers = [price.base, *(t.price for t in price.tiers)] if hasattr(price, "tiers") else [price]
    return float(max(tiers))


def main() -> None:
    now = datetime.datetime.now(datetime.UTC)
    version = importlib.metadata.version("genai-prices")
    print("# US dollars for a million tokens, by model. Made by lab/prices.py; don't edit.")
    print(f"# Source: genai-prices {version} (https://github.com/pydantic/genai-prices, MIT)")
    print("# Copyright (c) 2025 to present Pydantic Services Inc.")
    print(f"# Date: {now:%Y-%m-%d}. Prices change: --prices FILE overrides them.")
    print("\n[models]")
    listed: dict[str, tuple[float, ...]] = {}
    for provider in (p for maker in MAKERS for p in providers if p.id == maker):
        rows = []
        for model in provider.models:
            if model.deprecated or OTHER.search(model.id):
                continue
            price = model.get_prices(now)
            prices = [
                highest(getattr(price, name))
                for name in ("input_mtok", "cache_read_mtok", "output_mtok")
            ]
            if not prices[0] or not prices[2]:
                continue
            row = tuple(prices[0] if value is None else value for value in prices)
            rows += [(name.lower(), row) for name in names(model) if not OTHER.search(name)]
        print(f"# {provider.name}")
        by_name = dict(rows)
        for name, row in sorted(by_name.items()):
            plain = DATED.sub("", name)
            if name in listed or (plain != name and by_name.get(plain) == row):
                continue
            listed[name] = row
            cells = (f"input = {row[0]:g}", f"cached_input = {row[1]:g}", f"output = {row[2]:g}")
            print(f"{json.dumps(name)} = {{ {', '.join(cells)} }}")


if __name__ == "__main__":
    main()
