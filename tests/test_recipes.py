"""The recipes of the documentation, each run as a script beside the bundled example."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from chat_server import ChatServer
from command import run

RECIPES = sorted((Path(__file__).parents[1] / "docs" / "recipes").glob("*.py"))
PRINTED = {
    "both_sides": r"^con\n  \w",
    "corrected_rate": r"^prediction_powered +0\.\d+ .* 60 of 240$",
    "distilled": r"^auroc 0\.[6-9]\d\d \[",
    "judge_on_trial": r"^the score falls at every step - (passed|failed)$",
    "judged_run": r"^bm25  P@10 +0\.\d+ .* 8 of 8$",
    "labels_and_intervals": r"^accuracy  .* 3 of 3$",
    "two_retrievers": r"^hybrid nDCG@10 0\.\d+ 0\.0\d+$",
    "which_judge": r"^packaged 0\.8\d\d \[.* 240 of 240 scored 0\.0 [\d.e-]+\nmini 0\.",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("recipes")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        patch.setenv("PNYX_STORE", str(made / "store.sqlite"))
        steps = (
            "demo --files-only --out example",
            "index example/arguments.jsonl --out my.index --words-only",
            "search my.index --topics example/questions.md --model bm25 --out bm25.run",
            "annotate sample my.index example/questions.md --out pairs.jsonl",
            "annotate label pairs.jsonl --judge example/labels.jsonl --out labels",
            "judge support example/items.jsonl --out packaged",
        )
        for step in steps:
            assert run(*step.split()) == 0, step
        with ChatServer() as server:
            assert (
                run(
                    "judge",
                    "support",
                    "example/items.jsonl",
                    "--judge",
                    server.spec,
                    "--out",
                    "mini",
                )
                == 0
            )
    (made / "labels" / "labelled.jsonl").rename(made / "labelled.jsonl")
    return made


def test_each_recipe_is_listed_on_the_page_and_short() -> None:
    page = RECIPES[0].with_name("index.md").read_text("utf-8")
    assert {path.stem for path in RECIPES} == set(PRINTED)
    for path in RECIPES:
        assert f"{{literalinclude}} {path.name}\n" in page
        script = path.read_text("utf-8").partition('"""\n\n')[2]
        assert len([line for line in script.splitlines() if line]) <= 15


@pytest.mark.all
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_works_as_it_stands(recipe: Path, folder: Path) -> None:
    command = [sys.executable, str(recipe)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(PRINTED[recipe.stem], done.stdout, re.M), done.stdout
