"""A network in which statements read a passage, and the passage does not read them.

Passage and statements stand in one sequence. A token sees its own text and the passage, so the
passage is encoded once for all statements asked about it: eight pairs cost about as much as two in
a cross-encoder. Each text has its own positions; the statements' tokens are of type 1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from pnyx.annotate.students.bert import PACKAGED, export_int8, load_bert, tokenizer_of
from pnyx.judge.students.reader import MOST_PASSAGE, MOST_STATEMENT, Ids
from pnyx.judge.students.segments import read_tokenizer

SUPPORTS, OPPOSES, NEITHER = 0, 1, 2
_PADDING = -1

Packed = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


class Reader(nn.Module):  # type: ignore[misc]
    """From the packaged encoder to log-odds of supports, opposes and neither."""

    def __init__(self) -> None:
        super().__init__()
        self.bert = load_bert(PACKAGED)
        self.head = nn.Linear(self.bert.shape.hidden_size, 3)
        nn.init.zeros_(self.head.bias)
        nn.init.normal_(self.head.weight, std=0.02)

    def states(self, ids: torch.Tensor, places: torch.Tensor, texts: torch.Tensor) -> torch.Tensor:
        """Return hidden states.

        Args:
            ids: of tokens, int64 [batch, tokens].
            places: the position of each in its text.
            texts: 0 passage, from 1 statements, -1 padding.
        """
        bert = self.bert
        seen = (texts[:, :, None] == texts[:, None, :]) | (texts[:, None, :] == 0)
        hidden = bert.words(ids) + bert.places(places) + bert.types((texts > 0).long())
        hidden = bert.dropout(bert.norm(hidden))
        lower = torch.is_autocast_enabled(ids.device.type)
        hide = (1.0 - seen.float())[:, None] * -1e4
        bias = hide.to(torch.bfloat16) if lower else hide
        for layer in bert.layers:
            hidden = layer(hidden, bias)
        return hidden

    def forward(
        self, ids: torch.Tensor, places: torch.Tensor, texts: torch.Tensor, asked: torch.Tensor
    ) -> torch.Tensor:
        """Return float32 [pairs, 3]; `asked` holds row and statement of each, int64 [pairs, 2]."""
        hidden = self.states(ids, places, texts).float()
        own = (texts[asked[:, 0]] == asked[:, 1][:, None]).float()
        mean = (hidden[asked[:, 0]] * own[:, :, None]).sum(1) / own.sum(1, keepdim=True)
        found: torch.Tensor = self.head(mean)
        return found


class OneStatement(nn.Module):  # type: ignore[misc]
    """What is exported: a passage and one statement a row, to the log-odds of support."""

    def __init__(self, reader: Reader) -> None:
        super().__init__()
        self.reader = reader

    def forward(
        self, input_ids: torch.Tensor, places: torch.Tensor, texts: torch.Tensor
    ) -> torch.Tensor:
        """Return float32 [batch]; `texts` is 0 for the passage, 1 for the statement."""
        hidden = self.reader.states(input_ids, places, texts)
        own = (texts == 1).to(hidden.dtype)[:, :, None]
        z = self.reader.head((hidden * own).sum(1) / own.sum(1))
        return z[:, SUPPORTS] - torch.logsumexp(z[:, OPPOSES:], dim=1)


class Words:
    """Token ids of texts, as the packaged detector reads them; statements are kept."""

    def __init__(self) -> None:
        self._ids = Ids(read_tokenizer(tokenizer_of(PACKAGED)))
        self._kept: dict[str, list[int]] = {}

    def passage(self, text: str) -> list[int]:
        """Return at most `MOST_PASSAGE` ids, the special ones at both ends."""
        return self._ids(text, MOST_PASSAGE)

    def statement(self, text: str) -> list[int]:
        """Return at most `MOST_STATEMENT` ids."""
        if text not in self._kept:
            self._kept[text] = self._ids(text, MOST_STATEMENT)
        return self._kept[text]


def pack(rows: Sequence[tuple[list[int], list[list[int]]]]) -> Packed:
    """Return what `Reader` takes of passages and the statements about each."""
    width = max(len(passage) + sum(map(len, asked)) for passage, asked in rows)
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    places, texts = torch.zeros_like(ids), torch.full_like(ids, _PADDING)
    pairs = []
    for row, (passage, asked) in enumerate(rows):
        start = 0
        for number, text in enumerate([passage, *asked]):
            end = start + len(text)
            ids[row, start:end] = torch.tensor(text)
            places[row, start:end] = torch.arange(len(text))
            texts[row, start:end] = number
            start = end
            if number:
                pairs.append((row, number))
    return ids, places, texts, torch.tensor(pairs)


def predict(
    reader: Reader, words: Words, pairs: Sequence[tuple[str, str]]
) -> npt.NDArray[np.float64]:
    """Return log-odds of support, float64 [pairs]; a pair is (passage, statement)."""
    about = defaultdict(list)
    for place, (text, _) in enumerate(pairs):
        about[text].append(place)
    todo = [(words.passage(text), found[i : i + 8]) for text, found in about.items()
            for i in range(0, len(found), 8)]  # fmt: skip
    todo.sort(key=lambda one: len(one[0]))
    out = np.zeros(len(pairs))
    reader.eval()
    with torch.no_grad():
        for start in range(0, len(todo), 8):
            block = todo[start : start + 8]
            packed = pack([(p, [words.statement(pairs[i][1]) for i in at]) for p, at in block])
            with torch.autocast("cpu", torch.bfloat16):
                z = reader(*packed).float()
            odds = z[:, SUPPORTS] - torch.logsumexp(z[:, OPPOSES:], dim=1)
            out[[i for _, at in block for i in at]] = odds.numpy()
    reader.train()
    return out


def export(reader: Reader, path: Path) -> None:
    """Write `OneStatement` as int8 ONNX."""
    ids = torch.randint(1000, 2000, (2, 12))
    texts = torch.tensor([[0] * 8 + [1] * 4] * 2)
    places = torch.tensor([[*range(8), *range(4)]] * 2)
    reader.eval()
    export_int8(OneStatement(reader), {"input_ids": ids, "places": places, "texts": texts}, path)
