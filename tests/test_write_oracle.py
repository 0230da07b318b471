"""`pnyx argue` with a model that knows the labels: what reaches the page, and at what cost."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pnyx.cli import main
from pnyx.core.records import Document, judged_text
from pnyx.formats.bundled_example import load_example
from pnyx.search.build import build_index

sys.path.append(str(Path(__file__).parents[1] / "lab" / "argue"))

from oracle_server import KnownQuestion, Oracle, Side, serve, spent

pytestmark = pytest.mark.usefixtures("run_once")

QUESTION = "Should zoos be phased out?"
STANCES: dict[str | None, Side] = {"pro": "yes", "con": "no"}
ARGUMENTS = {judged_text(a)[:60]: a for a in load_example().arguments}


def side(text: str) -> Side:
    """Return what the authors say: other questions' arguments argue neither side."""
    argument = ARGUMENTS.get(text[:60])
    if argument is None or not argument.id.startswith("zoos-"):
        return "neither"
    return STANCES.get(argument.stance, "neither")


KNOWN = {
    QUESTION: KnownQuestion(
        "Zoos should be phased out.", "Zoos should be kept.", ("animals in captivity",), side
    )
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The bundled example without labels."""
    path = tmp_path_factory.mktemp("oracle") / "plain.index"
    plain = (Document(a.id, judged_text(a)) for a in load_example().arguments)
    build_index(plain, path, features=("quality", "vectors"))
    return str(path)


def argued(index: str, store: Path, oracle: Oracle, capsys: Any) -> tuple[dict[str, Any], Any]:
    with serve(oracle) as server:
        with pytest.raises(SystemExit) as stopped:
            main(["argue", index, QUESTION, "--json", "--llm", server.spec, "--store", str(store)])
        assert stopped.value.code == 0
        return json.loads(capsys.readouterr().out), spent(server.asked())


def rightly(printed: dict[str, Any]) -> list[bool]:
    """Return for each cited passage whether its authors argue that side."""
    sides = {"pro": "yes", "con": "no"}
    by_id = {a.id: judged_text(a) for a in load_example().arguments}
    return [
        side(by_id[doc_id]) == sides[one["stance"]]
        for one in printed["sides"]
        for doc_id in one["response"]["references"]
    ]


@pytest.mark.parametrize(
    "wrap",
    [
        "plain",
        pytest.param("fenced", marks=pytest.mark.all),
        pytest.param("preamble", marks=pytest.mark.all),
        pytest.param("afterword", marks=pytest.mark.all),
        pytest.param("thinking", marks=pytest.mark.all),
        pytest.param("mixed", marks=pytest.mark.all),
    ],
)
def test_all_that_a_capable_model_knows_reaches_the_page(
    index: str, tmp_path: Path, wrap: str, capsys: Any
) -> None:
    oracle = Oracle(KNOWN, wrap=wrap)
    printed, cost = argued(index, tmp_path / "s.sqlite", oracle, capsys)
    assert not oracle.unknown
    cited = rightly(printed)
    assert len(cited) >= 8
    assert all(cited)
    assert all(len(one["response"]["references"]) >= 4 for one in printed["sides"])
    calls = {name: count for name, (count, _) in cost.items()}
    assert calls.pop("passage-sides") in (2, 3)  # the control, a list, and what is unsure
    assert calls.pop("support-citations") <= 2
    assert calls == {"question": 1, "argue": 2}
    assert sum(tokens for _, tokens in cost.values()) < 14_000, cost


def test_errors_of_the_model_are_no_more_on_the_page_than_in_its_answers(
    index: str, tmp_path: Path, capsys: Any
) -> None:
    printed, _ = argued(index, tmp_path / "s.sqlite", Oracle(KNOWN, errors=0.05, first=0.5), capsys)
    cited = rightly(printed)
    assert sum(cited) / len(cited) >= 0.93
