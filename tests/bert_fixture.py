"""Pairs that follow a rule, and a BERT that is small enough to learn it in a test."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from pnyx.annotate.labelled import LabelledPair

ANIMALS = "otters foxes herons badgers".split()
DEFINITION = "Looks for where they live.\n1. Rivers and lakes that are named.\n2. Woods and fields."


def animal_pairs(groups: Sequence[str] = ANIMALS, each: int = 10) -> list[LabelledPair]:
    """Passages on where an animal lives are relevant, those on its food are not."""
    out = []
    for animal in groups:
        for number in range(each):
            home = number % 2 == 0
            text = (
                f"These {animal} live near the river number {number}. It is a quiet place."
                if home
                else f"These {animal} eat about {number} kilograms of food. They like it cold."
            )
            out.append(
                LabelledPair(
                    id=f"{animal}/{number}",
                    question=f"Where do {animal} live?",
                    document=text,
                    definition=DEFINITION,
                    group=animal,
                    value=home,
                    probability=0.95 if home else 0.05,
                    judge="a rule",
                )
            )
    return out


BERT_SIZES = {
    "vocab_size": 30522,
    "hidden_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "max_position_embeddings": 512,
}
_BERT_NAMES = {
    "words": "embeddings.word_embeddings",
    "places": "embeddings.position_embeddings",
    "types": "embeddings.token_type_embeddings",
    "norm": "embeddings.LayerNorm",
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attended": "attention.output.dense",
    "attended_norm": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "down_norm": "output.LayerNorm",
}


def write_bert(folder: Path) -> str:
    """Write a BERT of two narrow layers, randomly made, with the packaged tokenizer."""
    import torch
    from safetensors.torch import save_file

    from pnyx.students.train.bert import PACKAGED, Bert, Shape, tokenizer_of

    torch.manual_seed(3)
    state = {}
    for name, tensor in Bert(Shape(**BERT_SIZES)).state_dict().items():
        *place, part, kind = name.split(".")
        layer = f"encoder.layer.{place[1]}." if place else ""
        state[f"{layer}{_BERT_NAMES[part]}.{kind}"] = tensor
    save_file(state, folder / "model.safetensors")
    config = {"model_type": "bert", "hidden_act": "gelu", **BERT_SIZES}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "tokenizer.json").write_bytes(tokenizer_of(PACKAGED))
    return str(folder)
