"""Verdicts of a causal language model on retrieved passages, for training a student.

    PNYX_DATA=DATA python lab/berds/teacher.py --model FOLDER --out FILE [--pairs N]
    ... --views      # about the perspectives of BERDS's development questions, not debates' claims
    ... --measure    # figures on the labelled pairs of BERDS; the answers are not used for training

FOLDER contains a causal model in the format of transformers (safetensors). Statements are judged on
passages of a mixed corpus: debates, encyclopaedic texts and reports, without the topics that
`debate_sets.parts_of` holds out. Each passage is a line, written as soon as it is answered; run it
again to resume.

The passage comes before the statements, and statements do not attend to each other, so that a
passage is read once for all of them.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import json
import os
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import detection
import numpy as np
import numpy.typing as npt
import torch
from debate_sets import Debates, Rows, encyclopaedic, parts_of, reports

from pnyx.models.embed.encoder import load_encoder

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))
PREFIX = """<|im_start|>system
You judge whether a document supports a perspective on a contentious question. Answer yes if what \
the document says, outright or by implication, speaks for the perspective. Answer no if it opposes \
the perspective, speaks for another view, or is merely about the topic.<|im_end|>
<|im_start|>user
Document: """
ASKED = """

Perspective: {statement}
Does the document support this perspective?<|im_end|>
<|im_start|>assistant
"""
_NEAR, _WIDE = 25, 200
_POINTS, _OTHERS = 4, 2


@dataclass(frozen=True, slots=True)
class PassageStatements:
    """A passage, and the statements to judge on it."""

    text: str
    source: str
    statements: tuple[str, ...]


class Teacher:
    """Log-odds of yes against no, for all statements on a passage at once."""

    def __init__(self, folder: Path) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
        self._model: Any = model.to(self._device).eval()
        self._answers = [self._forms("yes"), self._forms("no")]
        self._prefix = self._ids(PREFIX)
        with torch.inference_mode():
            prefix = torch.tensor([self._prefix], device=self._device)
            self._cache = self._model.model(input_ids=prefix, use_cache=True).past_key_values

    def _forms(self, word: str) -> list[int]:
        ids = {self._ids(form)[0] for form in (word, word.title(), word.upper())}
        return sorted(ids)

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        return ids

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def judge(self, item: PassageStatements) -> list[float]:
        """Return the log-odds of support of each statement."""
        # Texts must not contain the marks of the template.
        plain = " ".join(item.text.replace("<|", "< |").split())
        parts = [self._ids(plain)]
        parts += [
            self._ids(ASKED.format(statement=s.replace("<|", "< |"))) for s in item.statements
        ]
        part = torch.tensor([n for n, p in enumerate(parts) for _ in p], device=self._device)
        before, first = len(self._prefix), len(self._prefix) + len(parts[0])
        places = [*range(before, first), *(first + i for p in parts[1:] for i in range(len(p)))]
        order = torch.arange(len(part), device=self._device)
        seen = (order[:, None] >= order[None, :]) & (
            (part[:, None] == part[None, :]) | (part[None, :] == 0)
        )
        mask = torch.zeros(len(part), before + len(part), dtype=self._model.dtype)
        mask = mask.to(self._device)
        mask[:, before:].masked_fill_(~seen, torch.finfo(mask.dtype).min)
        states = self._model.model(
            input_ids=torch.tensor([list(itertools.chain(*parts))], device=self._device),
            attention_mask=mask[None, None],
            position_ids=torch.tensor([places], device=self._device),
            past_key_values=copy.deepcopy(self._cache),
            use_cache=True,
        ).last_hidden_state[0]
        ends = np.cumsum([len(p) for p in parts])[1:] - 1
        z = self._model.lm_head(states[torch.tensor(ends, device=self._device)]).float()
        logs = [torch.logsumexp(z[:, forms], dim=1) for forms in self._answers]
        odds: list[float] = (logs[0] - logs[1]).tolist()
        return odds


def lessons(data: Path, views: bool, seed: int = 0) -> Iterator[PassageStatements]:
    """Yield the passages and statements to judge, by topic; the same for the same data.

    Args:
        data: folder of the data sets.
        views: use the perspectives of BERDS's development questions, not the claims of debates.
        seed: seed of the random draws.
    """
    debates, encoder, rng = Debates(data), load_encoder(), random.Random(seed)
    keys = list(debates.topics)
    vectors = np.asarray(encoder.encode([debates.topics[key].claim for key in keys]))
    parts = parts_of(debates)
    texts = [
        (p.text, p.source)
        for p in debates.passages
        if parts[p.topic] == "train" and p.source != "views" and len(p.text.split()) >= 60
    ]
    talk = [pair for pair in texts if pair[1] != "introduction"]
    calm = [pair for pair in texts if pair[1] == "introduction"]
    calm += [(text, "encyclopaedic") for text in encyclopaedic(data)]
    calm += [(text, "report") for text in reports(data)]
    rng.shuffle(talk)
    pools = [(pool, np.asarray(encoder.encode([text for text, _ in pool])))
             for pool in (talk[:6000], calm)]  # fmt: skip
    trained = [i for i, key in enumerate(keys) if parts[key] == "train"
               if (debates.topics[key].source == "views") == views]  # fmt: skip
    rng.shuffle(trained)
    for i in trained:
        topic = debates.topics[keys[i]]
        if not topic.negation:
            continue
        points = [point for _, point in topic.points]
        rows = np.asarray(encoder.encode(points)) if points else None
        near = [keys[j] for j in trained if 0.3 < vectors[i] @ vectors[j] < 0.6]
        for pool, beside in pools:
            for position in _drawn(beside @ vectors[i], rng):
                statements = [topic.claim, topic.negation]
                if rows is not None:
                    order = np.argsort(-(rows @ beside[position]))[:_POINTS]
                    statements += [points[j] for j in order]
                others = rng.sample(near, min(_OTHERS, len(near)))
                statements += [debates.topics[key].claim for key in others]
                text, source = pool[position]
                yield PassageStatements(text, source, tuple(dict.fromkeys(statements)))


def _drawn(scores: Rows, rng: random.Random) -> Sequence[int]:
    """Return positions of passages: two from the first `_NEAR`, one from the rest."""
    order = [int(i) for i in np.argsort(-scores)[:_WIDE]]
    return rng.sample(order[:_NEAR], 2) + rng.sample(order[_NEAR:], 1)


def teach(teacher: Teacher, out: Path, pairs: int, views: bool) -> None:
    """Ask until `pairs` pairs are answered, except those with answers in `out`."""
    done = 0
    answered: set[tuple[str, tuple[str, ...]]] = set()
    if out.exists():
        for line in out.read_text(encoding="utf-8").splitlines(keepends=True):
            if line.endswith("\n"):
                row = json.loads(line)
                answered.add((row["text"], tuple(row["statements"])))
                done += len(row["statements"])
    start, begun = time.monotonic(), done
    with out.open("a", encoding="utf-8") as stream:
        for item in lessons(DATA, views):
            if done >= pairs:
                break
            if (item.text, item.statements) in answered:
                continue
            row = {"text": item.text, "source": item.source, "statements": item.statements,
                   "odds": [round(x, 4) for x in teacher.judge(item)]}  # fmt: skip
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
            stream.flush()
            done += len(item.statements)
            if done % 20 == 0:
                pace = (done - begun) / (time.monotonic() - start)
                print(f"{done} of {pairs} pairs, {pace:.2f} a second", file=sys.stderr)


def odds_of(teacher: Teacher, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.float64]:
    """Return log-odds of (passage, statement) pairs, float64 [pairs]."""
    about: dict[str, list[int]] = defaultdict(list)
    for position, (text, _) in enumerate(pairs):
        about[text].append(position)
    out = np.zeros(len(pairs))
    for text, at in about.items():
        out[at] = teacher.judge(PassageStatements(text, "", tuple(pairs[i][1] for i in at)))
    return out


def measure(teacher: Teacher) -> dict[str, Any]:
    """Return AUROC and AP of the teacher on the pairs of BERDS, alone and with the similarity."""
    held_out = detection.held_out(DATA)
    odds = odds_of(teacher, held_out.texts[detection.BERDS])
    near = held_out.near[detection.BERDS]
    both = sum((x - x.mean()) / x.std() for x in (odds, near))
    systems = {"teacher": odds, "both": both}
    return detection.order(held_out.sets[detection.BERDS], near, systems)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="folder of a causal model")
    parser.add_argument("--out", type=Path, required=True, help="answers, or the figures")
    parser.add_argument("--pairs", type=int, default=6000)
    parser.add_argument("--views", action="store_true", help="perspectives in place of claims")
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    teacher = Teacher(arguments.model)
    if arguments.measure:
        text = json.dumps(measure(teacher), indent=1) + "\n"
        arguments.out.write_text(text, encoding="utf-8")
        print(text)
    else:
        teach(teacher, arguments.out, arguments.pairs, arguments.views)


if __name__ == "__main__":
    main()
