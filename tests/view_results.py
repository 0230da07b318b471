"""Results of every kind, made by the commands that write them, for the tests of `pnyx view`."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

from argue_report import write_files, write_labels
from command import write_rows

EXAMPLE = Path(str(resources.files("pnyx.formats"))) / "example"
QUESTION = "compulsory-voting"


def run(*argv: object) -> tuple[int, str]:
    """Run `pnyx ARGUMENTS`; return exit status and standard output."""
    from pnyx.cli import main

    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as caught,
    ):
        main([str(one) for one in argv])
    status = int(caught.value.code or 0)
    assert status in (0, 3), err.getvalue()
    return status, out.getvalue()


def items(count: int = 9, topics: int = 3) -> Iterator[dict]:
    for topic in range(topics):
        for n in range(count):
            yield {
                "id": f"t{topic}-{n}",
                "text": f"Paragraph {n} says that turnout in town {topic} rose by {n} percent.",
                "statement": f"Turnout in town {topic} rose.",
                "group": f"t{topic}",
                "doc_id": f"d{n}",
            }


def make_results(folder: Path) -> Path:
    """Write one of each kind; return the folder. Seconds, as labels judge where they can."""
    made = folder / "results"
    made.mkdir()
    support = list(items())
    write_rows(folder / "items.jsonl", support)
    # One item has no label, so it is unscored; labels alternate.
    labelled = [{"id": row["id"], "value": n % 2 == 0} for n, row in enumerate(support)]
    write_rows(folder / "labels.jsonl", labelled[:-1])
    status, _ = run("judge", "support", folder / "items.jsonl", "--out", made / "packaged")
    assert status == 0
    status, _ = run("judge", "support", folder / "items.jsonl", "--judge", folder / "labels.jsonl",
                    "--out", made / "people")  # fmt: skip
    assert status == 3
    args = (made / "packaged", "--labels", folder / "labels.jsonl")
    (made / "measured.json").write_text(run("measure", *args, "--json")[1])
    run("judge", "calibrate", made / "packaged", "--labels", folder / "labels.jsonl", "--out",
        made / "calibration.json")  # fmt: skip
    run("audit", "card", made / "packaged", "--labels", folder / "labels.jsonl", "--out",
        made / "card.json")  # fmt: skip
    relevance = [
        {"id": one["id"], "question": f"Did turnout rise in town {one['group']}?",
         "document": one["text"], "group": one["group"]}
        for one in items(2)
    ]  # fmt: skip
    write_rows(folder / "relevance.jsonl", relevance)
    run("audit", "run", "--trial", "noise", folder / "relevance.jsonl", "--out", made / "noise")
    _reports(folder, made)
    _runs(folder, made)
    _argued(folder, made)
    return made


def _reports(folder: Path, made: Path) -> None:
    run_file, bank = write_files(folder)
    labels = write_labels(folder / "report-labels.jsonl")
    run("judge", "report", run_file, "--nuggets", bank, "--judge", labels, "--out", made / "judged")
    told = run("measure", "report", made / "judged", "--leaderboard", made / "board.txt",
               "--unscored", "skip", "--json")  # fmt: skip
    (made / "reports.json").write_text(told[1])
    (made / "bank.jsonl").write_text(Path(bank).read_text(encoding="utf-8"))


def _runs(folder: Path, made: Path) -> None:
    texts = [json.loads(line) for line in (EXAMPLE / "labels.jsonl").read_text().splitlines()]
    lines = {}
    for row in texts:
        lines.setdefault(row["question_id"], []).append((row["doc_id"], row["relevance"]))
    qrels = folder / "qrels.txt"
    qrels.write_text("".join(f"{q} 0 {d} {g}\n" for q, own in lines.items() for d, g in own))
    for name, step in (("forward", 1), ("backward", -1)):
        with (made / f"{name}.run").open("w") as stream:
            for question, own in lines.items():
                for rank, (doc, _) in enumerate(own[::step], 1):
                    stream.write(f"{question} Q0 {doc} {rank} {100 - rank} {name}\n")
    told = run("measure", "retrieval", made / "forward.run", made / "backward.run", "--qrels",
               qrels, "--baseline", made / "backward.run", "--json")  # fmt: skip
    (made / "retrieval.json").write_text(told[1])
    (made / "questions.jsonl").write_text((EXAMPLE / "questions.jsonl").read_text("utf-8"), "utf-8")


def _argued(folder: Path, made: Path) -> None:
    lines = (EXAMPLE / "arguments.jsonl").read_text(encoding="utf-8").splitlines()
    own = [line for line in lines if json.loads(line)["id"].startswith(QUESTION)]
    corpus = folder / "arguments.jsonl"
    corpus.write_text("\n".join(own) + "\n", encoding="utf-8")
    run("index", corpus, "--out", folder / "index", "--words-only")
    told = run("argue", folder / "index", "Should voting be compulsory?", "--out",
               made / "argued.jsonl", "--points", 1, "--retrieve", 8, "--json")  # fmt: skip
    (made / "argued.json").write_text(told[1], encoding="utf-8")
