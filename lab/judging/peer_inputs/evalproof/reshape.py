import csv
import json

rows = list(csv.DictReader(open("all.csv", encoding="utf-8")))
names = "suite system dataset_path dataset_hash started_at finished_at evalproof_version"
info = dict.fromkeys(names.split(), "-") | {"wall_time_s": 0, "seed": 0}
results = []
for row in rows:
    passed = row["verdict"] == "pass"
    scores = {"judge": {"value": float(passed), "passed": passed}}
    output = {"output": row["answer"]}
    results.append({"case_id": row["id"], "output": output, "scores": scores})
json.dump({"info": info, "results": results}, open("run.json", "w"))
with open("labels.jsonl", "w") as out:
    for row in rows:
        if row["label"]:
            print(json.dumps({"id": row["id"], "label": row["label"] == "pass"}), file=out)
