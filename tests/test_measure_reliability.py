"""The bins of a reliability diagram, and its picture."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pnyx
from pnyx.display.plots import reliability_plot
from pnyx.judging.measures.binary import ECE_BINS, reliability
from pnyx.judging.measures.registry import MEASURES
from pnyx.stats.intervals import wilson
from tries import tries

SVG = "{http://www.w3.org/2000/svg}"
PAIRS = st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=1, max_size=40)


def test_bins_by_hand():
    bins = reliability([True, False, True, True], [0.95, 1.0, 0.1, 0.0])
    assert len(bins) == ECE_BINS
    first, last = bins[0].row(), bins[-1].row()
    assert (first["from"], first["to"], first["count"]) == (0, 0.1, 2)
    assert (first["mean_probability"], first["share"]) == (0.05, 1)
    assert (last["from"], last["to"], last["count"], last["share"]) == (0.9, 1, 2, 0.5)
    assert (last["low"], last["high"]) == wilson(1, 2)
    empty = bins[5].row()
    assert empty["count"] == 0
    assert {empty[name] for name in ("mean_probability", "share", "low", "high")} == {None}
    with pytest.raises(ValueError, match="1 labels and 2 probabilities"):
        reliability([True], [0.5, 0.6])
    assert pnyx.judging.reliability is reliability


@settings(deadline=None)
@given(PAIRS)
def test_the_calibration_error_is_that_of_the_bins(pairs):
    gold, p = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    bins = reliability(gold, p)
    assert sum(part.count for part in bins) == len(pairs)
    total = sum(part.count * abs(part.mean_probability - part.share) for part in bins if part.count)
    assert MEASURES["ece"].value(gold, p) == pytest.approx(total / len(pairs), abs=1e-12)
    for part in bins:
        assert part.count == 0 or part.low <= part.share <= part.high
        assert part.count == 0 or part.start - 1e-12 <= part.mean_probability <= part.end + 1e-12


@settings(max_examples=tries(30), deadline=None)
@given(PAIRS, st.text())
def test_the_picture_is_xml_and_shows_each_bin_that_holds_something(pairs, title):
    bins = reliability(*zip(*pairs, strict=True))
    root = ElementTree.fromstring(reliability_plot(bins, title, [title]))
    dots = root.findall(f"{SVG}circle")
    assert len(dots) == sum(part.count > 0 for part in bins)
    wide, high = (float(root.attrib[name]) for name in ("width", "height"))
    for dot in dots:
        assert 0 < float(dot.attrib["cx"]) < wide
        assert 0 < float(dot.attrib["cy"]) < high
    assert len(root.findall(f"{SVG}rect")) == 1 + ECE_BINS
