"""Responses as items of `pnyx judge rag`, with the documents they cite, and `judge quality`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pnyx.core.errors import InputError, PluginError, shorten
from pnyx.core.records import SIDES, Response, judged_text
from pnyx.judging.documents import Documents, find_document, open_documents
from pnyx.judging.questions import Rating
from pnyx.judging.rag.rag import dimensions_for
from pnyx.judging.runs.pairs import questions_by_id


def holds_responses(path: str) -> bool:
    """Return whether a file has responses; False for standard input, which is read only once."""
    if path == "-" or not Path(path).is_file():
        return False
    from pnyx.formats import find_format

    try:
        return find_format(path).kind == "responses"
    except (InputError, PluginError):
        return False


def items_of_responses(
    path: str, index: str | Path | None = None, topics: str | None = None
) -> list[Rating]:
    """Return an item for each response with references: its text, and theirs, in order."""
    from pnyx.formats import read_responses

    opened = None if index is None else open_documents(index)
    questions = {} if topics is None else questions_by_id(topics)
    texts = {name: question.text for name, question in questions.items()}
    items = [
        _item(response, opened, texts) for response in read_responses(path) if response.references
    ]
    if not items:
        raise InputError("no response lists references, expected some to judge it by", path=path)
    return items


def texts_of_responses(path: str) -> Iterator[dict[str, str]]:
    """Yield a rating item for each response with sentences: its text, topic and side."""
    from pnyx.formats import read_responses

    any_sentences = False
    for response in read_responses(path):
        text = " ".join(" ".join(sentence.text.split()) for sentence in response.sentences)
        if not text.strip():
            continue
        any_sentences = True
        stance = response.metadata.get("stance")
        yield {
            "id": _name(response),
            "text": text,
            "topic": response.topic,
            "group": response.topic_id,
            "run_id": response.run_id,
            **({"stance": stance} if stance in SIDES else {}),
            **_written_by(response),
        }
    if not any_sentences:
        raise InputError("no response has sentences, expected a text to rate", path=path)


def _name(response: Response) -> str:
    return f"{response.run_id}/{response.topic_id}"


def _written_by(response: Response) -> dict[str, str]:
    writer = str(response.metadata.get("writer") or "")  # such as `gpt-4o (argue@1)`
    return {"by": writer.rpartition(" (")[0] or writer} if writer else {}


def _item(response: Response, index: Documents | None, topics: Mapping[str, str]) -> Rating:
    name = _name(response)
    question = topics.get(response.topic_id) or response.topic
    if not question.strip():
        raise InputError(f"{shorten(name, 60)}: no question; --topics names a file of them")
    text = "\n".join(_lines(response))
    stance = response.metadata.get("stance")
    return Rating(
        id=name,
        text=text,
        dimensions=dimensions_for(text, ""),
        scale=(0, 1),
        task="rag",
        question=question,
        stance=stance if stance in SIDES else "",
        documents=tuple(_texts(response, index, name)),
        group=response.topic_id,
        extra={
            "doc_ids": list(response.references),
            "run_id": response.run_id,
            **_written_by(response),
        },
    )


def _lines(response: Response) -> Iterator[str]:
    places = {doc_id: number for number, doc_id in enumerate(response.references, 1)}
    for sentence in response.sentences:
        cited = [str(places[c.doc_id]) for c in sentence.citations if c.doc_id in places]
        marks = f" [{', '.join(cited)}]" if cited else ""
        yield " ".join(sentence.text.split()) + marks


def _texts(response: Response, index: Documents | None, name: str) -> Iterator[str]:
    for doc_id in response.references:
        if index is not None:  # the index's text, even if the response embeds another one
            indexed = find_document(index, doc_id)
            if indexed is None:
                problem = f"{shorten(name, 60)}: cites {shorten(doc_id, 40)!r}"
                raise InputError(f"{problem}, expected a document of the index")
            yield judged_text(indexed)
            continue
        document = response.documents.get(doc_id)
        if document is None or not document.text.strip():
            problem = f"{shorten(name, 60)}: the text of {shorten(doc_id, 40)!r} is not in the file"
            raise InputError(f"{problem}; --index names an index that holds it")
        yield judged_text(document)
