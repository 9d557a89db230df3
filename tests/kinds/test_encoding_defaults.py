"""Settings of every encoding for every kind of signal, where the user sets none."""

import math

import numpy as np
import pytest

import coordnet as cn
from coordnet.encodings import ENCODINGS, SignalShape, settings_for
from coordnet.kinds import Listener
from coordnet.runs.fit import kind_of

# a picture of 24 x 40 pixels, 1500 samples of a sound at 8 kHz, 96 hours in a table
EXPECTED = {
    "picture": {
        "densegrid": {"features": 2, "periodic": False, "resolution": [25, 41]},
        "gaussian": {"k": 256, "period": None, "sigma": 30.0},
        "geometric": {"C": 10000.0, "k": 64, "scale": [24.0, 40.0]},
        "harmonic": {"k": 64, "period": 2.0},
        "lattice": {"k": 12, "period": 2.0},
        "octave": {"k": 5, "period": 2.0},
    },
    "tile": {
        "densegrid": {"features": 2, "periodic": True, "resolution": [24, 40]},
        "gaussian": {"k": 256, "period": 1.0, "sigma": 30.0},
        "harmonic": {"k": 64, "period": 1.0},
        "lattice": {"k": 12, "period": 1.0},
        "octave": {"k": 5, "period": 1.0},
    },
    "wrap": {
        "densegrid": {"features": 2, "periodic": [True, False], "resolution": [24, 41]},
        "gaussian": {"k": 256, "period": [1.0, 2.0], "sigma": 30.0},
        "harmonic": {"k": 64, "period": [1.0, 2.0]},
        "lattice": {"k": 12, "period": [1.0, 2.0]},
        "octave": {"k": 5, "period": [1.0, 2.0]},
    },
    "sound": {
        "gaussian": {"k": 256, "period": None, "sigma": 20.0},
        "geometric": {"C": 10000.0, "k": 64, "scale": 8000.0},
        "harmonic": {"k": 256, "period": 0.375},
        "lattice": {"k": 256, "period": 0.375},
        "octave": {"k": 11, "period": 0.375},
    },
    "table": {
        "densegrid": {"features": 2, "periodic": False, "resolution": 64},
        "gaussian": {"k": 64, "period": None, "sigma": 8.0},
        "geometric": {"C": 10000.0, "k": 32, "scale": 1.0105263157894737},
        "harmonic": {"k": 8, "period": 190.0},
        "hashgrid": {
            "base_resolution": 16,
            "features_per_level": 2,
            "log2_hashmap_size": 15,
            "max_resolution": 512.0,
            "num_levels": 16,
            "periodic": False,
        },
        "lattice": {"k": 8, "period": 190.0},
        "octave": {"k": 4, "period": 190.0},
    },
    "period": {
        "gaussian": {"k": 64, "period": 24.0, "sigma": 0.3333333333333333},
        "harmonic": {"k": 8, "period": 24.0},
        "lattice": {"k": 8, "period": 24.0},
        "octave": {"k": 4, "period": 24.0},
    },
}
OPTIONS = {"tile": {"tile": True}, "wrap": {"wrap": "x"}, "period": {"periods": (24.0,)}}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("signals")
    cn.write_image(folder / "p.png", np.zeros((40, 24, 3), np.uint8))
    cn.sounds.write_audio(folder / "s.wav", np.linspace(-0.5, 0.5, 1500)[:, None], 8000)
    rows = [f"{n},{math.sin(n / 4)!r}" for n in range(96)]
    (folder / "t.csv").write_text("\n".join(["t,y", *rows]))
    return {"sound": folder / "s.wav"} | {
        case: folder / ("t.csv" if case in ("table", "period") else "p.png")
        for case in EXPECTED
        if case != "sound"
    }


@pytest.mark.parametrize(
    ("case", "name"), [(case, name) for case, names in EXPECTED.items() for name in names]
)
def test_defaults(files, case, name):
    options = dict(encoding=name, **OPTIONS.get(case, {}))
    kind = kind_of(files[case])
    options = kind.read(kind.options, options)
    task = kind.load()(files[case], options, Listener())
    spec = task.encoding(options, task.recipe(options)).spec()
    assert spec["name"] == name
    assert {key: spec[key] for key in EXPECTED[case][name]} == EXPECTED[case][name]


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_encoding_states_settings_that_it_takes(name):
    signals = [
        SignalShape((7, 5), (1.0, 1.0), (7.0, 5.0), (1.0, None), 4, regular=True),
        SignalShape((90,), (45.0,), (2.0,), (9.0,), 4, 0.5, 8.0, frequencies=64),
        SignalShape((5, 6, 7), (1.0, 2.0, 3.0), (5.0, 3.0, 2.3), (None,) * 3, 2, 4.0, 2.0),
    ]
    for signal in signals:
        dims = len(signal.samples)
        if name == "spherical" and dims != 3:
            continue
        encoding = ENCODINGS[name](dims, **settings_for(name, signal))
        assert encoding.in_dim == dims
