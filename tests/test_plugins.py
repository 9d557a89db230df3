"""Installed packages add encodings and networks; constructors state their settings."""

import inspect

import pytest
import torch

import coordnet as cn
from coordnet._lazy import Table
from coordnet.encodings import ENCODINGS, settings_for
from coordnet.networks import NETWORKS
from coordnet.specs import names_with, settings_of

MODULE = '''
from coordnet.encodings import Encoding

class Squares(Encoding):
    """Squares.

    Args:
        in_dim: axes.
        shift: what is added
            first: in x's unit.
    """

    def __init__(self, in_dim: int, shift: float = 0.5) -> None:
        super().__init__(in_dim)
        self.shift = shift

    @property
    def out_dim(self):
        return self.in_dim

    def spec(self):
        return {"name": "squares", "in_dim": self.in_dim, "shift": self.shift}

    def features(self, x, dtype):
        return ((x + self.shift) ** 2).to(dtype)

    @classmethod
    def for_signal(cls, signal):
        return {"shift": float(signal.samples[0])}
'''
POINTS = """[coordnet.encodings]
squares = plugin_of_a_test:Squares
broken = plugin_of_a_test:Missing
octave = plugin_of_a_test:Squares
"""


@pytest.fixture
def _installed(tmp_path, monkeypatch):
    (tmp_path / "plugin_of_a_test.py").write_text(MODULE)
    information = tmp_path / "plugin_of_a_test-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(ENCODINGS, "_found", None)


@pytest.mark.usefixtures("_installed")
def test_an_installed_encoding_is_one_of_the_table(tmp_path):
    with pytest.warns(UserWarning, match="'octave' = 'plugin_of_a_test:Squares'.*in use"):
        assert {"squares", "harmonic"} <= set(ENCODINGS)
    assert "squares" in ENCODINGS
    assert len(ENCODINGS) == len(list(ENCODINGS))
    assert ENCODINGS["octave"] == cn.FourierFeatures.octave
    signal = cn.encodings.SignalShape((7,), (1.0,), (7.0,), (None,), 4, 3.5, 30.0)
    assert settings_for("squares", signal) == {"shift": 7.0}
    assert settings_of(ENCODINGS["squares"])["shift"].help == "what is added first: in x's unit."
    encoding = ENCODINGS["squares"](2, shift=1.5)
    field = cn.Field(encoding, cn.MLP(2, 1, 8))
    cn.save(field, tmp_path / "field.safetensors")
    again = cn.load(tmp_path / "field.safetensors")
    x = torch.rand(5, 2)
    assert torch.equal(again(x), field(x))
    assert again.encoding.shift == 1.5


@pytest.mark.usefixtures("_installed")
@pytest.mark.filterwarnings("ignore:the entry point:UserWarning")
def test_an_entry_point_that_names_nothing_is_refused_when_it_is_asked_for():
    assert "broken" in ENCODINGS
    with pytest.raises(cn.InputError, match="'broken' = 'plugin_of_a_test:Missing'"):
        ENCODINGS["broken"]


def test_a_name_of_the_tables_own_searches_no_packages(monkeypatch):
    def fail(*arguments, **options):
        raise AssertionError("searched")

    table = Table("coordnet.networks", {"mlp": "mlp:MLP"}, group="coordnet.networks")
    monkeypatch.setattr("importlib.metadata.entry_points", fail)
    assert "mlp" in table
    assert table["mlp"] is cn.MLP
    with pytest.raises(AssertionError, match="searched"):
        table["other"]
    without = Table("coordnet.networks", {"mlp": "mlp:MLP"})
    assert list(without) == ["mlp"]
    with pytest.raises(KeyError):
        without["other"]


def test_constructors_state_their_settings():
    octave = settings_of(ENCODINGS["octave"])
    assert list(octave) == ["k", "period", "include_input"]
    assert octave["k"].required
    assert octave["k"].annotation is int
    assert octave["k"].help == "number of octaves per axis."
    assert not octave["include_input"].required
    assert octave["include_input"].default is False
    mlp = settings_of(NETWORKS["mlp"])
    assert {"hidden_dim", "activation", "seed"} <= mlp.keys()
    assert not {"in_dim", "out_dim"} & mlp.keys()
    assert mlp["hidden_dim"].default == 256


@pytest.mark.parametrize("name", [*ENCODINGS, *NETWORKS])
def test_every_setting_is_explained(name):
    table = ENCODINGS if name in ENCODINGS else NETWORKS
    for setting in settings_of(table[name]).values():
        assert setting.help, setting.name
        assert "\n" not in setting.help
        assert setting.annotation is not inspect.Parameter.empty


def test_names_with_a_setting():
    assert set(names_with(ENCODINGS, "sigma")) == {"gaussian"}
    assert set(names_with(ENCODINGS, "period", "periodic")) >= {"octave", "hashgrid"}
