"""Which of my judges is the cheapest that is good enough? Folders are what `pnyx judge` wrote."""

from pathlib import Path

from pnyx.audit import choose_judge, judges_html

folders = {"packaged": "packaged", "mini": "mini"}
found = choose_judge(folders, "example/item-labels.jsonl", margin=0.05, by="seconds")
for judge in found.judges:
    print(judge.name, judge.measures["accuracy"], judge.usd, judge.seconds)
print("take", found.choice)
Path("judges.html").write_text(judges_html(found), encoding="utf-8")
