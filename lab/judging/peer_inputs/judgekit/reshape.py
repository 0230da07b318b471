import csv
import json

judge, human = open("judge.jsonl", "w"), open("human.jsonl", "w")
for row in csv.DictReader(open("results.csv", encoding="utf-8")):
    p = float(row["probability"])
    passed = row["verdict"] == "pass"
    line = {"kind": "binary", "item_id": row["id"]}
    verdict = {"label": passed, "confidence": p if passed else 1 - p}
    print(json.dumps(line | verdict), file=judge)
    print(json.dumps(line | {"label": row["label"] == "pass"}), file=human)
for row in csv.DictReader(open("pairs.csv", encoding="utf-8")):
    line = {"kind": "pairwise", "item_id": row["pair"]}
    for column, swapped in (("forward", False), ("backward", True)):
        choice = row[column].lower()
        print(json.dumps(line | {"choice": choice, "swapped": swapped}), file=judge)
