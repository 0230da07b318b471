"""Pairs that follow a rule, and a BERT that is small enough to learn it in a test."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pnyx.relevance.labelled_pairs import LabelledPair

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


def write_bert(folder: Path) -> str:
    """Write a BERT of two narrow layers, randomly made, with the packaged tokenizer."""
    import torch
    from transformers import BertConfig, BertModel

    from pnyx_train.late_net import PACKAGED, tokenizer_of

    torch.manual_seed(3)
    BertModel(BertConfig(**BERT_SIZES)).save_pretrained(folder)
    (folder / "tokenizer.json").write_bytes(tokenizer_of(PACKAGED))
    return str(folder)
