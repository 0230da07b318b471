"""The network of the late-interaction student, in torch; imported only where it is trained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from pnyx.students.late import Piece, asked_texts, pieces_of
from pnyx.students.network import MODEL, read_tokenizer
from pnyx.students.train.base import Course, Example
from pnyx.students.train.bert import Bert, export_int8, load_bert, optimizer_of
from pnyx.students.train.loop import Loop

if TYPE_CHECKING:
    from pnyx.students.train.late import LateTrainer

_START = (1.0, 3.0, 1.0, 3.0, 2.0, 1.0, 1.0)
"""Weights of `FEATURES` at the start: about those of a regression on frozen vectors."""
_INTERCEPT = -5.5
_BEST = 3


class LateNet(nn.Module):  # type: ignore[misc]
    """Encoder, weights of the features, and an intercept for each training question."""

    def __init__(self, bert: Bert, groups: int) -> None:
        super().__init__()
        self.bert = bert
        self.weights = nn.Parameter(torch.tensor(_START))
        self.intercept = nn.Parameter(torch.tensor(_INTERCEPT))
        self.own = nn.Parameter(torch.zeros(groups))

    def forward(
        self, texts: Sequence[Sequence[Piece]], pairs: Sequence[tuple[int, int, int]]
    ) -> torch.Tensor:
        """Return log-odds, float32 [pairs], without the own intercepts.

        A pair is places among the texts: of passage, question, and question with definition.
        """
        wholes, sentences = self._vectors(texts)
        rows = [
            _interact(wholes[p], sentences[p], wholes[q][0], wholes[d][0], sentences[d])
            for p, q, d in pairs
        ]
        return torch.stack(rows) @ self.weights + self.intercept

    def _vectors(
        self, texts: Sequence[Sequence[Piece]]
    ) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        flat = [piece for pieces in texts for piece in pieces]
        states = self._states(flat)
        wholes, sentences = [], []
        place = 0
        for pieces in texts:
            means, parts = [], []
            for piece in pieces:
                tokens = states[place][: len(piece.ids)]
                means.append(tokens.mean(0))
                parts.append(_sentence_means(tokens, piece))
                place += 1
            wholes.append(nn.functional.normalize(torch.stack(means), dim=-1))
            sentences.append(nn.functional.normalize(torch.cat(parts), dim=-1))
        return wholes, sentences

    def _states(self, pieces: Sequence[Piece]) -> list[torch.Tensor]:
        """Return the hidden states of pieces, run in blocks of like length."""
        order = sorted(range(len(pieces)), key=lambda i: len(pieces[i].ids))
        found: list[torch.Tensor] = [torch.empty(0)] * len(pieces)
        for start in range(0, len(order), 16):
            block = order[start : start + 16]
            width = len(pieces[block[-1]].ids)
            ids = torch.zeros((len(block), width), dtype=torch.long)
            mask = torch.zeros_like(ids)
            for row, i in enumerate(block):
                count = len(pieces[i].ids)
                ids[row, :count] = torch.from_numpy(pieces[i].ids)
                mask[row, :count] = 1
            for i, states in zip(block, self.bert(ids, mask), strict=True):
                found[i] = states
        return found


def _sentence_means(tokens: torch.Tensor, piece: Piece) -> torch.Tensor:
    count = int(piece.sentences.max()) + 1
    if not count:
        return tokens.mean(0, keepdim=True)
    owner = torch.from_numpy(piece.sentences)
    member = nn.functional.one_hot(owner.clamp(min=0), count).float() * (owner >= 0)[:, None]
    return (member.T @ tokens) / member.sum(0)[:, None]


def _interact(
    pieces: torch.Tensor,
    sentences: torch.Tensor,
    asked: torch.Tensor,
    whole: torch.Tensor,
    parts: torch.Tensor,
) -> torch.Tensor:
    """The same as `pnyx.students.late.interact`, with gradients; a test holds them equal."""
    best = (sentences @ parts.T).max(0).values.sort().values
    return torch.stack(
        [
            (pieces @ asked).max(),
            (pieces @ whole).max(),
            (sentences @ asked).max(),
            (sentences @ whole).max(),
            best.mean(),
            best[-1],
            best[-_BEST:].mean(),
        ]
    )


def train_net(
    trainer: LateTrainer, tokenizer: bytes, course: Course
) -> tuple[list[float], float, float | None]:
    """Train, export the encoder, return weights, intercept and the last loss."""
    examples = course.examples
    torch.manual_seed(trainer.seed)
    groups = {name: i for i, name in enumerate(dict.fromkeys(e.group for e in examples))}
    bert = load_bert(trainer.base)
    bert.freeze(trainer.frozen_of(len(bert.layers)))
    net = LateNet(bert, len(groups))
    steps = list(trainer.batches(examples))
    learned = {name: p for name, p in net.named_parameters() if p.requires_grad}
    optimizer = optimizer_of(learned, trainer.learning_rate)
    loop = Loop(optimizer, learned, len(steps), seed=trainer.seed)
    lesson = _Lesson(trainer, net, examples, groups, read_tokenizer(tokenizer))
    net.train()
    loss = loop.run(lambda step: lesson.backward(steps[step]), course.work, course.report)
    net.eval()
    ids = torch.randint(1000, 2000, (2, 12))
    export_int8(
        bert, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, course.out / MODEL
    )
    shares = torch.bincount(torch.tensor([groups[e.group] for e in examples])) / len(examples)
    intercept = float(net.intercept.detach() + shares @ net.own.detach())
    return net.weights.detach().tolist(), intercept, loss


class _Lesson:
    """Makes the loss of a step from the places of its examples."""

    def __init__(
        self,
        trainer: LateTrainer,
        net: LateNet,
        examples: Sequence[Example],
        groups: dict[str, int],
        tokenizer: Any,
    ) -> None:
        self._trainer, self._net, self._examples = trainer, net, examples
        self._groups, self._tokenizer = groups, tokenizer
        self._pieces: dict[str, list[Piece]] = {}

    def backward(self, places: Sequence[int]) -> float:
        drawn = [self._examples[place] for place in places]
        names: dict[str, int] = {}
        pairs = []
        for example in drawn:
            own = asked_texts(example.question)
            pairs.append(tuple(names.setdefault(text, len(names)) for text in own))
        z = self._net([self._read(text) for text in names], pairs)
        shift = self._net.own[torch.tensor([self._groups[e.group] for e in drawn])]
        target = torch.tensor([e.target for e in drawn])
        loss = nn.functional.binary_cross_entropy_with_logits(z + shift, target)
        if self._trainer.order:
            loss = loss + self._trainer.order * self._disorder(z, target, drawn)
        loss.backward()
        return float(loss.detach())

    def _read(self, text: str) -> list[Piece]:
        if text not in self._pieces:
            self._pieces[text] = pieces_of(self._tokenizer, text)
        return self._pieces[text]

    def _disorder(
        self, z: torch.Tensor, target: torch.Tensor, drawn: Sequence[Example]
    ) -> torch.Tensor:
        """RankNet over the documents of one question (Burges et al., ICML 2005)."""
        owner = torch.tensor([self._groups[e.group] for e in drawn])
        above = (target[:, None] - target[None, :]) > self._trainer.gap
        above &= owner[:, None] == owner[None, :]
        if not above.any():
            return torch.zeros(())
        return nn.functional.softplus(-(z[:, None] - z[None, :]))[above].mean()
