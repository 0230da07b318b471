"""What runs in Ray workers fulfils the contracts of Pnyx, and asks before it connects."""

from __future__ import annotations

import os
import sys
from typing import Any, cast
from unittest.mock import patch

import pytest

import test_contracts
from listener import Listener
from pnyx.core.errors import ModelError
from pnyx.core.network import NetworkError, network_limited_to
from pnyx.judging.encoder import EncoderJudge
from pnyx.judging.workers import Workers
from test_contracts import (  # noqa: F401 - collected here, with the judge below
    test_a_judge_introduces_itself_in_one_line,
    test_a_judge_works_inside_of_a_running_loop,
    test_answers_fit_their_questions_and_do_not_depend_on_order_or_repetition,
    test_each_question_is_answered_exactly_once_through_emit,
    test_kinds_that_a_judge_does_not_list_are_refused,
)

pytest.importorskip("pnyx_ray")
from pnyx_ray.remote import RayWorkers, RemoteJudge, ray_workers


class ClusterHere:
    """A cluster of two workers, both in this process."""

    count = 2

    def call(self, function, *args):
        return function(*args)

    def spread(self, function, rows):
        return [function(list(rows[n : n + 1])) for n in range(len(rows))]


@pytest.fixture
def workers():
    return RayWorkers(cast("Any", ClusterHere()))


@pytest.fixture
def judge(workers, monkeypatch):
    monkeypatch.setitem(test_contracts.SOME_TASKS, RemoteJudge, ("support", "relevance"))
    return workers.judge(EncoderJudge)


def test_the_workers_fulfil_the_protocol(workers):
    assert isinstance(workers, Workers)


def test_no_connection_is_opened_that_is_not_allowed():
    with Listener() as listener:
        host = f"127.0.0.1:{listener.port}"
        for allowed in ((), ("elsewhere.example",)):
            for address in ("ray", host, f"ray://{host}"):
                with network_limited_to(allowed), pytest.raises(NetworkError, match="refused"):
                    ray_workers(address).__enter__()
        assert listener.connections == 0


def test_a_missing_ray_is_one_line():
    with (
        patch.dict(os.environ),
        patch.dict(sys.modules, {"ray": None}),
        pytest.raises(ModelError, match=r"Ray cannot be used at ray: .*ray") as raised,
    ):
        ray_workers("ray").__enter__()
    assert "\n" not in str(raised.value)
