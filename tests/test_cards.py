"""Every card says beside its figures what was chosen by looking at them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pnyx
from pnyx.students.judge import load_perspective_student

ROOT = Path(__file__).parents[1]
PACKAGE = Path(pnyx.__file__).parent
CARDS = sorted(
    [*PACKAGE.glob("models/weights/*/card.md"), *ROOT.glob("docs/model-cards/*.md")], key=str
)
CARDS = [path for path in CARDS if path.stem != "index"]


@pytest.mark.parametrize("card", CARDS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_card_says_what_was_chosen_by_its_figures(card):
    text = card.read_text(encoding="utf-8").lower()
    assert "chosen" in text
    assert any(word in text for word in ("chose nothing", "nothing was chosen", "no choice"))


def test_the_line_of_each_packaged_judge_says_so_too():
    files = list(PACKAGE.glob("judge/calibrations/*.json"))
    assert files
    cards = [json.loads(path.read_text(encoding="utf-8"))["card"] for path in files]
    cards = ["; ".join(card.values()) for card in cards]
    for line in (*cards, load_perspective_student().card):
        assert "unseen" in line or "chose nothing" in line
        assert "chosen" in line or "looked at" in line


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the documentation is not in this copy")
def test_the_judge_of_nuggets_is_not_known_by_its_best_topics_alone():
    found = json.loads((PACKAGE / "judge/calibrations/nugget.json").read_text(encoding="utf-8"))
    card, figures = found["card"]["nugget"], found["tasks"]["nugget"]["figures"]
    assert card.index("held-out") < card.index("8 topics") < card.index("2 unseen")
    page = (ROOT / "docs/benchmarks/nuggets.md").read_text(encoding="utf-8")
    for name in ("ap", "auroc", "unseen_ap", "unseen_auroc"):
        assert f"{figures[name]:.2f}" in card
        assert f"| {figures[name]:.3f} [" in page
    assert "AP 0.46" in card
    assert "AP 0.46" in page


def test_the_quality_model_names_the_settings_that_were_chosen():
    path = PACKAGE / "students" / "weights" / "surface.json"
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert set(kept["chosen"]["penalties"]) == {"long", "short"}
