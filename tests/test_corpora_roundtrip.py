"""Every format with a writer: reading what it wrote gives the same records."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pnyx.core.errors import InputError
from pnyx.core.files import clean_text
from pnyx.core.records import (
    CITATION_STYLES,
    Argument,
    Citation,
    Document,
    Premise,
    Qrel,
    Question,
    Response,
    RunEntry,
    Sentence,
)
from pnyx.formats import FORMATS, response_writer
from pnyx.formats.base import Options
from pnyx.formats.reports.responses import LAYOUTS
from tries import tries

SPECIAL = "\t\n\r\"',;[]{}<>&\u0085\u2028\u2029\ufeff\u00a0\u200b\0 aé漢🙂"
any_text = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(SPECIAL), max_size=12)
texts = any_text.map(clean_text)
filled = texts.filter(str.strip)
optional = texts.filter(lambda t: t == "" or bool(t.strip()))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
names = st.sampled_from(["x", "lang", "Année", "meta data", "x-1"])
extras = st.dictionaries(names, json_values, max_size=2)
stances = st.sampled_from(["pro", "con", "neutral", None])
unique_by_id = {"min_size": 1, "max_size": 4, "unique_by": lambda r: r.id}

documents = st.builds(
    Document, id=filled, text=filled, title=optional, url=optional, source=optional, extra=extras
)
premises = st.builds(
    Premise, text=texts, stance=st.sampled_from(["pro", "con", None]), extra=extras
)


def has_text(argument: Argument) -> bool:
    return bool(argument.text.strip())


def arguments(text=filled, optional=optional, premises=premises, extras=extras):
    return st.builds(
        Argument,
        id=text,
        conclusion=optional,
        premises=st.lists(premises, max_size=3).map(tuple),
        stance=stances,
        topic=optional,
        source=optional,
        url=optional,
        body=st.none() | text.map(lambda t: t + " (body)"),
        extra=extras,
    ).filter(has_text)


questions = st.builds(
    Question,
    id=filled,
    text=filled,
    description=optional,
    narrative=optional,
    definition=optional,
    extra=extras,
)


def check(name: str, records: list, path: Path, writer=None) -> None:
    stream = io.StringIO()
    (writer or FORMATS[name].writer)(stream, records)
    path.write_text(stream.getvalue(), encoding="utf-8", newline="")
    assert list(FORMATS[name].reader(str(path))) == records


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("roundtrip") / "file"


quick = settings(max_examples=tries(40), deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("name", ["jsonl", "beir"])
@quick
@given(records=st.lists(documents | arguments(), **unique_by_id))
def test_evidence_lines(name, records, path):
    check(name, records, path)


@pytest.mark.parametrize("name", ["arguments", "argsme"])
@quick
@given(records=st.lists(arguments(), **unique_by_id))
def test_arguments(name, records, path):
    check(name, records, path)


@pytest.mark.parametrize("name", ["csv", "tsv"])
@quick
@given(data=st.data())
def test_tables(name, data, path):
    columns = data.draw(st.lists(names, unique=True, max_size=2))
    extra = st.fixed_dictionaries(dict.fromkeys(columns, filled))
    rows = (
        st.builds(
            Document,
            id=filled,
            text=filled,
            title=optional,
            url=optional,
            source=optional,
            extra=extra,
        )
        if data.draw(st.booleans())
        else arguments(filled, optional, st.builds(Premise, text=texts), extra)
    )
    check(name, data.draw(st.lists(rows, **unique_by_id)), path)


@pytest.mark.parametrize("name", ["questions", "beir-queries", "topics"])
@quick
@given(records=st.lists(questions, **unique_by_id))
def test_questions(name, records, path):
    check(name, records, path)


plain = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff\ufffe\uffff")
    | st.sampled_from(" é<&>"),
    max_size=12,
).filter(str.strip)


@quick
@given(records=st.lists(st.builds(Question, id=plain, text=plain), **unique_by_id))
def test_topics_tsv(records, path):
    check("topics-tsv", records, path)


lines = st.text(
    st.characters(exclude_categories=["Cs", "Z"], exclude_characters="\0\r\n")
    | st.sampled_from("#\\- a"),
    max_size=8,
)
definitions = (
    st.lists(lines, max_size=4)
    .map("\n".join)
    .filter(lambda d: d == d.strip("\n") and (d.strip() or not d))
)
words = st.text("ab:#\\é(", min_size=1, max_size=6)


@quick
@given(
    records=st.lists(
        st.builds(Question, id=words, text=words, definition=definitions), **unique_by_id
    )
)
def test_guidelines(records, path):
    check("guidelines", records, path)


xml_texts = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
    | st.sampled_from(" \t\n\ré<&>]"),
    max_size=12,
).filter(str.strip)


@quick
@given(
    records=st.lists(
        st.builds(
            Question,
            id=xml_texts,
            text=xml_texts,
            description=xml_texts | st.just(""),
            narrative=xml_texts | st.just(""),
            extra=st.dictionaries(st.sampled_from(["objects", "x-1"]), xml_texts),
        ),
        **unique_by_id,
    )
)
def test_topics_xml(records, path):
    check("touche-topics", records, path)


ids = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=" \ufeff"),
    min_size=1,
    max_size=8,
)
scores = st.floats(allow_nan=False, allow_infinity=False)
ranks = st.integers(-(10**9), 10**9)


@quick
@given(
    records=st.lists(
        st.builds(RunEntry, topic_id=ids, doc_id=ids, rank=ranks, score=scores, tag=ids),
        min_size=1,
        max_size=4,
        unique_by=lambda e: (e.topic_id, e.doc_id),
    )
)
def test_run(records, path):
    check("run", records, path)


@pytest.mark.parametrize("name", ["qrels", "beir-qrels"])
@quick
@given(data=st.data())
def test_qrels(name, data, path):
    subtopics = ids if name == "qrels" else st.just("0")
    qrel = st.builds(Qrel, topic_id=ids, doc_id=ids, grade=st.integers(-2, 5), subtopic=subtopics)
    key = {"unique_by": lambda q: (q.topic_id, q.subtopic, q.doc_id)}
    check(name, data.draw(st.lists(qrel, min_size=1, max_size=4, **key)), path)


def responses(style: str, layout: str):
    cited = st.sampled_from(["d1", "d2", "d 3", ""])
    score = st.floats(0, 1) if style == "scores" else st.none()
    citations = st.lists(
        st.builds(Citation, doc_id=cited, score=score), max_size=3, unique_by=lambda c: c.doc_id
    ).map(tuple)
    sentence = st.builds(Sentence, text=texts, citations=citations, extra=extras)
    embedded = st.fixed_dictionaries(
        {},
        optional={
            "d1": st.builds(Document, id=st.just("d1"), text=optional, title=optional, extra=extras)
        },
    )
    return st.builds(
        Response,
        topic_id=filled,
        run_id=filled,
        sentences=st.lists(sentence, max_size=3).map(tuple),
        references=st.permutations(["d1", "d2", "d 3", "", "d5"]).map(tuple),
        team_id=optional,
        topic=optional,
        documents=embedded,
        metadata=st.just({}) if layout == "rag24" else extras,
        extra=extras,
    )


@pytest.mark.parametrize("style", CITATION_STYLES)
@pytest.mark.parametrize("layout", LAYOUTS)
@settings(quick, max_examples=tries(15))
@given(data=st.data())
def test_responses(layout, style, data, path):
    key = {"unique_by": lambda r: (r.run_id, r.topic_id)}
    records = data.draw(st.lists(responses(style, layout), min_size=1, max_size=3, **key))
    check(layout, records, path, response_writer(layout, style))


def test_a_response_goes_through_every_layout_and_style(tmp_path):
    response = Response(
        topic_id="q1",
        run_id="r1",
        sentences=(Sentence("One.", (Citation("d2"), Citation("d1"))), Sentence("Two.")),
        references=("d1", "d2"),
        team_id="t",
        topic="Is tea healthy?",
    )
    records = [response]
    for layout in LAYOUTS:
        for style in ("ids", "indices"):
            check(layout, records, tmp_path / "f", response_writer(layout, style))


def test_cited_documents_are_added_to_the_references(tmp_path):
    out = io.StringIO()
    response = Response("q", "r", (Sentence("A.", (Citation("d9"),)),), ("d1",))
    FORMATS["rag25"].writer(out, [response])
    (tmp_path / "f").write_text(out.getvalue())
    assert next(FORMATS["rag25"].reader(str(tmp_path / "f"))).references == ("d1", "d9")


LOSSES = [
    ("arguments", Document("1", "t")),
    ("argsme", Document("1", "t")),
    ("csv", Argument("1", "c", (Premise("p", "con"),))),
    ("csv", Argument("1", "c", (Premise("p", extra={"offsets": [1, 2]}),))),
    ("csv", Document("1", "t", extra={"n": 1})),
    ("csv", Document("1", "a\0b")),
    ("jsonl", Document("1", "t", extra={"premises": []})),
    ("jsonl", Document("1", "t", extra={"x": float("nan")})),
    ("jsonl", Document("1", "\ud800")),
    ("beir", Document("1", "t", extra={"metadata": {}})),
    ("topics-tsv", Question("1", "t", definition="d")),
    ("topics-tsv", Question("1", "a\nb")),
    ("touche-topics", Question("1", "t", definition="d")),
    ("guidelines", Question("a b", "t", definition="d")),
    ("guidelines", Question("1", "a\nb", definition="d")),
    ("guidelines", Question("1", "t", definition="d\n")),
    ("guidelines", Question("1", "t", "more", definition="d")),
    ("guidelines", Question("1", "t", definition="a\0b")),
    ("guidelines", Question("1", "t", definition="a\ud800b")),
    ("guidelines", Question("1\0", "t", definition="d")),
    ("touche-topics", Question("1", "a\x01b")),
    ("questions", Question("1", "t", extra={"background": "b"})),
    ("run", RunEntry("a b", "d", 1, 1.0)),
    ("run", RunEntry("a", "d", 1, float("nan"))),
    ("run", RunEntry("a", "", 1, 1.0)),
    ("qrels", Qrel("a", "d\n", 1)),
    ("beir-qrels", Qrel("a", "d", 1, "2")),
    ("beir-qrels", Qrel("a\t", "d", 1)),
    ("rag24", Response("q", "r", (), metadata={"type": "automatic"})),
    ("rag25", Response("q", "r", (Sentence("t", (Citation("d", 0.5),)),))),
    ("rag25", Response("q", "r", (), extra={"answer": []})),
]


@pytest.mark.parametrize(("name", "record"), LOSSES)
def test_what_a_format_cannot_hold_is_refused(name, record):
    with pytest.raises(InputError):
        FORMATS[name].writer(io.StringIO(), [record])


def test_scores_need_a_score_for_every_citation():
    response = Response("q", "r", (Sentence("t", (Citation("d"),)),))
    with pytest.raises(InputError, match="needs a score"):
        response_writer("ragtime", "scores")(io.StringIO(), [response])


def test_tables_hold_one_kind_of_record():
    with pytest.raises(InputError, match="together"):
        FORMATS["csv"].writer(io.StringIO(), [Document("1", "t"), Argument("2", "c")])
    with pytest.raises(InputError, match="first record does not have"):
        FORMATS["csv"].writer(
            io.StringIO(), [Document("1", "t"), Document("2", "t", extra={"x": "y"})]
        )


def spoilt(value):
    """Yield a JSON value with NUL and half a character added to one of its texts after another."""
    if isinstance(value, str):
        yield value + "\0\ud800"
    keys = range(len(value)) if isinstance(value, list) else value
    for key in keys if isinstance(value, dict | list) else ():
        for other in spoilt(value[key]):
            copy = value.copy()
            copy[key] = other
            yield copy


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, form in FORMATS.items()
        if form.example[:1] in ("{", "[") and name not in ("run-json", "qrels-json")
    ],  # these two have no texts but ids
)
def test_what_no_text_can_hold_is_replaced_in_whatever_is_read(name, path):
    example = FORMATS[name].example.strip()
    try:
        first = json.loads(example)
    except ValueError:
        first = json.loads(example.split("\n")[0])
    read = 0
    for value in spoilt(first):
        path.write_text(json.dumps(value) + "\n", encoding="utf-8")
        for row in FORMATS[name].scan(str(path), Options()):
            if not isinstance(row, InputError):
                shown = repr(row)
                assert "\\x00" not in shown
                assert "\\ud" not in shown
                read += "\ufffd" in shown
    assert read
