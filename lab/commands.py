"""Run the fixed commands of `lab/commands.txt` and keep all they print and write, for comparison.

`python lab/commands.py OUT` runs them in OUT/work with the installed pnyx and writes OUT/log: one
file a command (status, standard output, standard error), and what the files it made hold. Times,
dates and versions are masked, so `diff -r BEFORE/log AFTER/log` lists what a change did to users.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMIT = 400_000
MASKS = (
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?", "TIME"),
    (r"\b\d+(\.\d+)?( ?ms| s\b| min\b| seconds| minutes)", "DURATION"),
    (r"\b\d+:\d\d(:\d\d)?\b", "DURATION"),
    (r'("\w*(seconds|_at|elapsed|started|finished|rate)": )[\d.]+', r"\1N"),
    (r"[\d,.]+ ?(/s|a second|[KMG]?B)\b", "AMOUNT"),
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
)


def masked(text: str, work: Path) -> str:
    """Return `text` without what differs between two runs of the same code."""
    text = text.replace(str(work), "WORK")
    for pattern, name in MASKS:
        text = re.sub(pattern, name, text)
    return text


def contents(path: Path, work: Path) -> str:
    """Return the text of a file, masked; of a binary one only that it is there."""
    data = path.read_bytes()
    try:
        return masked(data[:LIMIT].decode("utf-8"), work)
    except UnicodeDecodeError:
        return "(binary)"


def main(out: Path) -> int:
    work, log = out / "work", out / "log"
    work.mkdir(parents=True)
    log.mkdir()
    lines = (HERE / "commands.txt").read_text(encoding="utf-8").splitlines()
    commands = [line for line in lines if line and not line.startswith("#")]
    environment = {**os.environ, "PNYX_STORE": str(work / "store.sqlite"), "COLUMNS": "100"}
    seen: dict[Path, float] = {}
    for number, command in enumerate(commands, 1):
        done = subprocess.run(
            command,
            shell=True,
            cwd=work,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        parts = [f"$ {command}", f"status {done.returncode}"]
        parts += ["--- stdout", masked(done.stdout, work), "--- stderr", masked(done.stderr, work)]
        for path in sorted(work.rglob("*")):
            if (
                path.is_file()
                and path.stat().st_mtime != seen.get(path)
                and ".sqlite" not in path.name
            ):
                seen[path] = path.stat().st_mtime
                parts += [f"--- file {path.relative_to(work)}", contents(path, work)]
        (log / f"{number:03}.txt").write_text("\n".join(parts), encoding="utf-8")
        print(f"{number:3}/{len(commands)} {done.returncode} {command[:100]}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
