"""More outputs of an ONNX model than its file names, without the library that edits such files."""

from __future__ import annotations

from collections.abc import Sequence

_FLOAT = 1
_GRAPH, _OUTPUT, _NAME, _TYPE, _TENSOR, _ELEMENT = 7, 12, 1, 2, 1, 1
"""Fields of ModelProto, GraphProto, ValueInfoProto, TypeProto and TypeProto.Tensor (onnx.proto)."""


def with_outputs(model: bytes, names: Sequence[str]) -> bytes:
    """Return a model that gives some float tensors of its graph, by name, as further outputs.

    Messages of protocol buffers may be joined: of two graphs in a row the lists become one. So the
    outputs are appended, and nothing of the file is read.
    """
    tensor = _field(_TYPE, _field(_TENSOR, bytes([_ELEMENT << 3, _FLOAT])))
    added = (_field(_OUTPUT, _field(_NAME, name.encode()) + tensor) for name in names)
    return model + _field(_GRAPH, b"".join(added))


def _field(number: int, content: bytes) -> bytes:
    size, length = len(content), bytearray()
    while size > 0x7F:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([number << 3 | 2, *length, size]) + content
