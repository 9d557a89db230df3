"""What there is: info, help, version."""

import re

import pytest
import torch

from coordnet import __version__
from coordnet.cli.arguments import parser
from coordnet.encodings import ENCODINGS
from coordnet.networks import NETWORKS
from coordnet.training.config import OPTIMIZERS, PRECISIONS

COMMANDS = ("fit", "render", "predict", "export", "evaluate", "info")


@pytest.mark.parametrize(("what", "table"), [("encodings", ENCODINGS), ("networks", NETWORKS)])
def test_every_name_of_a_table_has_a_sentence_and_its_settings(run, what, table):
    found = run("info", what)
    assert (found.status, found.err) == (0, "")
    lines = found.out.splitlines()
    assert [line.split()[0] for line in lines[::2]] == list(table)
    for sentence, settings in zip(lines[::2], lines[1::2], strict=True):
        assert re.fullmatch(r"\w+ +[A-Z].*\.", sentence)
        assert settings.strip().startswith("(in_dim")
        assert "<" not in settings


def test_a_new_encoding_is_listed(run, monkeypatch):
    monkeypatch.setitem(ENCODINGS._entries, "fresh", "combine:Identity")
    assert "\nfresh " in run("info", "encodings").out
    assert "fresh" in run("fit", "--help").out


@pytest.mark.parametrize("arguments", [["info"], ["info", "machine"]])
def test_machine(run, arguments):
    found = run(*arguments)
    assert found.status == 0
    assert f"coordnet {__version__}, torch {torch.__version__}" in found.out
    assert "bf16: " in found.out
    assert "thread" in found.out or "cuda" in found.out


def test_a_run_is_described(run, fitted, fitted_table):
    found = run("info", fitted / "run")
    assert found.status == 0
    first, second, *_ = found.out.splitlines()
    assert first.startswith("image: ")
    assert "height 12" in first
    assert "width 20" in first
    assert second.startswith("hashgrid(num_levels=4")
    first, second, *_ = run("info", fitted_table / "run").out.splitlines()
    assert first.startswith("table: ")
    assert "periods [1.0]" in first
    assert 'y_names ["a", "b"]' in first
    assert second.startswith("damped harmonic(k=3, period=1.0)")


def test_version(run):
    assert run("--version") == (0, f"coordnet {__version__}\n", "")


def test_help_of_all_names_every_command(run):
    found = run("--help")
    assert (found.status, found.err) == (0, "")
    for command in COMMANDS:
        assert f"\n    {command} " in found.out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command_explains_every_option(run, command):
    found = run(command, "--help")
    assert (found.status, found.err) == (0, "")
    assert f"usage: coordnet {command}" in found.out
    choices = next(a for a in parser()._actions if a.dest == "command").choices
    for action in choices[command]._actions:
        assert action.help, action.dest
        for option in action.option_strings:
            assert option in found.out


def test_choices_follow_the_tables():
    choices = next(a for a in parser()._actions if a.dest == "command").choices
    actions = {action.dest: action for action in choices["fit"]._actions}
    assert actions["encoding"].choices == list(ENCODINGS)
    assert actions["network"].choices == [*NETWORKS, "linear"]
    assert tuple(actions["optimizer"].choices) == OPTIMIZERS
    assert tuple(actions["precision"].choices) == PRECISIONS
