"""Does a judge still say yes when a sentence of the text is turned into its contrary?"""

import pnyx
from pnyx.audit import Stress, try_judge

judge = pnyx.PackagedJudge()  # or a language model: pnyx.LlmJudge(...)
items = pnyx.read_items("example/items.jsonl", "support")
trial = try_judge(judge, "hallucination", items, Stress(limit=24))
print(trial["expects"], "-", trial["outcome"])
print(trial["measures"]["fall"])
print(*(problem["said"] for problem in trial["problems"]), sep="\n")
