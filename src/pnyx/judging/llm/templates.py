"""Prompt templates: a subset of Jinja that can only insert given texts.

A template may be from another person, so it is checked before any of it runs: it can print inputs
and blocks, choose (`if`) and loop over a list once (`for`), and nothing else.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from pnyx.core.errors import shorten
from pnyx.core.files import clean_text
from pnyx.judging.questions import RatedShot, Shot

if TYPE_CHECKING:
    import jinja2
    from jinja2 import nodes

_BLOCK = "block"
_LOOP = {"index", "index0", "first", "last", "length"}
_FIELDS = {field.name for kind in (Shot, RatedShot) for field in fields(kind)}
_CHOOSING = {"If", "Not", "And", "Or", "Compare", "Operand", "Template", "Output", "TemplateData"}
_COMPARED = {"eq", "ne", "lt", "lteq", "gt", "gteq"}
_MAX_DEPTH = 30
_MAX_LIST = 100_000
_MAX_CHARACTERS = 64 * 1024 * 1024


class TemplateFault(ValueError):  # noqa: N818 - the name says what it is
    """A problem in a template; `line` (1-based) is its line, or None."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.line = line


def check_template(source: str, inputs: Sequence[str]) -> None:
    """Raise TemplateFault if a template does anything except insert `inputs`."""
    _Check(inputs).template(_parsed(source))


@lru_cache(maxsize=256)
def listed_inputs(source: str) -> Mapping[str, bool]:
    """Return the inputs used outside `if`: name -> whether as a list (True) or as a text."""
    inputs: dict[str, bool] = {}
    for node, name, as_list in _uses(_parsed(source)):
        if inputs.setdefault(name, as_list) != as_list:
            raise TemplateFault(
                f"{shorten(name, 40)!r} is used as a list and as a text", node.lineno
            )
    return inputs


def rendered(source: str, inputs: Mapping[str, Any]) -> str:
    """Render a checked template; TemplateFault if it is too long, or inputs do not fit."""
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
    except (TypeError, _errors()) as error:
        raise TemplateFault(f"does not fit its inputs: {shorten(str(error))}") from error
    return "".join(parts).strip()


@cache
def _environment() -> jinja2.Environment:
    import jinja2
    import jinja2.sandbox

    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals = {_BLOCK: block}
    return environment


def _errors() -> type[Exception]:
    import jinja2

    return jinja2.TemplateError


@lru_cache(maxsize=256)
def _compiled(source: str) -> jinja2.Template:
    return _environment().from_string(source)


def _parsed(source: str) -> nodes.Template:
    import jinja2

    try:
        return _environment().parse(source)
    except jinja2.TemplateSyntaxError as error:
        raise TemplateFault(f"broken template: {shorten(str(error.message))}", error.lineno) from (
            error
        )
    except (ValueError, RecursionError) as error:  # a number of thousands of digits
        raise TemplateFault(f"broken template: {shorten(str(error))}") from error


class _Check:
    """Refuses everything not listed above: no template can run for long without printing."""

    def __init__(self, inputs: Sequence[str]) -> None:
        self._inputs = set(inputs)

    def template(self, tree: nodes.Template) -> None:
        """Check a whole template; not recursively, as it may be deeper than the stack."""
        left: list[tuple[Any, int, frozenset[str]]] = [(tree, 0, frozenset())]
        while left:
            node, depth, loop = left.pop()
            if depth > _MAX_DEPTH:
                raise TemplateFault("nested too deep", node.lineno)
            kind = type(node).__name__
            if kind == "For":
                self._loop(node, loop)
                inside = frozenset({node.target.name, "loop"})
                left += [(child, depth + 1, inside) for child in node.body]
                left += [(child, depth + 1, loop) for child in node.else_]
            elif kind in _CHOOSING:
                within = kind not in ("Template", "Output", "If")
                left += [(c, depth + 1, loop) for c in node.iter_child_nodes()]
                self._only_tests(node, kind, within)
                for operand in getattr(node, "ops", ()):
                    if operand.op not in _COMPARED:
                        raise TemplateFault(f"found the comparison {operand.op!r}", node.lineno)
            else:
                self._value(node, loop)

    def _only_tests(self, node: Any, kind: str, within: bool) -> None:
        """Check that a condition uses plain inputs and no calculation."""
        tested = [node.test] if kind == "If" else list(node.iter_child_nodes()) if within else []
        for child in tested:
            calculates = type(child).__name__ in ("Call", "Filter")
            if calculates and getattr(child, "name", "") != "length":
                raise TemplateFault("found a calculation, expected an input", child.lineno)

    def _value(self, node: Any, loop: frozenset[str]) -> None:
        kind = type(node).__name__
        if kind == "Const" and isinstance(node.value, str | int | bool | None):
            return
        if kind == "Name":
            self._known(node, loop)
        elif kind == "Getattr":
            self._attribute(node, loop)
        elif kind == "Call":
            self._block(node, loop)
        elif kind == "Filter":
            self._filter(node, loop)
        else:
            what = shorten(kind.lower(), 40)
            raise TemplateFault(f"found {what!r}, which a prompt cannot use", node.lineno)

    def _known(self, node: Any, loop: frozenset[str]) -> None:
        if node.name not in self._inputs and node.name not in loop - {"loop"}:
            there = ", ".join(sorted(self._inputs)) or "none"
            raise TemplateFault(
                f"found {shorten(node.name, 40)!r}, expected one of the inputs ({shorten(there)})",
                node.lineno,
            )

    def _attribute(self, node: Any, loop: frozenset[str]) -> None:
        owner = node.node.name if type(node.node).__name__ == "Name" else ""
        allowed = _LOOP if owner == "loop" else _FIELDS
        if not owner or owner not in loop or node.attr not in allowed:
            raise TemplateFault(
                f"found the attribute {shorten(node.attr, 40)!r}, which a prompt cannot use",
                node.lineno,
            )

    def _block(self, node: Any, loop: frozenset[str]) -> None:
        named = type(node.node).__name__ == "Name" and node.node.name == _BLOCK
        if not named or len(node.args) != 2 or node.kwargs or node.dyn_args or node.dyn_kwargs:
            raise TemplateFault("found a call, expected block(LABEL, TEXT)", node.lineno)
        label, text = node.args
        if type(label).__name__ != "Const" or not str(label.value).isidentifier():
            raise TemplateFault("block: expected one word between quotes as LABEL", node.lineno)
        if type(text).__name__ == "Call":
            raise TemplateFault("found a block within a block", node.lineno)
        self._value(text, loop)

    def _filter(self, node: Any, loop: frozenset[str]) -> None:
        plain = type(node.node).__name__ == "Name" and not (
            node.kwargs or node.dyn_args or node.dyn_kwargs
        )
        join = node.name == "join" and not loop and len(node.args) <= 1
        if not plain or not (join or (node.name == "length" and not node.args)):
            raise TemplateFault(
                f"found the filter {shorten(node.name, 40)!r}, expected INPUT | length, or "
                "INPUT | join(TEXT) outside of loops",
                node.lineno,
            )
        if any(type(arg).__name__ != "Const" for arg in node.args):
            raise TemplateFault("join: expected a text between quotes", node.lineno)
        self._known(node.node, loop)

    def _loop(self, node: Any, loop: frozenset[str]) -> None:
        plain = type(node.iter).__name__ == "Name" and type(node.target).__name__ == "Name"
        if loop or not plain or node.recursive or node.test is not None:
            raise TemplateFault(
                "found a loop, expected {% for NAME in LIST %} over an input, not within another",
                node.lineno,
            )
        self._known(node.iter, loop)
        if node.target.name in {*self._inputs, _BLOCK, "loop"}:
            raise TemplateFault(
                f"the loop's name {shorten(node.target.name, 40)!r} has a meaning already",
                node.lineno,
            )


def _uses(tree: nodes.Template) -> Iterator[tuple[nodes.Node, str, bool]]:
    """Yield each use of a name: printed or put into a block (False), or looped over (True)."""
    from jinja2 import nodes

    loops = set()
    for loop in tree.find_all(nodes.For):
        loops.add(getattr(loop.target, "name", ""))
        yield loop, getattr(loop.iter, "name", ""), True
    for join in tree.find_all(nodes.Filter):
        if join.name == "join" and isinstance(join.node, nodes.Name):
            yield join, join.node.name, True
    printed = [part for output in tree.find_all(nodes.Output) for part in output.nodes]
    blocks = [call.args[1] for call in tree.find_all(nodes.Call)]
    for part in (*printed, *blocks):
        if isinstance(part, nodes.Name) and part.name not in loops:
            yield part, part.name, False


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
    # Images, sound, positions in them.
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
            # Tags without attributes that are not HTML: <start_of_turn>, </tool_call>,
            # <SPECIAL_12>, <extra_id_0>, <minimax:tool_call>, <unused7>; and others listed by name.
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
"""The first character of a control token of a chat template or tokenizer; a space is inserted after
it. Matched by shape if the shape is unlike prose, HTML and code, otherwise by name."""


def without_control_tokens(text: str) -> str:
    """Return a text in which a space breaks up the control tokens of chat templates."""
    return _CONTROL.sub(lambda match: match.group() + " ", text)


def block(label: str, text: str) -> str:
    """Return untrusted text between marks, derived from the text, that it cannot contain."""
    text = without_control_tokens(clean_text(text))
    nonce, salt = "", 0
    while not nonce or nonce in text:  # a second round is practically never needed
        nonce = hashlib.sha256(f"{salt}\n{text}".encode()).hexdigest()[:16]
        salt += 1
    return f"<<<{label} {nonce}\n{text}\n{label} {nonce}>>>"
