"""What `pnyx.models.probe` finds out about an endpoint."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pnyx.models.negotiate import FORMATS
from pnyx.models.published import Published
from pnyx.models.replies import Reply

__all__ = ["Findings", "Shape", "Step"]


@dataclass(frozen=True, slots=True)
class Shape:
    """One way to ask for an answer's shape, tried.

    Attributes:
        form: one of `negotiate.FORMATS`.
        outcome: `followed` (the judge's reader reads the reply), `not followed`, `cut off`,
            `refused`, `failed` or `not tried`.
        detail: what is wrong, in one line; else empty.
    """

    form: str
    outcome: str = "not tried"
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """So many tiny requests at once.

    Attributes:
        at_once: how many.
        served: how many of them got an answer.
        turned_away: how many were refused as too many (HTTP 429, 503, 529).
        failed: how many got no answer for another reason.
        seconds: from the first request to the last answer.
        latency: median seconds of those served; None without any.
    """

    at_once: int
    served: int
    turned_away: int
    failed: int
    seconds: float
    latency: float | None

    @property
    def per_second(self) -> float:
        """Requests served in a second."""
        return self.served / max(self.seconds, 1e-6)


@dataclass(slots=True)
class Findings:
    """What was found out about an endpoint. None is: not found out.

    Attributes:
        address: a URL or a file.
        model: its name.
        notice: what is known of a local model's verdicts; else empty.
        usable: whether it completed a chat.
        problem: why it is not usable, or why the probe ended early; one line, else empty.
        published: what the server publishes; None for a local file.
        window: tokens of context, by the server's or the local model's own word.
        window_from: who says so.
        shapes: each way to ask for an answer's shape, strongest first.
        used: the form that a judge will use.
        reply: the judge-like request's reply.
        alternatives: most alternatives of a token that came with a shaped answer; 0 is none.
        alternatives_alone: the same without a shape; only asked where the other is 0.
        refused: parameters that were refused by name.
        limit: the name that the output limit goes by; empty if it takes none.
        usage: token counts that were reported (`prompt_tokens`, `cached_tokens` ...).
        steps: the ramp.
        scales_to: the most at once that still raised the throughput.
        first: how many at once a run starts with.
        ceiling: the most at once that a run tries by default.
        requests: requests that the probe took, refused ones included.
        tokens: prompt and completion tokens it took, by the server's count.
        seconds: how long it took.
        late: whether it ran out of time.
    """

    address: str
    model: str
    notice: str = ""
    usable: bool = False
    problem: str = ""
    published: Published | None = None
    window: int | None = None
    window_from: str = ""
    shapes: list[Shape] = field(default_factory=lambda: [Shape(form) for form in FORMATS])
    used: str | None = None
    reply: Reply | None = None
    alternatives: int | None = None
    alternatives_alone: int | None = None
    refused: tuple[str, ...] | None = None
    limit: str | None = None
    usage: tuple[str, ...] = ()
    steps: list[Step] = field(default_factory=list)
    scales_to: int | None = None
    first: int | None = None
    ceiling: int | None = None
    requests: int = 0
    tokens: int = 0
    seconds: float = 0.0
    late: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return it as a JSON object, without the reply."""
        row = asdict(replace(self, reply=None))
        del row["reply"]
        for step, shown in zip(self.steps, row["steps"], strict=True):
            shown["per_second"] = round(step.per_second, 3)
        return row
