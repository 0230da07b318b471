import csv
import json

with open("pairs.csv", encoding="utf-8") as table, open("judged.jsonl", "w") as out:
    for row in csv.DictReader(table):
        texts = {"question": row["pair"], "answer_a": "a", "answer_b": "b"}
        models = {"model_a": "", "model_b": ""}
        record = {"pair_id": row["pair"], **texts, **models, "human_winner": row["human"]}
        line = {"schema": "judgemetry/judged@1", "record": record, "judge": "mine"}
        for column in ("forward", "backward"):
            stated = {"confidence": 1.0, "raw": "", "refused": False}
            line[column] = {"winner": row[column], **stated}
        print(json.dumps(line), file=out)
