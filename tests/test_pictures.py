"""Where every part of a picture is, worked out from its numbers."""

from __future__ import annotations

from types import SimpleNamespace

from drawn_pictures import drawn, measured, thresholds_of
from pnyx.display.plots import (
    PlotPanel,
    Point,
    amount_plot,
    interval_plot,
    reliability_plot,
    thresholds_plot,
)
from pnyx.display.profile import profile_plot
from pnyx.display.scatter import Scatter, scatter_plot
from pnyx.display.trials import curve_plot, curves_plot


def expected(text: str) -> list[str]:
    return text.strip().splitlines()


def test_means_are_in_panels_three_a_row():
    """A panel is 250 wide; the labels need 28 * 7.3 = 204.4."""
    panels = [
        PlotPanel("nDCG", [Point("a" * 29, 0.5, 0.4, 0.6, "*"), Point("b", None)], 0.45),
        PlotPanel("P", [Point("a", 0.2), Point("b", 0.8, 0.7)], None, (0.0, 1.0)),
        PlotPanel("R", [Point("a", 1.0), Point("b", 2.0, None, 2.0)]),
        PlotPanel("M", [Point("a", 1.0), Point("b", 1.0)]),
    ]
    assert drawn(interval_plot(panels, ["A note."])) == expected("""
925 x 292
225.0,70.5 end: aaaaaaaaaaaaaaaaaaaaaaaaaaa…
225.0,94.5 end: b
237.0,34.0 head: nDCG
237.0,48.0 - 237.0,102.0 rule
237.0,118.0 tick: 0.40
299.5,48.0 - 299.5,102.0 rule
299.5,118.0 tick: 0.45
362.0,48.0 - 362.0,102.0 rule
362.0,118.0 tick: 0.50
424.5,48.0 - 424.5,102.0 rule
424.5,118.0 tick: 0.55
487.0,48.0 - 487.0,102.0 rule
487.0,118.0 tick: 0.60
299.5,48.0 - 299.5,102.0 base
237.0,66.0 - 487.0,66.0 span
362.0,66.0 dot
499.0,70.5 text: 0.500 *
499.0,94.5 text: –
589.0,34.0 head: P
589.0,48.0 - 589.0,102.0 rule
589.0,118.0 tick: 0.0
714.0,48.0 - 714.0,102.0 rule
714.0,118.0 tick: 0.5
839.0,48.0 - 839.0,102.0 rule
839.0,118.0 tick: 1.0
639.0,66.0 dot
851.0,70.5 text: 0.200
789.0,90.0 dot
851.0,94.5 text: 0.800
225.0,196.5 end: aaaaaaaaaaaaaaaaaaaaaaaaaaa…
225.0,220.5 end: b
237.0,160.0 head: R
237.0,174.0 - 237.0,228.0 rule
237.0,244.0 tick: 1.0
362.0,174.0 - 362.0,228.0 rule
362.0,244.0 tick: 1.5
487.0,174.0 - 487.0,228.0 rule
487.0,244.0 tick: 2.0
237.0,192.0 dot
499.0,196.5 text: 1.000
487.0,216.0 dot
499.0,220.5 text: 2.000
589.0,160.0 head: M
589.0,174.0 - 589.0,228.0 rule
589.0,244.0 tick: 0.95
714.0,174.0 - 714.0,228.0 rule
714.0,244.0 tick: 1.00
839.0,174.0 - 839.0,228.0 rule
839.0,244.0 tick: 1.05
714.0,192.0 dot
851.0,196.5 text: 1.000
714.0,216.0 dot
851.0,220.5 text: 1.000
20.0,272.0 note: A note.
""")


def test_a_profile_has_a_row_for_each_dimension():
    groups = {
        "x": {"clarity": measured(2.0, 1.5, 2.5), "own": measured(3.0)},
        "y": {"clarity": measured(None), "own": measured(1.0, 1.0, 1.5)},
    }
    assert drawn(profile_plot(groups, (1, 3))) == expected("""
628 x 236
20.0,28.0 head: mean rating by dimension
25.0,46.0 dot
36.0,50.0 note: x
67.6,42.0 8 x 8 other
82.6,50.0 note: y
188.0,70.0 - 188.0,190.0 rule
188.0,206.0 tick: 1
338.0,70.0 - 338.0,190.0 rule
338.0,206.0 tick: 2
488.0,70.0 - 488.0,190.0 rule
488.0,206.0 tick: 3
20.0,88.0 note: rhetoric
20.0,94.0 - 488.0,94.0 rule
176.0,112.0 end: Clarity
263.0,103.5 - 413.0,103.5 span
338.0,103.5 dot
542.0,112.0 end: 2.00
596.0,112.0 end: -
20.0,148.0 note: other
20.0,154.0 - 488.0,154.0 rule
176.0,172.0 end: own
488.0,163.5 dot
542.0,172.0 end: 3.00
188.0,172.5 - 263.0,172.5 span other
184.0,168.5 8 x 8 other
596.0,172.0 end: 1.00
""")


def test_a_profile_of_one_group_has_no_legend():
    assert drawn(
        profile_plot({"x": {"overall": measured(0.5), "own": measured(None)}}, (0, 1))
    ) == expected("""
574 x 190
20.0,28.0 head: mean rating by dimension
188.0,50.0 - 188.0,144.0 rule
188.0,160.0 tick: 0
263.0,50.0 - 263.0,144.0 rule
263.0,160.0 tick: 0.25
338.0,50.0 - 338.0,144.0 rule
338.0,160.0 tick: 0.5
413.0,50.0 - 413.0,144.0 rule
413.0,160.0 tick: 0.75
488.0,50.0 - 488.0,144.0 rule
488.0,160.0 tick: 1
176.0,66.0 end head: Overall quality
338.0,62.0 dot
542.0,66.0 end: 0.50
20.0,102.0 note: other
20.0,108.0 - 488.0,108.0 rule
176.0,126.0 end: own
542.0,126.0 end: -
""")


def test_systems_are_points_with_names_where_there_is_room():
    """The corner with fewer points holds the text: the upper one."""
    points = [("one", 0.0, 0.0), ("hidden", 0.02, 0.02), ("two", 0.5, 1.0), ("three", 1.0, 0.1)]
    panel = Scatter("T", "across", "up", points, ["tau 0.3", "rho 0.2"])
    assert drawn(scatter_plot([panel])) == expected("""
418 x 440
78.0,40.0 head: T
78.0,66.0 - 78.0,366.0 rule
78.0,382.0 tick: 0.0
228.0,66.0 - 228.0,366.0 rule
228.0,382.0 tick: 0.5
378.0,66.0 - 378.0,366.0 rule
378.0,382.0 tick: 1.0
78.0,366.0 - 378.0,366.0 rule
70.0,370.0 end note: 0.0
78.0,216.0 - 378.0,216.0 rule
70.0,220.0 end note: 0.5
78.0,66.0 - 378.0,66.0 rule
70.0,70.0 end note: 1.0
228.0,402.0 tick: across
78.0,58.0 note: ↑ up
78.0,366.0 - 378.0,66.0 base
78.0,366.0 dot
84.0,360.0 dot
228.0,66.0 dot
378.0,336.0 dot
370.0,86.0 end: tau 0.3
370.0,104.0 end: rho 0.2
92.0,354.0 note: hidden
236.0,60.0 note: two
370.0,330.0 end note: three
""")


def test_bars_of_a_reliability_diagram_are_54_high_at_most():
    bins = [
        SimpleNamespace(
            start=0.0, end=0.5, count=1, mean_probability=0.25, share=0.0, low=None, high=None
        ),
        SimpleNamespace(
            start=0.5, end=1.0, count=2, mean_probability=0.75, share=0.5, low=0.25, high=1.0
        ),
    ]
    assert drawn(reliability_plot(bins, "judge j", ["A note."])) == expected("""
406 x 554
20.0,32.0 head: judge j
20.0,58.0 note: share of yes
66.0,386.0 - 386.0,386.0 rule
58.0,390.0 end note: 0.0
66.0,322.0 - 386.0,322.0 rule
58.0,326.0 end note: 0.2
66.0,258.0 - 386.0,258.0 rule
58.0,262.0 end note: 0.4
66.0,194.0 - 386.0,194.0 rule
58.0,198.0 end note: 0.6
66.0,130.0 - 386.0,130.0 rule
58.0,134.0 end note: 0.8
66.0,66.0 - 386.0,66.0 rule
58.0,70.0 end note: 1.0
66.0,66.0 - 66.0,386.0 rule
66.0,402.0 tick: 0.0
130.0,66.0 - 130.0,386.0 rule
130.0,402.0 tick: 0.2
194.0,66.0 - 194.0,386.0 rule
194.0,402.0 tick: 0.4
258.0,66.0 - 258.0,386.0 rule
258.0,402.0 tick: 0.6
322.0,66.0 - 322.0,386.0 rule
322.0,402.0 tick: 0.8
386.0,66.0 - 386.0,386.0 rule
386.0,402.0 tick: 1.0
66.0,386.0 - 386.0,66.0 base
66.0,490.0 - 386.0,490.0 rule
67.0,463.0 158.0 x 27.0 bar-mark
146.0,459.0 tick: 1
227.0,436.0 158.0 x 54.0 bar-mark
306.0,432.0 tick: 2
146.0,386.0 dot
306.0,306.0 - 306.0,66.0 span
306.0,226.0 dot
226.0,506.0 tick: probability of yes
20.0,534.0 note: A note.
""")


def test_amounts_are_bars():
    amounts = {
        "q1": SimpleNamespace(mean=0.04, expected=0.44, documents=10, unscored=0),
        "q2": SimpleNamespace(mean=None, expected=0.0, documents=0, unscored=3),
        "": SimpleNamespace(mean=0.05, expected=0.1, documents=2, unscored=0),
    }
    assert drawn(amount_plot(amounts, {"q1": "First"})) == expected("""
613 x 178
20.0,30.0 head: relevant information by question: mean probability of a document
93.0,58.0 - 93.0,130.0 rule
93.0,146.0 tick: 0
157.0,58.0 - 157.0,130.0 rule
157.0,146.0 tick: 0.01
221.0,58.0 - 221.0,130.0 rule
221.0,146.0 tick: 0.02
285.0,58.0 - 285.0,130.0 rule
285.0,146.0 tick: 0.03
349.0,58.0 - 349.0,130.0 rule
349.0,146.0 tick: 0.04
413.0,58.0 - 413.0,130.0 rule
413.0,146.0 tick: 0.05
85.0,79.0 end: First
93.0,67.0 256.0 x 16.0 bar-mark
425.0,79.0 note: 0.4 of 10 expected
85.0,101.0 end: q2
93.0,89.0 0.0 x 16.0 bar-mark
425.0,101.0 note: none of 3 scored
85.0,123.0 end: all pairs
93.0,111.0 320.0 x 16.0 bar-mark
425.0,123.0 note: 0.1 of 2 expected
""")


def test_f1_by_threshold_is_beside_f1_by_number_of_documents():
    thresholds = thresholds_of([0.0, 0.5, 1.0], [0.4, 0.6, None], [1, 2, 4], [0.2, 0.5, 0.3])
    assert drawn(thresholds_plot(thresholds)) == expected("""
848 x 380
20.0,30.0 head: j: which documents to take
54.0,48.0 82.0,48.0 line s1 / 2.5
88.0,52.0 text: F1
164.0,48.0 192.0,48.0 line s4 / 1.5 / 2 3
198.0,52.0 text: recall
274.0,48.0 302.0,48.0 line s3 / 1.5 / 6 4
308.0,52.0 text: precision
54.0,316.0 - 394.0,316.0 rule
46.0,320.0 end note: 0.0
54.0,268.0 - 394.0,268.0 rule
46.0,272.0 end note: 0.2
54.0,220.0 - 394.0,220.0 rule
46.0,224.0 end note: 0.4
54.0,172.0 - 394.0,172.0 rule
46.0,176.0 end note: 0.6
54.0,124.0 - 394.0,124.0 rule
46.0,128.0 end note: 0.8
54.0,76.0 - 394.0,76.0 rule
46.0,80.0 end note: 1.0
54.0,76.0 - 54.0,316.0 rule
54.0,332.0 tick: 0
122.0,76.0 - 122.0,316.0 rule
122.0,332.0 tick: 0.2
190.0,76.0 - 190.0,316.0 rule
190.0,332.0 tick: 0.4
258.0,76.0 - 258.0,316.0 rule
258.0,332.0 tick: 0.6
326.0,76.0 - 326.0,316.0 rule
326.0,332.0 tick: 0.8
394.0,76.0 - 394.0,316.0 rule
394.0,332.0 tick: 1
54.0,244.0 224.0,196.0 224.0,148.0 54.0,196.0 band s1
54.0,220.0 224.0,172.0 line s3 / 1.5 / 6 4
54.0,220.0 224.0,220.0 394.0,220.0 line s4 / 1.5 / 2 3
54.0,220.0 224.0,172.0 line s1 / 2.5
224.0,350.0 tick: probability from which documents are taken
488.0,316.0 - 828.0,316.0 rule
480.0,320.0 end note: 0.0
488.0,268.0 - 828.0,268.0 rule
480.0,272.0 end note: 0.2
488.0,220.0 - 828.0,220.0 rule
480.0,224.0 end note: 0.4
488.0,172.0 - 828.0,172.0 rule
480.0,176.0 end note: 0.6
488.0,124.0 - 828.0,124.0 rule
480.0,128.0 end note: 0.8
488.0,76.0 - 828.0,76.0 rule
480.0,80.0 end note: 1.0
488.0,76.0 - 488.0,316.0 rule
488.0,332.0 tick: 1
658.0,76.0 - 658.0,316.0 rule
658.0,332.0 tick: 2
488.0,292.0 658.0,220.0 828.0,268.0 828.0,220.0 658.0,172.0 488.0,244.0 band s1
488.0,268.0 658.0,196.0 828.0,244.0 line s3 / 1.5 / 6 4
488.0,268.0 658.0,268.0 828.0,268.0 line s4 / 1.5 / 2 3
488.0,268.0 658.0,196.0 828.0,244.0 line s1 / 2.5
658.0,350.0 tick: number k of documents taken for each question
54.0,172.0 - 394.0,172.0 base
224.0,172.0 dot
488.0,172.0 - 828.0,172.0 base
658.0,196.0 dot
""")


def point(value, low=None, high=None):
    return {"value": value, "scored": 2, "asked": 2, "low": low, "high": high}


def test_curves_beyond_the_fifth_are_dashed():
    curves = {
        f"c{n}": {
            "levels": [0, 0.5, 1.0],
            "points": [point(1.0, 0.9, 1.0), point(0.5, 0.4, 0.6), point(0.25 if n else None)],
        }
        for n in range(6)
    }
    assert drawn(curves_plot(curves, "share", "head", "title", band=True)) == expected("""
616 x 336
20.0,28.0 head: head
66.0,276.0 - 426.0,276.0 rule
58.0,280.0 end note: 0.0
66.0,166.0 - 426.0,166.0 rule
58.0,170.0 end note: 0.5
66.0,56.0 - 426.0,56.0 rule
58.0,60.0 end note: 1.0
246.0,56.0 - 246.0,276.0 rule
246.0,292.0 tick: 50 %
426.0,56.0 - 426.0,276.0 rule
426.0,292.0 tick: 100 %
66.0,78.0 246.0,188.0 246.0,144.0 66.0,56.0 band s1
66.0,56.0 246.0,166.0 line s1 / 2.5
436.0,62.0 462.0,62.0 line s1 / 2
468.0,66.0 ink s1: c0
66.0,56.0 246.0,166.0 426.0,221.0 line s2 / 2.5
436.0,78.0 462.0,78.0 line s2 / 2
468.0,82.0 ink s2: c1
66.0,56.0 246.0,166.0 426.0,221.0 line s3 / 2.5
436.0,94.0 462.0,94.0 line s3 / 2
468.0,98.0 ink s3: c2
66.0,56.0 246.0,166.0 426.0,221.0 line s4 / 2.5
436.0,110.0 462.0,110.0 line s4 / 2
468.0,114.0 ink s4: c3
66.0,56.0 246.0,166.0 426.0,221.0 line s5 / 2.5
436.0,126.0 462.0,126.0 line s5 / 2
468.0,130.0 ink s5: c4
66.0,56.0 246.0,166.0 426.0,221.0 line s1 / 2.5 / 7 4
436.0,142.0 462.0,142.0 line s1 / 2 / 7 4
468.0,146.0 ink s1: c5
246.0,310.0 tick: share of documents replaced
""")


def test_a_curve_of_a_trial_has_its_outcome():
    curve = {"levels": [0, 2], "points": [point(0.8, 0.7, 0.9), point(0.4, 0.3, 0.5)]}
    row = {"trial": "lies", "task": "support", "outcome": "passed", "unit": "sentences"}
    assert drawn(curve_plot({**row, "curves": {"score": curve}})) == expected("""
616 x 336
20.0,28.0 head: lies: passed
66.0,276.0 - 426.0,276.0 rule
58.0,280.0 end note: 0.0
66.0,166.0 - 426.0,166.0 rule
58.0,170.0 end note: 0.5
66.0,56.0 - 426.0,56.0 rule
58.0,60.0 end note: 1.0
426.0,56.0 - 426.0,276.0 rule
426.0,292.0 tick: 2
66.0,122.0 426.0,210.0 426.0,166.0 66.0,78.0 band s1
66.0,100.0 426.0,188.0 line s1 / 2.5
436.0,66.0 ink s1: score
246.0,310.0 tick: sentences contradicted
""")
