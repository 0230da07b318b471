"""Where pnyx-train is installed and its libraries are not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from command import called
from student_fixture import labelled_rows, refused, write_rows


@pytest.mark.parametrize("kind", ["combined", "late-interaction", "lora"])
def test_a_library_that_is_missing_is_named_before_anything_is_written(
    kind, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for name in ("onnx", "peft", "torch", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    write_rows(Path("labelled.jsonl"), labelled_rows())
    command = ("annotate", "distil", "labelled.jsonl", "--out", "student", "--kind", kind)
    error = refused(called(capsys, *command))
    assert error == "pnyx: onnx is missing: pip install pnyx-train\n"
    assert not Path("student").exists()
