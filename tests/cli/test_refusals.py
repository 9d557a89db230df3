"""Bad input: one line, the documented status, nothing written."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

import coordnet as cn
from coordnet.encodings import ENCODINGS

COMMANDS = ("fit", "render", "predict", "export", "evaluate", "info")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.png", b"", ["empty.png", "0 bytes"]),
        ("empty.csv", b"", ["empty.csv", "0 bytes"]),
        ("text.png", b"I am no picture", ["text.png", "I am no"]),
        ("cut.png", None, ["cut.png", "whole"]),
        ("what.xyz", b"?", ["what.xyz", "'.xyz'", ".png", ".csv"]),
        ("ending", b"?", ["ending", ".png", ".csv"]),
        ("cell.csv", b"t,v\n0,1\n1,oops\n", ["cell.csv", "line 3", "'v'", "oops"]),
        ("date.csv", b"t,v\n1.2.2020,1\n", ["date.csv", "1.2.2020", "line 2", "ISO 8601"]),
        ("inf.csv", b"t,v\n0,1\n1,inf\n", ["inf.csv", "line 3"]),
        ("one.csv", b"t\n0\n1\n", ["one.csv", "two columns"]),
        ("wide.csv", b"t,v\n0,1\n1,2,3\n", ["wide.csv", "line 3"]),
        ("none.csv", b"t,v\n", ["none.csv", "row"]),
        ("zeros.csv", b"\0" * 40, ["zeros.csv"]),
    ],
)
def test_files_that_cannot_be_read(refused, pixels, picture, name, content, words):
    if content is None:
        picture(name, pixels(8, 8, 3))
        content = Path(name).read_bytes()[:-40]
    Path(name).write_bytes(content)
    refused("fit", name, words=words)


def test_an_ending_that_is_refused_is_not_among_those_known(refused):
    Path("a.npy").write_bytes(b"?")
    found = refused("fit", "a.npy", words=["'.npy'", "poses_bounds.npy"])
    known = found.err.partition("Known: ")[2].rstrip(".\n").split(", ")
    assert ".csv" in known
    assert ".npy" not in known


def test_missing_files_and_folders(refused, fitted):
    Path("folder.png").mkdir()
    refused("fit", "missing.png", words=["missing.png", "does not exist"])
    refused("fit", "folder.png", words=["folder.png", "folder"])
    refused("fit", "a" * 300 + ".png", words=["too long"])
    refused("fit", "", words=["folder"])
    refused("fit", "two\nlines.png", words=["does not exist"])
    refused("evaluate", fitted / "run", "missing.png", words=["missing.png"])
    refused("evaluate", fitted / "run", ".", words=["folder"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs POSIX pipes")
def test_a_pipe_is_refused_before_it_is_waited_for(run, one_line):
    os.mkfifo("pipe.csv")
    found = run("fit", "pipe.csv")
    assert found.status == 2
    one_line(found.err, "pipe.csv", "regular file")


def test_a_nan_pixel_is_named(refused):
    values = np.zeros((4, 5), np.float32)
    values[2, 3] = np.nan
    Image.fromarray(values).save("nan.tif")
    refused("fit", "nan.tif", words=["nan.tif", "row 2", "column 3"])


def test_a_huge_picture_is_counted_not_decoded(refused):
    Image.new("1", (20000, 20000)).save("bomb.png")
    assert Path("bomb.png").stat().st_size < 100_000
    refused("fit", "bomb.png", words=["400,000,000", "GB"])


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("--k", ["0", "-1", "1.5", "many", str(1 << 70)]),
        ("--sigma", ["0", "-1", "nan", "inf", "wide"]),
        ("--C", ["0", "-1", "nan", "inf"]),
        ("--period", ["0", "-24", "nan", "inf", "day"]),
        ("--steps", ["0", "-5", "1e3", str(1 << 70)]),
        ("--seconds", ["0", "-1", "nan", "inf"]),
        ("--target-psnr", ["0", "-1", "nan", "inf"]),
        ("--batch-size", ["0", "-1"]),
        ("--learning-rate", ["0", "-1", "nan", "inf"]),
        ("--hidden-dim", ["0", "-1", "1.0", str(1 << 70)]),
        ("--layers", ["-1", "x"]),
        ("--seed", ["-1", "0.5", str(1 << 64)]),
        ("--page", ["-1", "first"]),
        ("--encoding", ["fourier", ""]),
        ("--network", ["transformer"]),
        ("--optimizer", ["sgd"]),
        ("--precision", ["float8"]),
        ("--wrap", ["z"]),
    ],
)
def test_bad_values_are_refused_by_the_options_name(refused, picture, pixels, option, values):
    picture("p.png", pixels(4, 5))
    for value in values:
        found = refused("fit", "p.png", option, value, words=[f"argument {option}", f"{value!r}"])
        assert "coordnet fit" in found.err


def test_unknown_encodings_are_answered_with_all_there_are(refused, picture, pixels):
    picture("p.png", pixels(4, 5))
    refused("fit", "p.png", "--encoding", "fourier", words=list(ENCODINGS))


# what is refused for pictures and tables alike
MISFITS = [
    (["--C", "100", "--encoding", "harmonic"], ["--C", "geometric", "harmonic"]),
    (["--C", "100"], ["--C", "geometric"]),
    (["--sigma", "3", "--encoding", "octave"], ["--sigma", "gaussian", "octave"]),
    (["--k", "3", "--encoding", "identity"], ["--k", "harmonic", "identity"]),
]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        *MISFITS,
        (["--period", "3"], ["--period 3", "picture"]),
        (["--x", "t"], ["--x t", "picture"]),
        (["--y", "t"], ["--y t", "picture"]),
        (["--page", "1"], ["page"]),
        (["--tile", "--encoding", "geometric"], ["--tile", "geometric", "harmonic"]),
        (["--wrap", "x", "--encoding", "identity"], ["--wrap", "identity"]),
        (["--tile", "--wrap", "x"], ["--tile and --wrap"]),
        (["--preset", "small", "--encoding", "lattice"], ["--preset small", "lattice"]),
        (["--preset", "fast", "--k", "8"], ["--k 8", "hashgrid"]),
    ],
)
def test_options_that_mean_nothing_for_a_picture(refused, picture, pixels, options, words):
    picture("p.png", pixels(4, 5))
    refused("fit", "p.png", *options, words=words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        *MISFITS,
        (["--tile"], ["--tile", "table"]),
        (["--wrap", "x"], ["--wrap x", "table"]),
        (["--page", "0"], ["--page 0", "table"]),
        (["--x", "nope"], ["nope", "'t', 'v'"]),
        (["--y", "nope"], ["nope", "'t', 'v'"]),
        (["--y", "v", "--y", "v"], ["once", "--y v"]),
        (["--y", "t"], ["once", "--y t"]),
        (["--period", "1", "--encoding", "geometric"], ["--period", "geometric"]),
    ],
)
def test_options_that_mean_nothing_for_a_table(refused, table, options, words):
    table("t.csv", t=[0, 1], v=[1, 2])
    refused("fit", "t.csv", *options, words=words)


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ("nonsense", ["nonsense"]),
        ("", ["device"]),
        ("cuda:99", ["cuda:99"]),
        ("meta", ["meta", "cpu"]),
    ],
)
def test_devices_that_are_not_there(refused, picture, pixels, fitted, device, words):
    picture("p.png", pixels(4, 5))
    refused("fit", "p.png", "--device", device, words=words)
    refused("render", fitted / "run", "-o", "r.png", "--device", device, words=words)
    refused("evaluate", fitted / "run", fitted / "noise.png", "--device", device, words=words)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_cuda_without_cuda(refused, picture, pixels):
    picture("p.png", pixels(4, 5))
    refused("fit", "p.png", "--device", "cuda", words=["cuda", "cpu"])


class Trap:
    """Unpickling it makes a file."""

    def __reduce__(self):
        return (os.mkdir, ("sprung",))


def pickled(path):
    path.write_bytes(pickle.dumps(Trap()))


def torch_saved(path):
    torch.save({"weight": torch.zeros(3)}, path)


def foreign(path):
    save_file({"weight": torch.zeros(3)}, path)


def text(path):
    path.write_text("not a model")


def empty(path):
    path.touch()


@pytest.mark.parametrize("make", [pickled, torch_saved, foreign, text, empty])
@pytest.mark.parametrize("command", COMMANDS[1:])
def test_files_that_are_no_models(refused, fitted, command, make):
    folder = Path("bad")
    folder.mkdir()
    make(folder / "model.safetensors")
    rest = {
        "render": ["-o", "r.png"],
        "predict": ["times.csv"],
        "export": ["m.ply"],
        "evaluate": [fitted / "noise.png"],
        "info": [],
    }[command]
    for run in (folder, folder / "model.safetensors"):
        refused(command, run, *rest, words=["bad/model.safetensors"])
    assert not Path("sprung").exists()


def test_truncated_models(refused, fitted):
    whole = (fitted / "run/model.safetensors").read_bytes()
    for size in (1, 7, 8, 100, len(whole) // 2, len(whole) - 1):
        Path("cut.safetensors").write_bytes(whole[:size])
        refused("render", "cut.safetensors", "-o", "r.png", words=["cut.safetensors"])
        refused("info", "cut.safetensors", words=["cut.safetensors"])


def test_runs_that_are_not_there(refused, fitted):
    Path("hollow").mkdir()
    noise = fitted / "noise.png"
    for run, word in (("missing", "missing"), ("hollow", "model.safetensors")):
        refused("render", run, "-o", "r.png", words=[word])
        refused("evaluate", run, noise, words=[word])
        refused("info", run, words=[word])


def test_a_field_saved_from_python_is_no_run(run, refused, fitted):
    encoding = cn.FourierFeatures(2, k=2)
    cn.save(cn.Field(encoding, cn.MLP(encoding.out_dim, 3, 8, 1)), "own.safetensors")
    refused("render", "own.safetensors", "-o", "r.png", words=["coordnet.load"])
    refused("evaluate", "own.safetensors", fitted / "noise.png", words=["coordnet.load"])
    found = run("info", "own.safetensors")
    assert found.status == 0
    assert "harmonic(k=2" in found.out


def test_too_large_for_memory_is_one_line_without_internals(refused, picture, pixels):
    picture("p.png", pixels(4, 5))
    size = "1000000000000"
    found = refused("fit", "p.png", "--hidden-dim", size, words=["not enough memory"], status=1)
    assert "alloc_cpu" not in found.err


def test_too_many_frequencies_are_refused_at_once(refused, picture, pixels):
    picture("p.png", pixels(4, 5))
    refused("fit", "p.png", "--k", "1000000000000", words=["k", "1,048,576"])


@pytest.mark.parametrize(
    "arguments",
    [
        ["dance"],
        ["fit"],
        ["fit", "p.png", "--lr", "1"],
        ["fit", "p.png", "--lr\nx", "two\nlines"],
        ["fit", "p.png", "--steps"],
        ["render", "run"],
        ["evaluate", "run"],
        ["info", "a", "b"],
        ["--verbose"],
    ],
)
def test_bad_usage_is_one_line_that_names_the_help(refused, arguments):
    found = refused(*arguments, words=["error", "--help"])
    assert found.out == ""


def test_no_command_shows_the_help_and_says_why(refused):
    found = refused(words=["command", *COMMANDS])
    assert "usage: coordnet" in found.out
