"""MPNet in plain torch: the first layers of all-mpnet-base-v2, and fewer of its words.

Written out because it must export to a fixed graph, whichever release of a library is there, and
is given which token sees which. Song et al., MPNet, 2020; biases of relative places are
those of T5.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from pnyx.judging.students.scorers import read_tokenizer

WIDTH, HEADS, INNER = 768, 12, 3072
PLACES = 320
"""Of the 514 that it comes with: more than a passage and a statement have tokens."""
END = 2
_BUCKETS, _FURTHEST = 32, 128
_FIRST_PLACE = 2
_EPSILON = 1e-5
DROPOUT = 0.1
"""While it is trained, of what attention and the inner layer add."""
_SPECIAL = ("<s>", "<pad>", "</s>", "[UNK]")

_PARTS = {
    "query": "attention.attn.q",
    "key": "attention.attn.k",
    "value": "attention.attn.v",
    "attended": "attention.attn.o",
    "attended_norm": "attention.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "down_norm": "output.LayerNorm",
}


Attention = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None], torch.Tensor]
"""From queries, keys and values [batch, tokens, 768], the queries of `wanted` places or of all, to
what these read."""


def heads_of(x: torch.Tensor) -> torch.Tensor:
    """Return [..., heads, tokens, 64] of [..., tokens, 768]."""
    return x.unflatten(-1, (HEADS, WIDTH // HEADS)).transpose(-2, -3)


class _Layer(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.attended = (
            nn.Linear(WIDTH, WIDTH) for _ in range(4)
        )
        self.attended_norm = nn.LayerNorm(WIDTH, _EPSILON)
        self.up, self.down = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.down_norm = nn.LayerNorm(WIDTH, _EPSILON)

    def forward(
        self, hidden: torch.Tensor, attend: Attention, wanted: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return the states of all tokens, or of the places `wanted` alone, int64 [places]."""
        key, value = self.key(hidden), self.value(hidden)
        if wanted is not None:
            hidden = hidden[:, wanted]
        context = attend(self.query(hidden), key, value, wanted)
        hidden = self.attended_norm(hidden + self._dropped(self.attended(context)))
        inner = nn.functional.gelu(self.up(hidden))
        out: torch.Tensor = self.down_norm(hidden + self._dropped(self.down(inner)))
        return out

    def _dropped(self, added: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(added, DROPOUT, self.training)


class Mpnet(nn.Module):  # type: ignore[misc]
    """Token ids to hidden states of its last layer, float32 [batch, tokens, 768].

    Args:
        words: how many tokens it knows.
        layers: how many of them it has.
    """

    def __init__(self, words: int, layers: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, WIDTH), nn.Embedding(PLACES, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, _EPSILON)
        self.distances = nn.Embedding(_BUCKETS, HEADS)
        self.layers = nn.ModuleList(_Layer() for _ in range(layers))

    def forward(
        self,
        ids: torch.Tensor,
        places: torch.Tensor,
        attend: Attention,
        wanted: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Return hidden states.

        Args:
            ids: of tokens, int64 [batch, tokens].
            places: of each in what is read, from 0.
            attend: what tokens read in a layer.
            wanted: of which places the states are asked, int64 [places]; of all by default.
        """
        hidden = self.norm(self.words(ids) + self.places(places + _FIRST_PLACE))
        *first, last = self.layers
        for layer in first:
            hidden = layer(hidden, attend)
        states: torch.Tensor = last(hidden, attend, wanted)
        return states

    def bias(self, queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Return what distances add to scores, [..., heads, queries, keys], of places of both."""
        distances = keys[..., None, :] - queries[..., :, None]
        return self.distances(_buckets(distances)).transpose(-1, -2).transpose(-2, -3)

    def seeing(self, places: torch.Tensor, seen: torch.Tensor) -> Attention:
        """Return an attention in which tokens see others of their row.

        Args:
            places: see `forward`.
            seen: which token (second axis) sees which (third), bool [batch, tokens, tokens].
        """
        bias = self.bias(places, places) + (1.0 - seen.float())[:, None] * -1e4
        if torch.is_autocast_enabled(places.device.type):
            bias = bias.to(torch.bfloat16)

        def attend(
            query: torch.Tensor,
            key: torch.Tensor,
            value: torch.Tensor,
            wanted: torch.Tensor | None,
        ) -> torch.Tensor:
            context = nn.functional.scaled_dot_product_attention(
                *map(heads_of, (query, key, value)),
                attn_mask=bias if wanted is None else bias[:, :, wanted],
            )
            return context.transpose(1, 2).flatten(-2)

        return attend


def _buckets(distances: torch.Tensor) -> torch.Tensor:
    """Return which bias a distance has: near ones each their own, far ones by their logarithm."""
    half = _BUCKETS // 2
    exact = half // 2
    far = distances.abs()
    growth = torch.log(far.float().clamp(min=1) / exact) / math.log(_FURTHEST / exact)
    large = (exact + (growth * (half - exact)).long()).clamp(max=half - 1)
    return (distances > 0).long() * half + torch.where(far < exact, far, large)


def load_mpnet(folder: Path, layers: int, tokens: list[int] | None = None) -> Mpnet:
    """Load the first layers.

    Args:
        folder: holds model.safetensors of all-mpnet-base-v2.
        layers: at most 12.
        kept: tokens, in their new order; all where it is None.
    """
    from safetensors.torch import load_file

    stored = load_file(folder / "model.safetensors")
    words = stored["embeddings.word_embeddings.weight"]
    weights = {
        "words.weight": words if tokens is None else words[torch.tensor(tokens)],
        "places.weight": stored["embeddings.position_embeddings.weight"][:PLACES],
        "distances.weight": stored["encoder.relative_attention_bias.weight"],
    }
    for kind in ("weight", "bias"):
        weights[f"norm.{kind}"] = stored[f"embeddings.LayerNorm.{kind}"]
        for number in range(layers):
            for ours, theirs in _PARTS.items():
                name = f"encoder.layer.{number}.{theirs}.{kind}"
                weights[f"layers.{number}.{ours}.{kind}"] = stored[name]
    model = Mpnet(len(weights["words.weight"]), layers)
    model.load_state_dict(weights)
    return model


def fewer_words(folder: Path, texts: Iterable[str], most: int) -> tuple[bytes, list[int]]:
    """Return a tokenizer.json of fewer tokens, and which of the model's tokens they are.

    Kept are single characters and the tokens that the texts hold most often. A word that is no
    longer known falls into shorter ones. No text can hold the special tokens: what reads like one
    falls into its characters.

    Args:
        folder: holds tokenizer.json of all-mpnet-base-v2.
        texts: what is counted.
        most: how many are kept, single characters included.
    """
    data = (folder / "tokenizer.json").read_bytes()
    settings: dict[str, Any] = json.loads(data)
    vocabulary: dict[str, int] = settings["model"]["vocab"]
    tokenizer = read_tokenizer(data)
    seen: Counter[int] = Counter()
    for text in texts:
        seen.update(tokenizer.encode(text, add_special_tokens=False).ids)
    single = [
        word for word, number in vocabulary.items()
        if len(word.removeprefix("##")) == 1 and (word.isascii() or seen[number])
    ]  # fmt: skip
    often = sorted(vocabulary, key=lambda word: -seen[vocabulary[word]])
    words = dict.fromkeys((*_SPECIAL, *single))
    for word in often:
        if len(words) >= most or not seen[vocabulary[word]]:
            break
        words.setdefault(word)
    settings["model"]["vocab"] = {word: number for number, word in enumerate(words)}
    settings |= {"added_tokens": [], "truncation": None, "padding": None}
    return json.dumps(settings, ensure_ascii=False).encode(), [vocabulary[word] for word in words]
