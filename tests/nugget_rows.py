"""Hypothesis strategies: banks of every dialect as their JSON objects, as hostile as may be."""

from __future__ import annotations

from hypothesis import strategies as st

from pnyx.core.files import clean_text

ALL_NAMES = [
    *["query_id", "title_query", "full_query", "test_collection", "format_version", "quality"],
    *["nugget_bank", "claim_bank", "metadata", "importance", "creator", "question", "claim"],
    *["question_id", "claim_id", "aggregator_type", "answers", "references", "sub_nuggets"],
    *["answer", "doc_id", "collection", "text", "offsets", "qid", "query", "nuggets", "run_id"],
    *["team_id", "topic_id", "run_desc", "assignment", "answer_text", "response_length"],
    *["reasoning", "trace", "banks", "responses", "key", "id", "title", "x", "Année", ""],
]
"""Every field that any dialect knows, and others: unknown somewhere, and to be kept there."""

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8).map(clean_text)
filled = texts.filter(str.strip)
short = st.sampled_from(["a", "b", "a #2", " a"]) | filled
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=3,
)
objects = st.dictionaries(st.sampled_from(["creator", "x", "topic_id"]), values, max_size=2)
grades = st.integers(-3, 3) | st.sampled_from(["vital", "okay", "high", "0"])
creators = st.lists(
    st.fixed_dictionaries({"is_human": st.booleans()}, optional={"contact": st.lists(texts)}),
    max_size=1,
)
common = {"quality": grades, "creator": creators, "metadata": objects}


def extras(known: str) -> st.SearchStrategy:
    """Fields that are unknown where `known` are known."""
    others = [name for name in ALL_NAMES if name not in known.split()]
    return st.dictionaries(st.sampled_from(others), values, max_size=2)


def row(required: dict, known: str, **optional) -> st.SearchStrategy:
    """An object with required, optional and unknown fields."""
    names = " ".join([*required, *optional, known])
    own = st.fixed_dictionaries(required, optional=optional)
    return st.builds(lambda fields, more: {**more, **fields}, own, extras(names))


reference = row(
    {"doc_id": filled},
    "importance",
    collection=texts,
    text=texts,
    offsets=st.just({"start_offset": 0, "end_offset": 5, "encoding": "utf-8", "x": 1}),
    **common,
)
references = st.lists(reference, max_size=2)
attested = st.lists(reference, min_size=1, max_size=2)
plain_references = references.map(lambda rows: [r["doc_id"] if len(r) == 1 else r for r in rows])


def free(text: str, taken, join: str = " #") -> str:
    """The text, or the text with the first number that is free."""
    keys = (text, *(f"{text}{join}{n}" for n in range(2, 99)))
    return next(key for key in keys if key not in taken)


def filed(name: str):
    def file(rows: list[dict]) -> dict:
        found: dict = {}
        for one in rows:
            found[free(one[name], found)] = one
        return found

    return file


def numbered(rows: list[dict], name: str) -> list[dict]:
    """Give every row an id that no other has."""
    seen: set[str] = set()
    for one in rows:
        one[name] = free(one[name], seen, "-")
        seen.add(one[name])
    return rows


v3_answers = st.lists(
    row({"answer": short}, "importance", references=attested, **common), max_size=3
).map(filed("answer"))


def v3_nugget(kind: str, topic: str, depth: int = 1) -> st.SearchStrategy:
    required = {
        kind: short,
        f"{kind}_id": filled,
        "query_id": st.sampled_from([topic, f"{topic}x"]),
    }
    if kind == "question":
        required["answers"] = v3_answers
    optional = {
        "importance": grades,
        "aggregator_type": st.sampled_from(["AND", "OR", "NOT", "SUM", "Default"]),
        "test_collection": texts,
        "sub_nuggets": st.deferred(lambda: v3_subs(topic, depth - 1)),
        "references": attested,
        **common,
    }
    if not depth:
        optional.pop("sub_nuggets")
    known = "answers references question claim query_id sub_nuggets"
    return row(required, known, **optional)


def v3_subs(topic: str, depth: int) -> st.SearchStrategy:
    either = v3_nugget("question", topic, depth) | v3_nugget("claim", topic, depth)
    return st.lists(either, min_size=1, max_size=2).map(sub_numbered)


def sub_numbered(rows: list[dict]) -> list[dict]:
    seen: set[str] = set()
    for one in rows:
        name = "question_id" if "question" in one else "claim_id"
        one[name] = free(one[name], seen, "-")
        seen.add(one[name])
    return rows


@st.composite
def v3_rows(draw) -> dict:
    topic = draw(filled)
    found = draw(
        row(
            {"query_id": st.just(topic), "format_version": st.sampled_from(["v3", "v2"])},
            "importance nugget_bank claim_bank metadata title_query banks nuggets",
            title_query=filled,
            metadata=st.dictionaries(
                st.sampled_from(["team_id", "run_id", "topic_id", "run_desc", "x"]),
                values | st.just(topic),
                min_size=1,
            ),
            test_collection=texts,
            quality=grades,
            creator=creators,
        )
    )
    metadata = found.get("metadata", {})
    if any(
        metadata.get(name) and isinstance(metadata[name], str) for name in ("team_id", "run_id")
    ):
        metadata.setdefault("topic_id", topic)
    questions = draw(st.lists(v3_nugget("question", topic), max_size=3))
    claims = draw(st.lists(v3_nugget("claim", topic), min_size=int(not questions), max_size=2))
    numbered_claims = [{**one, "question_id": one.pop("claim_id")} for one in claims]
    both = numbered(questions + numbered_claims, "question_id")
    found["nugget_bank"] = filed("question")(both[: len(questions)])
    if claims:
        again = [{**one, "claim_id": one.pop("question_id")} for one in both[len(questions) :]]
        found["claim_bank"] = filed("claim")(again)
    return found


PARTS = "question_id claim_id aggregator_type answers references sub_nuggets"  # of any dialect
ragtime_answers = st.lists(
    row({"answer": short, "references": plain_references}, "", metadata=objects), max_size=3
)
ragtime_nuggets = row(
    {"question": short, "answers": ragtime_answers},
    PARTS,
    importance=grades,
    aggregator_type=st.sampled_from(["AND", "OR"]),
    metadata=objects,
)
RESERVED = "format_version query_id title_query claim_bank nuggets banks"
"""By these other dialects are told."""
submitted_by = row(
    {"topic_id": filled}, "title_query", team_id=filled, run_id=filled, run_desc=texts
)
ragtime26_rows = row(
    {
        "metadata": row(
            {"topic_id": filled}, "title_query", team_id=filled, run_id=filled, run_desc=texts
        ),
        "nugget_bank": st.lists(ragtime_nuggets, min_size=1, max_size=3),
    },
    RESERVED,
)

assigned = row(
    {"text": short},
    PARTS,
    importance=st.sampled_from(["vital", "okay", "failed"]),
    assignment=st.sampled_from(["support", "partial_support", "not_support", "failed"]),
    reasoning=texts,
)
_assigned_bank = {
    "run_id": filled,
    "team_id": filled,
    "answer_text": texts,
    "response_length": st.integers(0, 9),
}
_listed = st.lists(assigned, min_size=1, max_size=3)
nuggetizer_rows = row(
    {"query": texts, "qid": filled, "nuggets": _listed},
    "nugget_bank claim_bank banks metadata",
    **_assigned_bank,
)
rag25_rows = row(
    {"qid": filled, "nuggets": _listed},
    "query title_query nugget_bank claim_bank banks metadata",
    **_assigned_bank,
)

ROWS = {
    "nuggetbank-v3": v3_rows(),
    "ragtime26-nuggets": ragtime26_rows,
    "nuggetizer": nuggetizer_rows,
    "rag25-nuggets": rag25_rows,
}
"""Dialect -> its banks, as its writer writes them."""
