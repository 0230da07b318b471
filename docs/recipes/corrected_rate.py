"""A judge read all 240, I read 60 of them, picked at random: how many of all are a yes?"""

import json
import random
from pathlib import Path

import pnyx

items = pnyx.read_items("example/items.jsonl", "support")
answers = pnyx.ask(pnyx.PackagedJudge(), items)
lines = Path("example/item-labels.jsonl").read_text().splitlines()
mine = [json.loads(line) for line in random.Random(0).sample(lines, 60)]
print(pnyx.corrected_rate(answers, mine))
