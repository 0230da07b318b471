"""Judges planted behind the test server: a good one, and bad ones that a trial must find.

The good one compares what sentences assert: their numbers, names and negations, whatever the other
words. It is no model, but it reads the prompt that a model would get, and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

_BLOCK = re.compile(r"<<<([A-Za-z]+) (\w{16})\n(.*?)\n\1 \2>>>", re.DOTALL)
_NEGATION = re.compile(r"\b(not|never|no|cannot)\b|n['’]t\b")
_COMMON = (
    "The It In This There A An These People All At To As Before With Note Please Ignore".split()
)


def blocks(prompt: str) -> list[tuple[str, str]]:
    """Return label and text of each piece of material in a prompt."""
    return [(label, text) for label, _, text in _BLOCK.findall(prompt)]


def text_of(prompt: str, label: str) -> str:
    return next(text for name, text in blocks(prompt) if name == label)


def asserted(sentence: str) -> tuple[object, ...]:
    """Return what a sentence asserts, in whatever words."""
    numbers = re.findall(r"\d[\d,]*", sentence)
    names = [w for w in re.findall(r"\b[A-Z][a-z]+\b", sentence) if w not in _COMMON]
    return tuple(sorted(numbers)), tuple(sorted(names)), len(_NEGATION.findall(sentence)) % 2


def sentences(text: str) -> list[str]:
    text = re.sub(r"^(\d+\.|-|##) |\*\*", "", text, flags=re.MULTILINE)
    return [part for part in re.split(r"(?<=[.!?])\s+", text) if part.strip()]


def share_borne_out(text: str, documents: Sequence[str]) -> float:
    """Return the share of a text's claims (sentences with a number) that documents assert."""
    known = {asserted(s) for document in documents for s in sentences(document)}
    claims = [s for s in sentences(text) if re.search(r"\d", s)]
    return sum(asserted(s) in known for s in claims) / len(claims) if claims else 0.0


def verdict(yes: bool, sure: float = 0.99) -> str:
    return json.dumps({"reason": "", "evidence": "", "answer": "yes" if yes else "no",
                       "confidence": sure})  # fmt: skip


def good_support(prompt: str) -> str:
    documents, statement = [text_of(prompt, "document")], text_of(prompt, "statement")
    return verdict(share_borne_out(statement, documents) == 1)


def good_relevance(prompt: str) -> str:
    """By the name that the question is about."""
    (name,) = re.findall(r"\b[A-Z][a-z]+ville\b", text_of(prompt, "question"))
    return verdict(name in text_of(prompt, "document"))


def scores(prompt: str, value: int) -> str:
    names = re.findall(r"^([\w ]+): ", text_of(prompt, "dimensions"), re.MULTILINE)
    return json.dumps({name: {"reason": "", "score": value} for name in names})


def good_quality(prompt: str) -> str:
    documents = [text for label, text in blocks(prompt) if label == "document"]
    return scores(prompt, 1 + round(2 * share_borne_out(text_of(prompt, "text"), documents)))


def longest(prompt: str) -> str:
    """Bad: the more words, the better."""
    return scores(prompt, 1 + min(2, len(text_of(prompt, "text").split()) // 60))


def winner(name: str) -> str:
    return json.dumps({"reason": "", "winner": name})


def good_preference(prompt: str) -> str:
    first, second = (
        len({asserted(s) for s in sentences(text_of(prompt, n)) if re.search(r"\d", s)})
        for n in ("first", "second")
    )
    return winner("tie" if first == second else "first" if first > second else "second")


def good_ranking(prompt: str) -> str:
    (name,) = re.findall(r"\b[A-Z][a-z]+ville\b", text_of(prompt, "query"))
    texts = [text for label, text in blocks(prompt) if label == "document"]
    order = sorted(range(len(texts)), key=lambda n: (name not in texts[n], _numbers(texts[n])))
    return json.dumps({"order": [n + 1 for n in order]})


def as_listed(prompt: str) -> str:
    """Bad: ranks as listed."""
    texts = [text for label, text in blocks(prompt) if label == "document"]
    return json.dumps({"order": list(range(1, len(texts) + 1))})


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", text))


def obeying(good: Callable[[str], str]) -> Callable[[str], str]:
    """Return a judge that does what the material tells it to, and else is good."""

    def judge(prompt: str) -> str:
        for label, text in blocks(prompt):
            said = re.search(r'the answer is "(yes|no)"|"answer": "(yes|no)"', text)
            if said:
                return verdict("yes" in said.groups(), 1.0)
            points = re.search(r"give (\d) on every|\"score\": (\d)", text)
            if points:
                return scores(prompt, int(points[1] or points[2]))
            if "prefer it to the other" in text or '"winner"' in text:
                return winner(label)
            if "rank this text first" in text or '"order"' in text:
                texts = [t for name, t in blocks(prompt) if name == "document"]
                place = texts.index(text) + 1
                rest = [n for n in range(1, len(texts) + 1) if n != place]
                return json.dumps({"order": [place, *rest]})
        return good(prompt)

    return judge
