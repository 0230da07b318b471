"""Compare Pnyx's English terms with those of Lucene's EnglishAnalyzer, term by term.

    apt-get install -y --no-install-recommends liblucene8-java openjdk-17-jdk-headless
    PNYX_DATA=DATA python lab/search/analysis.py
    ... --write docs/lab/english-analysis.md   # updates its section

The texts are all strings in the files of each set under PNYX_DATA, and random texts: characters of
all classes that the rules distinguish, in runs, so that every rule is tested; arbitrary characters;
and words of random letters and suffixes for the rules of the stemmer. Then rankings of idebate's
arguments are compared (`parity.py`). The exit status is 1 if a term differs, or a ranking apart
from ties.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from processes import EngineError, Lucene
from speed import Run, parity_table, real_text

from pnyx.formats.text.tokens import _STEP_2, _STEP_3, _STEP_4, Tokenizer
from pnyx.formats.text.words import automaton
from pnyx.search.lexical.term_numbers import WordNumbers

sys.path.append(str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

SETS = {
    "idebate": "arguana_counterargs/*",
    "Debatewise": "perspectrum/debatewise_raw.json",
    "ProCon": "perspectrum/procon_raw.json",
    "Webis-ArgQuality-20": "webis_argquality20/*arguments*.csv",
    "SIGIR-19 ArgSearch": "sigir19_argsearch/*",
    "ChatReportRetrieve (DIRAS)": "chatreportretrieve/chatreport_test.csv",
    "ClimRetrieve (DIRAS)": "climretrieve/*.csv",
    "general QA (DIRAS)": "diras_general_qa/train/*",
    "BERDS": "berds/*",
    "reports and their sources": "reportgen/*/*",
    "IBM KPA, claims, ranks": "ibm_*/*",
}
BATCH = 20_000


def strings(value: Any) -> Iterator[str]:
    """Yield every string in a decoded JSON value or table."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield key
            yield from strings(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from strings(part)


def read(path: Path) -> Iterator[str]:
    """Yield the texts of a file: fields of tables, strings of JSON, lines of anything else."""
    raw = path.read_bytes()
    name = path.name.removesuffix(".gz")
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8", "replace")
    if name.endswith(".json"):
        yield from strings(json.loads(text))
    elif name.endswith(".jsonl"):
        for line in filter(None, text.split("\n")):
            yield from strings(json.loads(line))
    elif name.endswith((".csv", ".tsv")):
        csv.field_size_limit(1 << 30)
        for row in csv.reader(io.StringIO(text), delimiter="\t" if ".tsv" in name else ","):
            yield from row
    elif name.endswith((".txt", ".md", ".xml")):
        yield from text.splitlines()


def real(data: Path, pattern: str) -> list[str]:
    """Return the different texts of a set."""
    texts = (text for path in sorted(data.glob(pattern)) if path.is_file() for text in read(path))
    unique = dict.fromkeys(texts)
    return [text.encode("utf-8", "replace").decode() for text in unique if text]


def every_character() -> Iterator[str]:
    """Yield texts with each character alone, doubled, between letters and between digits."""
    points = [*range(0xD800), *range(0xE000, sys.maxunicode + 1)]
    for first in range(0, len(points), 500):
        part = map(chr, points[first : first + 500])
        yield "".join(f"{c} a{c}a {c}{c} 1{c}1 #{c} " for c in part)


def by_class(rng: random.Random, characters: int) -> Iterator[str]:
    """Yield texts of characters of few classes each."""
    by_number: dict[int, list[str]] = {}
    for point, number in enumerate(automaton().classes):
        if not 0xD800 <= point < 0xE000:
            by_number.setdefault(number, []).append(chr(point))
    while characters > 0:
        chosen = rng.choices(list(by_number.values()), k=rng.randint(1, 6))
        chosen.append(list("ab1'_s,.: "))
        length = rng.randint(1, rng.choice([5, 20, 60, 600]))
        few = rng.choice([1, 3, 1 << 20])
        text = ""
        for pool in rng.choices(chosen, k=length):
            text += pool[int(rng.random() * min(few, len(pool)))]
        characters -= length
        yield text


def any_at_all(rng: random.Random, characters: int) -> Iterator[str]:
    """Yield texts of arbitrary characters, half of them below 3000."""
    while characters > 0:
        length = rng.randint(1, 400)
        points = (rng.randrange(rng.choice([3000, 0x110000])) for _ in range(length))
        yield "".join(chr(p) if not 0xD800 <= p < 0xE000 else "-" for p in points)
        characters -= length


def stems(rng: random.Random, characters: int) -> Iterator[str]:
    """Yield words of random letters and the suffixes of the stemmer."""
    pairs = [pair for table in (_STEP_2, _STEP_3) for group in table.values() for pair in group]
    suffixes = {part for pair in pairs for part in pair}.union(*_STEP_4.values())
    ends = [*sorted(suffixes), *"sses ies ss s eed ed ing y e ll at bl iz 's".split()]
    letters, weights = "aeiouybcdlstznrgxwvk1é\U00010428\u0301", [5] * 6 + [3] * 14 + [1] * 4
    while characters > 0:
        words = [
            "".join(rng.choices(letters, weights, k=rng.randint(0, 5)))
            + "".join(rng.choices(ends, k=rng.randint(0, 3)))
            for _ in range(20)
        ]
        text = " ".join(words)
        characters -= len(text)
        yield text


def compare(lucene: Lucene, texts: Sequence[str], folder: Path) -> tuple[int, int, int, int]:
    """Return the number of our terms, of Lucene's, and of texts that differ (also compiled)."""
    tokenizer = Tokenizer()
    numbers = WordNumbers(tokenizer, compiled=True)
    ours = theirs = differ = differ_compiled = 0
    for first in range(0, len(texts), BATCH):
        part = texts[first : first + BATCH]
        tokens, counts = numbers.number(part)
        names = list(numbers.terms)
        at = 0
        for text, expected, count in zip(
            part, lucene.terms(part, folder), counts.tolist(), strict=True
        ):
            terms = tokenizer.terms(text)
            scanned = [names[n] for n in tokens[at : at + count].tolist() if n >= 0]
            at += count
            ours, theirs = ours + len(terms), theirs + len(expected)
            if terms != expected:
                differ += 1
                print(f"differs: {text[:200]!a}", file=sys.stderr)
            differ_compiled += scanned != expected
    return ours, theirs, differ, differ_compiled


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--characters", type=int, default=2_000_000, help="of each random kind")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    data = os.environ.get("PNYX_DATA")
    sets = {name: real(Path(data), pattern) for name, pattern in SETS.items()} if data else {}
    sets["every character"] = list(every_character())
    for name, make in {
        "random, by class": by_class,
        "random, any": any_at_all,
        "random, suffixes": stems,
    }.items():
        sets[name] = list(make(random.Random(options.seed), options.characters))
    report = Report("english analysis")
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        try:
            lucene = Lucene(Path(temporary))
        except EngineError as error:
            sys.exit(f"no Lucene: {error}")
        report.head(
            "texts", "different texts", "beyond ASCII", "characters", "terms", "Lucene's terms",
            "texts whose terms differ", "the same, compiled scan",
        )  # fmt: skip
        for name, texts in sets.items():
            counts = compare(lucene, texts, Path(temporary))
            beyond = sum(not text.isascii() for text in texts)
            row = (len(texts), beyond, sum(map(len, texts)), *counts)
            report.row(name, *(f"{value:,}" for value in row))
            wrong += counts[2] + counts[3]
        here = Path(temporary)
        if ranked := real_text(Run(here), here / "real", here):
            parity_table(report, ranked)
            wrong += sum(parity.tied < 1 for *_, parity in ranked)
    report.write(options.write)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
