"""Pnyx: find all sides of a contentious question, argue each with evidence, measure the trust.

The names here are those most people need; `pnyx.search`, `pnyx.judging`, `pnyx.stats` and the other
rooms have more. `__init__.pyi` lists them with their modules. Each is imported on first use, so
that `import pnyx` stays fast.

    import pnyx

    debates = pnyx.open("arguments.jsonl")
    print(debates.search("Should voting be compulsory?", k=5))
    case = debates.argue("Should voting be compulsory?")
    print(pnyx.render_markdown(case))
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

del lazy_loader
