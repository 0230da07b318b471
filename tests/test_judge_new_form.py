"""Another format of rating is a prompt file and a form, and nothing else."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, BeforeValidator, create_model

from chat_server import ChatServer
from pnyx.cli import main
from pnyx.judging.answers import Judged, Unscored
from pnyx.judging.base import ask
from pnyx.judging.forms import FORMS
from pnyx.judging.forms.base import plain_word, strict
from pnyx.judging.forms.kinds import RatingForm
from pnyx.judging.llm.judge import LlmJudge
from pnyx.judging.llm.prompts import parse_prompt, prompt_bytes
from pnyx.judging.llm.requests import Asking
from pnyx.judging.questions import Rating
from pnyx.judging.store.completions import StoredModel
from pnyx.judging.store.store import Store
from pnyx.models.chat.endpoint import ChatEndpoint

pytestmark = pytest.mark.usefixtures("own_place")


@cache
def _check() -> type[BaseModel]:
    met = Annotated[Literal["yes", "no"], BeforeValidator(plain_word)]
    return create_model("Check", __config__=strict(), reason=(str, ...), met=(met, ...))


class RubricForm(RatingForm):
    """Each dimension is a criterion that is met or not: the ends of the scale."""

    def reply(self, question: Rating) -> type[BaseModel]:
        return _check()

    def score(self, question: Rating, entry: Any) -> float:
        return question.scale[entry.met == "yes"]


PROMPT = (
    prompt_bytes("quality")
    .decode()
    .replace('name = "quality"', 'name = "rubric"')
    .replace('form = "scores"', 'form = "rubric"')
    .replace('"score": 1, 2 or 3.', '"met": "yes" or "no".')
)
NAMES = ("cogency", "clarity", "local_acceptability")


def reply(**met: Any) -> str:
    return json.dumps({name: {"reason": f"{name}!", "met": said} for name, said in met.items()})


@pytest.fixture(autouse=True)
def rubric(monkeypatch):
    monkeypatch.setitem(FORMS, "rubric", RubricForm())


def judged(server: ChatServer, sample: int = 0) -> Judged | Unscored:
    prompt = parse_prompt(PROMPT.encode(), path="rubric.toml")
    with Store("s.sqlite") as store:
        model = StoredModel(ChatEndpoint(server.url, "test"), store)
        judge = LlmJudge(model, Asking({"quality": prompt}, sample=sample))
        (answer,) = ask(judge, [Rating("1", "Tea is good, for it calms.", NAMES, (1, 3))])
    return answer


def test_a_language_model_is_asked_and_read_by_the_new_form():
    with ChatServer(reply=reply(cogency=" Yes", clarity="no", local_acceptability="no")) as up:
        answer = judged(up)
        (asked,) = up.asked()
        assert judged(up) == answer  # from the store
        assert len(up.asked()) == 1
    assert isinstance(answer, Judged)
    assert answer.value == [3, 1, 1]
    assert answer.notes["reasons"]["clarity"] == "clarity!"
    schema = asked["parameters"]["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == list(NAMES)
    assert schema["properties"]["clarity"] == {
        "type": "object",
        "additionalProperties": False,
        "required": ["reason", "met"],
        "properties": {
            "reason": {"type": "string"},
            "met": {"type": "string", "enum": ["yes", "no"]},
        },
    }


def test_a_reply_in_the_old_form_is_repaired_or_unscored():
    scores = {name: {"reason": "so", "score": 2} for name in NAMES}
    with ChatServer(reply=json.dumps(scores)) as server:
        answer = judged(server)
        assert len(server.asked()) == 2
    assert isinstance(answer, Unscored)
    assert answer.reason.startswith("schema: cogency.met")


def test_the_command_line_takes_its_prompt_file(capsys):
    item = {"id": "1", "text": "Tea is good, for it calms.", "dimensions": list(NAMES)}
    Path("items.jsonl").write_text(json.dumps(item) + "\n", encoding="utf-8")
    Path("rubric.toml").write_text(PROMPT, encoding="utf-8")
    with ChatServer(reply=reply(cogency="yes", clarity="no")) as server:
        llm = ["--judge", f"{server.url}#test"]
        options = ["--set", "prompt=rubric.toml", "--set", "samples=4", "--out", "out"]
        with pytest.raises(SystemExit) as ended:
            main(["judge", "quality", "items.jsonl", *llm, *options])
        orders = {tuple(_shown(row)) for row in server.asked()}
    assert ended.value.code == 3, capsys.readouterr().err
    rows = [json.loads(line) for line in Path("out/answers.jsonl").read_text().splitlines()]
    found = {row["dimension"]: (row["value"], row["unscored"]) for row in rows}
    assert found["cogency"] == (3.0, None)
    assert found["clarity"] == (1.0, None)
    assert found["local_acceptability"][0] is None
    assert len(orders) > 1  # a sample reorders the criteria


def _shown(row: dict[str, Any]) -> list[str]:
    return list(row["parameters"]["response_format"]["json_schema"]["schema"]["properties"])
