import csv

from judgecal.core import Judgment
from judgecal.probes.base import ProbeConfig
from judgecal.probes.position import PositionProbe

judgments = []
for row in csv.DictReader(open("pairs.csv", encoding="utf-8")):
    for column, condition, first in (("forward", "orig", "A"), ("backward", "swap", "B")):
        meta = {"probe": "position", "condition": condition, "item_id": row["pair"]}
        meta |= {"repeat": 0, "first_is_a": first == "A", "label_first": None}
        verdict = "first" if row[column] == first else "second"
        judgments.append(Judgment(row["pair"] + condition, verdict, None, meta))
result = PositionProbe().analyze(judgments, ProbeConfig())
for estimate in result.estimates:
    print(estimate.name, estimate.estimate, estimate.ci_low, estimate.ci_high)
