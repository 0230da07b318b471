"""The help text of each flag that several specs have: a flag has one meaning in all commands.

A field whose `opt` has no text of its own takes that of its flag. What a command adds, such as the
kind of file, is in the placeholder of the value and in the command's description.
"""

from __future__ import annotations

from typing import Final

FLAG_HELP: Final = {
    "--against": "Earlier result to compare with (JSON).",
    "--baseline": "What the others are compared with.",
    "--by": "Judge whose answers to use, if there are several.",
    "--certainty": "Minimum probability that a document argues a side.",
    "--column": "Column or key of a field, e.g. text=body.",
    "--concurrency": "Concurrent requests; fewer while a server is overloaded.",
    "--context": "Tokens of documents shown to the language model.",
    "--cutoff": "Cutoff rank.",
    "--depth": "Number of best documents of each question to judge, rerank or read.",
    "--dimensions": "quality: dimensions of your own (docs/recipes/judging-quality.md).",
    "--examples": "Examples to show to the language model (few-shot).",
    "--export": "Write all of it here, instead of showing it.",
    "--force": "Replace what is at --out, including edits.",
    "--format": "Format of the input.",
    "--from-store": "Ask nothing; read stored replies again. Others are unscored.",
    "--html": "Write an HTML page, in one file.",
    "--id": "Id of the question.",
    "--index": "Index that holds the documents.",
    "--judge": "Who answers: packaged, a language model (http://HOST:PORT/v1#MODEL, openai:MODEL, "
    "local, gguf:PATH), people's labels, earlier results, a student, or FILE.toml; several vote "
    "(docs/reference/judges.md).",
    "--judge-format": "How the judge is asked.",
    "--labels": "People's labels (JSONL), by id.",
    "--lambda": "mmr: weight of relevance, as opposed to novelty, 0 to 1.",
    "--leaning": "Measure how far a retriever follows the side of its query.",
    "--llm": "Language model: http://HOST:PORT/v1#MODEL, openai:MODEL, local (packaged, tiny) or "
    "gguf:PATH.",
    "--margin": "By how much a figure may be worse.",
    "--measure": "Measure, by its name in docs/reference/measures.md.",
    "--min-judged": "Minimum judged share; values below it are left out.",
    "--model": "Ranking model. touche needs an index with --clusters and --quality; dense and "
    "hybrid need one with --vectors.",
    "--most": "Maximum number to draft.",
    "--nuggets": "Nugget banks, in any format; a folder may hold one per topic.",
    "--out": "Where to write the result.",
    "--per-topic": "Show the values of each topic.",
    "--perspectives": "Perspectives (JSONL; also BERDS's).",
    "--plot": "Draw a figure.",
    "--prompt": "Prompt of the language model: a packaged one (pnyx prompt) or a file (.toml).",
    "--qrels": "Relevance judgements (qrels).",
    "--qrels-out": "Also write TREC qrels.",
    "--reason": "Give a reason before the guess.",
    "--retrieve": "Documents to retrieve.",
    "--run": "TREC run: use its first --depth documents.",
    "--run-id": "run_id to write.",
    "--seed": "Random seed.",
    "--shots": "Number of examples shown to the language model.",
    "--stance": "Side of the question that you want.",
    "--store": "Judgement store: it keeps the replies of language models.",
    "--strict": "Apply the rules of a campaign.",
    "--strict-files": "Treat unreadable files, and documents without text, as errors.",
    "--style": "How citations are written.",
    "--test": "Paired significance test.",
    "--to": "Format to write.",
    "--topics": "File of questions or report requests.",
    "--topics-of": "Topics to measure.",
    "--track": "Track whose rules apply: rag24, rag25, rag26, ragtime25, ragtime26, neuclir, "
    "dragun25.",
    "--unit": "Whole documents, or passages of about 40 to 150 words.",
    "--unjudged": "How to treat pairs missing from the qrels.",
    "--unscored": "Unscored values: refuse to write (error), leave out (skip), or write 0.",
    "--window": "Documents or passages shown to the language model at once.",
    "--words": "Maximum words of a passage.",
    "--words-only": "Index words only, which is far faster: no quality, no vectors.",
    "--writer": "Quote sentences from the documents, or let the language model write.",
}
