"""A file of corners, from reading it to what is made of its fit."""

import numpy as np
import torch

import coordnet as cn
from coordnet.encodings import SignalShape, settings_for
from coordnet.kinds import FieldTask, Recipe
from coordnet.training import TensorSamples


class OutlineTask(FieldTask):
    """Corners (x, y), a line each; the coordinate is the part of the way around, of period 1."""

    in_dim = 1

    def __init__(self, path, options, listener):
        self.path, self.listener = path, listener
        self.corners = np.loadtxt(path, ndmin=2)[:: -1 if options.reverse else 1]
        self.notes, self.warnings = [], []

    def samples(self):
        return TensorSamples(around(len(self.corners)), torch.from_numpy(self.corners.copy()))

    def recipe(self, options):
        number = len(self.corners)
        shape = SignalShape(
            samples=(number,), extent=(1.0,), density=(float(number),), periods=(1.0,), harmonics=6
        )
        name = options.encoding or "harmonic"
        return Recipe(name, settings_for(name, shape), hidden_dim=32, layers=1, steps=300)

    def describe(self):
        return {"corners": len(self.corners)}

    def summary(self):
        return f"{len(self.corners)} corners"

    def write_outputs(self, folder, model):
        np.savetxt(folder / "reconstruction.outline", values(model, len(self.corners)))
        return {}

    @classmethod
    def render(cls, model, about, output, options, listener):
        np.savetxt(output, values(model, options.corners or about["corners"]))
        listener.wrote(output, "an outline")

    def evaluate(self, model, about):
        return {"rmse": cn.rmse(values(model, len(self.corners)), self.corners)}


def around(number):
    return (torch.arange(number, dtype=torch.float64) / number)[:, None]


def values(model, number):
    with torch.no_grad():
        return model(around(number)).double().numpy()
