"""A prompt file with a mistake, or a hostile one: one line with its place, at once."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command import run
from pnyx.judging.llm.prompts import load_prompt, parse_prompt, prompt_bytes, prompt_names
from pnyx.judging.llm.templates import TemplateFault, check_template, rendered
from pnyx.judging.tasks import TASKS
from tries import quick_cases, tries

pytestmark = pytest.mark.usefixtures("own_place")

BASE = prompt_bytes("support").decode()
PLACE = '{{ block("document", text) }}'
LINE = BASE[: BASE.index(PLACE)].count("\n") + 1


def show(capsys, content: str | bytes, name: str = "p.toml") -> tuple[int, str]:
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return run("prompt", name), capsys.readouterr().err


TEMPLATES = {
    '{{ block("document", txt) }}': "found 'txt', expected one of the inputs",
    '{{ "a" * 99999999999 }}': "found 'mul'",
    "{{ 9 ** 9 ** 9 ** 9 }}": "found 'pow'",
    "{{ text ~ text }}": "found 'concat'",
    "{{ text | nofilter }}": "filter 'nofilter'",
    "{{ text | center(99999999999) }}": "filter 'center'",
    '{{ "a" | indent(9999999999) }}': "filter 'indent'",
    "{{ text | tojson }}": "filter 'tojson'",
    "{{ ''.__class__ }}": "attribute '__class__'",
    "{{ text.__class__.__mro__ }}": "attribute '__mro__'",
    "{{ text['upper']() }}": "found a call",
    "{{ text[0] }}": "found 'getitem'",
    "{{ text.upper }}": "attribute 'upper'",
    "{{ range(9999999999) }}": "found a call",
    "{% for x in range(9999999999) %}{% endfor %}": "found a loop",
    "{% for x in text %}{% for y in text %}{% endfor %}{% endfor %}": "found a loop",
    "{% for text in text %}{{ text }}{% endfor %}": "has a meaning already",
    "{% for x in text recursive %}{% endfor %}": "found a loop",
    "{% if block('a', text) %}{% endif %}": "found a calculation",
    "{% if text in text %}{% endif %}": "comparison 'in'",
    "{% macro a() %}{{ a() }}{% endmacro %}": "found 'macro'",
    "{% set x = text %}": "found 'assign'",
    "{% include 'x' %}": "found 'include'",
    "{% import 'os' as os %}": "found 'import'",
    "{{ block('a b', text) }}": "expected one word",
    "{{ block(text, text) }}": "expected one word",
    "{{ block('a', block('b', text)) }}": "block within a block",
    "{{ [1, 2] }}": "found 'list'",
    "{{ loop.index }}": "attribute 'index'",
    "{% if %}": "broken template",
    "{{ }}": "broken template",
    "{{ " + "9" * 5000 + " }}": "broken template",
    "{{ 1.5 }}": "found 'const'",
}


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda text: text[:40])
def test_what_a_template_may_not_do_is_one_line_with_its_place(template, capsys):
    began = time.process_time()
    status, said = show(capsys, BASE.replace(PLACE, template))
    assert status == 2
    assert said.count("\n") == 1
    # The lexer tells no line.
    place = "p.toml: " if template.startswith("{{ 999") else f"p.toml:{LINE}: "
    assert f"{place}user: " in said
    assert TEMPLATES[template] in said
    assert time.process_time() - began < 120  # in truth some milliseconds


DEEP = {
    "ifs": "{% if text %}" * 200 + "{% endif %}" * 200,
    "parentheses": "{{ " + "(" * 30_000 + "text" + ")" * 30_000 + " }}",
    "nots": "{% if " + "not " * 20_000 + "text %}{% endif %}",
    "ands": "{% if text" + " and text" * 10_000 + " %}{% endif %}",
    "brackets": "{{ " + "[" * 90_000,
}


@pytest.mark.parametrize("name", quick_cases(DEEP, DEEP.keys() - {"ands"}))
def test_deep_nesting_is_one_line(name, capsys):
    status, said = show(capsys, BASE.replace(PLACE, DEEP[name]))
    assert (status, said.count("\n")) == (2, 1)
    assert "p.toml" in said


FILES = {
    ("max_tokens = 700", "max_tokens = -5"): "field 'max_tokens': found -5, expected 1 to 1000000",
    ("max_tokens = 700", "max_tokens = 0"): "field 'max_tokens': found 0",
    ("max_tokens = 700", "max_tokens = 99999999999"): "field 'max_tokens': found 99999999999",
    ("max_tokens = 700", "max_tokens = true"): "field 'max_tokens': found True",
    ("max_tokens = 700", "max_tokens = 7.5"): "field 'max_tokens': found 7.5",
    ("max_tokens = 700", "max_tokens = nan"): "field 'max_tokens': found nan",
    ("max_tokens = 700", f"max_tokens = {'9' * 9000}"): "not valid TOML",
    ("max_tokens = 700", f"max_tokens = 0x{'f' * 9000}"): "field 'max_tokens': found a number of",
    ("max_tokens = 700", "max_tokens = 700\nper_item_tokens = -1"): "field 'per_item_tokens'",
    ("version = 2", "version = -1"): "field 'version': found -1",
    ("version = 2", "version = true"): "field 'version': found True",
    ('inputs = ["text"', 'inputs = [1, ["a"], "text"'): "inputs: found",
    ('inputs = ["text"', 'inputs = ["text", "text"'): "inputs: found a name twice",
    ('inputs = ["text"', 'inputs = ["text", "textt"'): "inputs: found 'textt', expected some of",
    ('inputs = ["text"', 'inputs = ["text", "statements"'): "",
    ('name = "support"', 'name = " "'): "expected a name",
    ("max_tokens = 700", "max_tokens = 700\nx = " + "[" * 500 + "]" * 500): "not valid TOML",
    ("max_tokens = 700", "max_tokens = 700\nschema = {}"): "found a schema, expected form",
    ('form = "verdict"', 'form = "verdicts"'): "form: found 'verdicts', expected one of verdict,",
    ('form = "verdict"', 'form = "order"'): "form: found 'order', expected one of verdict,",
    ('form = "verdict"', "form = 1"): "field 'form': found 1",
    ('form = "verdict"', ""): "form: found none, expected one of verdict,",
    (PLACE, "{% for d in text %}{{ d }}{% endfor %}"): "'text' is a text",
    (PLACE, '{{ text | join("") }}'): "'text' is a text",
}


@pytest.mark.parametrize("change", FILES, ids=lambda change: change[1][:30])
def test_a_field_that_is_not_what_it_must_be_is_one_line(change, capsys):
    assert change[0] in BASE
    status, said = show(capsys, BASE.replace(*change))
    if FILES[change]:
        assert (status, said.count("\n")) == (2, 1)
        assert "p.toml" in said
        assert FILES[change] in said


def test_a_file_that_cannot_be_read_is_one_line(capsys):
    for content in (b"\xff\xfe", b"\0", b"# x\n" * 100_000):
        assert show(capsys, content)[0] == 2
    judge = ["judge", "support", "none.jsonl", "--out", "o", "--judge", "http://127.0.0.1:9/v1#m"]
    for arguments in (
        ["prompt", "none.toml"],
        ["prompt", "none.toml", "--raw"],
        [*judge, "--set", "prompt=none.toml"],
    ):
        assert run(*arguments) == 2
        assert "none." in capsys.readouterr().err


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", ["support", "quality", "ranking", "preference", "argue"])
def test_a_prompt_for_another_task_is_one_line(task, name, capsys):
    content = prompt_bytes(name).decode()
    content = re.sub(r"^task = .*", "", content, flags=re.MULTILINE)
    status, said = show(capsys, f'task = "{task}"\n{content}')
    if TASKS[task].kind is not TASKS.get(load_prompt(name).task, TASKS[task]).kind:
        assert status == 2
    assert (status, said.count("\n")) in ((0, 0), (2, 1))


def test_a_list_that_is_printed_is_said_to_be_one(capsys):
    content = prompt_bytes("ranking").decode()
    changed = re.sub(r"{% for.*{% endfor %}", "{{ texts }}", content, flags=re.DOTALL)
    assert "'texts' is a list" in show(capsys, changed)[1]


def test_what_a_template_makes_is_bounded():
    source = "{% for x in many %}{{ text }}{% endfor %}"
    check_template(source, ["many", "text"])
    with pytest.raises(TemplateFault, match="longer than"):
        rendered(source, {"many": ["x"] * 1000, "text": "a" * 1_000_000})
    rendered(source, {"many": ["x"] * 100_000, "text": ""})
    with pytest.raises(TemplateFault, match="more than 100,000 entries"):
        rendered(source, {"many": ["x"] * 100_001, "text": ""})


@pytest.mark.parametrize("name", prompt_names())
def test_the_packaged_prompts_pass_their_own_check(name):
    parse_prompt(prompt_bytes(name), path=name)


pieces = st.sampled_from(
    "{{| }}|{% | %}|text|if|for x in many|endfor|endif|block|loop|x|1|not|else|join|set|.|(|)|[|]|*"
    "|'|block('a', text)|\n| ".split("|")
)


@settings(max_examples=tries(300), deadline=None)
@given(st.lists(pieces, max_size=14).map("".join))
def test_any_template_is_refused_or_renders(source):
    try:
        check_template(source, ["text", "many"])
        rendered(source, {"text": "T", "many": ["M"]})
    except TemplateFault:
        return
