"""Training data from debate sets: passages with a side, and statements of both sides.

Of the labelled BERDS pairs only the statements are read, so that similar topics can be left out
(`parts_of`).
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from claim_rules import claims, is_plain, opposite

MOST_WORDS, LEAST_WORDS = 110, 25
NEAR = 0.6
"""Cosine from which two claims count as one topic."""

Rows = npt.NDArray[np.float32]


@dataclass(slots=True)
class Topic:
    """A contentious claim.

    Attributes:
        claim: as a sentence.
        negation: by rule; empty if no rule gives one.
        source: the set it comes from.
        points: (1 for the claim or -1 against it, a point as a sentence).
    """

    claim: str
    negation: str
    source: str
    points: list[tuple[int, str]] = field(default_factory=list)


@dataclass(slots=True)
class Passage:
    """About 100 words or fewer.

    Attributes:
        text: the words.
        topic: key of its topic; empty if it belongs to no debate.
        source: the set it comes from.
        side: 1 for the topic's claim, -1 against it, 0 if it takes no side.
        point: the point that it makes (`bears` 1) or answers (-1); empty if unknown.
        bears: see `point`.
        yes: other statements that it makes according to people's labels.
        no: statements of its topic that it does not make according to people's labels.
    """

    text: str
    topic: str
    source: str
    side: int = 0
    point: str = ""
    bears: int = 0
    yes: tuple[str, ...] = ()
    no: tuple[str, ...] = ()


class Debates:
    """All topics and passages of the sets under `data`, in the same order every time."""

    def __init__(self, data: Path) -> None:
        csv.field_size_limit(10**8)
        self.data, self._random = data, random.Random(0)
        self.topics: dict[str, Topic] = {}
        self.passages: list[Passage] = []
        self._idebate()
        self._portal("debatewise")
        self._portal("procon")
        self._ibm_arguments()
        self._ibm_claims()
        self._key_points("train")
        self._key_points("dev")
        self._perspectrum()
        self._expansions()

    def statements(self) -> Iterator[str]:
        """Yield all claims and points."""
        for topic in self.topics.values():
            yield topic.claim
            yield from (point for _, point in topic.points)

    def _topic(self, key: str, title: str, source: str) -> Topic:
        if key not in self.topics:
            claim = claims(tidy(title))[0]
            if not is_plain(claim):  # no rule takes it apart
                self.topics[key] = Topic(sentence(title.rstrip("?")), "", source)
            else:
                self.topics[key] = Topic(claim, turned(claim), source)
        return self.topics[key]

    def _add(self, text: str, topic: str, source: str, pieces: int = 3, **more: Any) -> None:
        for piece in self.cut(text)[:pieces]:
            if len(piece.split()) >= LEAST_WORDS:
                self.passages.append(Passage(piece, topic, source, **more))

    def cut(self, text: str) -> list[str]:
        """Split a text into pieces of 80 to 110 words; shorter texts are one piece."""
        words, pieces, start = tidy(text).split(), [], 0
        if len(words) <= MOST_WORDS:
            return [" ".join(words)]
        while start < len(words):
            size = self._random.randint(80, MOST_WORDS)
            if len(words) - start < 35:
                break
            pieces.append(" ".join(words[start : start + size]))
            start += size
        return pieces

    def _idebate(self) -> None:
        folder = self.data / "arguana_counterargs"
        for row in packed_lines(folder / "debates.jsonl.gz"):
            key = f"idebate {row['theme']}/{row['debate']}"
            self._topic(key, row["title"], "idebate")
            self._add(row["intro"], key, "introduction", pieces=4)
        rows = list(packed_lines(folder / "arguments.jsonl.gz"))
        # The id of a point ends in a, that of its counter in b.
        points = {r["id"][:-1]: sentence(r["conclusion"]) for r in rows if r["type"] == "point"}
        for row in rows:
            key = f"idebate {row['theme']}/{row['debate']}"
            if key not in self.topics:
                continue
            point, side = points.get(row["id"][:-1], ""), 1 if row["stance"] == "pro" else -1
            bears = 0 if not point else 1 if row["type"] == "point" else -1
            if bears == 1:
                self.topics[key].points.append((side, point))
            self._add(row["premise"], key, "idebate", side=side, point=point, bears=bears)

    def _portal(self, name: str) -> None:
        pages = json.loads((self.data / f"perspectrum/{name}_raw.json").read_text("utf-8"))
        for number, page in enumerate(pages):
            key = f"{name} {number}"
            topic = self._topic(key, page["claim_title"], name)
            for column, side in (("perspectives_for", 1), ("perspectives_against", -1)):
                for row in page[column]:
                    point = sentence(row["perspective_title"])
                    topic.points.append((side, point))
                    text = " ".join(row["argument"]["description"])
                    self._add(text, key, name, side=side, point=point, bears=1)

    def _ibm_arguments(self) -> None:
        """Add passages of one to four arguments on the same side of IBM's ranking."""
        sides = defaultdict(list)
        for row in table(self.data / "ibm_argq_rank_30k/arg_quality_rank_30k.csv.gz"):
            sure = float(row["stance_WA_conf"]) >= 0.8 and float(row["WA"]) > 0.5
            if sure and row["stance_WA"] in ("1", "-1"):
                sides[row["topic"], int(row["stance_WA"])].append(tidy(row["argument"]))
        for (title, side), arguments in sides.items():
            key = f"ibm {title}"
            self._topic(key, title, "ibm")
            self._random.shuffle(arguments)
            start = 0
            for _ in range(70):
                size = self._random.choice([1, 1, 2, 3, 4])
                if text := " ".join(arguments[start : start + size]):
                    self.passages.append(Passage(text, key, "ibm", side))
                start += size

    def _ibm_claims(self) -> None:
        for row in table(self.data / "ibm_claim_stance/claim_stance_dataset_v1.csv.gz"):
            key = f"claims {row['topicText']}"
            self._topic(key, row["topicText"], "ibm-claims")
            side = 1 if row["claims.stance"] == "PRO" else -1
            text = sentence(row["claims.claimCorrectedText"])
            self.passages.append(Passage(text, key, "ibm-claims", side))

    def _key_points(self, part: str) -> None:
        folder = self.data / "ibm_kpa_2021"
        points = {r["key_point_id"]: r for r in table(folder / f"key_points_{part}.csv")}
        matched: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
        for row in table(folder / f"labels_{part}.csv"):
            point = sentence(points[row["key_point_id"]]["key_point"])
            matched[row["arg_id"]][row["label"] == "0"].append(point)
        for point_row in points.values():
            topic = self._topic(f"points {point_row['topic']}", point_row["topic"], "key-points")
            topic.points.append((int(point_row["stance"]), sentence(point_row["key_point"])))
        for row in table(folder / f"arguments_{part}.csv"):
            yes, no = matched[row["arg_id"]]
            key = f"points {row['topic']}"
            self._topic(key, row["topic"], "key-points")
            passage = Passage(tidy(row["argument"]), key, "key-points", int(row["stance"]))
            passage.yes, passage.no = tuple(yes), tuple(no)
            self.passages.append(passage)

    def _perspectrum(self) -> None:
        """Add passages: all wordings of a perspective except the first, which is the point."""
        folder = self.data / "perspectrum"
        pool = json.loads((folder / "perspective_pool_v1.0.json").read_text("utf-8"))
        texts = {row["pId"]: sentence(row["text"]) for row in pool}
        rows = json.loads((folder / "perspectrum_with_answers_v1.0.json").read_text("utf-8"))
        for row in rows:
            key = f"perspectrum {row['cId']}"
            topic = self._topic(key, row["text"], "perspectrum")
            for perspective in row["perspectives"]:
                side = {"SUPPORT": 1, "UNDERMINE": -1}.get(perspective["stance_label_3"])
                wordings = [texts[i] for i in perspective["pids"] if i in texts]
                if side is None or not wordings:
                    continue
                topic.points.append((side, wordings[0]))
                text = " ".join(wordings[1:] or wordings)
                passage = Passage(text, key, "perspectrum", side)
                if len(wordings) > 1:
                    passage.point, passage.bears = wordings[0], 1
                self.passages.append(passage)

    def _expansions(self) -> None:
        """Add GPT-4's searches for BERDS's development questions if they start with yes or no."""
        for name in ("arguana_generated", "kialo", "opinionqa"):
            path = self.data / "berds" / f"{name}_query_exp.dev.jsonl"
            for line in path.read_text("utf-8").splitlines():
                row = json.loads(line)
                key = f"views {name} {row['org_id']}"
                if len(row["perspectives"]) != 2:
                    continue
                yes, no = map(sentence, row["perspectives"])
                self.topics.setdefault(key, Topic(yes, no, "views"))
                match = re.fullmatch(r"(Yes|No)[,.] (.*)", tidy(row["text"]))
                if match is not None:
                    text = match[2][:1].upper() + match[2][1:]
                    side = 1 if match[1] == "Yes" else -1
                    self.passages.append(Passage(text, key, "views", side))


def encyclopaedic(data: Path) -> list[str]:
    """Return passages of question-answering sets, which take no side in any debate."""
    passages: dict[str, None] = {}
    for name in ("asqa", "qampari", "rag_bench"):
        for row in table(data / f"diras_general_qa/train/{name}_train_data.csv"):
            text = row.get("document")
            if text is None:  # a whole prompt, the paragraph in quotes
                match = re.search(r'<paragraph>: "(.*?)"\s*(?:\n|<\|)', row["input"], re.DOTALL)
                text = match.group(1) if match else ""
            words = tidy(text).split()
            for start in range(0, max(1, len(words) - 60), 100):
                passages[" ".join(words[start : start + 100])] = None
    return [text for text in passages if len(text.split()) >= 40]


def reports(data: Path) -> list[str]:
    """Return passages of news reports, which are on contentious topics but mostly take no side."""
    passages: dict[str, None] = {}
    with (data / "reportgen/ragtime26_bitem/T1_run_1.jsonl").open(encoding="utf-8") as stream:
        for line in stream:
            text = tidy(" ".join(response["text"] for response in json.loads(line)["responses"]))
            words = text.split()
            for start in range(0, max(1, len(words) - 60), 100):
                passages[" ".join(words[start : start + 100])] = None
    return list(passages)


SPLIT = Path(__file__).with_name("split.json")
"""Part -> SHA-1 of the keys of its topics, 8 digits each; every packaged model was trained with it.

It was made once, from the cosines of claims: 60 Debatewise pages were drawn for development and 60
for the test, and all topics closer than `NEAR` to these or to BERDS's statements were dropped. It
is stored in a file, because the claims change with `claim_rules`.
"""


def parts_of(debates: Debates) -> dict[str, str]:
    """Return the part of each topic, by key: train, development, test or dropped."""
    split = json.loads(SPLIT.read_text("utf-8"))
    parts = {digest: part for part, digests in split.items() for digest in digests.split()}
    return {key: parts[hashlib.sha1(key.encode()).hexdigest()[:8]] for key in debates.topics}


def turned(statement: str) -> str:
    """Return the negation of a statement; empty if no rule gives an ordinary sentence."""
    other = opposite(statement) or ""
    return other if is_plain(other) else ""


def tidy(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"\[\d+\]", "", text)).strip()


def sentence(text: str) -> str:
    plain = tidy(text).rstrip(" .:;,")
    return plain[:1].upper() + plain[1:] + "."


def table(path: Path) -> Iterator[dict[str, str]]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", newline="") as stream:
        yield from csv.DictReader(stream, delimiter="\t" if path.suffix == ".tsv" else ",")


def packed_lines(path: Path) -> Iterator[Any]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        yield from map(json.loads, stream)
