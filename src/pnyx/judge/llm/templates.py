"""Prompt templates: Jinja in its sandbox, without what a prompt needs not, and blocks of texts.

A prompt file is its user's, but a mistake in it is told with its line before anything is asked.
What a template is given is never a template itself.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from pnyx.errors import shorten
from pnyx.files import clean_text

if TYPE_CHECKING:
    import jinja2
    from jinja2 import nodes

_USED = frozenset(
    "Template Output TemplateData Name Const If For Not And Or Compare Operand Filter Call "
    "Getattr".split()
)
"""Kinds of nodes that prompts are made of: no operators, so no text grows but by a loop."""
_FILTERS = ("join", "length")
_MAX_LIST = 100_000
_MAX_CHARACTERS = 64 * 1024 * 1024


class TemplateFault(ValueError):  # noqa: N818 - reads as what it is
    """What is wrong with a template; `line` (1-based) is where, or None."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.line = line


@cache
def _environment() -> jinja2.Environment:
    import jinja2
    import jinja2.sandbox

    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals = {"block": block}
    return environment


@lru_cache(maxsize=256)
def _parsed(source: str) -> nodes.Template:
    import jinja2

    try:
        _compiled(source)
        return _environment().parse(source)
    except jinja2.TemplateSyntaxError as error:
        problem = f"broken template: {shorten(str(error.message))}"
        raise TemplateFault(problem, error.lineno) from error
    # Nested too deep for Python, or a number of thousands of digits.
    except (ValueError, RecursionError, SyntaxError, MemoryError) as error:
        raise TemplateFault(f"broken template: {shorten(str(error))}") from error


def check_template(source: str, inputs: Sequence[str]) -> None:
    """Raise TemplateFault where a template does anything but place `inputs`."""
    from jinja2 import meta, nodes

    tree = _parsed(source)
    for node in tree.find_all(nodes.Node):
        if problem := _problem(node, inputs):
            raise TemplateFault(problem, node.lineno)
    unknown = meta.find_undeclared_variables(tree) - {*inputs, "block"}
    there = shorten(", ".join(sorted(inputs)) or "none")
    for name in tree.find_all(nodes.Name):
        if name.name in unknown:
            found = f"found {shorten(name.name, 40)!r}, expected one of the inputs ({there})"
            raise TemplateFault(found, name.lineno)


def _problem(node: Any, inputs: Sequence[str]) -> str:
    """Return why a prompt cannot use a node, or nothing."""
    from jinja2 import nodes

    kind = type(node).__name__
    if kind == "Filter" and node.name not in _FILTERS:
        expected = "INPUT | length or INPUT | join(TEXT)"
        return f"found the filter {shorten(node.name, 40)!r}, expected {expected}"
    owner = getattr(getattr(node, "node", None), "name", "")
    if kind == "Getattr" and (node.attr.startswith("_") or owner in inputs):
        return f"found the attribute {shorten(node.attr, 40)!r}, which a prompt cannot use"
    if kind == "Call":
        label, *texts = node.args if getattr(node.node, "name", "") == "block" else [None]
        word = isinstance(label, nodes.Const) and str(label.value).isidentifier()
        if not word or len(texts) != 1 or node.kwargs or isinstance(texts[0], nodes.Call):
            return "found a call, expected block(LABEL, TEXT), LABEL a word between quotes"
    if kind == "For" and not (
        isinstance(node.iter, nodes.Name)
        and isinstance(node.target, nodes.Name)
        and node.target.name != node.iter.name
        and not (node.recursive or node.test or list(node.find_all(nodes.For)))
    ):
        return "found a loop, expected {% for NAME in LIST %} over an input, not within another"
    known = kind in _USED or isinstance(node, nodes.Operand)
    return "" if known else f"found {shorten(kind.lower(), 40)!r}, which a prompt cannot use"


@lru_cache(maxsize=256)
def listed_inputs(source: str) -> Mapping[str, bool]:
    """Return which inputs a checked template uses beyond `if`: as a list (True) or as a text."""
    from jinja2 import nodes

    tree = _parsed(source)
    loops = list(tree.find_all(nodes.For))
    uses: list[tuple[Any, bool]] = [(loop.iter, True) for loop in loops]
    uses += [(join.node, True) for join in tree.find_all(nodes.Filter) if join.name == "join"]
    uses += [(part, False) for output in tree.find_all(nodes.Output) for part in output.nodes]
    uses += [(call.args[1], False) for call in tree.find_all(nodes.Call)]
    entries = {getattr(loop.target, "name", "") for loop in loops}
    found: dict[str, bool] = {}
    for node, as_list in uses:
        if not isinstance(node, nodes.Name) or node.name in entries:
            continue
        if found.setdefault(node.name, as_list) != as_list:
            problem = f"{shorten(node.name, 40)!r} is used as a list and as a text"
            raise TemplateFault(problem, node.lineno)
    return found


def rendered(source: str, inputs: Mapping[str, Any]) -> str:
    """Return what a checked template becomes; TemplateFault: too long, or inputs do not fit."""
    from jinja2 import TemplateError

    for name, value in inputs.items():
        if not isinstance(value, str) and len(value) > _MAX_LIST:
            raise TemplateFault(f"{shorten(name, 40)!r} has more than {_MAX_LIST:,} entries")
    parts, size = [], 0
    try:
        for part in _compiled(source).generate(inputs):
            size += len(part)
            if size > _MAX_CHARACTERS:
                raise TemplateFault(f"becomes longer than {_MAX_CHARACTERS:,} characters")
            parts.append(part)
    except (TypeError, AttributeError, TemplateError) as error:
        raise TemplateFault(f"does not fit its inputs: {shorten(str(error))}") from error
    return "".join(parts).strip()


@lru_cache(maxsize=256)
def _compiled(source: str) -> jinja2.Template:
    return _environment().from_string(source)


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
    """Return untrusted text between marks that it cannot contain, its control tokens broken up.

    The marks depend on the text alone: requests about one document share their beginning.
    """
    text = without_control_tokens(clean_text(text))
    nonce, salt = "", 0
    while not nonce or nonce in text:  # a second round is needed once in never
        nonce = hashlib.sha256(f"{salt}\n{text}".encode()).hexdigest()[:16]
        salt += 1
    return f"<<<{label} {nonce}\n{text}\n{label} {nonce}>>>"
