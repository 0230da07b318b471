"""The schema of an index in OpenSearch: its mapping, its scripts, its metadata.

Texts are cut into terms by Pnyx (`Tokenizer`), so that rankings are those of an index folder
whatever the language (docs/explain/decisions/opensearch.md). Scripts are constants: data from
questions and documents are parameters.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pnyx.core.errors import IndexFolderError
from pnyx.formats.text.tokens import Tokenizer
from pnyx.search.lexical.postings import LENGTHS, encode_lengths
from pnyx.search.opensearch.answers import ClusterAnswer
from pnyx.search.plan import PARAMETERS

FORMAT: Final = 2
"""Format 2 has a digest of the index's metadata."""
WORDS: Final = {"dirichlet": "terms", "bm25": "terms.bm25"}
"""The field of each model, with its default parameters."""
FEATURES: Final = {"vectors": "vector", "quality": "quality", "clusters": "cluster"}
"""The field of each feature."""

_LONGEST_TERM: Final = 8_000
"""Maximum characters of a term; Lucene accepts 32,766 bytes."""
_LONGEST_ID: Final = 500
_HASHED: Final = "sha256:"

_MU, _K1, _B = (PARAMETERS[name].default for name in ("mu", "k1", "b"))
_IDF: Final = (
    "double n = field.docCount; double df = term.docFreq; "
    "return query.boost * Math.log(1.0 + (n - df + 0.5) / (df + 0.5));"
)
_BM25: Final = (
    "double average = (double) field.sumTotalTermFreq / field.docCount; return weight * doc.freq / "
    f"(doc.freq + {_K1} * ({1 - _B} + {_B} * doc.length / average));"
)


def settings_of(shards: int, replicas: int) -> dict[str, Any]:
    """Return the settings of a new index. BM25 is a script: versions differ in a factor."""
    cut = {"type": "char_group", "tokenize_on_chars": [" "], "max_token_length": 1 << 20}
    bm25 = {"type": "scripted", "weight_script": {"source": _IDF}, "script": {"source": _BM25}}
    return {
        "index": {
            "number_of_shards": shards,
            "number_of_replicas": replicas,
            "refresh_interval": "-1",
            "similarity": {"dirichlet": {"type": "LMDirichlet", "mu": _MU}, "bm25": bm25},
            "analysis": {
                "tokenizer": {"terms": cut},
                "analyzer": {"terms": {"type": "custom", "tokenizer": "terms"}},
            },
        }
    }


def mapping_of(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mapping; terms and vector are not kept a second time in the source."""
    words = {"type": "text", "analyzer": "terms", "index_options": "freqs"}
    bm25 = words | {"similarity": "bm25"}
    number = {"type": "integer", "index": False}
    return {
        "_meta": described(meta),
        "dynamic": "strict",
        "_source": {"excludes": ["terms", "vector"]},
        "properties": {
            "terms": words | {"similarity": "dirichlet", "fields": {"bm25": bm25}},
            "length": number,
            "number": {"type": "integer"},
            "quality": {"type": "float"},
            "cluster": {"type": "integer"},
            "vector": {"type": "binary", "doc_values": True},
            "digest": {"type": "keyword", "index": False, "doc_values": False},
            "record": {"type": "keyword", "index": False, "doc_values": False},
        },
    }


def described(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `_meta` of a mapping: the index's metadata, with its digest."""
    return {"pnyx": {**meta, "digest": _meta_digest(meta)}}


def _meta_digest(meta: Mapping[str, Any]) -> str:
    return digest_of(json.dumps(meta, sort_keys=True).encode())


def check_own(index: ClusterAnswer, path: str) -> int:
    """Return the format of an index; IndexFolderError if it is not one of Pnyx's."""
    meta = index.field("mappings").optional("_meta")
    description = None if meta is None else meta.optional("pnyx")
    if description is None or description.optional("format") is None:
        raise IndexFolderError("is not an index made by Pnyx: its mapping differs", path=path)
    return description.field("format").integer()


def meta_of(index: ClusterAnswer, path: str) -> dict[str, Any]:
    """Return the metadata of an index; IndexFolderError if it is damaged or unknown."""
    if (version := check_own(index, path)) != FORMAT:
        problem = f"is of format {version}, expected {FORMAT}: load it again with --out and --force"
        raise IndexFolderError(problem, path=path)
    description = index.field("mappings", "_meta", "pnyx")
    meta = {key: value.value for key, value in description.entries().items()}
    if meta.pop("digest", None) != _meta_digest(meta):
        raise description.wrong("a description with the digest that it was written with", "another")
    try:
        Tokenizer.from_manifest(meta["tokenizer"])
    except ValueError as error:
        raise IndexFolderError(f"was loaded by another Pnyx: {error}", path=path) from error
    return meta


def documents_having(meta: Mapping[str, Any]) -> dict[str, int]:
    """Return, by the field of each feature, how many of the first documents all have a value."""
    having = {}
    for name, feature in meta["features"].items():
        count = feature["documents"]
        if name == "quality":  # a document whose quality was unknown in a folder has none
            complete = meta["statistics"]["documents_with_quality"] == count
        else:
            complete = not feature.get("without", 0)
        having[FEATURES[name]] = count if complete else 0
    return having


# Values ------------------------------------------------------------------------------------------


def key_of(doc_id: str) -> str:
    """Return the `_id` of a document: its id, or the hash of a long one."""
    coded = doc_id.encode("utf-8", "replace")
    if len(coded) <= _LONGEST_ID and not doc_id.startswith(_HASHED):
        return doc_id
    return _HASHED + hashlib.sha256(coded).hexdigest()


def is_hashed(key: str) -> bool:
    """Whether this `_id` is a hash rather than the document's id."""
    return key.startswith(_HASHED)


def as_terms(terms: Sequence[str]) -> str:
    """Return terms in the form of the field."""
    return " ".join(map(term_of, terms))


def term_of(term: str) -> str:
    """Return a term as it is stored: a very long one as its hash."""
    if len(term) <= _LONGEST_TERM:
        return term
    return _HASHED + hashlib.sha256(term.encode("utf-8", "replace")).hexdigest()


def kept_length(terms: int) -> int:
    """Return the length of a document as Lucene stores it, in one byte."""
    code = encode_lengths(np.array([min(terms, int(LENGTHS[-1]))]))
    return int(LENGTHS[code[0]])


def digest_of(line: bytes) -> str:
    """Return the digest that identifies a record."""
    return hashlib.blake2b(line, digest_size=12).hexdigest()


def coded(vector: NDArray[Any]) -> str:
    """Return a vector in the form of the field: float16 in little-endian order, in base64."""
    return base64.b64encode(np.ascontiguousarray(vector, dtype="<f2").tobytes()).decode()


def decoded(text: str) -> NDArray[np.float32]:
    """Return the vector of a field; ValueError for any other text."""
    padding = "=" * (-len(text) % 4)  # which a cluster leaves out of its answers
    content = base64.b64decode(text + padding, validate=True)
    return np.frombuffer(content, dtype="<f2").astype(np.float32)


# Scripts -----------------------------------------------------------------------------------------

COSINE: Final = """
def v = doc['vector'].value; byte[] b = v.bytes; int at = v.offset; int n = v.length / 2;
List q = params.q; double sum = 0;
for (int i = 0; i < n; ++i) {
    int h = (b[at] & 255) | (b[at + 1] << 8); at += 2;
    sum += Float.intBitsToFloat(((h & 32768) << 16) | ((h & 32767) << 13)) * (double) q.get(i);
}
return sum * 5.192296858534828E33;
"""
"""Dot product with a vector of float16, whose bits are those of a float32 divided by 2^112."""

BOOSTED: Final = """
double s = params.flat ? 1.0 : _score;
if (params.topics && doc['cluster'].size() > 0) {
    s *= (double) params.factors[(int) doc['cluster'].value];
}
if (params.wq > 0 && doc['quality'].size() > 0) { s *= 1.0 + params.wq * doc['quality'].value; }
return s;
"""
"""Equation 1 of the Touché paper."""

DIRICHLET: Final = """
double low = Math.log(params.mu / (doc['length'].value + params.mu)); double sum = 0;
for (int i = 0; i < params.terms.length; ++i) {
    int tf = termFreq(params.field, params.terms[i]);
    if (tf > 0) {
        double one = Math.log(1.0 + tf * (double) params.scales[i]) + low;
        sum += params.counts[i] * Math.max(0.0, one);
    }
}
return sum;
"""
BM25: Final = """
double dl = doc['length'].value / (double) params.average;
double at = params.k1 * ((1.0 - params.b) + params.b * dl); double sum = 0;
for (int i = 0; i < params.terms.length; ++i) {
    int tf = termFreq(params.field, params.terms[i]);
    if (tf > 0) { sum += (double) params.weights[i] * tf / (tf + at); }
}
return sum;
"""
"""The models with parameters set for the query."""

FREQUENCY: Final = "return termFreq(params.field, params.term);"
