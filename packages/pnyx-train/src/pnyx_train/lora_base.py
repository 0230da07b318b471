"""Causal language models as the base of a student: found, identified and loaded.

Only safetensors and GGUF files are read, and code in a model's folder is never run.
"""

from __future__ import annotations

import contextlib
import os
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pnyx.core.errors import InputError, PnyxError, shorten
from pnyx.core.network import check_network
from pnyx.judging.students.student import BASE_LOCATION
from pnyx.models.local.process import fingerprint, model_files, packaged_weights
from pnyx_train.libraries import loading

PACKAGED = "local"
"""Name of the base with the weights of the packaged model."""

_HUB = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_DECISIVE = ("*.safetensors", "config.json", "tokenizer*", "vocab*", "merges.txt", "*.jinja")


@dataclass(frozen=True, slots=True)
class Base:
    """A pretrained causal language model."""

    name: str  # `local`, an absolute path or a name on the hub
    folder: str  # argument of `from_pretrained`
    gguf: str = ""  # the GGUF file in `folder`; empty for safetensors
    fingerprint: str = ""  # of local files; empty for the hub
    revision: str = ""  # commit on the hub, if known

    @property
    def short(self) -> str:
        """Its name without folders, for cards."""
        return (self.gguf or self.name.rstrip("/").rpartition("/")[2]).removesuffix(".gguf")

    def row(self) -> dict[str, str]:
        """Return the identity of the model, ready for JSON."""
        return {"name": self.name, "fingerprint": self.fingerprint, "revision": self.revision}

    def sources(self) -> dict[str, Any]:
        """Return the arguments of any `from_pretrained`."""
        if not self.fingerprint:
            check_network(self.name)
        named = {"gguf_file": self.gguf, "revision": self.revision}
        arguments = {key: value for key, value in named.items() if value}
        return {
            "pretrained_model_name_or_path": self.folder,
            "trust_remote_code": False,
            "local_files_only": bool(self.fingerprint),
            **arguments,
        }


def find_base(name: str, *, revision: str = "") -> Base:
    """Return the base of `local`, a GGUF file, a safetensors folder or `OWNER/MODEL`."""
    if name == PACKAGED:
        path = packaged_weights()
        return Base(name, str(path.parent), path.name, fingerprint(model_files(path)))
    with contextlib.suppress(RuntimeError):  # `~` of an unknown user
        name = str(Path(name).expanduser())
    path = Path(name)
    if path.is_dir():
        return _folder(path.resolve())
    if path.suffix == ".gguf":
        files = model_files(path)
        if len(files) > 1:
            raise InputError("is one of several parts; a base is one GGUF file", path=path)
        resolved = path.resolve()
        return Base(str(resolved), str(resolved.parent), resolved.name, fingerprint(files))
    if path.exists() or not _HUB.fullmatch(name):
        raise InputError(
            f"base: found {shorten(name, 80)!r}, expected 'local', a folder with safetensors, a "
            "GGUF file or OWNER/MODEL of the hub"
        )
    return Base(name, name, revision=revision)


def _folder(path: Path) -> Base:
    files = sorted({f for pattern in _DECISIVE for f in path.glob(pattern) if f.is_file()})
    if not (path / "config.json").is_file() or not any(f.suffix == ".safetensors" for f in files):
        raise InputError("holds no language model: expected config.json and safetensors", path=path)
    return Base(str(path), str(path), fingerprint=fingerprint(files))


def base_of(name: str, expected: str, revision: str) -> Base:
    """Return the base that a student was trained on; InputError if missing or different."""
    location = os.environ.get(BASE_LOCATION) or name
    try:
        base = find_base(location, revision=revision)
    except InputError as error:
        raise InputError(
            f"the student's base: {error} ({BASE_LOCATION} sets its location)"
        ) from error
    if base.fingerprint != expected:
        raise InputError(
            f"the student was trained on {shorten(name, 80)} with the fingerprint {expected!r}; "
            f"{shorten(location, 80)} has {base.fingerprint!r}: another model"
        )
    return base


def load_tokenizer(base: Base) -> Any:
    """Return the base's tokenizer (transformers), or raise PnyxError."""
    from transformers import AutoTokenizer

    with loading(base.name, gguf=bool(base.gguf)):
        return AutoTokenizer.from_pretrained(**base.sources())


def load_model(base: Base, *, four_bit: bool) -> Any:
    """Return the base on the GPU in bf16 if there is one, else on the CPU in fp32."""
    import torch
    from transformers import AutoModelForCausalLM, GenerationConfig

    cuda = torch.cuda.is_available()
    half = cuda and torch.cuda.is_bf16_supported()
    options: dict[str, Any] = {"dtype": torch.bfloat16 if half else torch.float32}
    if four_bit:
        options |= _four_bit(options["dtype"])
    with loading(base.name, gguf=bool(base.gguf)):
        model = AutoModelForCausalLM.from_pretrained(
            **base.sources(), **options, **({} if base.gguf else {"use_safetensors": True})
        )
        if not four_bit:
            model.to("cuda" if cuda else "cpu")
    if base.gguf:
        model.is_quantized = False  # its weights were dequantised on loading
    model.generation_config = GenerationConfig()  # the base's own may sample at random
    return model.eval()


def _four_bit(dtype: Any) -> dict[str, Any]:
    import torch

    if not torch.cuda.is_available():
        raise PnyxError("4 bits (QLoRA) need a CUDA GPU, and there is none: train without 4 bits")
    try:
        import bitsandbytes  # noqa: F401
    except ImportError as error:
        raise PnyxError("4 bits (QLoRA) need bitsandbytes: pip install bitsandbytes") from error
    from transformers import BitsAndBytesConfig

    quantised = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=dtype,
    )
    return {"quantization_config": quantised, "device_map": {"": 0}}


def revision_of(model: Any) -> str:
    """Return the commit that a model of the hub was loaded from; empty for local files."""
    return str(getattr(model.config, "_commit_hash", None) or "")


def attach_adapter(model: Any, *, rank: int, alpha: int, dropout: float) -> Any:
    """Return the model with a fresh adapter (scaled by alpha / rank) on its linear layers."""
    from peft import LoraConfig, get_peft_model

    settings = LoraConfig(
        r=rank,
        lora_alpha=alpha,
        lora_dropout=dropout,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    with warnings.catch_warnings():
        # peft asks transformers for an attribute by its old name.
        warnings.filterwarnings("ignore", "`is_gradient_checkpointing`", FutureWarning)
        return get_peft_model(model, settings)


def adapter_weights(model: Any) -> dict[str, Any]:
    """Return the weights of the adapter alone by their names, on the CPU."""
    from peft import get_peft_model_state_dict

    # Embeddings are never trained; peft would ask the hub to find that out.
    weights = get_peft_model_state_dict(model, save_embedding_layers=False)
    return {name: value.detach().contiguous().cpu() for name, value in weights.items()}
