"""A network in which statements attend to a passage, and the passage does not attend to them.

Passage and statements form one sequence. A token attends to its own text and the passage, so the
passage is encoded once for all statements asked about it: eight pairs cost about as much as two in
a cross-encoder. Statements do not attend to each other.
"""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from eight_bits import multiply_in_eight_bits
from four_bits import BLOCK
from mpnet import END, HEADS, WIDTH, Mpnet, heads_of
from torch import nn

from pnyx.core.native import load_onnxruntime
from pnyx.judging.students.reader import MATRICES, MOST_PASSAGE, MOST_STATEMENT, Ids
from pnyx.judging.students.scorers import read_tokenizer

SUPPORTS, OPPOSES, NEITHER = 0, 1, 2
_PADDING = -1
_PART = 16
_SCALE = (WIDTH / HEADS) ** 0.5

Packed = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


class Reader(nn.Module):  # type: ignore[misc]
    """From an encoder to log-odds of supports, opposes and neither.

    Args:
        body: the encoder.
    """

    def __init__(self, body: Mpnet) -> None:
        super().__init__()
        self.body = body
        self.head = nn.Linear(WIDTH, 3)
        nn.init.zeros_(self.head.bias)
        nn.init.normal_(self.head.weight, std=0.02)

    def states(
        self,
        ids: torch.Tensor,
        places: torch.Tensor,
        texts: torch.Tensor,
        wanted: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Return hidden states.

        Args:
            ids: token ids, int64 [batch, tokens].
            places: position of each token in its text.
            texts: 0 for the passage, from 1 for statements, -1 for padding.
            wanted: positions whose states are returned, int64 [places]; all by default.
        """
        is_statement = texts > 0
        # MPNet reads a pair in this way: the second text starts with the end token of the first.
        ids = torch.where(is_statement & (places == 0), torch.full_like(ids, END), ids)
        places = places + is_statement * (texts == 0).sum(1, keepdim=True)
        seen = (texts[:, :, None] == texts[:, None, :]) | (texts[:, None, :] == 0)
        attend = self.body.seeing(places, seen)
        hidden: torch.Tensor = self.body(ids, places, attend, wanted)
        return hidden

    def forward(
        self, ids: torch.Tensor, places: torch.Tensor, texts: torch.Tensor, pair_index: torch.Tensor
    ) -> torch.Tensor:
        """Return float32 [pairs, 3]; `asked` holds row and statement of each, int64 [pairs, 2]."""
        # The last layer needs no states of passages; `pack` puts them last.
        width = int((texts > 0).sum(1).max())
        wanted = torch.arange(width, device=texts.device)
        hidden = self.states(ids, places, texts, wanted).float()
        mask = (texts[pair_index[:, 0], :width] == pair_index[:, 1][:, None]).float()
        mean = (hidden[pair_index[:, 0]] * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        odds: torch.Tensor = self.head(mean)
        return odds


class OnePassage(nn.Module):  # type: ignore[misc]
    """The exported network: from a passage and statements about it to log-odds of three classes.

    All tokens are multiplied in one product. Attention is separate: each statement has its own
    slots, so its numbers do not depend on the other statements, not even in the last bit. Queries
    are processed in groups of 16 slots.
    """

    def __init__(self, reader: Reader) -> None:
        super().__init__()
        self.reader = reader

    def forward(self, passage: torch.Tensor, statements: torch.Tensor) -> torch.Tensor:
        """Return float32 [statements, 3].

        Args:
            passage: token ids, int64 [tokens].
            statements: token ids, int64 [statements, slots], -1 in empty slots.
        """
        body, length = self.reader.body, passage.shape[0]
        before, positions = torch.arange(length), torch.arange(statements.shape[1])
        filled = statements >= 0
        filled_slots, slots = (
            _places(filled),
            (filled.flatten().long().cumsum(0) - 1).view(filled.shape),
        )
        # MPNet reads a pair in this way: the second text starts with the end token of the first.
        ids = torch.where(positions == 0, torch.full_like(statements, END), statements).flatten()[
            filled_slots
        ]
        after = (positions + length).expand(statements.shape).flatten()[filled_slots]
        parts = _places(filled.view(-1, _PART).any(1))
        of = parts // (statements.shape[1] // _PART)
        asking, key_slots = slots.view(-1, _PART)[parts], slots[of]
        answered = _places(filled.view(-1, _PART)[parts])
        reading = body.bias(before, before)
        bias = body.bias(
            (positions + length).view(-1, _PART), torch.cat([before, positions + length])
        )
        unseen = nn.functional.pad((1.0 - filled.float()) * -1e4, (length, 0))
        bias = bias[parts % (statements.shape[1] // _PART)] + unseen[of][:, None, None]

        def attend(
            query: torch.Tensor,
            key: torch.Tensor,
            value: torch.Tensor,
            wanted: torch.Tensor | None,
        ) -> torch.Tensor:
            k, v = (heads_of(x[0, :length]) for x in (key, value))
            k_own, v_own = (heads_of(x[0, length:][key_slots]) for x in (key, value))
            k, k_own, query = k.transpose(-1, -2), k_own.transpose(-1, -2), query[0] / _SCALE
            q = heads_of((query if wanted is not None else query[length:])[asking])
            share = (torch.cat([q @ k, q @ k_own], -1) + bias).softmax(-1)
            context = share[..., :length] @ v + share[..., length:] @ v_own
            context = context.transpose(1, 2).reshape(-1, WIDTH)[answered]
            if wanted is None:
                alone = (heads_of(query[:length]) @ k + reading).softmax(-1) @ v
                context = torch.cat([alone.transpose(0, 1).reshape(-1, WIDTH), context])
            return context[None]

        # The last layer needs no states of the passage.
        wanted = torch.arange(filled_slots.shape[0]) + length
        ids, places = torch.cat([passage, ids])[None], torch.cat([before, after])[None]
        hidden = body(ids, places, attend, wanted)[0]
        share = filled.float() / filled.sum(1, keepdim=True)
        mean = share[:, None] @ hidden[slots]
        # The rounding of a matrix product may depend on the number of rows.
        return (mean * self.reader.head.weight).sum(-1) + self.reader.head.bias


def _places(where: torch.Tensor) -> torch.Tensor:
    return torch.nonzero(where.flatten(), as_tuple=True)[0]


class Words:
    """Token ids of texts, as the packaged detector reads them; those of statements are cached.

    Args:
        tokenizer: the content of a tokenizer.json.
    """

    def __init__(self, tokenizer: bytes) -> None:
        self._ids = Ids(read_tokenizer(tokenizer))
        self._cache: dict[str, list[int]] = {}

    def passage(self, text: str) -> list[int]:
        """Return at most `MOST_PASSAGE` ids, with the special ones at both ends."""
        return self._ids(text, MOST_PASSAGE)

    def statement(self, text: str) -> list[int]:
        """Return at most `MOST_STATEMENT` ids."""
        if text not in self._cache:
            self._cache[text] = self._ids(text, MOST_STATEMENT)
        return self._cache[text]


def pack(rows: Sequence[tuple[list[int], list[list[int]]]]) -> Packed:
    """Return the input of `Reader` for passages with statements; statements come first in a row."""
    width = max(len(passage) + sum(map(len, statements)) for passage, statements in rows)
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    places, texts = torch.zeros_like(ids), torch.full_like(ids, _PADDING)
    pairs = []
    for row, (passage, statements) in enumerate(rows):
        start = 0
        for number, text in (*enumerate(statements, 1), (0, passage)):
            end = start + len(text)
            ids[row, start:end] = torch.tensor(text)
            places[row, start:end] = torch.arange(len(text))
            texts[row, start:end] = number
            start = end
            if number:
                pairs.append((row, number))
    return ids, places, texts, torch.tensor(pairs)


def quick_products(device: str) -> Any:
    """Return a context with products in bfloat16 if the processor supports them."""
    able = device != "cpu" or torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return torch.autocast(device, torch.bfloat16, enabled=able)


def predict(
    reader: Reader, words: Words, pairs: Sequence[tuple[str, str]]
) -> npt.NDArray[np.float64]:
    """Return log-odds of support, float64 [pairs]; a pair is (passage, statement)."""
    about = defaultdict(list)
    for position, (text, _) in enumerate(pairs):
        about[text].append(position)
    todo = [(words.passage(text), positions[i : i + 8]) for text, positions in about.items()
            for i in range(0, len(positions), 8)]  # fmt: skip
    todo.sort(key=lambda entry: len(entry[0]))
    out = np.zeros(len(pairs))
    reader.eval()
    with torch.no_grad():
        for start in range(0, len(todo), 8):
            block = todo[start : start + 8]
            packed = pack([(p, [words.statement(pairs[i][1]) for i in at]) for p, at in block])
            with quick_products("cpu"):
                z = reader(*packed).float()
            odds = z[:, SUPPORTS] - torch.logsumexp(z[:, OPPOSES:], dim=1)
            out[[i for _, at in block for i in at]] = odds.numpy()
    reader.train()
    return out


def export(reader: Reader, path: Path) -> None:
    """Write `OnePassage` as ONNX with 4-bit matrices and words, and 8-bit products.

    The matrices are written into a separate file next to it.
    """
    import onnx

    load_onnxruntime()
    from onnxruntime.quantization import QuantFormat
    from onnxruntime.quantization.matmul_nbits_quantizer import (
        DefaultWeightOnlyQuantConfig,
        MatMulNBitsQuantizer,
    )
    from onnxruntime.quantization.shape_inference import quant_pre_process
    from safetensors.numpy import save_file

    statements = torch.full([2, 48], -1)
    statements[0, :20] = statements[1, :5] = 7
    names = ("passage", "statements")
    axes = {"passage": {0: "tokens"}, "statements": {0: "statements", 1: "slots"}}
    axes["out"] = {0: "statements"}
    config = DefaultWeightOnlyQuantConfig(
        block_size=BLOCK,
        is_symmetric=False,
        quant_format=QuantFormat.QOperator,
        op_types_to_quantize=("MatMul", "Gather"),
        quant_axes=(("MatMul", 0), ("Gather", 1)),
    )
    reader.eval()
    logging.getLogger("onnxruntime.quantization").setLevel(logging.WARNING)
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecations within the exporter
        full, ready = Path(name) / "full.onnx", Path(name) / "ready.onnx"
        torch.onnx.export(
            OnePassage(reader),
            (torch.randint(10, 200, [8]), statements),
            str(full),
            input_names=list(names),
            output_names=["out"],
            dynamic_axes=axes,
            opset_version=17,
            dynamo=False,
        )
        quant_pre_process(str(full), str(ready), skip_symbolic_shape=True)
        graph = onnx.load(ready)
        whole = [
            node.name for node in graph.graph.node
            if node.op_type == "Gather" and not node.input[0].endswith("words.weight")
        ]  # fmt: skip
        quantizer = MatMulNBitsQuantizer(graph, nodes_to_exclude=whole, algo_config=config)
        quantizer.process()
        save_file(multiply_in_eight_bits(quantizer.model.model), path.with_name(MATRICES))
        quantizer.model.save_model_to_file(str(path), use_external_data_format=False)
