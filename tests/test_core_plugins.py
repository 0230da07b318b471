"""Plugins within one process: which are found, loaded, and left out, and why."""

from __future__ import annotations

import pytest

from pnyx.core import plugins as core
from pnyx.core.errors import PluginError
from test_plugins import install


@pytest.fixture
def spies(tmp_path, monkeypatch):
    """Two distributions with a judge `spy` each; one of them has others."""
    entries = {"spy": "spy_one.it:value", "text": "spy_one.it:text", "bad": "spy_one.it:nothing"}
    more = {"pnyx.judges": entries, "pnyx.commands": {"tea": "spy_one.it:value",
            "files steep": "spy_one.it:text"}}  # fmt: skip
    first = install(tmp_path, "spy-one", more, it="value = 3\ntext = 'x'\n")
    second = install(tmp_path / "two", "spy-two", {"pnyx.judges": {"spy": "spy_two.it:value"}},
                     it="value = 4\n")  # fmt: skip
    install(tmp_path / "three", "other", {"console_scripts": {"x": "other.it:value"}})
    for folder in (tmp_path / "three", second, first):
        monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(core, "LEFT_OUT", {})


def own(names) -> list[str]:
    return [name for name in names if name in ("spy", "text", "bad", "tea", "files steep", "steep")]


def test_the_first_of_two_plugins_with_one_name_is_used(spies, capsys):
    found = core.plugins("judges")
    assert own(found) == ["spy", "text", "bad"]
    assert (found["spy"].package, found["spy"].summary) == ("spy-one 1.0", "Of spy-one.")
    assert str(found["spy"]) == "spy-one 1.0: spy_one.it:value (pnyx.judges: spy)"
    core.plugins("judges")
    line = (
        "pnyx: left out: spy-two 1.0: spy_two.it:value (pnyx.judges: spy): "
        "spy-one 1.0 already has that name\n"
    )
    assert capsys.readouterr().err == line  # once


def test_a_plugin_is_of_an_expected_type(spies):
    spy = core.plugins("judges")["spy"]
    assert spy.load() == spy.load(int) == spy.load((str, int)) == 3
    with pytest.raises(PluginError, match=r"is of the type int, expected str$"):
        spy.load(str)
    with pytest.raises(PluginError, match=r"is of the type int, expected str or list$"):
        spy.load((str, list))
    with pytest.raises(PluginError, match="cannot be loaded: AttributeError"):
        core.plugins("judges")["bad"].load()


def test_plugins_that_cannot_be_loaded_or_have_a_name_of_pnyx_are_left_out(spies, capsys):
    assert [pair for pair in core.loaded("judges", (), int) if pair[0] == "spy"] == [("spy", 3)]
    assert [pair for pair in core.loaded("judges", (), str) if pair[0] == "text"] == [("text", "x")]
    capsys.readouterr()
    assert [name for name, _ in core.loaded("judges", ("text",), str) if name == "text"] == []
    assert capsys.readouterr().err.endswith("Pnyx already has that name\n")
    assert sorted(plugin.name for plugin in core.LEFT_OUT) == ["bad", "spy", "text"]
    assert "spy" not in core.plugins("judges", ["spy"])


def test_commands_of_plugins_are_below_their_groups(spies):
    assert own(core.plugin_commands("", ())) == ["tea"]
    assert own(core.plugin_commands("files", ())) == ["steep"]
    assert own(core.plugin_commands("", ("tea",))) == []
    assert own(core.plugin_commands("files", ("steep",))) == []
