"""Pictures fitted with grids: fitted, saved, rendered again."""

from pathlib import Path

import numpy as np
import pytest

import coordnet as cn

TINY = ("--steps", "60", "--hidden-dim", "16", "--layers", "1", "--device", "cpu")


@pytest.mark.parametrize("name", ["hashgrid", "densegrid"])
def test_a_picture_is_fitted_with_a_grid_and_rendered_from_its_file(
    run, fit, picture, pixels, values_of, name
):
    picture("p.png", pixels(12, 20, 3))
    found, report = fit("p.png", "--encoding", name, tiny=TINY)
    assert name in found.out
    field = cn.load("run/model.safetensors")
    assert isinstance(field.domain_encoding, cn.Normalized)
    assert type(field.encoding).__name__.lower() == name
    assert report["metrics"]["psnr"] > 10  # the mean color has about 10.8
    assert run("render", "run", "-o", "again.png").status == 0
    assert np.array_equal(values_of("again.png"), values_of("run/reconstruction.png"))
    assert Path("run/report.json").is_file()
