"""The README's examples run, and what it names exists."""

import re
import shlex
from pathlib import Path

import pytest

from coordnet.cli.arguments import parser

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = re.findall(r"^(?:.*&& )?(coordnet .*)$", README, re.MULTILINE)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_examples_run(number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(EXAMPLES[number], f"README example {number}", "exec"), {})


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_parse(command):
    options = parser().parse_args(shlex.split(command)[1:])
    assert options.command in ("fit", "render", "predict", "evaluate", "export", "info")


def test_files_exist():
    named = re.findall(r"(?:data|scripts|coordnet|tests)/[\w/.-]+\.\w+", README)
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_number_of_examples_and_commands():
    assert len(EXAMPLES) >= 4
    assert len(COMMANDS) >= 5
