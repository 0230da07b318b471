"""The packaged weights of quality: a manifest beside an .npz file of arrays, never pickled."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pnyx.errors import PnyxError


def packaged_files(name: str, what: str) -> tuple[dict[str, Any], bytes]:
    """Return the manifest and the arrays' file of a packaged model; PnyxError without them."""
    folder = resources.files("pnyx.students") / "weights"
    try:
        manifest = json.loads(folder.joinpath(f"{name}.json").read_text(encoding="utf-8"))
        return manifest, folder.joinpath(f"{name}.npz").read_bytes()
    except (OSError, ValueError) as error:
        raise PnyxError(f"the {what} cannot be read: reinstall pnyx") from error


def arrays_of(
    manifest: Mapping[str, Any], data: bytes, what: str
) -> dict[str, NDArray[np.float64]]:
    """Return the arrays of a file by name; PnyxError where it is not the manifest's."""
    if hashlib.sha256(data).hexdigest() != manifest.get("sha256"):
        raise PnyxError(f"the weights of the {what} are damaged: reinstall pnyx")
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        return {name: file[name].astype(np.float64) for name in file.files}
