"""Pnyx in other libraries; each module requires its library and is imported by name.

- `pnyx.interop.langchain`, `pnyx.interop.llama_index`: a retriever;
- `pnyx.interop.pyterrier`: a retriever and a reranker;
- `pnyx.interop.inspect_ai`: a scorer;
- `pnyx.interop.pytest_plugin`: the fixture `pnyx_check`, which pytest discovers.

MRecall is a measure of ir_measures once `pnyx.perspectives.MRecall` is imported.
"""
