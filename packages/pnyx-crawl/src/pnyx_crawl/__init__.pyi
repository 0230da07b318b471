"""The public names, each with its home."""

from .corpus import WebCorpus, WebPlan, build_web_corpus
from .fetch import FetchLimits
from .search import SearchApi, SearchFailedError, Serper

__all__ = [
    "FetchLimits",
    "SearchApi",
    "SearchFailedError",
    "Serper",
    "WebCorpus",
    "WebPlan",
    "build_web_corpus",
]
