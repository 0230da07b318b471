"""A minimal search server for comparison in the load test: bm25s behind Starlette.

    PNYX_DATA=DATA python lab/web/peer.py

It prints its address and answers `GET /search?q=&k=` with titles, texts and scores of the same
arguments. It has no vectors, labels, qualities, topics or explanations.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

import bm25s
import Stemmer
import uvicorn
from idebate_corpus import arguments
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


def build() -> Starlette:
    stemmer = Stemmer.Stemmer("english")
    documents = list(arguments(Path(os.environ["PNYX_DATA"])))
    texts = [f"{argument.title} {argument.text}" for argument in documents]
    ranker = bm25s.BM25()
    tokens = bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)
    ranker.index(tokens, show_progress=False)

    def search(request: Request) -> JSONResponse:
        query = bm25s.tokenize(
            request.query_params["q"], stopwords="en", stemmer=stemmer, show_progress=False
        )
        k = int(request.query_params.get("k", 10))
        numbers, scores = ranker.retrieve(query, k=k, show_progress=False)
        hits = [
            {
                "id": documents[number].id,
                "title": documents[number].title,
                "text": documents[number].text,
                "score": float(score),
            }
            for number, score in zip(numbers[0].tolist(), scores[0].tolist(), strict=True)
        ]
        return JSONResponse({"hits": hits})

    return Starlette(routes=[Route("/search", search)])


def main() -> None:
    app = build()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(2048)
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        config = uvicorn.Config(app, log_config=None, access_log=False)
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
