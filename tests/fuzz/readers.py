"""What is done with every hostile file, and what must hold where it is taken."""

import contextlib
import io
import json
import os
import shutil

import mutations
import numpy as np
import seeds
import torch

from coordnet import read_audio, read_image, read_scene, read_table
from coordnet.cli import main
from coordnet.cli.given import as_typed
from coordnet.errors import InputError
from coordnet.kinds import KINDS as TASKS
from coordnet.runs.record import Record, model_of_checkpoint, options_like
from coordnet.saving import load, load_settings
from coordnet.scenes import read_cameras
from coordnet.training import fit
from coordnet.training.checkpoint import Checkpoint


class Kind:
    """A kind of file: where it lies, how it is damaged, who reads it.

    `read` gives True where the file was taken, and raises InputError where it was refused.
    """

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True)
        self.seeds = self.make()

    def hostile(self, random):
        """Write one hostile file; return its path."""
        name = random.choice(sorted(self.seeds))
        path = self.folder / name
        path.write_bytes(self.mutate(random, self.seeds[name]))
        return path

    def mutate(self, random, data):
        return mutations.blind(random, data)


class Pictures(Kind):
    def make(self):
        return seeds.pictures()

    def mutate(self, random, data):
        return (mutations.png if data[:4] == b"\x89PNG" else mutations.blind)(random, data)

    def read(self, path, random):
        image = read_image(path, page=random.choice([0, None, None, 1]))
        assert image.pixels.ndim == 3
        assert min(image.pixels.shape) > 0
        assert image.pixels.dtype in (np.uint8, np.uint16, np.float32)
        if image.pixels.size < 1e6:
            values = image.values()
            assert np.isfinite(values).all()
            assert image.pixels.dtype.kind == "f" or 0 <= values.min() <= values.max() <= 1


class Tables(Kind):
    def make(self):
        return seeds.tables()

    def mutate(self, random, data):
        return mutations.table(random, data)

    def read(self, path, random):
        options = random.choice(
            [{}, {}, {"unit": "h"}, {"x": 1}, {"error": "w"}, {"weights": -1}, {"y": "y"}]
        )
        found = read_table(path, **options)
        assert len(found.x) == len(found.y) > 0
        assert np.isfinite(found.x).all()
        assert np.isfinite(found.y).all()
        assert (np.diff(found.x) >= 0).all()


class Sounds(Kind):
    def make(self):
        return seeds.sounds()

    def read(self, path, random):
        found = read_audio(path)
        assert found.samples.ndim == 2
        assert found.samples.size > 0
        assert np.isfinite(found.values(slice(0, 1000))).all()
        assert 0 < found.seconds < float("inf")


class Models(Kind):
    def make(self):
        return seeds.models(self.folder)

    def mutate(self, random, data):
        return mutations.safetensors(random, data)

    def read(self, path, random):
        model = load(path)
        assert isinstance(load_settings(path), dict)
        with torch.no_grad():
            if hasattr(model, "render"):
                toward = torch.tensor([[0.0, 0.0, -1.0]])
                assert model(torch.tensor([[0.0, 0.0, 3.0]]), toward).color.shape == (1, 3)
            else:
                at = torch.rand(5, model.in_dim, dtype=torch.float64)
                assert model(at).shape == (5, model.out_dim)


class Runs(Models):
    """The same through the commands that take a run: one line and a status, whatever it holds."""

    def read(self, path, random):
        out = random.choice(["out.png", "out.csv", "out.wav", "out.jpg"])
        out = {"table": "out.csv", "audio": "out.wav", "image": "out.png"}.get(path.stem, out)
        out = self.folder / out
        if out.exists():
            out.unlink()
        times = self.folder / "times.csv"
        times.write_text("t\n0.5\n1.5\n")
        commands = [["info", path], ["render", path, "-o", out], ["predict", path, times]]
        command = random.choice(commands[:2] if path.stem != "table" else commands)
        device = [] if command[0] == "info" else ["--device", "cpu"]
        _command([*command, *device])


def _command(arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main([str(each) for each in arguments])
        except SystemExit as end:
            status = end.code
    said = err.getvalue()
    assert status in (0, 1, 2), status
    if status:
        errors = [line for line in said.splitlines() if line.startswith("coordnet")]
        assert len(errors) == 1, said
        assert "Traceback" not in said
        raise InputError(errors[0], "", "")


class Checkpoints(Kind):
    def make(self):
        return seeds.checkpoints(self.folder)

    def mutate(self, random, data):
        return mutations.safetensors(random, data)

    def read(self, path, random):
        if random.random() < 0.5:
            record = Record.from_checkpoint(path)
            model_of_checkpoint(path)
            with contextlib.suppress(InputError):
                record.require_input(record.path)
            _read_options(record.options, path, record.kind)
        else:
            field, x, y = seeds.checkpointed()
            fit(field, x, y, seeds.checkpoint_config(5), checkpoint=Checkpoint(path, resume=True))


class Reports(Kind):
    def make(self):
        return seeds.reports()

    def mutate(self, random, data):
        return mutations.json_file(random, data)

    def read(self, path, random):
        options, notes = options_like(path, budget=random.random() < 0.7)
        assert all(isinstance(note, str) for note in notes)
        _read_options(options, path, random.choice(["table", "image", "audio", "scene"]))


def _read_options(options, path, kind):
    """Check the options in a file, as --like and --resume do."""
    as_typed(options, path)
    TASKS[kind].read(TASKS[kind].options, options)


class Scenes(Kind):
    """Files of poses beside pictures, a loop of links, a pipe that nobody writes to."""

    def make(self):
        pictures = seeds.pictures()
        for name in ("images", "folder"):
            (self.folder / name).mkdir()
        for i in range(4):
            (self.folder / "images" / f"{i}.png").write_bytes(pictures["rgb.png"])
        (self.folder / "loop").symlink_to("loop")
        (self.folder / "images" / "loop").symlink_to("../images")
        os.mkfifo(self.folder / "fifo.png")
        return self.files()

    def files(self):
        return seeds.transforms()

    def mutate(self, random, data):
        if random.random() < 0.3:
            content = json.loads(data)
            for frame in random.choices(content["frames"], k=random.choice([1, 4])):
                frame["file_path"] = mutations.hostile_path(random, frame["file_path"])
            return json.dumps(content).encode()
        return mutations.json_file(random, data)

    def place(self, path):
        """Return what is read for a hostile file."""
        return path

    def read(self, path, random):
        where = self.place(path)
        if random.random() < 0.3:
            cameras = read_cameras(where)
            assert bool(cameras.poses.isfinite().all())
            return
        scene = read_scene(
            where, random.choice(["train", "all", "test"]), downscale=random.choice([1, 2])
        )
        assert len(scene) == len(scene.images) == len(scene.cameras) > 0
        assert bool(scene.cameras.poses.isfinite().all())


class Colmap(Scenes):
    def files(self):
        return seeds.colmap()

    def mutate(self, random, data):
        if random.random() < 0.2:
            name = mutations.hostile_path(random, "0.png").encode("utf-8", "replace")
            return data.replace(b"0.png", name)
        text = data.isascii() and b"\0" not in data
        return (mutations.lines if text else mutations.blind)(random, data)

    def place(self, path):
        sparse = self.folder / "sparse"
        shutil.rmtree(sparse, ignore_errors=True)
        sparse.mkdir()
        for name, data in self.seeds.items():
            if name.endswith(path.suffix):
                (sparse / name).write_bytes(data)
        shutil.move(path, sparse / path.name)
        return self.folder


class Llff(Scenes):
    def files(self):
        return seeds.llff()

    def mutate(self, random, data):
        return mutations.npy(random, data)


KINDS = {
    "pictures": Pictures,
    "tables": Tables,
    "sounds": Sounds,
    "models": Models,
    "runs": Runs,
    "checkpoints": Checkpoints,
    "reports": Reports,
    "transforms": Scenes,
    "colmap": Colmap,
    "llff": Llff,
}
