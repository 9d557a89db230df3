"""Runs that are cut off: killed at any moment, resumed, repeated, two in one folder."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest
import torch

import coordnet as cn
from coordnet.runs import Run
from coordnet.training.checkpoint_file import read_checkpoint

WIDE = ("--hidden-dim", "16", "--layers", "1", "--device", "cpu")
CUT = ("--out", "run", *WIDE, "--steps", "60", "--checkpoint-every", "7")
CHECKPOINT = Path("run/checkpoint.safetensors")
MODEL = Path("run/model.safetensors")
OUTPUTS = {
    *("model.safetensors", "reconstruction.png", "comparison.png", "curve.png", "report.json")
}

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")


@pytest.fixture(autouse=True)
def _noise(picture, pixels):
    picture("p.png", pixels(12, 20, 3))


@pytest.fixture
def signalled(monkeypatch):
    """Have a signal come before a step of the next fit: signalled(20, signal.SIGINT)."""

    from coordnet.training import minimizing

    real = minimizing.take_step

    def prepare(step, *numbers):
        def send_first(state, *arguments):
            if state.step == step:
                for number in numbers:
                    signal.raise_signal(number)
            return real(state, *arguments)

        monkeypatch.setattr(minimizing, "take_step", send_first)

    return prepare


def step_of(path):
    with read_checkpoint(path) as file:
        return file.integer("step")


# --- killed


KILLED = """
import contextlib, io, json, mmap, os, random, signal, struct, sys, time
from pathlib import Path
from coordnet.cli import main
from coordnet.training.checkpoint_file import read_checkpoint
from coordnet.training import minimizing

EVERY, STEPS = 3, 500
FIT = ["fit", "p.png", "--hidden-dim", "16", "--layers", "1", "--device", "cpu",
       "--batch-size", "64", "--steps", str(STEPS), "--out"]
KEEP = ["--checkpoint-every", str(EVERY)]
checkpoint = Path("run/checkpoint.safetensors")
shared = mmap.mmap(-1, 8)
real_step, real_fsync, real_replace = minimizing.take_step, os.fsync, os.replace
chance = random.Random(4)

def steps_taken():
    return struct.unpack("q", shared[:8])[0]

def counted(state, *arguments):
    found = real_step(state, *arguments)
    shared[:8] = struct.pack("q", state.step)
    return found

def start(arguments, die=None):
    child = os.fork()
    if child:
        return child
    minimizing.take_step = counted
    left = [chance.randrange(2, 14)]
    def dying(real):
        def call(*a):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*a)
        return call
    if die == "before the file is on the disk":
        os.fsync = dying(real_fsync)
    elif die == "before it is renamed":
        os.replace = dying(real_replace)
    with contextlib.redirect_stdout(io.StringIO()):
        status = main(arguments)
    os._exit(status)

def call(arguments):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = main(arguments)
    return status, said.getvalue()

assert call([*FIT, "whole", "--checkpoint-every", "never"])[0] == 0
found = {"step": 0, "kills": 0, "half written": 0, "before the first": 0}
deaths = [None, "before the file is on the disk", None, "before it is renamed"]
while found["kills"] < 16:
    known = checkpoint.exists()
    before = steps_taken() if known else 0
    shared[:8] = struct.pack("q", before)
    die = deaths[found["kills"] % len(deaths)] if known else None
    child = start(["fit", "--resume", "run"] if known else [*FIT, "run", *KEEP], die)
    if die is None:
        # the first ones while it starts, the others a few steps on, within a step or a save
        late, goal = time.time() + 30, before + chance.randrange(20)
        while known and steps_taken() < goal and time.time() < late:
            time.sleep(0.0005)
        time.sleep(chance.uniform(0.0, 0.012 if known else 0.2))
        os.kill(child, signal.SIGKILL)
    _, ended = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(ended) == -signal.SIGKILL, (ended, die)
    found["kills"] += 1
    folder = Path("run")
    left = list(folder.iterdir()) if folder.exists() else []
    found["half written"] += any(path.suffix == ".tmp" for path in left)
    lost = steps_taken()
    if checkpoint.exists():
        with read_checkpoint(checkpoint) as file:
            found["step"] = file.integer("step")
        lost -= found["step"]
        status, said = call(["info", "run"])
        assert status == 0 and "unfinished" in said, said
    else:
        found["before the first"] += 1
    assert lost <= EVERY, (lost, steps_taken())
assert call(["fit", "--resume", "run"] if checkpoint.exists() else [*FIT, "run"])[0] == 0
print(json.dumps(found))
"""


@posix
def test_killed_at_any_moment_nothing_older_than_an_interval_is_lost(forked, report):
    """The model at the end is, byte for byte, that of a run which was never killed."""
    found = forked(KILLED)
    assert found.status == 0, found.out
    counts = json.loads(found.out.splitlines()[-1])
    assert counts["kills"] == 16
    assert counts["half written"] >= 1
    assert counts["before the first"] < 10
    assert {path.name for path in Path("run").iterdir()} == OUTPUTS
    assert MODEL.read_bytes() == Path("whole/model.safetensors").read_bytes()
    psnrs = [[p["psnr"] for p in report(out)["history"]] for out in ("run", "whole")]
    assert psnrs[0] == psnrs[1]
    assert report("run")["metrics"] == report("whole")["metrics"]


# --- resumed


def test_a_run_that_was_interrupted_goes_on_to_the_same_model(run, fit, signalled, report):
    fit("p.png", tiny=CUT[2:], out="whole")
    signalled(32, signal.SIGINT)
    found = run("fit", "p.png", *CUT)
    assert found.status == 130
    assert "coordnet fit --resume run" in found.out
    # the step that the signal came in was finished
    assert report("run")["steps"] == step_of(CHECKPOINT) == 33
    assert "unfinished, at step 33" in run("info", "run").out
    signalled(50, signal.SIGTERM)
    assert run("fit", "--resume", "run").status == 143
    Path("elsewhere").mkdir()
    os.chdir("elsewhere")
    found = run("fit", "--resume", "../run")
    os.chdir("..")
    assert (found.status, found.err) == (0, "")
    assert "goes on from step 51" in found.out
    assert {path.name for path in Path("run").iterdir()} == OUTPUTS
    assert MODEL.read_bytes() == Path("whole/model.safetensors").read_bytes()
    assert report("run")["metrics"] == report("whole")["metrics"]
    assert report("run")["steps"] == 60


def test_seconds_count_from_the_start_of_the_fit(run, signalled, report):
    signalled(10, signal.SIGINT)
    assert run("fit", "p.png", "--out", "run", *WIDE, "--seconds", "30").status == 130
    before = report("run")["seconds"]
    found = run("fit", "--resume", "run", "--seconds", str(before + 0.3))
    assert found.status == 0, found.err
    about = report("run")
    assert about["stop_reason"] == "seconds"
    assert about["history"][-1]["seconds"] >= before + 0.3
    assert about["steps"] > 11
    # the time between the two does not count: nor do the imports, the reading, the features
    assert [p["seconds"] for p in about["history"]] == sorted(
        p["seconds"] for p in about["history"]
    )


def test_more_steps_than_were_asked_for_first(run, signalled, report):
    signalled(30, signal.SIGINT)
    assert run("fit", "p.png", *CUT).status == 130
    assert run("fit", "--resume", "run", "--steps", "80").status == 0
    assert report("run")["steps"] == 80
    assert report("run")["options"]["steps"] == 80


@pytest.fixture
def cut(run, signalled):
    signalled(30, signal.SIGINT)
    assert run("fit", "p.png", *CUT).status == 130


@pytest.mark.usefixtures("cut")
class TestRefusals:
    def test_another_input(self, refused, picture, pixels):
        picture("p.png", 255 - pixels(12, 20, 3))
        refused("fit", "--resume", "run", words=["p.png", "changed", "INPUT --resume RUN"])

    def test_an_input_that_is_gone(self, refused, run):
        Path("p.png").rename("moved.png")
        refused("fit", "--resume", "run", words=["p.png", "No such file"])
        assert run("fit", "moved.png", "--resume", "run").status == 0

    def test_options_that_are_the_runs(self, refused):
        words = ["--resume", "--seed=3", "--k=4", "--steps", "--seconds", "--device"]
        refused("fit", "--resume", "run", "--seed", "3", "--k", "4", words=words)
        refused("fit", "--resume", "run", "--out", "other", words=["--out=other"])

    def test_fewer_steps_than_were_taken(self, refused):
        refused("fit", "--resume", "run", "--steps", "20", words=["steps=20", "31 steps"])

    def test_a_new_fit_in_its_folder(self, refused, fit):
        words = ["run", "earlier run", "--overwrite"]
        MODEL.unlink()
        for path in Path("run").iterdir():
            if path != CHECKPOINT:
                path.unlink()
        refused("fit", "p.png", "--out", "run", words=["run", "unfinished", "--resume"])
        fit("p.png", "--overwrite")
        assert not CHECKPOINT.exists()
        refused("fit", "p.png", "--out", "run", words=words)

    def test_a_finished_run(self, refused, run):
        assert run("fit", "--resume", "run").status == 0
        refused("fit", "--resume", "run", words=["run", "finished"])
        refused("fit", "--resume", "nothing", words=["nothing", "without one"])

    def test_a_model_can_be_used_before_the_run_has_ended(self, run):
        MODEL.unlink()
        assert run("render", "run", "-o", "r.png").status == 0
        assert run("evaluate", "run", "p.png").status == 0
        opened = Run.open("run")
        field, settings = opened.model, opened.settings
        assert isinstance(field, cn.Field)
        assert settings["task"] == "image"

    @pytest.mark.parametrize("length", [0, 7, 100, 3000, -1])
    def test_a_checkpoint_cut_short(self, refused, length):
        CHECKPOINT.write_bytes(CHECKPOINT.read_bytes()[:length])
        refused("fit", "--resume", "run", words=["checkpoint.safetensors"])

    def test_a_pickle(self, refused, tmp_path):
        class Payload:
            def __reduce__(self):
                return os.system, (f"touch {tmp_path}/owned",)

        torch.save(Payload(), CHECKPOINT)
        refused("fit", "--resume", "run", words=["safetensors", "nothing in this one was run"])
        assert not Path("owned").exists()

    @pytest.mark.parametrize(
        ("where", "value"),
        [
            (("config", "learning_rate"), "fast"),
            (("config", "no such"), 1),
            (("config", "betas"), None),
            (("config",), [1]),
            (("seconds",), "soon"),
            (("step",), -1),
            (("step",), 29),
            (("samples",), 7),
            (("block",), 0),
            (("about",), None),
            (("about", "path"), 5),
            (("about", "path"), "p\0.png"),
            (("about", "options"), {"k": "many"}),
            (("about", "options"), {"network": "__import__"}),
            (("about", "options"), {"help": True}),
            (("about", "options"), {"y": {"a": 1}}),
            (("about", "options"), {"steps": 1 << 70}),
            (("about", "options", "hidden_dim"), [16, 16]),
            (("about", "input"), None),
            (("about", "settings"), "x"),
            (("about", "model", "field"), {}),
            (("about", "model", "field", "network", "hidden_dim"), 1 << 40),
            (("about", "model", "kind"), "os:system"),
            (("format",), 2),
        ],
        ids=str,
    )
    def test_a_checkpoint_with_another_description(self, refused, where, value):
        rewrite(CHECKPOINT, where, value)
        refused("fit", "--resume", "run")

    @pytest.mark.parametrize(
        ("name", "change"),
        [
            ("module.network.layers.0.weight", lambda t: t[:-1]),
            ("module.network.layers.0.weight", lambda t: t.double()),
            ("module.network.layers.0.weight", None),
            ("good.network.layers.0.weight", None),
            ("optimizer.0.0.exp_avg", lambda t: t[:-1]),
            ("optimizer.0.0.exp_avg", lambda t: t.long()),
            ("optimizer.0.0.exp_avg", None),
            ("optimizer.9.0.exp_avg", lambda t: torch.zeros(3)),
            ("optimizer.no.name", lambda t: torch.zeros(3)),
            ("shuffler.generator", lambda t: t[:-1]),
            ("shuffler.generator", lambda t: t.float()),
            ("shuffler.generator", lambda t: torch.full_like(t, 255)),
            ("shuffler.rest", lambda t: torch.tensor([1 << 40])),
            ("shuffler.position", lambda t: t + 1),
            ("shuffler.position", lambda t: torch.tensor([1, 2])),
            ("objective.magic", lambda t: torch.zeros(3)),
            ("fit.losses", lambda t: t[:-1]),
            ("fit.losses", lambda t: t * float("nan")),
            ("fit.history", lambda t: t[:, :2]),
            ("fit.history", lambda t: t * float("inf")),
            ("fit.window", lambda t: t[:0]),
            ("fit.window", None),
        ],
    )
    def test_a_checkpoint_with_other_tensors(self, refused, name, change):
        replace_tensor(CHECKPOINT, name, change)
        refused("fit", "--resume", "run")


def rewrite(path, where, value):
    """Change one of the JSON values of a checkpoint."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    about = json.loads(header["__metadata__"]["coordnet.checkpoint"])
    place = about
    for key in where[:-1]:
        place = place[key]
    place[where[-1]] = value
    header["__metadata__"]["coordnet.checkpoint"] = json.dumps(about)
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    path.write_bytes(len(head).to_bytes(8, "little") + head + data[8 + size :])


def replace_tensor(path, name, change):
    """Change, add or remove one of the tensors of a checkpoint."""
    from safetensors import safe_open
    from safetensors.torch import save_file

    with safe_open(path, "pt") as file:
        metadata = file.metadata()
        tensors = {key: file.get_tensor(key).clone() for key in file.keys()}  # noqa: SIM118
    old = tensors.pop(name, torch.empty(0))
    if change is not None:
        tensors[name] = change(old).contiguous()
    save_file(tensors, path, metadata)


# --- two at once


SECOND = """
import os, sys, time
from coordnet.cli import main
ready, done = os.pipe(), os.pipe()
child = os.fork()
arguments = ["fit", "p.png", "--out", "run", "--hidden-dim", "16", "--device", "cpu"]
if child == 0:
    from coordnet.training import minimizing
    real = minimizing.take_step
    def step(state, *rest):
        if state.step == 5:
            os.write(ready[1], b"x")
            os.read(done[0], 1)
        return real(state, *rest)
    minimizing.take_step = step
    os._exit(main([*arguments, "--steps", "9"]))
os.read(ready[0], 1)
for more in ([], ["--overwrite"]):
    assert main([*arguments, *more]) == 2
assert main(["fit", "--resume", "run"]) == 2
os.write(done[1], b"x")
_, ended = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(ended) == 0
"""


@posix
def test_two_processes_never_fit_in_one_folder(forked):
    found = forked(SECOND)
    assert found.status == 0, found.out
    refusals = [line for line in found.out.splitlines() if "is fitting in" in line]
    assert len(refusals) == 2
    assert {path.name for path in Path("run").iterdir()} == OUTPUTS


def test_what_a_killed_process_leaves_is_cleared_away(fit, refused):
    Path("run").mkdir()
    for name in (".model.safetensors", ".checkpoint.safetensors", ".report.json"):
        Path("run", f"{name}.0123abcd.tmp").write_bytes(b"half")
    Path("run/.coordnet.lock").write_bytes(b"12345\n")
    fit("p.png")
    assert {path.name for path in Path("run").iterdir()} == OUTPUTS
    # files of somebody else are not
    for name in (".notes.txt.0123abcd.tmp", ".model.safetensors.tmp", "thesis.tex"):
        Path("other").mkdir()
        Path("other", name).write_bytes(b"mine")
        refused("fit", "p.png", "--out", "other", "--overwrite", words=["other", name])
        assert [path.name for path in Path("other").iterdir()] == [name]
        Path("other", name).unlink()
        Path("other").rmdir()


def test_a_lock_is_never_written_through_a_link(refused):
    Path("run").mkdir()
    Path("precious").write_text("thesis")
    Path("run/.coordnet.lock").symlink_to(Path("precious").resolve())
    refused("fit", "p.png", "--out", "run", words=["run"])
    assert Path("precious").read_text() == "thesis"


def test_a_checkpoint_of_the_run_that_is_replaced_goes_with_it(run, signalled, fit):
    signalled(30, signal.SIGINT)
    assert run("fit", "p.png", *CUT).status == 130
    fit("p.png", "--overwrite")
    assert {path.name for path in Path("run").iterdir()} == OUTPUTS


# --- repeated


def test_the_same_fit_in_two_processes_gives_the_same_bytes(process, forked, fit):
    fit("p.png", out="a")
    other = process("fit", "p.png", *WIDE[:2], "--layers", "1", "--steps", "3", "--device", "cpu")
    assert other.returncode == 0, other.stderr
    assert Path("runs/p/model.safetensors").read_bytes() == Path("a/model.safetensors").read_bytes()


def test_like_repeats_a_run_from_its_report(fit, run, table):
    t = [i / 8 for i in range(40)]
    table("t.csv", t=t, a=[x * x for x in t], b=[3 - x for x in t])
    options = ("--period", "2.5", "--period", "1", "--y", "b", "--k", "3", "--seed", "7")
    _, report = fit("t.csv", *options, "--precision", "float32", out="a")
    assert report["threads"] == torch.get_num_threads()
    found = run("fit", "--like", "a/report.json", "t.csv", "--out", "b")
    assert found.status == 0, found.err
    said = found.out.splitlines()[0]
    for word in ("a/report.json", "--period=2.5", "--y=b", "--k=3", "--seed=7", "--steps=3"):
        assert word in said
    assert Path("a/model.safetensors").read_bytes() == Path("b/model.safetensors").read_bytes()
    # what is typed goes first
    found = run("fit", "--like", "a", "t.csv", "--out", "c", "--k", "2", "--period", "4")
    assert "--k" not in found.out.splitlines()[0]
    assert json.loads(Path("c/report.json").read_text())["options"]["periods"] == [4.0]
    found = run("fit", "--like", "a", "t.csv", "--out", "d", "--seconds", "0.1")
    about = json.loads(Path("d/report.json").read_text())
    assert about["options"]["seconds"] == 0.1
    assert "steps" not in about["options"]


def test_like_a_run_that_the_clock_ended_takes_the_steps_it_took(fit, run, report):
    """The recipe of the shortest runs is another one: it is taken over as well."""
    tiny = ("--preset", "small", "--seconds", "0.2", "--device", "cpu")
    _, first = fit("p.png", tiny=tiny, out="a")
    found = run("fit", "--like", "a", "p.png", "--out", "b")
    assert found.status == 0, found.err
    assert f"0.2 s cannot be repeated: this run takes the {first['steps']} steps" in found.out
    second = report("b")
    assert second["stop_reason"] == "steps"
    assert second["steps"] == first["steps"]
    for name in ("optimizer", "learning_rate", "batch_size", "warmup_steps"):
        assert second["config"][name] == first["config"][name]
    # the learning rate now falls over steps, the first of which are as they were
    assert second["field"] == first["field"]


def test_like_a_run_that_was_interrupted(run, signalled, report):
    signalled(10, signal.SIGINT)
    assert run("fit", "p.png", *CUT).status == 130
    signalled(-1)
    found = run("fit", "--like", "run", "p.png", "--out", "b")
    assert found.status == 0, found.err
    assert "interrupted at step 11" in found.out
    assert report("b")["steps"] == 60


def test_like_says_what_differs_on_this_machine(fit, run):
    fit("p.png", out="a")
    about = json.loads(Path("a/report.json").read_text())
    about["threads"], about["versions"]["torch"] = 64, "1.0"
    Path("a/report.json").write_text(json.dumps(about))
    found = run("fit", "--like", "a", "p.png", "--out", "b")
    for word in ("last digits may differ", "threads was 64", "torch was 1.0"):
        assert word in found.out


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[" * 100_000,
        "[1, 2]",
        "\0\1\2",
        '{"options": 3, "config": {}, "steps": 3, "stop_reason": "steps"}',
        '{"options": {}, "config": {}, "steps": true, "stop_reason": "steps"}',
        '{"options": {}, "config": {}, "steps": ' + "9" * 5000 + ', "stop_reason": "steps"}',
    ],
    ids=range(8),
)
def test_what_is_no_report(refused, text):
    Path("report.json").write_text(text)
    refused("fit", "--like", "report.json", "p.png", words=["report.json", "coordnet fit"])
    refused("fit", "--like", "missing.json", "p.png", words=["missing.json"])


@pytest.mark.parametrize(
    "options",
    [
        {"k": -1},
        {"k": 2.5},
        {"k": True},
        {"k": None},
        {"k": [3]},
        {"steps": float("nan")},
        {"learning_rate": "1e999"},
        {"encoding": "os.system"},
        {"network": ["mlp"]},
        {"tile": "yes"},
        {"periods": [[1]]},
        {"help": True},
        {"resume": "run"},
        {"like": "a"},
        {"input": "/etc/passwd"},
        {"no\nsuch": 1},
        {"device": "cuda:99"},
        {"device": "a\nb"},
    ],
    ids=str,
)
def test_options_in_a_report_are_checked_as_if_they_were_typed(refused, options):
    about = {"options": options, "config": {}, "steps": 3, "stop_reason": "steps"}
    Path("report.json").write_text(json.dumps(about))
    refused("fit", "--like", "report.json", "p.png")


def test_where_a_run_was_kept_is_not_taken_over(fit, run):
    fit("p.png", "--checkpoint-every", "never", out="a")
    assert run("fit", "--like", "a", "p.png").status == 0
    assert Path("runs/p/model.safetensors").exists()


def test_resume_and_like_exclude_each_other(refused):
    refused("fit", "--resume", "a", "--like", "b", words=["--resume", "--like"])


@pytest.mark.parametrize("text", ["0", "0s", "-3", "1.5", "soon", "3 days", "", "nan", "1e9"])
def test_intervals_that_cannot_be(refused, text):
    refused("fit", "p.png", f"--checkpoint-every={text}", words=["--checkpoint-every", "30s"])


def test_only_what_was_typed_counts_as_typed(monkeypatch):
    """A default in the parser would silently win over a run's own option."""
    from coordnet.cli.arguments import parser

    assert vars(parser().parse_args(["fit", "x"])) == {"command": "fit", "input": Path("x")}
