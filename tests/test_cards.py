"""Every card says beside its figures what was chosen by looking at them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pnyx
from pnyx.judging.students.judge import load_perspective_student

ROOT = Path(__file__).parents[1]
PACKAGE = Path(pnyx.__file__).parent
CARDS = sorted(
    [*PACKAGE.glob("models/weights/*/card.md"), *ROOT.glob("docs/explain/model-cards/*.md")],
    key=str,
)
CARDS = [path for path in CARDS if path.stem != "index"]


@pytest.mark.parametrize("card", CARDS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_card_says_what_was_chosen_by_its_figures(card):
    text = card.read_text(encoding="utf-8").lower()
    assert "chosen" in text
    words = ("held out", "held-out", "chose nothing", "nothing was chosen", "no choice")
    assert any(word in text for word in words)


def test_the_line_of_each_packaged_judge_says_so_too():
    files = list(PACKAGE.glob("judging/calibrations/*.json"))
    assert files
    cards = [json.loads(path.read_text(encoding="utf-8"))["card"] for path in files]
    cards = ["; ".join(card.values()) for card in cards]
    for line in (*cards, load_perspective_student().card):
        assert "unseen" in line or "chose nothing" in line
        assert "chosen" in line or "looked at" in line


def test_the_line_of_the_nugget_judge_says_what_it_was_calibrated_on():
    content = json.loads((PACKAGE / "judging/calibrations/nugget.json").read_text(encoding="utf-8"))
    card, figures = content["card"]["nugget"], content["tasks"]["nugget"]["figures"]
    assert card.startswith("calibrated on nuggets of reports: on unseen questions and teams")
    assert "answers to questions: not measured" in card
    for name in ("lines", "reports"):
        low, value, high = (figures[name][key] for key in ("f1_low", "f1", "f1_high"))
        assert f"{value:.2f} [{low:.2f}, {high:.2f}] on " in card


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the documentation is not in this copy")
def test_the_page_of_nuggets_has_the_figures_of_the_shipped_calibration():
    content = json.loads((PACKAGE / "judging/calibrations/nugget.json").read_text(encoding="utf-8"))
    task = content["tasks"]["nugget"]
    page = (ROOT / "docs/lab/nuggets.md").read_text(encoding="utf-8")
    assert content["card"]["nugget"] in " ".join(page.split())
    assert f"{task['threshold']:.2f}" in page
    for name in ("lines", "reports", "summaries", "key_points"):
        row = task["figures"][name]
        assert f"{row['pairs']:,} pairs" in page
        cells = [
            f"{row[measure]:.2f} [{row[f'{measure}_low']:.2f}, {row[f'{measure}_high']:.2f}]"
            for measure in ("f1", "auroc")
        ]
        assert " | ".join(cells) in page


def test_the_quality_model_names_the_settings_that_were_chosen():
    path = PACKAGE / "judging" / "students" / "weights" / "surface.json"
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert set(kept["chosen"]["penalties"]) == {"long", "short"}


def test_the_card_of_the_judge_of_answers_is_made_of_its_figures():
    content = json.loads((PACKAGE / "judging/calibrations/answer.json").read_text("utf-8"))
    figures = content["tasks"]["support"]["figures"]
    held, fitted = figures["held_out"], figures["development"]
    card = content["card"]["support"]
    for name in ("auroc", "f1"):
        value, low, high = (held[f"{name}{end}"] for end in ("", "_low", "_high"))
        assert f"{name.upper()} {value:.2f} [{low:.2f}, {high:.2f}]" in card
    assert f"on {held['groups']} unseen questions" in card
    assert f"chosen on {fitted['pairs']} pairs of {fitted['groups']} other questions" in card
