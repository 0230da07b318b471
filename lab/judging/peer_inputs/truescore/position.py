import csv

from truescore.bias import position_bias

pairs = list(csv.DictReader(open("pairs.csv", encoding="utf-8")))
forward = [int(row["forward"] == "A") for row in pairs]
backward = [int(row["backward"] == "B") for row in pairs]
print(position_bias(forward, backward))
