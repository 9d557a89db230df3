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

from coordnet import read_image
from coordnet.cli import main
from coordnet.cli.given import as_typed
from coordnet.errors import InputError
from coordnet.kinds import KINDS as SIGNALS
from coordnet.runs.record import Record, model_of_checkpoint, options_like
from coordnet.saving import load, load_settings
from coordnet.scenes import read_cameras, read_scene
from coordnet.series import read_table
from coordnet.sounds import read_audio
from coordnet.training import fit
from coordnet.training.checkpoint import Checkpoint


class Kind:
    """A kind of file: how sound ones are made, how they are damaged, who reads them.

    `read` returns where the file was taken, and raises InputError where it was refused.
    """

    make = staticmethod(dict)
    damage = staticmethod(mutations.blind)

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True)
        self.seeds = self.make(folder)

    def hostile(self, random):
        """Write one hostile file; return its path."""
        name = random.choice(sorted(self.seeds))
        path = self.folder / name
        path.write_bytes(self.damage(random, self.seeds[name]))
        return path


class Pictures(Kind):
    make = staticmethod(seeds.pictures)
    damage = staticmethod(mutations.picture)

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
    make = staticmethod(seeds.tables)
    damage = staticmethod(mutations.table)

    def read(self, path, random):
        options = [{}, {}, {"unit": "h"}, {"x": 1}, {"error": "w"}, {"weights": -1}, {"y": "y"}]
        table = read_table(path, **random.choice(options))
        assert len(table.x) == len(table.y) > 0
        assert np.isfinite(table.x).all()
        assert np.isfinite(table.y).all()
        assert (np.diff(table.x) >= 0).all()


class Sounds(Kind):
    make = staticmethod(seeds.sounds)

    def read(self, path, random):
        sound = read_audio(path)
        assert sound.samples.ndim == 2
        assert sound.samples.size > 0
        assert np.isfinite(sound.values(slice(0, 1000))).all()
        assert 0 < sound.seconds < float("inf")


class Models(Kind):
    make = staticmethod(seeds.models)
    damage = staticmethod(mutations.safetensors)

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
        outputs = {"table": "out.csv", "audio": "out.wav", "image": "out.png"}
        any_output = random.choice([*outputs.values(), "out.jpg"])
        out = self.folder / outputs.get(path.stem, any_output)
        out.unlink(missing_ok=True)
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
            status = main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = end.code
    said = err.getvalue()
    assert status in (0, 1, 2), status
    if status:
        errors = [line for line in said.splitlines() if line.startswith("coordnet")]
        assert len(errors) == 1, said
        assert "Traceback" not in said
        raise InputError(errors[0], "")


class Checkpoints(Kind):
    make = staticmethod(seeds.checkpoints)
    damage = staticmethod(mutations.safetensors)

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
    make = staticmethod(seeds.reports)
    damage = staticmethod(mutations.json_file)

    def read(self, path, random):
        options, notes = options_like(path, budget=random.random() < 0.7)
        assert all(isinstance(note, str) for note in notes)
        _read_options(options, path, random.choice(["table", "table", *SIGNALS]))


def _read_options(options, path, kind):
    """Check the options in a file, as --like and --resume do."""
    as_typed(options, path)
    SIGNALS[kind].read(SIGNALS[kind].options, options)


class Scenes(Kind):
    """Files of poses beside pictures, a loop of links, a pipe that nobody writes to."""

    poses = staticmethod(seeds.transforms)

    def make(self, folder):
        for name in ("images", "folder"):
            (folder / name).mkdir()
        for i in range(4):
            (folder / "images" / f"{i}.png").write_bytes(seeds.pictures()["rgb.png"])
        (folder / "loop").symlink_to("loop")
        (folder / "images" / "loop").symlink_to("../images")
        os.mkfifo(folder / "fifo.png")
        return self.poses()

    def damage(self, random, data):
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
        split, downscale = random.choice(["train", "all", "test"]), random.choice([1, 2])
        scene = read_scene(where, split, downscale=downscale)
        assert len(scene) == len(scene.images) == len(scene.cameras) > 0
        assert bool(scene.cameras.poses.isfinite().all())


class Colmap(Scenes):
    poses = staticmethod(seeds.colmap)

    def damage(self, random, data):
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
    poses = staticmethod(seeds.llff)
    damage = staticmethod(mutations.npy)


KINDS = {
    **{"pictures": Pictures, "tables": Tables, "sounds": Sounds, "models": Models, "runs": Runs},
    **{"checkpoints": Checkpoints, "reports": Reports, "transforms": Scenes},
    **{"colmap": Colmap, "llff": Llff},
}
