"""The examples of README and docs run, and what they name exists."""

import re
import shlex
from pathlib import Path

import pytest

from coordnet.cli.arguments import parser

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES}
README, ALL = TEXTS[PAGES[0]], "\n".join(TEXTS.values())
EXAMPLES = re.findall(r"```python\n(.*?)```", ALL, re.DOTALL)
COMMANDS = re.findall(r"^(?:.*&& )?(coordnet .*)$", ALL, re.MULTILINE)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_examples_run(number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(EXAMPLES[number], f"README example {number}", "exec"), {})


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_parse(command):
    options = parser().parse_args(shlex.split(command)[1:])
    assert options.command in ("fit", "render", "predict", "evaluate", "export", "info")


def test_files_exist():
    named = re.findall(r"(?:data|docs|scripts|coordnet|tests)/[\w/.-]+\.\w+", ALL)
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
    for page, text in TEXTS.items():
        links = re.findall(r"\]\(([\w./-]+)\)", text)
        assert [link for link in links if not (page.parent / link).exists()] == [], page


def test_the_front_page_is_one_page():
    assert len(README.splitlines()) <= 200


def test_the_number_of_examples_and_commands():
    assert len(EXAMPLES) >= 4
    assert len(COMMANDS) >= 5
