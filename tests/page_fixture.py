"""Pages in a real browser: an application served over HTTP, and a Chromium that watches it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PHONE = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}


def find_chromium() -> str | None:
    candidates = [os.environ.get("PNYX_CHROMIUM"), *map(shutil.which, NAMES)]
    return next((c for c in candidates if c and Path(c).exists()), None)


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """Start Chromium; skip the test where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = find_chromium()
    if path is None:
        pytest.skip("no Chromium found (set PNYX_CHROMIUM or put chromium on the PATH)")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path)
        yield started
        started.close()


class Watched:
    """Opens pages, and keeps what they log, ask for and fail at."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser
        self.contexts: list[Any] = []
        self.troubles: list[str] = []
        self.requests: list[str] = []

    def open(self, url: str, **options: Any) -> Any:
        """Open an address in a window of its own."""
        options.setdefault("viewport", {"width": 1280, "height": 900})
        context = self.browser.new_context(reduced_motion="reduce", **options)
        self.contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: self.troubles.append(message.text))
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("dialog", lambda dialog: self.troubles.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(url)
        return page

    def close(self) -> None:
        for context in self.contexts:
            context.close()

    def check(self, allowed: str) -> None:
        """Assert that nothing was logged, and that all that was asked for begins like this."""
        assert self.troubles == [], self.troubles  # no test module: pytest would not show them
        assert [url for url in self.requests if not url.startswith(allowed)] == []


@contextlib.contextmanager
def served(app: Any) -> Iterator[str]:
    """Serve an ASGI application in a thread; yield its address, without a slash at the end."""
    import uvicorn

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            limit = time.monotonic() + 60
            while not server.started and thread.is_alive() and time.monotonic() < limit:
                time.sleep(0.01)
            assert server.started, "the server did not start"
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(120)


@contextlib.contextmanager
def served_by_command(
    args: Sequence[str],
    cwd: str | Path | None = None,
    program: Sequence[str] = ("-m", "pnyx"),
    **env: str,
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run `pnyx ARGS --port 0`; yield the address that it prints, without a slash, and itself."""
    command = [sys.executable, *program, *args, "--port", "0"]
    with subprocess.Popen(
        command, cwd=cwd, env={**os.environ, **env}, text=True, stderr=subprocess.PIPE
    ) as process:
        said = []
        try:
            for line in process.stderr:
                said.append(line)
                found = re.search(r"http://\S+:\d+(?=/)", line)
                if found:
                    # Else a full pipe would stop it.
                    threading.Thread(target=process.stderr.read, daemon=True).start()
                    yield found[0], process
                    break
            else:
                raise AssertionError(f"it never said its address: {''.join(said)}")
        finally:
            process.terminate()
            process.wait(120)
