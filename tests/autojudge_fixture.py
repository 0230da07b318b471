"""autojudge-base's own verifier, where it can be imported: what it finds, by category."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def _imported() -> tuple[Any, ...]:
    """Import it without its download of data; skip where the data or the package is not here."""
    nltk = pytest.importorskip("nltk")
    pytest.importorskip("yaml")
    try:
        nltk.data.find("corpora/stopwords")
    except LookupError:
        pytest.skip("NLTK's stop words are not here: python lab/nltk_data.py")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(nltk, "download", lambda *_, **__: True)
        try:
            from autojudge_base.report import load_report
            from autojudge_base.report_spec_verification import TrackSpecVerification
            from autojudge_base.report_verification import ReportVerification
            from autojudge_base.request import load_requests_from_file
            from autojudge_base.track_spec import SPECS
        except (ImportError, LookupError) as error:
            pytest.skip(f"autojudge-base cannot be imported: {error}")
    return load_report, TrackSpecVerification, ReportVerification, load_requests_from_file, SPECS


def findings(path: str, track: str, topics: str | None) -> set[tuple[str, str]]:
    """Return (severity, category) of all that it finds in a run; structural what it cannot read."""
    load, per_report, per_run, load_requests, specs = _imported()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reports = load(Path(path))
    except (ValueError, RuntimeError):  # of pydantic, or its own
        return {("error", "structural")}
    requests = {} if topics is None else {str(q.request_id): q for q in load_requests(Path(topics))}
    found: set[tuple[str, str]] = set()

    class Recording(per_report):  # type: ignore[misc,valid-type]
        def _add(self, category: str, message: str) -> None:
            found.add(("warning" if category in self.spec.smells else "error", category))

    for report in reports:
        request = requests.get(str(report.metadata.topic_id))
        Recording(report, specs[track], request=request).run()
    checked = per_run(reports, track, requests=requests)
    checked.coverage() if requests else checked.unique_topics()
    return found | {(one.severity, one.category) for one in checked.findings}


def specs() -> Iterator[tuple[str, Any]]:
    """Yield each track and its specs, as autojudge-base holds them."""
    yield from _imported()[-1].items()
