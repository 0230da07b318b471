"""MPNet in plain torch: the first layers of all-mpnet-base-v2, with a smaller vocabulary.

It is written out because it must export to the same graph with any release of the libraries, and
because the caller decides which tokens attend to which. Song et al., MPNet, 2020; the biases of
relative positions are those of T5.
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
"""Number of positions kept, of 514: more than a passage and a statement have tokens."""
END = 2
_BUCKETS, _FURTHEST = 32, 128
_FIRST_PLACE = 2
_EPSILON = 1e-5
DROPOUT = 0.1
"""Dropout in training, on the output of attention and of the inner layer."""
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
"""Maps queries, keys and values [batch, tokens, 768] to contexts. The queries are those of the
positions `wanted`, or of all."""


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
        """Return the states of all tokens, or only of the positions `wanted`, int64 [places]."""
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
        words: size of the vocabulary.
        layers: number of layers.
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
            ids: token ids, int64 [batch, tokens].
            places: position of each token in its text, from 0.
            attend: the attention of a layer.
            wanted: positions whose states are returned, int64 [places]; all by default.
        """
        hidden = self.norm(self.words(ids) + self.places(places + _FIRST_PLACE))
        *first, last = self.layers
        for layer in first:
            hidden = layer(hidden, attend)
        states: torch.Tensor = last(hidden, attend, wanted)
        return states

    def bias(self, queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Return the biases of distances between positions, [..., heads, queries, keys]."""
        distances = keys[..., None, :] - queries[..., :, None]
        return self.distances(_buckets(distances)).transpose(-1, -2).transpose(-2, -3)

    def seeing(self, places: torch.Tensor, seen: torch.Tensor) -> Attention:
        """Return an attention within each row.

        Args:
            places: see `forward`.
            seen: whether a token (second axis) attends to another (third), bool [batch, tokens,
                tokens].
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
    """Return the bias of each distance: one for each short distance, logarithmic bins for long."""
    half = _BUCKETS // 2
    exact = half // 2
    far = distances.abs()
    growth = torch.log(far.float().clamp(min=1) / exact) / math.log(_FURTHEST / exact)
    large = (exact + (growth * (half - exact)).long()).clamp(max=half - 1)
    return (distances > 0).long() * half + torch.where(far < exact, far, large)


def load_mpnet(folder: Path, layers: int, tokens: list[int] | None = None) -> Mpnet:
    """Load the first layers.

    Args:
        folder: contains model.safetensors of all-mpnet-base-v2.
        layers: at most 12.
        tokens: the tokens to keep, in their new order; None keeps all.
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
    """Return a tokenizer.json with fewer tokens, and the ids of these tokens in the model.

    It keeps single characters and the most frequent tokens of the texts. Other words are split into
    shorter tokens. Special tokens cannot occur in a text: text that looks like one is split into
    characters.

    Args:
        folder: contains tokenizer.json of all-mpnet-base-v2.
        texts: texts whose tokens are counted.
        most: maximum number of tokens, including single characters.
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
