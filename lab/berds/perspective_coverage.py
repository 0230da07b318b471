"""Do retrievers cover every side? BERDS's questions over debates (BERDS, Tables 3 and 4, Fig. 3).

    PNYX_DATA=DATA python lab/berds/perspective_coverage.py --work FOLDER [--most QUESTIONS]
    ... --write docs/lab/perspective-coverage.md   # updates its section

Documents: the points of idebate.org, Debatewise and ProCon. Questions: the development questions of
BERDS (Arguana, Kialo, OpinionQA), which have two or more perspectives each, and the searches that
GPT-4 wrote for them. Each set is one run of `pnyx compare retrievers`. Run it again to resume.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

from pnyx.core.files import json_line
from pnyx.search.lexical.record_codec import to_row

sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))
sys.path.insert(0, str(Path(__file__).parents[1] / "search"))

from common import Report, arguments

SETS = {"Arguana": "arguana_generated", "Kialo": "kialo", "OpinionQA": "opinionqa"}
MEASURES = ("MRecall@5", "Precision@5", "MRecall@10", "Precision@10")


def pnyx(*words: object) -> str:
    """Run a command and show its standard error; exit status 3 (some unscored) is accepted."""
    command = [sys.executable, "-m", "pnyx", *map(str, words)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 3):
        raise SystemExit(f"pnyx {words[0]} ended with status {done.returncode}")
    return done.stdout


def make_index(work: Path) -> tuple[Path, int]:
    from effectiveness_sets import debates

    index, corpus = work / "debates.index", work / "debates.jsonl"
    records = {a.id: a for collection in debates() for a in collection.records}
    features = ("--quality", "--clusters", "--vectors")
    if index.is_dir():
        pnyx("index", "--update", index, *features)  # completes an interrupted run
    else:
        corpus.write_text("".join(json_line(to_row(a)) + "\n" for a in records.values()), "utf-8")
        pnyx("index", corpus, "--out", index, *features)
    return index, len(records)


def take(source: Path, out: Path, most: int) -> Path:
    """Write at most `most` questions of a file, with all their lines."""
    lines: dict[str, list[str]] = {}
    for line in source.read_text(encoding="utf-8").splitlines():
        lines.setdefault(str(json.loads(line)["org_id"]), []).append(line)
    ids = sorted(lines)
    chosen = random.Random(0).sample(ids, min(most, len(ids)))
    out.write_text("".join(line + "\n" for i in sorted(chosen) for line in lines[i]), "utf-8")
    return out


def show(report: Report, name: str, row: dict) -> None:
    report.line()
    chosen = ", ".join(f"{model} {lam:g}" for model, lam in row["lambdas"].items())
    report.line(f"**{name}**: {len(row['test'])} questions measured; lambda chosen on "
                f"{len(row['dev'])} others: {chosen}")  # fmt: skip
    report.head("system", *MEASURES)
    for run in row["runs"]:
        report.row(run["run"], *(_cell(run["measures"][measure]) for measure in MEASURES))


def show_leaning(report: Report, row: dict) -> None:
    """Report the side to which retrievers lean, and how far they follow a requested side."""
    report.head(
        "(p - n) / p at 5", "question", "supporting", "opposing", "supporting minus opposing"
    )
    for system in row["leaning"]:
        cells = [_cell(system["asked_as"][wording]) for wording in ("question", "pro", "con")]
        report.row(system["run"], *cells, _cell(system["shifts"]["pro-con"]))


def _cell(value: dict) -> str:
    if value["value"] is None:
        return "-"
    bounds = "" if value["low"] is None else f" [{value['low']:.2f}, {value['high']:.2f}]"
    return f"{value['value']:.3f}{bounds}"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--most", type=int, default=10_000, help="questions of each set")
    parser.add_argument("--data", type=Path, default=os.environ.get("PNYX_DATA", "../shared/data"))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    data = Path(options.data)
    report = Report("berds coverage")
    index, documents = make_index(options.work)
    report.line()
    report.line(f"{documents} documents. At most {options.most} questions of each set.")
    for name, stem in SETS.items():
        source = data / "berds" / f"{stem}_query_exp.dev.jsonl"
        questions = take(source, options.work / f"{stem}.jsonl", options.most)
        out = options.work / f"bench-{stem}"
        files = ("--perspectives", questions, "--expand", questions)
        how = ("--sides", "order", "--leaning", "--out", out)
        pnyx("compare", "retrievers", "--index", index, *files, *how)
        row = json.loads((out / "measures.json").read_text(encoding="utf-8"))
        if name == next(iter(SETS)):
            report.line(f"Judge: {row['judge']}.")
        show(report, name, row)
        show_leaning(report, row)
    report.write(options.write)


if __name__ == "__main__":
    main()
