"""All formats by name: what tests, `pnyx validate`, `pnyx convert` and the docs go through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pnyx.corpora import (
    argsme,
    drafts_markdown,
    dumps,
    evidence,
    folder,
    guidelines,
    irdatasets,
    items,
    perspectives,
    questions,
    responses,
    search_results,
    tables,
    topics_xml,
    trec,
)
from pnyx.corpora import responses_out as out
from pnyx.corpora.base import Format, Row, Scan, Writer, with_options

__all__ = ["FORMATS"]


def _evidence(
    name: str, description: str, scan: Scan, example: str, writer: Writer | None = None
) -> Format:
    return Format(name, "evidence", description, scan, example, writer, "documents")


def _questions(
    name: str,
    description: str,
    scan: Callable[[str], Iterator[Row[Any]]],
    writer: Writer,
    example: str,
) -> Format:
    scan_any = with_options(scan)
    return Format(name, "questions", description, scan_any, example, writer, "questions")


def _items(item: items.ItemFormat) -> Format:
    def scan(source: str) -> Iterator[Row[Any]]:
        return items.scan_items_file(source, item.name)

    return Format(
        item.name, "items", item.description, with_options(scan), item.example + "\n", None, "items"
    )


_DEBATE = (
    '[{"url": "https://debatewise.org/debates/7-tea/", "claim_title": "Tea is healthy", '
    '"perspectives_for": [{"perspective_title": "It relaxes", "argument": '
    '{"description": ["Tea calms."], "reference": []}, "counter_argument": []}], '
    '"perspectives_against": []}]\n'
)

_EVIDENCE = (
    _evidence(
        "jsonl",
        "one document a line: id, text, title, url, source; further fields are carried along",
        evidence.scan_jsonl,
        '{"id": "d1", "title": "Tea", "text": "Tea holds antioxidants.", '
        '"url": "https://example.org/tea"}\n',
        evidence.write_jsonl,
    ),
    _evidence(
        "arguments",
        "one argument a line: id, conclusion, premises, stance, text, topic, source, url",
        evidence.scan_arguments,
        '{"id": "a1", "conclusion": "Tea is healthy", "premises": ["It holds antioxidants."], '
        '"stance": "pro", "topic": "Should we drink tea?", "source": "example"}\n',
        evidence.write_arguments,
    ),
    _evidence(
        "csv",
        "a comma-separated table with a header; --column FIELD=NAME where names differ",
        tables.scan_csv,
        'id,title,text\nd1,Tea,"Tea holds antioxidants, it is said."\n',
        tables.write_csv,
    ),
    _evidence(
        "tsv",
        "a tab-separated table with a header, quoted like CSV",
        tables.scan_tsv,
        "id\ttitle\ttext\nd1\tTea\tTea holds antioxidants.\n",
        tables.write_tsv,
    ),
    _evidence(
        "beir",
        "a BEIR folder with corpus.jsonl, or that file: _id, title, text, metadata",
        evidence.scan_beir,
        '{"_id": "d1", "title": "Tea", "text": "Tea holds antioxidants.", "metadata": {}}\n',
        evidence.write_beir,
    ),
    _evidence(
        "pyserini",
        "one document a line: id, contents; a first line in double quotes is the title",
        evidence.scan_pyserini,
        '{"id": "d1", "contents": "\\"Tea\\"\\nTea holds antioxidants."}\n',
    ),
    _evidence(
        "argsme",
        'the args.me corpus: {"arguments": [...]}, read as a stream',
        with_options(argsme.scan_argsme),
        '{"arguments":[\n{"id": "c1-2019", "conclusion": "Tea is healthy", "premises": '
        '[{"text": "It holds antioxidants.", "stance": "PRO"}], '
        '"context": {"sourceId": "c1", "sourceDomain": "debate.org"}}\n]}\n',
        argsme.write_argsme,
    ),
    _evidence(
        "folder",
        "a folder of .txt, .html, .htm and .pdf files, or one such file; the id is the path",
        folder.scan_folder,
        "corpus/tea.txt\ncorpus/pages/coffee.html\n",
    ),
    _evidence(
        "ir_datasets",
        "the documents of an ir_datasets id, named as ir_datasets:ID",
        irdatasets.scan_ir_datasets,
        "ir_datasets:argsme/2020-04-01\n",
    ),
    _evidence(
        "debatewise",
        "the raw Debatewise dump beside Perspectrum",
        with_options(dumps.scan_debatewise),
        _DEBATE,
    ),
    _evidence(
        "procon",
        "the raw ProCon dump beside Perspectrum",
        with_options(dumps.scan_procon),
        _DEBATE.replace("debatewise.org/debates/7-tea/", "tea.procon.org"),
    ),
    _evidence(
        "idebate",
        "the ArguAna counterargs corpus as JSONL, with debates.jsonl beside it",
        with_options(dumps.scan_idebate),
        '{"id": "test-tea-pro01a", "split": "test", "theme": "food", "debate": "tea", '
        '"stance": "pro", "side": "pro", "number": 1, "type": "point", '
        '"conclusion": "Tea is healthy", "premise": "It holds antioxidants."}\n',
    ),
)

_QUESTIONS = (
    _questions(
        "questions",
        "one question a line: id, text; optional description, narrative, definition",
        questions.scan_questions,
        questions.write_questions,
        '{"id": "q1", "text": "Is tea healthy?", "definition": "Effects of tea on health."}\n',
    ),
    _questions(
        "beir-queries",
        "BEIR queries.jsonl: _id, text, metadata",
        questions.scan_beir_queries,
        questions.write_beir_queries,
        '{"_id": "q1", "text": "Is tea healthy?", "metadata": {}}\n',
    ),
    _questions(
        "topics",
        "report requests: request_id, title, problem_statement, background; RAG topics",
        questions.scan_topics,
        questions.write_topics,
        '{"request_id": "q1", "title": "Is tea healthy?", "problem_statement": "I drink a lot.", '
        '"background": "A layperson.", "limit": 2000}\n',
    ),
    _questions(
        "topics-tsv",
        "one question a line: id, tab, text (TREC RAG 2024)",
        questions.scan_topics_tsv,
        questions.write_topics_tsv,
        "q1\tIs tea healthy?\n",
    ),
    _questions(
        "touche-topics",
        "Touché topics XML: number, title, description, narrative",
        topics_xml.scan_topics_xml,
        topics_xml.write_topics_xml,
        "<topics>\n<topic><number>1</number><title>Is tea healthy?</title></topic>\n</topics>\n",
    ),
    _questions(
        "guidelines",
        "questions with definitions of relevance as Markdown, for people to edit",
        guidelines.scan_guidelines,
        guidelines.write_guidelines,
        "## q1: Is tea healthy?\n\nEffects of tea on health:\n- on the heart\n- on sleep\n",
    ),
)

_PERSPECTIVES = (
    Format(
        "perspectives",
        "perspectives",
        "one perspective a line: id, question_id, text, stance; optional question",
        with_options(perspectives.scan_perspectives),
        '{"id": "p1", "question_id": "q1", "text": "Tea is healthy.", "stance": "pro", '
        '"question": "Is tea healthy?"}\n',
        perspectives.write_perspectives,
        "perspectives",
    ),
    Format(
        "berds",
        "perspectives",
        "BERDS: one question a line with all its perspectives, or its query expansion",
        with_options(perspectives.scan_gold_perspectives),
        '{"question": "Is tea healthy?", "perspectives": ["Tea is healthy.", "Tea is harmful."]}\n',
        None,
        "perspectives",
    ),
    Format(
        "berds-expansions",
        "perspectives",
        "BERDS's query expansion, read for what its model wrote: org_id, org_q, id, text",
        with_options(perspectives.scan_perspectives),
        '{"org_id": "7", "org_q": "Is tea healthy?", "id": 1, "text": "Tea calms people."}\n',
        None,
        "perspectives",
    ),
)

_TREC = (
    Format(
        "run",
        "run",
        "TREC run: topic, Q0, document, rank, score, tag",
        with_options(trec.scan_run),
        "q1 Q0 d1 1 14.89 bm25\n",
        trec.write_run,
        "run entries",
    ),
    Format(
        "qrels",
        "qrels",
        "TREC qrels: topic, subtopic (0 unless diversity qrels), document, grade",
        with_options(trec.scan_qrels),
        "q1 0 d1 2\n",
        trec.write_qrels,
        "judgments",
    ),
    Format(
        "beir-qrels",
        "qrels",
        "BEIR qrels: tab-separated with the header query-id, corpus-id, score",
        with_options(trec.scan_beir_qrels),
        "query-id\tcorpus-id\tscore\nq1\td1\t2\n",
        trec.write_beir_qrels,
        "judgments",
    ),
)

_RESPONSES = (
    Format(
        "rag24",
        "responses",
        "TREC RAG 2024: one flat object a line, with answer and references",
        responses.scan_responses("rag24"),
        '{"run_id": "r1", "topic_id": "q1", "topic": "Is tea healthy?", "references": ["d1"], '
        '"response_length": 3, "answer": [{"text": "Tea is healthy.", "citations": [0]}]}\n',
        out.response_writer("rag24", "indices"),
        "responses",
    ),
    Format(
        "rag25",
        "responses",
        "TREC RAG 2025/26: metadata, references, answer; what `pnyx argue` writes",
        responses.scan_responses("rag25"),
        '{"metadata": {"team_id": "t", "run_id": "r1", "narrative_id": "q1"}, '
        '"references": ["d1"], "answer": [{"text": "Tea is healthy.", "citations": ["d1"]}]}\n',
        out.response_writer("rag25", "ids"),
        "responses",
    ),
    Format(
        "ragtime",
        "responses",
        "RAGTIME, NeuCLIR and DRAGUN reports: metadata, responses, references",
        responses.scan_responses("ragtime"),
        '{"metadata": {"team_id": "t", "run_id": "r1", "topic_id": "q1"}, "references": ["d1"], '
        '"responses": [{"text": "Tea is healthy.", "citations": {"d1": 0.9}}]}\n',
        out.response_writer("ragtime", "ids"),
        "responses",
    ),
)

_DRAFTS_MARKDOWN = Format(
    "drafts-markdown",
    "items",
    "drafts as Markdown, for people to read and edit",
    with_options(drafts_markdown.scan_drafts_markdown),
    "## 1: Is tea healthy?\n\n- pro: Tea is healthy.\n- con: Tea is not healthy.\n\n"
    '> drafted_by: "rule"\n',
    None,
    "drafts",
)

_SEARCH_RESULTS = Format(
    "search-results",
    "items",
    "results of web searches: question_id, query, api, retrieved_at, results",
    with_options(search_results.scan_search_results),
    '{"question_id": "q1", "query": "Is tea healthy?", "api": "serper", "retrieved_at": '
    '"2026-11-22T10:00:00+00:00", "results": [{"rank": 1, "url": "https://example.org/tea", '
    '"title": "Tea", "snippet": "Tea holds ..."}]}\n',
    None,
    "search results",
)

FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        *_EVIDENCE,
        *_QUESTIONS,
        *_PERSPECTIVES,
        *_TREC,
        *_RESPONSES,
        _SEARCH_RESULTS,
        *(_items(item) for item in items.ITEM_FORMATS.values()),
        _DRAFTS_MARKDOWN,
    )
}
"""Every format by the name that `--format`, `--from` and `--to` take."""
