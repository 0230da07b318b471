"""Untrusted text in a prompt, between marks that it cannot contain: it cannot end its block."""

from __future__ import annotations

import hashlib
import re

from pnyx.files import clean_text

__all__ = ["block", "without_control_tokens"]

_BAR = "|\uff5c"
"""`<|im_start|>`; DeepSeek writes its tokens with the full-width bar."""

_TAGS = (
    # Sentences, padding, masks, sides of a pair.
    *("s", "bos", "eos", "unk", "pad", "mask", "cls", "sep", "sop", "eop", "eod", "eot", "eoh"),
    *("eoa", "bom", "eom", "null", "cap"),
    # Turns and who speaks.
    *("role", "turn", "system", "user", "assistant", "human", "ai", "bot", "observation", "用户"),
    # Thinking, tools, answers.
    *("think", "thinking", "thought", "answer", "tool", "tools", "function", "functions"),
    *("response", "results"),
    # Pictures, sound, places in them.
    *("img", "image", "imagepatch", "images", "video", "audio", "speech", "box", "quad", "ref"),
    # Code models.
    *("filename", "reponame", "empty_output", "global-img", "multimodal"),
)
_BRACKETED = (
    *("IMG", "AUDIO", "PREFIX", "MIDDLE", "SUFFIX", "ARGS", "THINK", "BOS", "EOS", "PAD", "UNK"),
    *("CLS", "SEP", "MASK", "gMASK", "sMASK", "multimodal"),
)

_CONTROL = re.compile(
    "|".join(
        (
            # Any word within bars: <|eot_id|>, <|turn>, <turn|>, [|user|]; so are its halves.
            rf"[<\[](?=[{_BAR}])",
            rf"[<\[](?=[^\s<>\[\]{_BAR}]{{1,40}}[{_BAR}][>\]])",
            # Tags without attributes that are no HTML: <start_of_turn>, </tool_call>, <SPECIAL_12>,
            # <extra_id_0>, <minimax:tool_call>, <unused7>; and those that one has to know.
            r"<(?=/?\w{0,40}_\w{0,40}>)",
            r"<(?=/?[a-z]{1,20}:[a-z][a-z_]{0,40}>)",
            r"<(?=(?:unused|reserved|special|mask:|extra|0x)[0-9a-f]{1,6}>)",
            rf"<(?=/?(?i:{'|'.join(_TAGS)})>)",
            r"<(?=<?/?SYS>>)|<(?=</SYS>>)",
            # Words in brackets: [/INST], [TOOL_RESULTS], [gMASK].
            r"\[(?=/?(?i:INST)\])|\[(?=/?[A-Z]{1,20}_[A-Z_]{1,20}\])",
            rf"\[(?=/?(?:{'|'.join(_BRACKETED)})\])",
            # MiniMax: ]~b], ]~!b[, [e~[, ]<]image[>[; Falcon: >>QUESTION<<.
            r"[\[\]](?=[a-z]?~!?[a-z]?[\[\]])|\](?=<\])|\[(?=>\[)",
            r">(?=>[A-Z]{1,20}<<)",
        )
    )
)
"""The first character of what a chat template or a tokenizer gives a meaning to. A space is put
behind it. By shape where a shape is unlike prose, HTML and code, by name otherwise."""


def without_control_tokens(text: str) -> str:
    """Return a text whose control tokens of chat templates are broken up by a space."""
    return _CONTROL.sub(lambda match: match.group() + " ", text)


def block(label: str, text: str) -> str:
    """Return untrusted text between marks that it cannot contain, its control tokens broken up."""
    text = without_control_tokens(clean_text(text))
    nonce, salt = "", 0
    while not nonce or nonce in text:  # a second round is needed once in never
        nonce = hashlib.sha256(f"{salt}\n{text}".encode()).hexdigest()[:16]
        salt += 1
    return f"<<<{label} {nonce}\n{text}\n{label} {nonce}>>>"
