"""`--config FILE`: options of a command from a file of TOML; `--save-config` writes one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from pnyx.cli.settings import SettingOption
from pnyx.core.errors import InputError, shorten
from pnyx.core.spec import main_flag
from pnyx.formats.text_types import TextKind

RESTRICTED = "pnyx.core.restricted_mode"
"""Key in a context's `meta`: whether texts are hidden (no parameter holds this)."""
_NAMES_FILES = (TextKind.FILE, TextKind.LANGUAGE_MODEL)
"""Kinds of settings that may name a file or folder."""
_KEPT = ("json", "config", "save-config", "help", "help-all")
"""Options that a file cannot set. Secrets belong in the environment."""


def config_options(heading: str) -> list[click.Option]:
    """Return the two options, shown under a heading."""
    common: dict[str, Any] = {
        "metavar": "FILE",
        "expose_value": False,
        "type": click.STRING,
    }
    options = [
        click.Option(
            ["--config"],
            is_eager=True,
            callback=_read,
            help='TOML of options, such as model = "bm25", at its top or under [COMMAND]. The '
            "command line takes precedence.",
            **common,
        ),
        click.Option(
            ["--save-config"],
            callback=_keep,
            help="Write the given options to such a file, and do nothing else.",
            **common,
        ),
    ]
    for option in options:
        option.heading = heading  # type: ignore[attr-defined]
    return options


def _keep(ctx: click.Context, _: click.Parameter, path: str | None) -> None:
    ctx.meta[_SAVE] = path


def _read(ctx: click.Context, _: click.Parameter, path: str | None) -> None:
    """Make a file's options the defaults of the command."""
    if path is None:
        return
    content = _toml(path)
    top = {name: value for name, value in content.items() if not isinstance(value, dict)}
    section = content.get(_name(ctx))  # the option `judge` has the name of a command
    if isinstance(section, dict):
        top |= section
    defaults = _defaults(ctx, top, dict(_options(ctx)), path)
    ctx.default_map = {**defaults, **(ctx.default_map or {})}  # of --judge FILE.toml


def read_settings(
    ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """Read settings and the value of an option from the file FILE.toml that it names.

    The settings become defaults of the command. Files that they name are relative to that file.
    """
    if len(values) != 1 or not values[0].endswith(".toml"):
        return values
    (path,) = values
    content = _toml(path)
    flag = main_flag(parameter.opts).lstrip("-")
    names = content.pop(flag, [])
    names = [names] if isinstance(names, str) else names
    options = {name: o for name, o in _options(ctx) if isinstance(o, SettingOption)}
    kinds = {name: o.text_kind for name, o in options.items() if o.text_kind in _NAMES_FILES}
    content = {
        name: _beside(path, value) if name.replace("_", "-") in kinds else value
        for name, value in content.items()
    }
    defaults = _defaults(ctx, content, options, path)
    ctx.default_map = {**(ctx.default_map or {}), **defaults}
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{flag}: expected a text or a list of texts", path=path)
    return tuple(_beside(path, name) for name in names)


def _beside(path: str, name: Any) -> Any:
    """Return the path of a file next to another if it is there, else the name."""
    if not isinstance(name, str) or ":" in name:
        return name
    there = Path(path).parent / name
    return str(there) if there.exists() else name


def _toml(path: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not valid TOML: {shorten(str(error))}", path=path) from error


def _defaults(
    ctx: click.Context, values: Mapping[str, Any], options: Mapping[str, click.Option], path: str
) -> dict[str, Any]:
    """Return the values of a file as defaults of the command; the command line overrides them."""
    defaults: dict[str, Any] = {}
    for name, value in values.items():
        option = options.get(name.replace("_", "-"))
        if option is None:
            only_settings = all(isinstance(option, SettingOption) for option in options.values())
            noun = "a setting" if only_settings else "an option"
            expected = f"expected {noun} of pnyx {_name(ctx)}: {', '.join(options)}"
            raise InputError(f"found {shorten(name, 40)!r}, {expected}", path=path)
        value = _as_typed(option, value)
        try:
            option.type_cast_value(ctx, value)
        except (click.BadParameter, TypeError, AttributeError) as error:
            message = getattr(error, "message", str(error))
            raise InputError(f"{name}: {shorten(' '.join(message.split()))}", path=path) from error
        defaults[str(option.name)] = value
    return defaults


def _as_typed(option: click.Option, value: Any) -> Any:
    """Return a value of TOML as on the command line, where 2.5 or true is not an integer."""
    if isinstance(value, dict):
        return json.dumps(value)
    if isinstance(value, list) and not option.multiple and option.nargs == 1:
        return ",".join(map(str, value))
    if option.multiple and isinstance(value, str):
        return [value]
    if isinstance(value, bool) and not option.is_flag:
        return str(value).lower()
    return str(value) if isinstance(value, float) else value


def save_config(ctx: click.Context) -> bool:
    """Write the given options to the file of --save-config, if any; return whether it did."""
    path = ctx.meta.get(_SAVE)
    if path is None:
        return False
    from pnyx.core.files import atomic_text, check_output

    check_output(path, "file")
    explicit = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP)
    lines = [f"[{json.dumps(_name(ctx))}]"]
    for name, option in _options(ctx):
        if ctx.get_parameter_source(str(option.name)) in explicit:
            value = ctx.params.get(str(option.name), ctx.meta.get(RESTRICTED))
            lines.append(f"{name} = {json.dumps(value, ensure_ascii=False)}")
    with atomic_text(path) as stream:
        stream.write("\n".join(lines) + "\n")
    return True


def _options(ctx: click.Context) -> Iterator[tuple[str, click.Option]]:
    """Yield the options that a file may set, by their names on the command line."""
    for option in ctx.command.params:
        name = main_flag(option.opts).lstrip("-")
        secret = getattr(option, "text_kind", None) is TextKind.SECRET
        if isinstance(option, click.Option) and name not in _KEPT and not secret:
            yield name, option


def _name(ctx: click.Context) -> str:
    return ctx.command_path.partition(" ")[2]


_SAVE = "pnyx.save_config"
