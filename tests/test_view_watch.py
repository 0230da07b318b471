"""A run is looked at while it goes on: what it has answered, pages that follow, exports."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from page_fixture import Watched, served
from pnyx.cli import main
from pnyx.judging.questions import Support
from pnyx.judging.runs.engine import Journal
from pnyx.web.results import commands as command
from pnyx.web.results import open_catalogue as opening
from pnyx.web.results.application import view_app
from pnyx.web.results.open_catalogue import CurrentCatalogue, open_catalogue

ABOUT = {"format": "pnyx-results", "task": "support", "judge": "minilm-int8@1"}


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PNYX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(opening, "_LOOK_AGAIN_SECONDS", 0)
    monkeypatch.setattr(opening, "_REST", 0)
    monkeypatch.setattr(command, "_LOOK_SECONDS", 0.01)


def begun(folder: Path) -> Journal:
    """Return the journal of a run into a folder, which stays."""
    folder.mkdir(exist_ok=True)
    return Journal(folder / "answers.jsonl", ABOUT, lambda about: about == ABOUT)


def add(journal: Journal, n: int, *dimensions: str) -> None:
    rows: list[dict[str, Any]] = [
        {"id": f"i{n}", "task": "support", "value": True, "probability": 0.9,
         "judge": "minilm-int8@1", "unscored": None, "explanation": f"reason {n} {dimension}",
         **({"dimension": dimension} if dimension else {})}
        for dimension in dimensions or ("",)
    ]  # fmt: skip
    journal.add(n, Support(f"i{n}", "A text.", "A statement."), rows)


def test_what_a_run_has_answered_so_far_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    with begun(folder) as journal:
        current = CurrentCatalogue([str(folder)])
        assert current.get().judgements().total == 0
        add(journal, 0)
        add(journal, 1, "clarity", "strength")
        version, catalogue = current.version, current.get()
        assert current.version > version
        (source,) = catalogue.sources()
        assert (source.name, source.kind, source.finished) == ("results", "begun", "unfinished")
        assert (source.scored, source.asked, source.judge) == (3, 3, "minilm-int8@1")
        lines = [catalogue.line(row)["explanation"] for row in catalogue.judgements().rows]
        assert sorted(lines) == ["reason 0 ", "reason 1 clarity", "reason 1 strength"]
        assert [row["explanation"] for _, row in catalogue.lines("results")] == sorted(lines)
    with (folder / "answers.jsonl.partial" / "answers.jsonl").open("ab") as stream:
        stream.write(b'["0011", 2, "aa", [{"id": "i')  # cut off by a kill
    assert open_catalogue([str(folder)]).judgements().total == 3


def test_an_export_is_written_again_until_it_is_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, out = tmp_path / "results", tmp_path / "pages"
    counts: list[tuple[int, bool]] = []

    def sleep(_: float) -> None:
        if out.exists():
            page = (out / "judgements.html").read_text()
            seen = page.count("<tr>") - 1, "http-equiv=refresh" in page
            if not counts or counts[-1] != seen:
                counts.append(seen)
        if len(counts) == 2:
            raise KeyboardInterrupt
        with begun(folder) as journal:
            add(journal, len(counts))

    monkeypatch.setattr(time, "sleep", sleep)
    with pytest.raises(SystemExit, match="130"):
        main(["view", str(folder), "--watch", "--export", str(out)])
    assert counts == [(1, True), (2, True)]
    assert f"waiting for results: {folder}: does not exist" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["view", str(folder), "--watch", "--json"])


@pytest.mark.all
@pytest.mark.slow
def test_an_open_page_follows_a_run(tmp_path: Path, browser: Any) -> None:
    folder = tmp_path / "results"
    with begun(folder) as journal:
        add(journal, 0)
        app = view_app(CurrentCatalogue([str(folder)]), watch=True)
        with served(app) as address:
            watched = Watched(browser)
            page = watched.open(f"{address}/judgements")
            assert page.locator("tbody tr").count() == 1
            page.wait_for_timeout(500)  # until it has seen the first version
            add(journal, 1)
            page.locator("tbody tr").nth(1).wait_for()
            watched.check(address)
            watched.close()
