"""Saved fields and files: whole or not at all, no code, nothing that a file merely claims."""

import contextlib
import json
import os
import pickle
import shutil
import signal
import stat
import struct
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import save as to_bytes

from coordnet import (
    MLP,
    Concat,
    Field,
    FitConfig,
    FourierFeatures,
    Identity,
    InputError,
    fit,
    load,
    save,
)
from coordnet.files import atomic, json_values, write_atomic, write_json
from coordnet.saving import load_settings
from coordnet.training.checkpoint_file import write_checkpoint

OLD = Path(__file__).parent / "data" / "0.1.0"
X = torch.rand(50, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 30


def gaussian(seed=3, out_dim=2):
    encoding = FourierFeatures.gaussian(2, k=7, sigma=2.0, seed=seed)
    return Field(encoding, MLP(encoding.out_dim, out_dim, hidden_dim=8, seed=1))


def fitted():
    field = gaussian()
    fit(field, X, torch.sin(X), FitConfig(steps=3, precision="float32"))
    return field


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def child(code, *arguments):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )


class TestRoundTrip:
    @pytest.mark.parametrize(
        "make",
        [
            fitted,
            gaussian,
            lambda: Field(FourierFeatures(2, k=3, period=[1.0, 24.0]), MLP(12, seed=0)),
            lambda: Field(FourierFeatures.octave(2, k=3, include_input=True), MLP(14, 3, 4)),
            lambda: Field(
                Concat([Identity(1), FourierFeatures(1, k=2)], axes=[[1], [0]]),
                MLP(5, 1, num_hidden_layers=0),
                domain=([0.0, -5.0], [1.0, 5.0]),
            ),
        ],
        ids=["fitted", "fresh", "harmonic", "octave", "concat"],
    )
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
    def test_bit_for_bit(self, make, dtype, path):
        field = make().to(dtype)
        save(field, path)
        again = load(path)
        assert torch.equal(again(X), field(X))
        assert again.spec() == field.spec()
        assert again.dtype == dtype
        found, kept = again.state_dict(), field.state_dict()
        assert list(found) == list(kept)
        for name, value in kept.items():
            assert found[name].dtype == value.dtype, name
            assert torch.equal(found[name], value), name
        assert all(p.requires_grad for p in again.parameters())

    def test_a_loaded_field_is_fitted_on(self, path):
        save(fitted(), path)
        again = load(path)
        domain = again.domain
        result = fit(again, X / 2, torch.sin(X), FitConfig(steps=2, precision="float32"))
        assert result.steps == 2
        assert again.domain == domain

    def test_in_a_new_process_under_another_seed(self, path, tmp_path):
        field = fitted()
        save(field, path)
        torch.save(X, tmp_path / "x.pt")
        done = child(
            """
            import sys, torch, coordnet as cn
            torch.manual_seed(12345)
            field = cn.load(sys.argv[1])
            x = torch.load(sys.argv[2])
            torch.save((field(x).detach(), field.encoding.cycles), sys.argv[3])
            """,
            path,
            tmp_path / "x.pt",
            tmp_path / "y.pt",
        )
        assert done.returncode == 0, done.stderr
        assert (done.stdout, done.stderr) == ("", "")
        values, cycles = torch.load(tmp_path / "y.pt")
        assert torch.equal(values, field(X))
        assert torch.equal(cycles, field.encoding.cycles)

    def test_frequencies_come_from_the_file_not_from_the_seed(self, path):
        """Another PyTorch may draw other numbers from one seed."""
        field = gaussian()
        field.encoding.cycles.mul_(1.5)
        save(field, path)
        assert torch.equal(load(path)(X), field(X))

    def test_the_global_state_is_left_alone_and_changes_nothing(self, path):
        field = gaussian()
        save(field, path)
        state = torch.get_rng_state()
        try:
            torch.set_default_dtype(torch.float64)
            again = load(path)
            assert torch.get_default_dtype() == torch.float64
        finally:
            torch.set_default_dtype(torch.float32)
        assert torch.equal(torch.get_rng_state(), state)
        assert torch.get_default_device() == torch.device("cpu")
        assert torch.equal(again(X), field(X))

    def test_settings(self, path):
        settings = {"task": "image", "size": [40, 24], "psnr": float("inf"), "names": ("a", "b")}
        save(gaussian(), path, settings)
        expected = {"task": "image", "size": [40, 24], "psnr": None, "names": ["a", "b"]}
        assert load_settings(path) == expected
        save(gaussian(), path)
        assert load_settings(path) == {}

    def test_a_device_that_is_not_there(self, path):
        save(gaussian(), str(path))
        for device in ("cuda:99", "nonsense", "", 1.5):
            with pytest.raises(InputError) as caught:
                load(str(path), device=device)
            assert "device" in caught.value.rule
            assert repr(str(device)) in caught.value.got
            assert "\n" not in str(caught.value)

    def test_only_fields(self, path):
        for module in (MLP(3), torch.nn.Linear(1, 1), None):
            with pytest.raises(InputError, match="Field"):
                save(module, path)
        plain = Field(FourierFeatures(1, k=2), torch.nn.Linear(4, 1))
        with pytest.raises(InputError, match="Linear"):
            save(plain, path)
        assert not path.exists()

    @pytest.mark.parametrize("name", ["picture", "table"])
    def test_models_of_version_0_1_0_open(self, name, path):
        field = load(OLD / name / "model.safetensors")
        assert field.standardized
        save(field, path)
        assert torch.equal(load(path)(X[:, : field.in_dim]), field(X[:, : field.in_dim]))

    @pytest.mark.cuda
    def test_saved_on_a_cuda_device(self, path):
        if not torch.cuda.is_available():
            pytest.skip("needs a CUDA device")
        field = gaussian()
        expected = field(X)
        save(field.cuda(), path)
        assert torch.equal(load(path)(X), expected)
        assert load(path, device="cuda")(X.cuda()).is_cuda


SAVE = """
    import resource, sys, torch, coordnet as cn
    grid = cn.DenseGrid(1, 25_000_000, features=1, seed=0)  # 100 MB
    field = cn.Field(grid, cn.MLP(1, 1, 8))
    cn.save(cn.Field(cn.DenseGrid(1, 10), cn.MLP(2, 1, 8)), sys.argv[1])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cn.save(field, sys.argv[1])
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss is in KB on Linux")
def test_saving_takes_no_memory_for_the_file(path):
    done = child(SAVE, path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 30
    assert path.stat().st_size > 100_000_000


class TestAModelOwnsItsMemory:
    def test_another_file_copied_over(self, path, tmp_path):
        other = tmp_path / "other.safetensors"
        save(gaussian(4), other)
        save(gaussian(), path)
        field = load(path)
        before = {name: value.clone() for name, value in field.state_dict().items()}
        shutil.copyfile(other, path)  # the same file, other bytes
        for name, value in field.state_dict().items():
            assert torch.equal(value, before[name]), name

    @pytest.mark.parametrize("kind", ["model", "checkpoint"])
    def test_the_file_cut_short(self, kind, path):
        """In a process of its own: reading what a mapped file has lost ends it by SIGBUS."""
        field = Field(FourierFeatures(1, k=64), MLP(128, 1, hidden_dim=64))
        if kind == "model":
            save(field, path)
        else:
            write_checkpoint(path, field.state_dict(), {})
        done = child(
            """
            import os, sys, torch, coordnet as cn
            from pathlib import Path
            from coordnet.training.checkpoint_file import read_checkpoint

            if sys.argv[2] == "model":
                tensors = cn.load(sys.argv[1]).state_dict()
            else:
                with read_checkpoint(Path(sys.argv[1])) as file:
                    tensors = dict(file)
            os.truncate(sys.argv[1], 0)
            print(len(tensors), all(bool(each.isfinite().all()) for each in tensors.values()))
            """,
            path,
            kind,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"{len(field.state_dict())} True\n"

    def test_tensors_are_aligned(self, path):
        """The last bits of a matrix product depend on where its operands begin."""
        field = Field(FourierFeatures(2, k=3, period=[1.0, 24.0]), MLP(12, seed=0))
        for spaces in range(8):  # the header's length moves all that follows
            save(field, path, {"moves": " " * spaces})
            for name, value in load(path).state_dict().items():
                assert value.data_ptr() % 64 == 0, name


# tracing an autograd.Function, PyTorch instantiates it itself
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
class TestCompiled:
    def check(self, compiled, path, expected):
        save(compiled, path)
        with path.open("rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            assert b"_orig_mod" not in file.read(size)
        assert torch.equal(load(path)(X), expected)

    def test_a_compiled_field(self, path):
        compiled = torch.compile(gaussian(), backend="eager")
        self.check(compiled, path, compiled(X))

    def test_a_compiled_network(self, path):
        inner = torch.compile(MLP(14, 1, hidden_dim=8), backend="eager")
        field = Field(FourierFeatures.gaussian(2, k=7), inner)
        self.check(field, path, field(X))

    def test_compiled_in_place(self, path):
        field = gaussian()
        field.compile(backend="eager")
        self.check(field, path, field(X))


WAITING_WRITER = """
    import sys
    from coordnet.files import atomic
    with atomic(sys.argv[1]) as file:
        file.write(b"by another ")
        file.flush()
        print("half", flush=True)
        sys.stdin.readline()
        file.write(b"process")
"""


class TestAtomic:
    def test_a_write_that_fails_leaves_the_old_file(self, path):
        """The file may not grow past 4 kB, as on a full disk; the new model is larger."""
        save(gaussian(), path)
        before = path.read_bytes()
        done = child(
            """
            import resource, signal, sys, torch, coordnet as cn
            encoding = cn.FourierFeatures(1, k=64)
            field = cn.Field(encoding, cn.MLP(128, 1, hidden_dim=64))
            field.spec()
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
            try:
                cn.save(field, sys.argv[1])
            except OSError as error:
                print(type(error).__name__, error.errno)
            """,
            path,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("OSError")
        assert path.read_bytes() == before
        assert list(path.parent.iterdir()) == [path]

    @pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
    def test_what_a_killed_process_left_goes_with_the_next_save(self, path):
        for _ in range(2):
            done = child(
                """
                import os, signal, sys, coordnet as cn
                os.fsync = lambda file: os.kill(os.getpid(), signal.SIGKILL)
                cn.save(cn.Field(cn.FourierFeatures(1, k=2), cn.MLP(4)), sys.argv[1])
                """,
                path,
            )
            assert done.returncode == -signal.SIGKILL
            (left,) = path.parent.iterdir()  # the second has removed the first one's
            assert left.name.startswith(".model.safetensors.")
            assert left.stat().st_size > 1000
        others = [path.with_name(n) for n in (".other.0123abcd.tmp", ".model.safetensors.tmp")]
        for other in others:
            other.write_bytes(b"not of this file")
        save(gaussian(), path)
        assert sorted(path.parent.iterdir()) == sorted([path, *others])

    def test_a_living_writer_keeps_its_file(self, path):
        writer = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(WAITING_WRITER), str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        with writer:
            assert writer.stdout is not None
            assert writer.stdin is not None
            assert writer.stdout.readline() == b"half\n"
            save(gaussian(), path)
            assert len(list(path.parent.iterdir())) == 2
            with atomic(path) as file:  # nor does one in this process lose it
                file.write(b"by this process")
                write_atomic(path, b"meanwhile")
            assert path.read_bytes() == b"by this process"
            writer.stdin.write(b"\n")
            writer.stdin.close()
        assert writer.returncode == 0
        assert path.read_bytes() == b"by another process"
        assert list(path.parent.iterdir()) == [path]

    @pytest.mark.parametrize("error", [None, RuntimeError, KeyboardInterrupt])
    def test_until_the_end_readers_see_the_old_file(self, error, path):
        path.write_bytes(b"old")

        def write():
            with atomic(path) as file:
                file.write(b"new")
                file.flush()
                assert path.read_bytes() == b"old"
                if error is not None:
                    raise error

        with pytest.raises(error) if error else contextlib.nullcontext():
            write()
        assert path.read_bytes() == (b"old" if error else b"new")
        assert list(path.parent.iterdir()) == [path]

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    def test_a_folder_that_is_read_only(self, path):
        save(gaussian(), path)
        before = path.read_bytes()
        path.parent.chmod(0o500)
        try:
            with pytest.raises(OSError):
                save(gaussian(4), path)
        finally:
            path.parent.chmod(0o700)
        assert path.read_bytes() == before
        assert list(path.parent.iterdir()) == [path]

    def test_a_folder_that_is_not_there_or_is_in_the_way(self, path):
        with pytest.raises(FileNotFoundError) as caught:
            save(gaussian(), path / "deeper")
        assert str(caught.value).endswith(f": {str(path / 'deeper')!r}")
        path.mkdir()
        with pytest.raises(OSError) as caught:
            save(gaussian(), path)
        assert str(caught.value).endswith(f": {str(path)!r}")
        assert list(path.parent.iterdir()) == [path]
        assert list(path.iterdir()) == []

    def test_settings_that_are_no_json_write_nothing(self, path):
        save(gaussian(), path)
        before = path.read_bytes()
        with pytest.raises(TypeError):
            save(gaussian(), path, {"a": object()})
        assert path.read_bytes() == before

    def test_a_link_stays_a_link(self, path):
        link = path.with_name("latest")
        link.symlink_to(path)
        save(gaussian(), link)
        assert link.is_symlink()
        assert load(path).in_dim == 2

    def test_permissions_are_those_of_the_umask(self, path):
        save(gaussian(), path)
        plain = path.with_name("plain")
        plain.write_bytes(b"")
        assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)

    def test_a_pipe_is_written_to_and_not_replaced(self, tmp_path):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        try:
            with atomic(pipe) as file:
                file.write(b"through")
            assert os.read(reader, 100) == b"through"
        finally:
            os.close(reader)
        assert stat.S_ISFIFO(pipe.stat().st_mode)
        assert list(tmp_path.iterdir()) == [pipe]

    def test_a_device_is_not_replaced(self):
        with atomic("/dev/null") as file:
            file.write(b"nothing")
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)

    def test_json_holds_no_infinity(self, tmp_path):
        path = tmp_path / "report.json"
        write_json(path, {"psnr": float("inf"), "é": [float("nan"), 1.5, True, None], 3: (1, 2)})
        text = path.read_text(encoding="utf-8")
        assert json.loads(text) == {"psnr": None, "é": [None, 1.5, True, None], "3": [1, 2]}
        assert "é" in text
        assert json_values(float("-inf")) is None


class Bomb:
    """Creates a file where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def about(field, /, **changes):
    return {"format": 1, "version": "0", "field": field.spec(), "settings": {}, **changes}


def write(path, field, described=None, tensors=None, text=None):
    tensors = dict(field.state_dict()) if tensors is None else tensors
    text = json.dumps(about(field) if described is None else described) if text is None else text
    path.write_bytes(to_bytes(tensors, metadata={"coordnet": text}))


def refused(path):
    """Loading gives one line that names the file."""
    with pytest.raises(InputError) as caught:
        load(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000
    return str(caught.value)


class TestFilesThatAreNoModels:
    @pytest.mark.parametrize("kind", ["pickle", "torch.save", "zip"])
    def test_pickles_are_refused_and_nothing_is_run(self, kind, path, tmp_path):
        trap = tmp_path / "executed"
        if kind == "pickle":
            path.write_bytes(pickle.dumps(Bomb(trap)))
        elif kind == "torch.save":
            torch.save({"model": Bomb(trap)}, path)
        else:
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("archive/data.pkl", pickle.dumps(Bomb(trap)))
        message = refused(path)
        assert str(path) in message
        assert "nothing" in message
        assert not trap.exists()
        with open(path, "rb") as file:  # the trap itself works
            if kind == "pickle":
                pickle.load(file).close()
                assert trap.exists()

    def test_files_of_other_bytes(self, path, tmp_path):
        save(gaussian(), path)
        whole = path.read_bytes()
        draw = torch.randint(256, (5, 500), generator=torch.Generator().manual_seed(0))
        for data in (
            *(whole[:size] for size in (0, 1, 7, 8, 9, 100, 1000, -1)),  # cut short
            *(bytes(row) for row in draw.tolist()),
            b"hello\nworld\n",
            struct.pack("<Q", 1 << 62) + b"{}",  # a header that claims to be huge
        ):
            path.write_bytes(data)
            assert str(path) in refused(path)
        path.write_bytes(to_bytes({"weight": torch.zeros(3)}))
        assert "no description" in refused(path)
        path.unlink()
        assert "no" in refused(path)
        assert "folder" in refused(tmp_path)

    def test_any_single_byte_of_the_header_may_be_wrong(self, path):
        """Whatever comes of it is a field or one clear error."""
        field = Field(FourierFeatures(1, k=1), MLP(2, 1, num_hidden_layers=0))
        save(field, path)
        whole = path.read_bytes()
        (size,) = struct.unpack("<Q", whole[:8])
        for place in range(0, 8 + size, 7):
            for byte in (b"0", b"}", b"\xff"):
                path.write_bytes(whole[:place] + byte + whole[place + 1 :])
                with contextlib.suppress(InputError):
                    assert isinstance(load(path), Field)


class TestDescriptionsThatDoNotHold:
    def test_the_writer_of_these_tests_writes_models(self, path):
        field = gaussian()
        write(path, field)
        assert torch.equal(load(path)(X), field(X))

    def test_another_format(self, path):
        for number in (0, 2, "1", None, 99):
            write(path, gaussian(), about(gaussian(), format=number))
            message = refused(path)
            assert repr(number) in message
            assert "version" in message

    def test_no_description(self, path):
        texts = ["", "{", "null", "[]", "3", '"text"', "{}", '{"format": 1}']
        for text in (*texts, "[" * 100_000, '{"a":' * 9999):
            write(path, gaussian(), text=text)
            refused(path)

    @pytest.mark.parametrize("depth", [10, 200, 2000, 40_000])
    def test_deep_nesting(self, path, depth):
        opening = '{"name":"normalized","lower":[0,0],"upper":[1,1],"encoding":'
        inner = json.dumps(FourierFeatures(2, k=2).spec())
        network = json.dumps(MLP(8).spec())
        encoding = opening * depth + inner + "}" * depth
        text = f'{{"format":1,"field":{{"encoding":{encoding},"network":{network}}}}}'
        write(path, gaussian(), text=text)
        refused(path)

    def test_other_tensors(self, path):
        field = gaussian()
        own = dict(field.state_dict())
        weight, bias = "network.layers.0.weight", "network.layers.1.bias"
        for tensors, *words in (
            ({k: v for k, v in own.items() if k != bias}, bias),
            ({**own, "surplus": torch.zeros(2)}, "surplus"),
            ({},),
            ({**own, weight: torch.zeros(8, 15)}, "(8, 15)", "(8, 14)"),
            ({**own, weight: own[weight].to(torch.int32)}, weight),
            ({**own, weight: own[weight].to(torch.bool)}, weight),
            ({**own, "encoding.cycles": own["encoding.cycles"].float()}, "encoding.cycles"),
            ({**own, "value_std": own["value_std"].bfloat16()}, "value_std"),
        ):
            write(path, field, tensors=tensors)
            message = refused(path)
            assert all(word in message for word in words), message

    def test_settings(self, path):
        field = gaussian()
        changes = {
            "encoding": [
                *({"name": name} for name in ("no such encoding", "__init__", 5)),
                *({"k": k} for k in (8, "7")),
                *({"sigma": sigma} for sigma in ([1], 10**400)),
                {"surplus": 1},
                {"seed": 1 << 70},
            ],
            "network": [
                {"name": "no such network"},
                {"activation": "eval"},
                {"hidden_dim": 9},
                {"num_hidden_layers": 4},
                {"in_dim": 13},
            ],
        }
        for part, some in changes.items():
            for change in some:
                spec = field.spec()
                spec[part] = {**spec[part], **change}
                write(path, field, about(field, field=spec))
                refused(path)

    def test_what_is_no_field_and_no_domain(self, path):
        field = gaussian()
        domains = (5, [[0.0], [1.0]], [None, None], [["a", "b"], [1, 2]], {})
        specs = [{**field.spec(), "domain": domain} for domain in domains]
        for spec in (None, [], {}, "field", 3, {"encoding": 1, "network": 2}, *specs):
            write(path, field, about(field, field=spec))
            refused(path)


ABSURD = """
    import json, resource, sys
    import torch, coordnet as cn
    from safetensors.torch import save as to_bytes

    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    linear = {"name": "mlp", "in_dim": 8, "out_dim": 1, "hidden_dim": 4, "num_hidden_layers": 1}
    harmonic = {"name": "harmonic", "in_dim": 1, "k": 4, "period": 1.0, "include_input": False}
    field = cn.Field(cn.FourierFeatures(1, k=4, period=1.0), cn.MLP(8, 1, 4, 1))
    cases = [
        *[(harmonic | {"k": k}, linear) for k in (10**12, 10**9, 10**30)],
        *[(harmonic | {"in_dim": d}, linear) for d in (10**12, 10**9)],
        (harmonic | {"in_dim": 10**6, "k": 10**6}, linear),
        ({"name": "octave", "in_dim": 10**6, "k": 1000, "period": 1.0}, linear),
        ({"name": "geometric", "in_dim": 1, "k": 10**10}, linear),
        ({"name": "gaussian", "in_dim": 10**5, "k": 10**5, "sigma": 1.0}, linear),
        ({"name": "gaussian", "in_dim": 1, "k": 10**10, "sigma": 1.0, "period": 1.0}, linear),
        ({"name": "lattice", "in_dim": 2, "k": 10**12, "period": 1.0}, linear),
        ({"name": "lattice", "in_dim": 10**5, "k": 1, "period": 1.0}, linear),
        ({"name": "identity", "in_dim": 10**12}, linear),
        ({"name": "concat", "encodings": [harmonic], "axes": [[10**12]]}, linear),
        *[(harmonic, linear | {"hidden_dim": h}) for h in (10**9, 10**12, 10**30)],
        *[(harmonic, linear | {"num_hidden_layers": n}) for n in (10**6, 10**9, 10**12)],
        (harmonic, linear | {"hidden_dim": 10**9, "num_hidden_layers": 3}),
        (harmonic, linear | {"out_dim": 10**12}),
        (harmonic | {"k": 10**12}, linear | {"in_dim": 2 * 10**12}),
    ]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for encoding, network in cases:
        spec = {"encoding": encoding, "network": network, "domain": None, "standardized": True}
        text = json.dumps({"format": 1, "field": spec})
        with open(sys.argv[1], "wb") as file:
            file.write(to_bytes(field.state_dict(), metadata={"coordnet": text}))
        try:
            cn.load(sys.argv[1])
            print("loaded", spec)
        except cn.InputError as error:
            assert "\\n" not in str(error)
    print(len(cases), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
"""


def test_absurd_sizes_are_refused_without_the_memory_they_ask_for(path):
    done = child(ABSURD, path)
    assert done.returncode == 0, done.stderr
    number, megabytes = map(int, done.stdout.split())
    assert number > 20
    assert megabytes < 100
