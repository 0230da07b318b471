import csv
import json

with open("results.csv", encoding="utf-8") as table, open("labels.jsonl", "w") as out:
    for row in csv.DictReader(table):
        labels = {"human_label": row["label"], "judge_label": row["verdict"]}
        line = {"id": row["id"], "input": row["question"], "output": row["answer"], **labels}
        print(json.dumps(line), file=out)
