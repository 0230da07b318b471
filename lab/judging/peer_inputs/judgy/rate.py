import csv

import numpy
from judgy import estimate_success_rate

numpy.random.seed(0)
rows = list(csv.DictReader(open("all.csv", encoding="utf-8")))
labelled = [row for row in rows if row["label"]]
rate, low, high = estimate_success_rate(
    test_labels=[int(row["label"] == "pass") for row in labelled],
    test_preds=[int(row["verdict"] == "pass") for row in labelled],
    unlabeled_preds=[int(row["verdict"] == "pass") for row in rows if not row["label"]],
)
print("rate", rate, low, high)
