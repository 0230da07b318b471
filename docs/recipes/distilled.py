"""Can a small model label relevance for everything, taught by labels of a sample?"""

import pnyx
from pnyx.judging import LexicalTrainer, open_student
from pnyx.relevance import Distillation, distil, read_labelled

labelled = list(read_labelled("labelled.jsonl"))  # id, question, document, value
made = distil(labelled, LexicalTrainer(), Distillation("student", held_out=0.5), "student")
held_out = set(made.counts["held_out_questions"])
pairs = [pair for pair in pnyx.read_items("labelled.jsonl", "relevance") if pair.group in held_out]
answers = pnyx.ask(open_student("student"), pairs)
agreement = pnyx.measure_agreement(answers, "example/labels.jsonl")
for name in ("auroc", "average_precision", "f1", "ece"):
    print(name, agreement.measures[name])
