"""A model that knows the labels: answers every prompt as a capable one would, with stated errors.

    python lab/argue/oracle_server.py --data debates --port 8900 --errors 0.05 --wrap mixed

It knows the questions and passages of the debates (`pages.py`) or of labelled folders
(`folder_sources.py`), and is served by the tests' chat server, which speaks the protocol of OpenAI
and counts calls and tokens (4 characters a token). Errors are drawn by a hash of the prompt: the
same prompt gets the same answer, the same passage in another prompt another chance.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from folder_sources import Block, Folder, paragraph_of, words_of

from chat_replies import blocks_in, choice_in
from chat_server import ChatServer

if TYPE_CHECKING:
    from pages import Collection

Side: TypeAlias = Literal["yes", "no", "both", "neither"]
SIDES: tuple[Side, ...] = ("yes", "no", "both", "neither")
WRAPS = ("plain", "fenced", "preamble", "afterword", "thinking", "mixed")
"""How replies are wrapped; "mixed": each in one of the other ways, chosen by its prompt."""

_WRAPPED: Mapping[str, str] = {
    "plain": "{}",
    "fenced": "```json\n{}\n```",
    "preamble": "Here is the JSON that you asked for:\n\n{}\n",
    "afterword": "{}\n\nLet me know if you need anything else.",
    "thinking": "<think>\nLet me look at each of them.\n</think>\n\n{}",
}

_CITED = re.compile(r"^Sentence \d+, which cites document (\d+):$", re.MULTILINE)

_SHOWN_WORDS = 12
"""Words of a passage by which it is recognised, however much of it is shown."""


@dataclass
class Known:
    """A question that the oracle knows: what its sides claim, and which side a text argues."""

    yes: str
    no: str
    searches: tuple[str, ...]
    side: Callable[[str], Side]
    argued: Callable[[str, Side], str] = field(default=lambda *given: given[0])
    """Passage and side -> the paragraph of it that argues the side."""


@dataclass
class Oracle:
    """Answers prompts by labels.

    Attributes:
        known: question text -> what is known of it.
        errors: share of answers that are wrong, in [0, 1].
        first: share of lists and of choices in which what comes first is preferred, in [0, 1].
        wrap: one of `WRAPS`, how its replies are wrapped.
        unknown: how many prompts it could not answer.
    """

    known: Mapping[str, Known]
    errors: float = 0.0
    first: float = 0.0
    wrap: str = "plain"
    unknown: Counter[str] = field(default_factory=Counter)

    def reply(self, prompt: str) -> str:
        """Return the whole reply to a prompt."""
        rng = random.Random(hashlib.sha256(prompt.encode("utf-8", "replace")).digest())
        text = json.dumps(self._answer(prompt, rng), ensure_ascii=False)
        wrap = rng.choice(WRAPS[:-1]) if self.wrap == "mixed" else self.wrap
        return _WRAPPED[wrap].format(text)

    def _answer(self, prompt: str, rng: random.Random) -> Any:
        blocks = blocks_in(prompt)
        named = dict(blocks)
        question = named.get("question") or named.get("QUESTION") or ""
        known = self.known.get(question)
        if known is None and "statement" not in named:
            self.unknown[prompt[:60]] += 1
            return {}
        passages = [text for label, text in blocks if label == "passage"]
        if known and '"yes_or_no"' in prompt:
            return self._question(known)
        if known and '"passages"' in prompt:
            return self._sides(known, named, passages, rng)
        if known and '"points"' in prompt:
            return self._argument(prompt, known, blocks, rng)
        if choice := choice_in(prompt):
            return {"answer": self._choice(known, *choice, rng) if known else "neither"}
        if cited := _CITED.findall(prompt):
            documents = [text for label, text in blocks if label == "document"]
            sentences = [text for label, text in blocks if label == "sentence"]
            rows = enumerate(zip(cited, sentences, strict=True), 1)
            told = {n: self._supports(documents[int(d) - 1], s, rng) for n, (d, s) in rows}
            return {str(number): one for number, one in told.items()}
        statements = [text for label, text in blocks if label == "statement"]
        document = named.get("document", named.get("text", ""))
        if len(statements) > 1 or "Statement 1:" in prompt:
            told = [self._supports(document, one, rng) for one in statements]
            return {str(number): one for number, one in enumerate(told, 1)}
        if statements:
            return self._supports(document, statements[0], rng)
        self.unknown[prompt[:60]] += 1
        return {}

    def _question(self, known: Known) -> dict[str, Any]:
        claims = {"yes": known.yes, "no": known.no, "searches": list(known.searches)}
        return {"language": "English", "yes_or_no": True, **claims}

    def _sides(
        self, known: Known, named: Mapping[str, str], passages: Sequence[str], rng: random.Random
    ) -> dict[str, Any]:
        claims: dict[str, Side] = {named["yes"]: "yes", named["no"]: "no"}
        prefers_first = rng.random() < self.first
        entries = []
        for number, text in enumerate(passages, 1):
            right = claims.get(text) or known.side(text)
            said, confidence = self._drawn(right, SIDES, rng)
            if prefers_first and number == 1 and said == "neither":
                said = "yes"
            entries.append({"id": number, "side": said, "confidence": confidence})
        return {"passages": entries}

    def _drawn(
        self, right: Side, options: Iterable[Side], rng: random.Random
    ) -> tuple[Side, float]:
        """Return the right answer, or with the stated probability another, and a confidence."""
        others = [one for one in options if one != right]
        wrong, doubt = rng.random() < self.errors, rng.random()
        other = rng.choice(others)
        return (
            (other, round(0.5 + 0.45 * doubt, 2))
            if wrong
            else (right, round(0.8 + 0.19 * doubt, 2))
        )

    def _choice(self, known: Known, text: str, first: str, second: str, rng: random.Random) -> str:
        if rng.random() < self.first:
            return "first"
        claims: dict[str, Side] = {known.yes: "yes", known.no: "no"}
        side, _ = self._drawn(claims.get(text) or known.side(text), SIDES, rng)
        return {claims.get(first): "first", claims.get(second): "second"}.get(side, "neither")

    def _argument(
        self,
        prompt: str,
        known: Known,
        blocks: Sequence[tuple[str, str]],
        rng: random.Random,
    ) -> dict[str, Any]:
        """Write one side: a point for each document that argues it, as many as are allowed."""
        side: Side = "yes" if "Argue the pro side" in prompt else "no"
        limit = int(found[1]) if (found := re.search(r"at most (\d+) points", prompt)) else 4
        documents = [text for label, text in blocks if label == "DOCUMENT"]
        used = [n for n, text in enumerate(documents, 1)
                if self._drawn(known.side(text), SIDES, rng)[0] == side]  # fmt: skip
        points = []
        for place in range(min(limit, len(used))):
            numbers = used[place::limit]
            told = {n: known.argued(documents[n - 1], side) for n in numbers}
            parts = [{"text": _said(told[n], 22), "citations": [n]} for n in numbers]
            head = {"text": _said(told[numbers[0]], 14), "citations": [numbers[0]]}
            points.append({"conclusion": head, "premises": parts})
        return {"points": points}

    def _supports(self, document: str, statement: str, rng: random.Random) -> dict[str, Any]:
        words = words_of(statement)
        right = words in words_of(document)
        wrong = rng.random() < self.errors
        answer = "yes" if right != wrong else "no"
        confidence = round(0.7 + 0.29 * rng.random(), 2)
        return {"reason": "", "evidence": "", "answer": answer, "confidence": confidence}


def _said(document: str, words: int) -> str:
    """Return the beginning of a document as a sentence."""
    return " ".join(document.split()[:words]).rstrip(".,;:") + "."


def serve(oracle: Oracle, port: int = 0) -> ChatServer:
    """Return the server of an oracle, not started yet."""
    return ChatServer(reply=oracle.reply, port=port)


def spent(requests: Sequence[Mapping[str, Any]]) -> dict[str, tuple[int, int]]:
    """Return calls and prompt tokens by the prompt's name."""
    found: dict[str, tuple[int, int]] = {}
    for row in requests:
        name = row["parameters"]["response_format"]["json_schema"]["name"]
        tokens = sum(len(message["content"]) for message in row["messages"]) // 4
        calls, before = found.get(name, (0, 0))
        found[name] = calls + 1, before + tokens
    return found


# What it knows ------------------------------------------------------------------------------------


def knows_debates(found: Mapping[str, Collection]) -> dict[str, Known]:
    """Return what the labels of debates say of each question.

    In place of a capable model's searches there are other people's questions on the same page.
    """
    from pages import own_words

    rewordings: dict[str, list[str]] = {}
    for page, _, _, text in own_words():
        rewordings.setdefault(page, []).append(text)
    known: dict[str, Known] = {}
    for collection in found.values():
        by_words = {_opening(d.text): d.id for d in collection.documents}
        for asked in collection.asked:
            page = re.sub(r" [+-]$", "", asked.question.id)

            def side(
                text: str, collection: Any = collection, asked: Any = asked, ids: Any = by_words
            ) -> Side:
                doc_id = ids.get(_opening(text))
                found = None if doc_id is None else collection.side(asked, doc_id)
                return "neither" if found is None else "yes" if found > 0 else "no"

            title, sign = collection.titles[page], asked.pages[page]
            claims = (title, f"It is wrong to say: {title}")
            yes, no = claims if sign > 0 else claims[::-1]
            others = (title, *rewordings.get(page, ()))
            searches = tuple(one for one in others if one != asked.question.text)[:3]
            known[asked.question.text] = Known(yes, no, searches, side)
    return known


def knows_folders(folders: Iterable[Folder]) -> dict[str, Known]:
    """Return what the labels of folders say of each question."""
    known: dict[str, Known] = {}
    for folder in folders:
        blocks = [one for file in folder.files for one in file.paragraphs]
        for question in folder.questions:

            def side(text: str, blocks: Any = blocks, question: Any = question) -> Side:
                return _side_of(text, blocks, question)

            def argued(
                text: str, side: Side, blocks: Any = blocks, question: Any = question
            ) -> str:
                inside = _inside(text, blocks)
                return next((b.text for b in inside if b.stance(question) == side), text)

            claim = folder.propositions[question.proposition]
            claims = (claim, f"It is wrong to say: {claim}")
            yes, no = claims if question.polarity == "+" else claims[::-1]
            others = [one.text for one in folder.questions
                      if one.proposition == question.proposition and one != question]  # fmt: skip
            known[question.text] = Known(yes, no, (claim, *others)[:3], side, argued)
    return known


def _opening(text: str) -> str:
    return " ".join(words_of(text).split()[:_SHOWN_WORDS])


def _inside(text: str, blocks: Sequence[Block]) -> list[Block]:
    """Return the paragraphs that a passage holds, or the one that it is a part of."""
    passage = words_of(text)
    whole = [one for one in blocks if words_of(one.text)[:60] in passage]
    part = None if whole else paragraph_of(text, blocks)
    return whole or ([part] if part else [])


def _side_of(text: str, blocks: Sequence[Block], question: Any) -> Side:
    """Return the side of a passage, which may hold several paragraphs or a part of one."""
    stances = {one.stance(question) for one in _inside(text, blocks)}
    if "mixed" in stances or {"yes", "no"} <= stances:
        return "both"
    return "yes" if "yes" in stances else "no" if "no" in stances else "neither"


def main() -> None:
    from oracle import debates_known, folders_known

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=("debates", "folders"), default="folders")
    parser.add_argument("--part", choices=("test", "development"), default="test")
    parser.add_argument("--port", type=int, default=8900)
    parser.add_argument("--errors", type=float, default=0.05)
    parser.add_argument("--first", type=float, default=0.0)
    parser.add_argument("--wrap", choices=WRAPS, default="plain")
    options = parser.parse_args()
    known = debates_known() if options.data == "debates" else folders_known(options.part)
    oracle = Oracle(known, options.errors, options.first, options.wrap)
    with serve(oracle, options.port) as server:
        print(f"--llm {server.spec}", flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
