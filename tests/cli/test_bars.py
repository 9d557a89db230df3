"""Progress: tasks tell a callback how far they are, and the command line alone draws bars."""

import sys
from collections import Counter
from pathlib import Path

import pytest

from coordnet.cli.console import Console
from coordnet.kinds import Listener
from coordnet.runs import evaluate_run, fit_file

SCENE = Path(__file__).parents[2] / "data" / "scene"


class Heard(Listener):
    """Adds up what it is told."""

    def __init__(self):
        self.done, self.totals = Counter(), {}

    def progress(self, what, done, total):
        self.done[what] += done
        self.totals[what] = total


@pytest.fixture
def terminal(monkeypatch):
    """Call it to make standard error a terminal, on which tqdm draws."""
    return lambda: monkeypatch.setattr(sys.stderr, "isatty", lambda: True)


def test_pictures(fitted, terminal, capsys):
    terminal()
    heard = Heard()
    found = evaluate_run(fitted / "run", fitted / "noise.png", device="cpu", listener=heard)
    assert heard.done == {"render": 240}
    assert heard.totals == {"render": 240}
    assert evaluate_run(fitted / "run", fitted / "noise.png", device="cpu") == found
    assert capsys.readouterr() == ("", "")


def test_scenes(tmp_path, terminal, capsys):
    terminal()
    heard = Heard()
    options = {
        "steps": 2,
        "hidden_dim": 16,
        "layers": 1,
        "downscale": 10,
        "device": "cpu",
        "out": tmp_path / "run",
    }
    fit_file(SCENE, options, listener=heard)
    assert heard.done == {"read": 50, "render": 10 * 10 * 10}
    assert heard.totals == {"read": 50, "render": 10 * 10 * 10}
    capsys.readouterr()  # the bar of the steps is the fit's
    evaluate_run(tmp_path / "run", SCENE, device="cpu")
    assert capsys.readouterr() == ("", "")


def test_bars_are_drawn_one_after_the_other(terminal, capsys):
    terminal()
    with Console() as console:
        console.progress("read", 1, None)
        console.progress("read", 0, 1)
        console.progress("render", 10, 20)
        console.print("a sentence")
        console.progress("render", 10, 20)
    drawn = capsys.readouterr()
    assert "a sentence" in drawn.out
    assert drawn.err.index("read") < drawn.err.index("render")
    assert drawn.err.rindex("read") < drawn.err.index("render")


def test_no_bars_without_a_terminal(capsys):
    with Console() as console:
        console.progress("render", 10, 20)
        console.progress("render", 10, 20)
    assert capsys.readouterr() == ("", "")
