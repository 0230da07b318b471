"""Pairs of opposite statements in many wordings, from patterns and from hand-written questions."""

from __future__ import annotations

import functools
import random
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from claim_rules import claims, question_from
from clause_rules import lowered

WRITTEN = Path(__file__).with_name("wordings.txt")

Pair = tuple[str, str]
"""The assertion of the claim's side, and that of the other side."""

_ANSWERED = 0.25
"""Share of questions that are used unchanged, with yes and with no."""

_MOTION = re.compile(
    r"^(?:this house (?:would|should)|we should|the state should|governments should)(?P<no> not)? "
    r"(?P<act>.+?)\.$",
    re.IGNORECASE,
)
_SHOULD = re.compile(r"^(?P<who>[^,]{3,60}?) (?:should|must|ought to)(?P<no> not)? (?P<act>.+?)\.$")


def _against(x: str) -> list[Pair]:
    return [
        (f"{_cap(x)} should no longer be legal.", f"{_cap(x)} should stay legal."),
        (f"The law should not tolerate {x}.", f"The law should tolerate {x}."),
        (f"We would be better off without {x}.", f"We would lose something without {x}."),
        (f"It is wrong that {x} is still allowed.", f"It is right that {x} is still allowed."),
        (f"Should {x} be kept legal? No.", f"Should {x} be kept legal? Yes."),
        (f"A ban on {x} is overdue.", f"A ban on {x} goes too far."),
        (f"There is something wrong with {x}.", f"There is nothing wrong with {x}."),
    ]


def _ending(x: str) -> list[Pair]:
    return [
        (f"{_cap(x)} should not be kept.", f"{_cap(x)} should be kept."),
        (f"{_cap(x)} is no longer worth having.", f"{_cap(x)} is still worth having."),
        (f"We would be better off without {x}.", f"We need {x}."),
        (f"Is {x} worth keeping? No.", f"Is {x} worth keeping? Yes."),
        (f"It is time to get rid of {x}.", f"It is right to hold on to {x}."),
        (f"{_cap(x)} has had its day.", f"{_cap(x)} must stay."),
    ]


def _letting(x: str) -> list[Pair]:
    return [
        (f"{_cap(x)} should not be a crime.", f"{_cap(x)} should remain a crime."),
        (f"There is nothing wrong with {x}.", f"There is something wrong with {x}."),
        (f"{_cap(x)} should no longer be forbidden.", f"{_cap(x)} should stay forbidden."),
        (f"The ban on {x} should go.", f"The ban on {x} should stay."),
        (f"Is it right to punish {x}? No.", f"Is it right to punish {x}? Yes."),
    ]


def _paying(x: str) -> list[Pair]:
    return [
        (f"The public should pay for {x}.", f"The public should not pay for {x}."),
        (f"{_cap(x)} deserves public money.", f"{_cap(x)} should manage without public money."),
    ]


def _having(x: str) -> list[Pair]:
    return [
        (f"We need {x}.", f"We can do without {x}."),
        (f"{_cap(x)} is a good thing.", f"{_cap(x)} is a bad thing."),
        (f"Would we be better off without {x}? No.", f"Would we be better off without {x}? Yes."),
    ]


def _acting(act: str) -> list[Pair]:
    return [
        (f"It is time to {act}.", f"It is wrong to {act}."),
        (f"It would be a mistake not to {act}.", f"It would be a mistake to {act}."),
        (f"We ought to {act}.", f"There is no good reason to {act}."),
        (f"Must we {act}? Yes.", f"Must we {act}? No."),
        (f"We have to {act}.", f"We do not have to {act}."),
        (f"It is a good idea to {act}.", f"It is a bad idea to {act}."),
        (f"Is it wrong to {act}? No.", f"Is it wrong to {act}? Yes."),
        (f"It is not unfair to {act}.", f"It is unfair to {act}."),
        (f"It would do good to {act}.", f"It would do harm to {act}."),
        (f"Would it help to {act}? Yes.", f"Would it help to {act}? No."),
    ]


def _doing(who: str, act: str) -> list[Pair]:
    return [
        (f"It is time for {who} to {act}.", f"It is wrong for {who} to {act}."),
        (f"It would be a mistake for {who} not to {act}.",
         f"It would be a mistake for {who} to {act}."),
        (f"{_cap(who)} ought to {act}.", f"{_cap(who)} need not {act}."),
        (f"Is it right for {who} to {act}? Yes.", f"Is it right for {who} to {act}? No."),
        (f"Is it unfair for {who} to {act}? No.", f"Is it unfair for {who} to {act}? Yes."),
    ]  # fmt: skip


Turn = Callable[[str], list[Pair]]

_ACTS: Sequence[tuple[str, Turn]] = (
    (r"(?:ban|prohibit|outlaw|forbid|criminali[sz]e) (?:the use of |all )?(?P<x>.+)", _against),
    (r"(?:abolish|scrap|end|abandon|close|disband|dissolve|cancel|remove|stop) (?P<x>.+)", _ending),
    (r"(?:legali[sz]e|allow|permit) (?P<x>.+)", _letting),
    (r"(?:subsidi[sz]e|fund) (?P<x>.+)", _paying),
    (r"(?:introduce|adopt|implement|create|build|establish|enforce|institute) (?P<x>.+)", _having),
)
_FATES: Sequence[tuple[str, Turn]] = (
    (r"be (?:banned|prohibited|outlawed|forbidden|illegal|criminali[sz]ed|made illegal)", _against),
    (r"be (?:abolished|scrapped|ended|abandoned|closed|disbanded)", _ending),
    (r"be (?:legali[sz]ed|legal|allowed|permitted)", _letting),
)


def _cap(text: str) -> str:
    return text[:1].upper() + text[1:]


@functools.cache
def patterns(claim: str, negation: str) -> tuple[list[Pair], list[Pair]]:
    """Return pairs that suit any claim, and pairs for claims of this kind."""
    c = lowered(claim.rstrip("."))
    pairs = [
        (claim, negation),
        (claim, negation),
        (f"It is right to say that {c}.", f"It is wrong to say that {c}."),
        (f"Those who say that {c} are right.", f"Those who say that {c} are mistaken."),
        (f"Is it true that {c}? Yes.", f"Is it true that {c}? No."),
        (f"It is not a myth that {c}.", f"It is a myth that {c}."),
        (f"Is it false that {c}? No.", f"Is it false that {c}? Yes."),
    ]
    if question := question_from(claim):
        pairs += [(f"{question} Yes.", f"{question} No.")] * 2
    if motion := _MOTION.match(claim):
        specific = _acting(motion["act"])
        turns = [(turn, m["x"]) for rule, turn in _ACTS if (m := re.fullmatch(rule, motion["act"]))]
    elif motion := _SHOULD.match(claim):
        who = lowered(motion["who"])
        specific = _doing(who, motion["act"])
        turns = [(turn, who) for rule, turn in _FATES if re.fullmatch(rule, motion["act"])]
    else:
        return pairs, []
    for turn, x in turns:
        specific += turn(x) * 2
    return pairs, [(b, a) for a, b in specific] if motion["no"] else specific


def written() -> Mapping[str, list[tuple[int, str]]]:
    """Return hand-written questions by topic: (1 for its claim or -1 for the opposite, text)."""
    questions: dict[str, list[tuple[int, str]]] = defaultdict(list)
    keys: list[str] = []
    before = ""
    for line in WRITTEN.read_text("utf-8").splitlines():
        mark, _, text = line.partition(" ")
        if mark == "=":
            keys = [*keys, text] if before == "=" else [text]
        for key in keys if mark in ("+", "-") else ():
            questions[key].append((1 if mark == "+" else -1, text))
        before = mark
    return questions


_read = functools.cache(claims)


def written_pair(sign: int, question: str, draw: random.Random) -> Pair:
    """Return the claims that the rules make of a question, or the question with yes and no."""
    answered = question.endswith("?") and draw.random() < _ANSWERED
    pair = (f"{question} Yes.", f"{question} No.") if answered else _read(question)
    return pair if sign > 0 else pair[::-1]
