"""A simulated language model that has the labels and makes errors at a given rate.

    python lab/argue/oracle_server.py --data debates --port 8900 --errors 0.05 --wrap mixed

It has the questions and passages of the debates (`pages.py`) or of labelled folders
(`folder_sources.py`). The chat server of the tests serves it with the protocol of OpenAI, and
counts calls and tokens (4 characters a token). Errors are drawn from a hash of the prompt: the same
prompt always gets the same answer, but the same passage in another prompt is drawn again.
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
"""How replies are wrapped; "mixed": one of the other ways, chosen by the prompt."""

_WRAPPED: Mapping[str, str] = {
    "plain": "{}",
    "fenced": "```json\n{}\n```",
    "preamble": "Here is the JSON that you asked for:\n\n{}\n",
    "afterword": "{}\n\nLet me know if you need anything else.",
    "thinking": "<think>\nLet me look at each of them.\n</think>\n\n{}",
}

_CITED = re.compile(r"^Sentence \d+, which cites document (\d+):$", re.MULTILINE)

_SHOWN_WORDS = 12
"""Number of words from the start of a passage that identify it."""


@dataclass
class KnownQuestion:
    """A question with its labels: what its sides claim, and which side a text argues."""

    yes: str
    no: str
    searches: tuple[str, ...]
    side: Callable[[str], Side]
    argued: Callable[[str, Side], str] = field(default=lambda *pair: pair[0])
    """Passage and side -> the paragraph of it that argues the side."""


@dataclass
class Oracle:
    """Answer prompts from labels.

    Attributes:
        knowledge: question text -> its labels.
        errors: share of answers that are wrong, in [0, 1].
        first: share of lists and choices in which the first item is preferred, in [0, 1].
        wrap: one of `WRAPS`, how its replies are wrapped.
        unknown: how many prompts it could not answer.
    """

    knowledge: Mapping[str, KnownQuestion]
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
        truth = self.knowledge.get(question)
        if truth is None and "statement" not in named:
            self.unknown[prompt[:60]] += 1
            return {}
        passages = [text for label, text in blocks if label == "passage"]
        if truth and '"yes_or_no"' in prompt:
            return self._question(truth)
        if truth and '"passages"' in prompt:
            return self._sides(truth, named, passages, rng)
        if truth and '"points"' in prompt:
            return self._argument(prompt, truth, blocks, rng)
        if choice := choice_in(prompt):
            return {"answer": self._choice(truth, *choice, rng) if truth else "neither"}
        if cited := _CITED.findall(prompt):
            documents = [text for label, text in blocks if label == "document"]
            sentences = [text for label, text in blocks if label == "sentence"]
            rows = enumerate(zip(cited, sentences, strict=True), 1)
            replies = {n: self._supports(documents[int(d) - 1], s, rng) for n, (d, s) in rows}
            return {str(number): reply for number, reply in replies.items()}
        statements = [text for label, text in blocks if label == "statement"]
        document = named.get("document", named.get("text", ""))
        if len(statements) > 1 or "Statement 1:" in prompt:
            replies = [self._supports(document, statement, rng) for statement in statements]
            return {str(number): reply for number, reply in enumerate(replies, 1)}
        if statements:
            return self._supports(document, statements[0], rng)
        self.unknown[prompt[:60]] += 1
        return {}

    def _question(self, truth: KnownQuestion) -> dict[str, Any]:
        claims = {"yes": truth.yes, "no": truth.no, "searches": list(truth.searches)}
        return {"language": "English", "yes_or_no": True, **claims}

    def _sides(
        self,
        truth: KnownQuestion,
        named: Mapping[str, str],
        passages: Sequence[str],
        rng: random.Random,
    ) -> dict[str, Any]:
        claims: dict[str, Side] = {named["yes"]: "yes", named["no"]: "no"}
        prefers_first = rng.random() < self.first
        entries = []
        for number, text in enumerate(passages, 1):
            right = claims.get(text) or truth.side(text)
            side, confidence = self._drawn(right, SIDES, rng)
            if prefers_first and number == 1 and side == "neither":
                side = "yes"
            entries.append({"id": number, "side": side, "confidence": confidence})
        return {"passages": entries}

    def _drawn(
        self, right: Side, options: Iterable[Side], rng: random.Random
    ) -> tuple[Side, float]:
        """Return the right answer, or with probability `errors` another one; and a confidence."""
        others = [side for side in options if side != right]
        wrong, doubt = rng.random() < self.errors, rng.random()
        other = rng.choice(others)
        return (
            (other, round(0.5 + 0.45 * doubt, 2))
            if wrong
            else (right, round(0.8 + 0.19 * doubt, 2))
        )

    def _choice(
        self, truth: KnownQuestion, text: str, first: str, second: str, rng: random.Random
    ) -> str:
        if rng.random() < self.first:
            return "first"
        claims: dict[str, Side] = {truth.yes: "yes", truth.no: "no"}
        side, _ = self._drawn(claims.get(text) or truth.side(text), SIDES, rng)
        return {claims.get(first): "first", claims.get(second): "second"}.get(side, "neither")

    def _argument(
        self,
        prompt: str,
        truth: KnownQuestion,
        blocks: Sequence[tuple[str, str]],
        rng: random.Random,
    ) -> dict[str, Any]:
        """Write one side: a point for each document that argues it, up to the limit."""
        side: Side = "yes" if "Argue the pro side" in prompt else "no"
        limit = int(match[1]) if (match := re.search(r"at most (\d+) points", prompt)) else 4
        documents = [text for label, text in blocks if label == "DOCUMENT"]
        used = [n for n, text in enumerate(documents, 1)
                if self._drawn(truth.side(text), SIDES, rng)[0] == side]  # fmt: skip
        points = []
        for start in range(min(limit, len(used))):
            numbers = used[start::limit]
            texts = {n: truth.argued(documents[n - 1], side) for n in numbers}
            parts = [{"text": _said(texts[n], 22), "citations": [n]} for n in numbers]
            head = {"text": _said(texts[numbers[0]], 14), "citations": [numbers[0]]}
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
    costs: dict[str, tuple[int, int]] = {}
    for row in requests:
        name = row["parameters"]["response_format"]["json_schema"]["name"]
        tokens = sum(len(message["content"]) for message in row["messages"]) // 4
        calls, before = costs.get(name, (0, 0))
        costs[name] = calls + 1, before + tokens
    return costs


# Labels -------------------------------------------------------------------------------------------


def knows_debates(by_name: Mapping[str, Collection]) -> dict[str, KnownQuestion]:
    """Return the labels of debates, by question.

    The searches that a model would write are other people's questions on the same page.
    """
    from pages import own_words

    rewordings: dict[str, list[str]] = {}
    for page, _, _, text in own_words():
        rewordings.setdefault(page, []).append(text)
    knowledge: dict[str, KnownQuestion] = {}
    for collection in by_name.values():
        by_words = {_opening(d.text): d.id for d in collection.documents}
        for item in collection.questions:
            page = re.sub(r" [+-]$", "", item.question.id)

            def side(
                text: str, collection: Any = collection, item: Any = item, ids: Any = by_words
            ) -> Side:
                doc_id = ids.get(_opening(text))
                stance = None if doc_id is None else collection.side(item, doc_id)
                return "neither" if stance is None else "yes" if stance > 0 else "no"

            title, sign = collection.titles[page], item.pages[page]
            claims = (title, f"It is wrong to say: {title}")
            yes, no = claims if sign > 0 else claims[::-1]
            others = (title, *rewordings.get(page, ()))
            searches = tuple(text for text in others if text != item.question.text)[:3]
            knowledge[item.question.text] = KnownQuestion(yes, no, searches, side)
    return knowledge


def knows_folders(folders: Iterable[Folder]) -> dict[str, KnownQuestion]:
    """Return the labels of folders, by question."""
    knowledge: dict[str, KnownQuestion] = {}
    for folder in folders:
        blocks = [block for file in folder.files for block in file.paragraphs]
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
            others = [
                other.text
                for other in folder.questions
                if other.proposition == question.proposition and other != question
            ]
            knowledge[question.text] = KnownQuestion(yes, no, (claim, *others)[:3], side, argued)
    return knowledge


def _opening(text: str) -> str:
    return " ".join(words_of(text).split()[:_SHOWN_WORDS])


def _inside(text: str, blocks: Sequence[Block]) -> list[Block]:
    """Return the paragraphs that a passage contains, or the one that it is a part of."""
    passage = words_of(text)
    whole = [block for block in blocks if words_of(block.text)[:60] in passage]
    part = None if whole else paragraph_of(text, blocks)
    return whole or ([part] if part else [])


def _side_of(text: str, blocks: Sequence[Block], question: Any) -> Side:
    """Return the side of a passage, which may contain several paragraphs or a part of one."""
    stances = {block.stance(question) for block in _inside(text, blocks)}
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
    knowledge = debates_known() if options.data == "debates" else folders_known(options.part)
    oracle = Oracle(knowledge, options.errors, options.first, options.wrap)
    with serve(oracle, options.port) as server:
        print(f"--llm {server.spec}", flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
