"""A chat server whose model drafts: replies in the shape that each prompt of `pnyx build` wants.

What it says is made from the words of the prompt's own material, so that a test can tell by the
reply what was asked: `((no))` in it is not fit, `((personal))` is personal.
"""

from __future__ import annotations

import re
from typing import Any

from chat_server import ChatServer, Handler

BLOCK = re.compile(r"<<<(\w+) (\w{16})\n(.*?)\n\1 \2>>>", re.DOTALL)


class BuildHandler(Handler):
    """Answers the prompts of `pnyx build`; what it makes up ends in the first words of the text."""

    def answer(self) -> dict[str, Any]:
        system, user = (m["content"] for m in self.body["messages"][:2])
        blocks = [text for _, _, text in BLOCK.findall(user)]
        topic = " ".join(word[:20] for word in re.findall(r"\w+", blocks[0])[:4])
        fit = "no" if "((no))" in user else "yes"
        if '"yes_from"' in system:
            return {
                "opposed": fit,
                "question": f"Should {topic} be?" if fit == "yes" else "",
                "yes_from": "second" if "((second))" in user else "first",
                "pro": f"{topic} should be.",
                "con": f"{topic} should  not\nbe.",
            }
        if '"debatable"' in system:
            return {"debatable": fit, "question": f"Is it so that {topic}?"}
        if '"form"' in system:
            return self.survey(topic, len(blocks) - 1, user)
        return {"reason": "So it is.", "personal": "yes" if "((personal))" in user else "no"}

    def survey(self, topic: str, options: int, user: str) -> dict[str, Any]:
        if "((no))" in user:
            return {"form": "none", "question": "", "perspectives": []}
        choice = "((choice))" in user
        places = range(1, options + 1) if choice else (options, 1)
        sides = ["none"] * options if choice else ["con", "pro"]
        views = [
            {"statement": f"View {n} on {topic} holds.", "side": side, "option": n}
            for n, side in zip(places, sides, strict=True)
        ]
        form = "choice" if choice else "scale"
        return {"form": form, "question": f"What of {topic}?", "perspectives": views}


class BuildServer(ChatServer):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.RequestHandlerClass = BuildHandler
