"""Index folders by a malicious hand: changed, and their checksums made right again.

As a script it uses many of them in every way, in a process of its own, which may crash:

    python hostile_index.py INDEX FOLDER FIRST STOP

prints one line of counts; INDEX is copied to FOLDER and changed by each seed from FIRST to STOP.
"""

from __future__ import annotations

import faulthandler
import json
import random
import shutil
import sys
import zlib
from pathlib import Path

import numpy as np

from index_fixture import HAS_GRAPHS, Fake
from pnyx.core.errors import PnyxError
from pnyx.search.features.clusters import cluster_new_documents, clusters_of, facets
from pnyx.search.features.vectors import embed_documents, embed_question
from pnyx.search.index import Index
from pnyx.search.lexical.manifest import write_manifest
from pnyx.search.lexical.storage import BLOCK_BYTES
from pnyx.search.open_engine import verify_index
from pnyx.search.ranking.dense import dense_rank
from pnyx.search.ranking.scores import touche_rank

QUESTION = "word3 word17 often rare29"
SIZES = {"u1": 1, "i1": 1, "<u2": 2, "<u4": 4, "<u8": 8, "<f2": 2, "<f4": 4}
NUMBERS = (0, 1, 2, 15, 16, 255, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63, 2**64 - 1)
ODD = (None, True, -1, 0, 1.5, float("nan"), float("inf"), 2**31, 2**64, 10**40, "", "x")
ODD += ("../../etc/passwd", "\ud800", [], {}, [[]], {"a": 1}, "u1", "<u8", "O", BLOCK_BYTES)
SWAPS = (
    b'"id"|"ix"',
    b'"text": "|"text": 5,"',
    b'"kind"|"kinx"',
    b'"word|"\\ud8',
    b"[{|[[",
    b"{|[",
)
SWAPS += (b'"premises"|"extra"   ', b'"pro"|"prx"', b'"documents": |"documents":-')


def content_of(folder):
    content = json.loads((folder / "manifest.json").read_bytes())
    del content["checksum"]
    return content


def entries_of(content):
    return [*content["segments"], *content["features"].values()]


def change(folder, section, edit):
    """Edit a section of the first file that has it, as an array, and make all checksums right."""
    content = content_of(folder)
    entry = next(e for e in entries_of(content) if section in e["sections"])
    raw = bytearray((folder / entry["file"]).read_bytes())
    place = entry["sections"][section]
    values = np.frombuffer(
        raw, place["dtype"], place["bytes"] // SIZES[place["dtype"]], place["offset"]
    )
    edit(values)
    seal(folder, content, entry, raw)
    write_manifest(folder, content)


def seal(folder, content, entry, raw):
    end = entry["checksums"]["offset"]
    blocks = [raw[i : min(i + BLOCK_BYTES, end)] for i in range(0, end, BLOCK_BYTES)]
    raw[end:] = b"".join(zlib.crc32(block).to_bytes(4, "little") for block in blocks)
    entry["checksums"]["crc32"] = zlib.crc32(raw[end:])
    (folder / entry["file"]).write_bytes(raw)
    if HAS_GRAPHS:  # a graph names the vectors that it is of
        vectors = content["features"]["vectors"]["checksums"]
        content["features"]["vectors_ann"]["meta"]["of"]["crc32"] = vectors["crc32"]


def change_by_chance(folder, chance):
    content = content_of(folder)
    if chance.random() < 0.3:
        change_manifest(content, chance)
    else:
        entry = chance.choice(entries_of(content))
        raw = bytearray((folder / entry["file"]).read_bytes())
        names = [name for name, place in entry["sections"].items() if place["bytes"]]
        change_bytes(raw, entry["sections"][chance.choice(names)], chance)
        seal(folder, content, entry, raw)
    write_manifest(folder, content)


def change_bytes(raw, place, chance):
    first, stop = place["offset"], place["offset"] + place["bytes"]
    for _ in range(chance.choice([1, 1, 2, 5])):
        size = SIZES[place["dtype"]]
        size = chance.choice([1, 2, 4, 8]) if size == 1 and place["bytes"] > 64 else size
        at = first + chance.randrange(place["bytes"] // size) * size
        at = chance.choice([at, at, first, stop - size])
        old = int.from_bytes(raw[at : at + size], "little")
        near = [old ^ 1 << chance.randrange(8 * size), old + chance.choice([-1, 1, 2, 1000])]
        new = chance.choice([*near, chance.choice(NUMBERS), chance.getrandbits(8 * size)])
        raw[at : at + size] = (new % (1 << 8 * size)).to_bytes(size, "little")
    before, after = chance.choice(SWAPS).split(b"|")
    at = raw.find(before, chance.randrange(first, stop), stop)
    if at >= 0 and chance.random() < 0.7:
        raw[at : at + len(before)] = (after + b" " * len(before))[: len(before)]


def change_manifest(content, chance):
    node, key = chance.choice([*_leaves(content)])
    other, its = chance.choice([*_leaves(content)])
    value = node[key]
    choices = [chance.choice(ODD), json.loads(json.dumps(other[its]))]
    if type(value) is int:
        choices += [value + chance.choice([-1, 1, 64, -64])] * 2
    node[key] = chance.choice(choices)
    if isinstance(node, dict) and chance.random() < 0.2:
        del node[key]


def _leaves(node):
    for key in node if isinstance(node, dict) else range(len(node)):
        yield node, key
        if isinstance(node[key], (dict, list)):
            yield from _leaves(node[key])


# Using it ----------------------------------------------------------------------------------------


def _search(folder, kernel, model):
    index = Index.open(folder, kernel=kernel)
    for hit in index.search(QUESTION, model, 20):
        index.fetch([hit.doc_id])
    scores = index.score_all(QUESTION, model)
    assert np.isfinite(scores).all()


def _documents(folder):
    index = Index.open(folder)
    index.doc_ids(np.arange(len(index)))
    for document in index.documents():
        assert document.id not in index or index.document(document.id)
        texts = (document.text, document.title, document.source, document.url)
        "".join(texts).encode()
        json.dumps(dict(document.extra), allow_nan=False, ensure_ascii=False).encode()


def _dense(folder, ann):
    index = Index.open(folder)
    _, cosines = dense_rank(index, embed_question(index, Fake(), QUESTION), 10, ann=ann)
    assert np.isfinite(cosines).all()


def _topics(folder):
    index = Index.open(folder)
    ids = index.doc_ids(np.arange(min(20, len(index))))
    json.dumps([f.label for f in facets(index, ids)], ensure_ascii=False).encode()
    assert np.isfinite(clusters_of(index).cosines(Fake().encode([QUESTION])[0])).all()


def _touche(folder, kernel):
    _, scores = touche_rank(Index.open(folder, kernel=kernel), QUESTION, Fake(), 10)
    assert np.isfinite(scores).all()


USES = [
    lambda f, k=k, m=m: _search(f, k, m) for k in ("numpy", "numba") for m in ("dirichlet", "bm25")
]
USES += [lambda f, k=k: _touche(f, k) for k in ("numpy", "numba")]
USES += [_documents, _topics, verify_index, lambda f: _dense(f, ann=False)]
USES += [lambda f: _dense(f, ann=True)] if HAS_GRAPHS else []
USES += [lambda f: embed_documents(f, Fake()), lambda f: cluster_new_documents(f, Fake())]


def refused(folder):
    """Use an index in every way; return how many of the uses refused it."""
    count = 0
    for use in USES:
        try:
            use(folder)
        except PnyxError:
            count += 1
    return count


def _say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(pristine, folder, first, stop):
    faulthandler.enable()
    assert refused(pristine) == 0
    counts = []
    for seed in range(first, stop):
        _say(f"seed {seed}")  # the last one is what crashed it
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(pristine, folder)
        change_by_chance(folder, random.Random(seed))
        counts.append(refused(folder))
    _say(f"{len(counts)} indexes, {sum(map(bool, counts))} refused")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
