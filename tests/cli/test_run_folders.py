"""Run folders: never half replaced, never left empty; fits that fail or are interrupted."""

import errno
import os
import signal
import tempfile
from pathlib import Path

import pytest
import torch

import coordnet as cn
from coordnet.kinds import task as fit_module
from coordnet.training import NonFiniteLossError

DIVERGING = ("--learning-rate", "1e6", "--steps", "40", "--hidden-dim", "64", "--layers", "4")


@pytest.fixture(autouse=True)
def _noise(picture, pixels):
    picture("p.png", pixels(4, 5, 3))


def test_an_earlier_run_is_left_alone(fit, refused):
    fit("p.png")
    refused("fit", "p.png", "--out", "run", words=["run", "earlier run", "--overwrite"])


def test_overwrite_replaces_all_of_an_earlier_run(fit, table):
    fit("p.png")
    Path("run/mine.txt").write_text("notes")
    table("t.csv", t=[0.0, 1, 2], v=[3.0, 4, 6])
    _, report = fit("t.csv", "--overwrite")
    assert report["task"] == "table"
    assert {p.name for p in Path("run").iterdir()} == {
        *("model.safetensors", "reconstruction.csv", "comparison.png", "curve.png"),
        *("report.json", "mine.txt"),
    }


def test_a_folder_without_a_run_is_never_overwritten(refused):
    Path("precious").mkdir()
    Path("precious/thesis.tex").write_text("…")
    words = ["precious", "thesis.tex"]
    refused("fit", "p.png", "--out", "precious", words=words)
    refused("fit", "p.png", "--out", "precious", "--overwrite", words=words)


def test_an_empty_folder_may_be_used(fit):
    Path("run").mkdir()
    fit("p.png")


@pytest.mark.parametrize("out", ["file", "file/run", "file/a/b", "a" * 300])
def test_folders_that_cannot_be(refused, out):
    Path("file").write_text("x")
    refused("fit", "p.png", "--out", out, words=["run folder", out])


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_a_read_only_folder(refused):
    Path("locked").mkdir(mode=0o555)
    refused("fit", "p.png", "--out", "locked", words=["locked"])
    refused("fit", "p.png", "--out", "locked/run", words=["locked/run"])


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder nobody may write to")
def test_a_folder_where_nobody_may_write(refused):
    refused("fit", "p.png", "--out", "/proc/self/run", words=["/proc/self/run"])


def test_a_disk_that_takes_no_file_leaves_no_folder(refused, monkeypatch):
    def read_only(*arguments, **options):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(tempfile, "TemporaryFile", read_only)
    refused("fit", "p.png", "--out", "a/b/run", words=["a/b/run", "Read-only"])


def test_a_fit_that_fails_leaves_no_folder(refused, monkeypatch):
    def broken(*arguments, **options):
        raise RuntimeError("the device\nis gone")

    monkeypatch.setattr(fit_module, "fit", broken)
    refused("fit", "p.png", "--out", "a/b/run", words=["the device is gone"], status=1)
    refused("fit", "p.png", words=["the device is gone"], status=1)


def test_a_diverging_fit_names_the_step_and_keeps_the_last_good_model(run, one_line):
    found = run("fit", "p.png", "--out", "run", *DIVERGING)
    assert found.status == 1
    one_line(found.err, "step ", "learning rate", "1e+06")
    assert "of step 0, is in run/model.safetensors" in found.out
    assert [p.name for p in Path("run").iterdir()] == ["model.safetensors"]
    field = cn.load("run/model.safetensors")
    with torch.no_grad():
        assert field(cn.pixel_centers(4, 5)).isfinite().all()
    assert run("render", "run", "-o", "r.png").status == 0


def test_a_fit_that_diverges_at_once_keeps_the_run_it_was_to_replace(run, fit, refused):
    fit("p.png")
    found = refused(
        "fit", "p.png", "--out", "run", "--overwrite", *DIVERGING, words=["step "], status=1
    )
    assert "left as it was" in found.out


def test_a_fit_that_diverges_late_replaces_all_of_the_run(run, fit, monkeypatch):
    fit("p.png")
    before = Path("run/model.safetensors").read_bytes()

    def late(*arguments, **options):
        raise NonFiniteLossError(step=950, good_step=900, learning_rate=0.1)

    monkeypatch.setattr(fit_module, "fit", late)
    found = run("fit", "p.png", "--out", "run", "--overwrite", "--seed", "3")
    assert found.status == 1
    assert "step 950" in found.err
    assert [p.name for p in Path("run").iterdir()] == ["model.safetensors"]
    assert Path("run/model.safetensors").read_bytes() != before


@pytest.mark.parametrize("failing", ["model", "report", "picture", "curve"])
@pytest.mark.parametrize("earlier", [False, True])
def test_a_full_disk_at_the_end(run, fit, one_line, tree, monkeypatch, failing, earlier):
    if earlier:
        fit("p.png")
    before = tree("run")

    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    where = {
        "model": "coordnet.saving.write_tensors",
        "report": "coordnet.runs.fit.write_json",
        "picture": "coordnet.image_files.writing.write_atomic",
        "curve": "coordnet.runs.fit.save_curve",
    }
    monkeypatch.setattr(where[failing], full)
    found = run("fit", "p.png", "--out", "run", "--steps", "2", "--overwrite", "--seed", "5")
    assert found.status == 1
    one_line(found.err, "run", "No space left")
    after = tree("run")
    assert not [name for name in after if name.endswith(".tmp")]
    if failing == "model":
        assert after == before
        assert Path("run").exists() == earlier
    else:
        # nothing of the earlier run stands beside the new model
        assert after["model.safetensors"] != before.get("model.safetensors")
        assert not any(after[n] == before.get(n) for n in after if n == "report.json")
    assert "wrote" not in found.out


def interrupting(at, times=1):
    """A fit that gets Ctrl-C when it asks for the ``at``-th time whether to stop."""
    real = fit_module.fit

    def fit(*arguments, stop, **options):
        asked = 0

        def ask():
            nonlocal asked
            asked += 1
            answer = stop()
            if asked == at:
                for _ in range(times):
                    signal.raise_signal(signal.SIGINT)
            return answer

        return real(*arguments, stop=ask, **options)

    return fit


def test_ctrl_c_saves_what_is_fitted(run, report, one_line, monkeypatch):
    monkeypatch.setattr(fit_module, "fit", interrupting(at=6))
    before = signal.getsignal(signal.SIGINT)
    found = run("fit", "p.png", "--out", "run", "--hidden-dim", "16")
    assert signal.getsignal(signal.SIGINT) == before
    assert found.status == 130
    one_line(found.err, "interrupted", "saved")
    about = report("run")
    assert (about["stop_reason"], about["steps"]) == ("stopped", 6)
    assert "6 steps" in found.out
    assert "interrupted" in found.out
    assert Path("run/reconstruction.png").exists()
    assert run("evaluate", "run", "p.png").status == 0


def test_a_second_ctrl_c_ends_at_once(run, refused, monkeypatch):
    monkeypatch.setattr(fit_module, "fit", interrupting(at=6, times=2))
    before = signal.getsignal(signal.SIGINT)
    refused("fit", "p.png", words=["interrupted"], status=130)
    assert signal.getsignal(signal.SIGINT) == before


def test_ctrl_c_before_the_first_step_saves_nothing(refused, fit, monkeypatch):
    def early(*arguments, **options):
        signal.raise_signal(signal.SIGINT)

    fit("p.png")
    monkeypatch.setattr(fit_module, "fit", early)
    refused("fit", "p.png", words=["interrupted"], status=130)
    refused("fit", "p.png", "--out", "run", "--overwrite", words=["interrupted"], status=130)


def test_ctrl_c_that_is_switched_off_stays_off(run, monkeypatch):
    """As in a background job of a script, where Ctrl-C is meant for others."""
    monkeypatch.setattr(fit_module, "fit", interrupting(at=2))
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        found = run("fit", "p.png", "--out", "run", "--steps", "4", "--hidden-dim", "16")
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert found.status == 0
    assert "4 steps" in found.out


def test_ctrl_c_while_rendering(refused, fitted, monkeypatch):
    def slow(*arguments, **options):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("coordnet.pictures.task.render_image", slow)
    refused("render", fitted / "run", "-o", "r.png", words=["interrupted"], status=130)
