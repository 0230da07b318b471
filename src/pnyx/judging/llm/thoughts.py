"""Find where a model's thinking ends in a reply, and its answer begins.

Everything up to the last closing mark is thinking, even without an opening mark: chat templates
often open it in the prompt, so that only the closing mark is in the reply.
"""

from __future__ import annotations

import json
import re

_WORDS = "think|thinking|thought|thoughts|reasoning"
_CLOSED = re.compile(
    rf"</(?:[a-z]{{1,20}}:)?(?:{_WORDS})>"  # Qwen, DeepSeek, Claude, EXAONE, Gemini, Seed
    r"|\[/THINK\]"  # Magistral
    r"|<\|END_THINKING\|>|<\|end_of_thought\|>"  # Command, Sky
    r"|\u25c1/think\u25b7",  # Kimi-VL
    re.IGNORECASE,
)
_OPENED = re.compile(
    rf"<(?:[a-z]{{1,20}}:)?(?:{_WORDS})>"
    r"|\[THINK\]|<\|START_THINKING\|>|<\|begin_of_thought\|>|\u25c1think\u25b7",
    re.IGNORECASE,
)
_CHANNEL = "<|channel|>"
_FINAL = re.compile(r"<\|channel\|>\s*final\b[^<]{0,40}(?:<\|constrain\|>[^<]{0,40})?<\|message\|>")
_FINAL_ENDS = re.compile(r"<\|(?:return|end|call)\|>")
_BARE_ANALYSIS, _BARE_FINAL = re.compile(r"analysis(?=[A-Z\"{])"), "assistantfinal"
"""gpt-oss behind a server that omits the marks themselves."""


def answer_span(text: str) -> tuple[int, int] | None:
    """Return the position of the answer in a reply; None if all of it is thinking."""
    if _is_object(text):  # a mark in one of its strings is quoted
        return 0, len(text)
    if _CHANNEL in text:
        return _of_channels(text)
    if _BARE_ANALYSIS.match(text.lstrip()):
        at = text.rfind(_BARE_FINAL)
        return None if at < 0 else (at + len(_BARE_FINAL), len(text))
    start = 0
    for closed in _CLOSED.finditer(text):
        start = closed.end()
    if _OPENED.search(text, start):
        return None
    return (start, len(text)) if text[start:].strip() or not start else None


def _of_channels(text: str) -> tuple[int, int] | None:
    """Return the position of the final channel of gpt-oss, which must be the last one."""
    start = text.rfind(_CHANNEL)
    final = _FINAL.match(text, start)
    if final is None:
        return None
    end = _FINAL_ENDS.search(text, final.end())
    stop = len(text) if end is None else end.start()
    return (final.end(), stop) if text[final.end() : stop].strip() else None


def _is_object(text: str) -> bool:
    if not text.lstrip().startswith("{"):
        return False
    try:
        json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return False
    return True
