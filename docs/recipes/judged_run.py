"""How good is a TREC run on a collection that nobody has labelled?"""

import pnyx
from pnyx.core.records import Qrel
from pnyx.judging import pairs_of_run

pairs = list(pairs_of_run("bm25.run", "my.index", "example/questions.md", depth=10))
answers = pnyx.ask(pnyx.PackagedJudge("relevance"), pairs)
qrels = [
    Qrel(pair.extra["question_id"], pair.extra["doc_id"], int(answer.value))
    for pair, answer in zip(pairs, answers, strict=True)
    if isinstance(answer, pnyx.Judged)
]
print(pnyx.measure_retrieval({"bm25": "bm25.run"}, qrels, ["P@10"], topics_of="run"))
