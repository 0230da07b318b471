"""Which of two retrievers ranks better, and is the difference more than chance?"""

import pnyx

documents = pnyx.open("example/arguments.jsonl")
runs = {
    model: documents.run("example/questions.md", k=100, model=model) for model in ("bm25", "hybrid")
}  # or TREC files: {"mine": "mine.run", "theirs": "theirs.run"}
measured = pnyx.measure_retrieval(runs, "example/qrels.txt", ["nDCG@10", "P@10"], baseline="bm25")
print(measured)
for difference in measured.comparisons:
    print(difference.run, difference.measure, difference.test.difference, difference.p_holm)
