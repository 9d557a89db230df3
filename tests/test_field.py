"""The composition of an encoding and a network: units, scales, sizes, periods, specs."""

import copy
import json
import math

import pytest
import torch
from torch import nn

import coordnet as cn
from coordnet import (
    MLP,
    Concat,
    Field,
    FitConfig,
    FourierFeatures,
    Identity,
    InputError,
    Normalized,
    fit,
    fit_linear,
    rmse,
)
from coordnet.series import evaluate

QUICK = FitConfig(steps=25, precision="float32")


def small(encoding, out_dim=1, **settings):
    settings = {"hidden_dim": 16, "num_hidden_layers": 1, "seed": 0, **settings}
    return Field(encoding, MLP(encoding.out_dim, out_dim, **settings))


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.rand(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


class TestSizes:
    def test_they_are_those_of_the_parts(self):
        field = small(FourierFeatures(2, k=3), 4)
        assert (field.in_dim, field.out_dim) == (2, 4)
        for leading in [(), (5,), (3, 5), (2, 3, 5), (0,)]:
            assert field(torch.zeros(*leading, 2)).shape == (*leading, 4)

    def test_parts_that_do_not_fit_are_named_with_both_numbers(self):
        encoding = FourierFeatures(1, k=16)
        flat = nn.Sequential(nn.Linear(32, 1), nn.Flatten(0))
        for parts, words in (
            ((encoding, MLP(7, 1)), ("in_dim=7", "out_dim=32")),
            ((encoding, nn.Linear(7, 1)), ("out_dim=32", "7x1")),
            ((encoding, flat), ("out_dim",)),
            ((nn.Linear(1, 8), MLP(8)), ("Linear",)),
        ):
            with pytest.raises(InputError) as caught:
                Field(*parts)
            assert all(word in str(caught.value) for word in words)

    def test_a_plain_network_is_asked_for_its_size(self):
        network = nn.Sequential(nn.Linear(8, 5), nn.BatchNorm1d(5), nn.Dropout(0.5))
        network[2].eval()
        before, state = copy.deepcopy(network.state_dict()), torch.get_rng_state()
        field = Field(FourierFeatures(1, k=4), network)
        assert field.out_dim == 5
        assert torch.equal(torch.get_rng_state(), state)
        assert all(torch.equal(before[k], v) for k, v in network.state_dict().items())
        assert [part.training for part in network.modules()] == [True, True, True, False]


class TestCoordinates:
    def test_julian_days_keep_their_phase(self):
        x = 2460000.5 + 0.01 * torch.arange(500, dtype=torch.float64)[:, None]
        y = torch.sin(2 * math.pi * torch.remainder(x, 0.3) / 0.3)
        encoding = FourierFeatures(1, k=2, period=0.3)
        field = Field(encoding, MLP(4, 1, num_hidden_layers=0)).double()
        fit_linear(field, x, y)
        assert (field(x) - y).abs().max() < 1e-8
        # and between the samples
        between = x + 0.0037
        wave = torch.sin(2 * math.pi * torch.remainder(between, 0.3) / 0.3)
        assert (field(between) - wave).abs().max() < 1e-8

    def test_one_without_a_period_is_normalized(self):
        for encoding in (FourierFeatures.gaussian(2, k=4, sigma=1.0), Identity(2)):
            field = small(encoding)
            x = torch.tensor([[10.0, -3.0], [20.0, 5.0], [12.5, 1.0]])
            field.prepare(x, x[:, :1])
            unit = torch.tensor([[0.0, 0.0], [1.0, 1.0], [0.25, 0.5]])
            torch.testing.assert_close(field.encoding(x), encoding(unit))
            assert field.domain == ([10.0, -3.0], [20.0, 5.0])

    def test_a_stated_domain_is_kept(self):
        field = Field(Identity(1), MLP(1), domain=([0.0], [100.0]))
        field.prepare(torch.tensor([[40.0], [50.0]]), torch.zeros(2, 1))
        assert field.domain == ([0.0], [100.0])
        assert field.encoding(torch.tensor([[25.0]])).item() == 0.25

    def test_a_domain_is_set_once(self):
        field = Field(Identity(1), MLP(1), domain=([0.0], [1.0]))
        with pytest.raises(InputError, match="once"):
            field.set_domain([0.0], [2.0])

    @pytest.mark.parametrize(
        "domain",
        [
            ([0.0], [1.0]),
            ([0.0, 0.0], [1.0]),
            ([1.0, 0.0], [0.0, 1.0]),
            ([math.nan, 0.0], [1.0, 1.0]),
            ([0.0, 0.0], [1.0, math.inf]),
            (0.0, 1.0),
        ],
        ids=str,
    )
    @pytest.mark.parametrize("encoding", [Identity(2), FourierFeatures(2, k=1)], ids=["raw", "own"])
    def test_a_domain_that_is_none(self, encoding, domain):
        with pytest.raises(InputError, match="2 finite numbers"):
            Field(encoding, MLP(encoding.out_dim), domain=domain)

    def test_equal_coordinates_are_a_domain(self):
        field = small(Identity(1))
        x = torch.full((4, 1), 7.0)
        field.prepare(x, x)
        assert field(x).isfinite().all()

    @pytest.mark.parametrize("ladder", ["harmonic", "gaussian", "identity"])
    def test_the_unit_of_time_changes_nothing(self, ladder):
        """Seconds or milliseconds, the period with them."""
        seconds = torch.arange(64, dtype=torch.float64)[:, None] * 0.125
        y = torch.sin(seconds * 2 * math.pi / 4.0).sign()
        found = []
        for scale in (1.0, 1000.0):
            encoding = {
                "harmonic": FourierFeatures(1, k=3, period=4.0 * scale),
                "gaussian": FourierFeatures.gaussian(1, k=3, sigma=2.0),
                "identity": Identity(1),
            }[ladder]
            field = small(encoding)
            result = fit(field, seconds * scale, y, QUICK)
            found.append((result.losses, result.psnr, field(seconds * scale)))
        (losses, psnr, values), (losses_ms, psnr_ms, values_ms) = found
        assert losses == losses_ms
        assert psnr == psnr_ms
        assert torch.equal(values, values_ms)

    @pytest.mark.parametrize("ladder", ["gaussian", "include_input", "identity"])
    @pytest.mark.parametrize(
        ("start", "step"), [(0.0, 1.0), (1.7e9, 60.0)], ids=["pixel indices", "Unix seconds"]
    )
    def test_raw_units_are_fitted_as_well_as_normalized_ones(self, ladder, start, step):
        unit = torch.arange(65, dtype=torch.float64)[:, None] / 64
        y = torch.sin(9 * unit)
        found = []
        for x, period in ((unit, 2.0), (start + 64 * step * unit, 128 * step)):
            encoding = {
                "gaussian": FourierFeatures.gaussian(1, k=8, sigma=2.0),
                "include_input": FourierFeatures(1, k=2, period=period, include_input=True),
                "identity": Identity(1),
            }[ladder]
            if ladder == "include_input":
                x = x - (start if x is not unit else 0.0)  # the same phase
            field = small(encoding, hidden_dim=32)
            found.append(fit(field, x, y, FitConfig(steps=60, precision="float32")))
        assert found[1].losses == pytest.approx(found[0].losses, rel=1e-3)
        assert found[1].losses[-1] < 0.9 * found[1].losses[0]

    def test_integer_coordinates(self):
        index = torch.arange(40)[:, None]
        fields = [small(FourierFeatures.gaussian(1, k=4)) for _ in range(2)]
        y = torch.sin(index / 6)
        fit(fields[0], index, y, QUICK)
        fit(fields[1], index.double(), y, QUICK)
        assert torch.allclose(fields[0](index), fields[1](index.double()), atol=1e-6)
        assert fields[0].domain == ([0.0], [39.0])

    def test_the_encoding_that_was_passed_in_stays_as_it_was(self):
        encoding = FourierFeatures.gaussian(1, k=3, sigma=1.0)
        field = small(encoding)
        field.set_domain([0.0], [50.0])
        assert isinstance(field.encoding, Normalized)
        assert encoding.spec()["name"] == "gaussian"


class TestValues:
    def test_they_are_standardized_and_restored(self):
        field = small(FourierFeatures(1, k=2), 2)
        y = torch.tensor([[1.0, 500.0], [3.0, 700.0]])
        field.prepare(torch.zeros(2, 1), y)
        assert field.value_mean.tolist() == [2.0, 600.0]
        assert field.value_std.tolist() == [1.0, 100.0]
        output = torch.tensor([[-1.0, -1.0], [1.0, 1.0]])
        assert torch.equal(field.destandardize(output), y)

    @pytest.mark.parametrize("value", [0.0, 0.1, -7.25, 1e9, 1e-30])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
    def test_a_constant(self, value, dtype):
        """Within a thousandth (half a byte of a gray picture) after a few steps."""
        x = torch.arange(17.0)[:, None] / 17
        y = torch.full((17, 1), value, dtype=dtype)
        field = small(FourierFeatures(1, k=2, period=1.0))
        result = fit(field, x, y, FitConfig(steps=30, precision="float32"))
        assert (field(x) - y).abs().max() <= 1e-3 * (abs(value) or 1.0)
        assert result.peak == 1.0

    def test_one_constant_value_of_two(self):
        x = torch.arange(32.0)[:, None] / 32
        y = torch.cat([torch.full_like(x, 0.1), torch.sin(2 * math.pi * x)], 1)
        field = small(FourierFeatures(1, k=2, period=1.0), 2)
        fit(field, x, y, FitConfig(steps=30, precision="float32"))
        assert (field(x) - y)[:, 0].abs().max() <= 1e-3

    @pytest.mark.parametrize(("offset", "scale"), [(1e3, 1), (-1e9, 1), (0, 1e-12), (0, 1e12)])
    def test_an_offset_and_a_change_of_scale_change_no_loss(self, offset, scale):
        x = torch.arange(64, dtype=torch.float64)[:, None] / 64
        wave = torch.sin(2 * math.pi * x)
        plain, moved = (small(FourierFeatures(1, k=2, period=1.0)) for _ in range(2))
        first, second = fit(plain, x, wave, QUICK), fit(moved, x, offset + scale * wave, QUICK)
        assert second.losses == pytest.approx(first.losses, rel=1e-3)
        assert second.psnr == pytest.approx(first.psnr, abs=0.01)
        assert second.rmse == pytest.approx(first.rmse * scale, rel=1e-3)

    def test_a_huge_offset_is_restored_to_the_digits_of_the_dtype(self):
        x = torch.arange(64, dtype=torch.float64)[:, None] / 64
        y = 1e9 + torch.sin(2 * math.pi * x)
        head = MLP(4, 1, num_hidden_layers=0)
        field = Field(FourierFeatures(1, k=2, period=1.0), head).double()
        fit_linear(field, x, y)
        assert (field(x) - y).abs().max() < 1e-6
        single = field.float()
        assert (single(x).double() - y).abs().max() <= 64  # the spacing of float32 at 1e9

    @pytest.mark.parametrize(
        ("mean", "std"),
        [(math.nan, 1.0), (0.0, math.inf), (0.0, -1.0), ([0.0] * 3, 1.0), (0.0, [[1.0, 1.0]])],
        ids=str,
    )
    def test_scales_that_are_none(self, mean, std):
        field = small(FourierFeatures(1, k=2), 2)
        with pytest.raises(InputError):
            field.set_values(torch.as_tensor(mean), torch.as_tensor(std))
        assert not field.standardized

    def test_stated_scales_are_kept(self):
        field = small(FourierFeatures(1, k=2), 2)
        field.set_values(torch.tensor(3.0), torch.tensor([2.0, 0.0]))
        field.prepare(torch.zeros(2, 1), torch.rand(2, 2, generator=torch.Generator()))
        assert field.value_mean.tolist() == [3.0, 3.0]
        assert field.value_std.tolist() == [2.0, 0.003]


class TestDtypes:
    @pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
    def test_casts(self, dtype):
        field = small(FourierFeatures.gaussian(2, k=4, sigma=30.0), 3)
        x = draw(10, 2).float()
        field.prepare(x, draw(10, 3) * 100)
        mean, cycles = field.value_mean.clone(), field.encoding.encoding.cycles.clone()
        before = field(x)
        field.to(dtype)
        assert field.dtype == dtype
        assert torch.equal(field.value_mean, mean)  # constants keep their bits
        assert torch.equal(field.encoding.encoding.cycles, cycles)
        after = field(x)
        wide = torch.float64 if dtype == torch.float64 else torch.float32
        assert after.dtype == wide
        loose = {torch.float64: 1e-4, torch.bfloat16: 2.0, torch.float16: 0.5}[dtype]
        assert (after - before).abs().max() < loose
        field.float()
        assert torch.equal(field.value_mean, mean)

    def test_a_float64_field_keeps_the_digits_of_its_input(self):
        field = small(FourierFeatures(1, k=4, period=1.0)).double()
        x = draw(20, 1)
        assert field(x).dtype == torch.float64
        assert (field(x) - field(x.float())).abs().max() > 1e-9

    def test_inside_autocast_the_values_keep_their_scale(self):
        field = small(FourierFeatures(1, k=4, period=1.0), hidden_dim=8)
        field.set_values(torch.tensor(1000.3), torch.tensor(1.0))
        x = draw(20, 1).float()
        with torch.autocast("cpu", torch.bfloat16):
            inside = field(x)
        assert inside.dtype == torch.float32
        assert (inside - field(x)).abs().max() < 0.1  # bf16 at 1000 is spaced by 4


class TestValuesFarFromZero:
    """Float32 has 24 bits: where the mean takes most of them, the values are float64."""

    @pytest.mark.parametrize(
        ("mean", "std", "dtype"),
        [
            (0.0, 1.0, torch.float32),
            (288.0, 8.0, torch.float32),
            (-4096.0, 1.0, torch.float32),
            (-4097.0, 1.0, torch.float64),
            (1e7, 1.0, torch.float64),
            (5.0, 0.0, torch.float32),  # a constant
            (torch.tensor([0.0, 1e6]), torch.ones(2), torch.float64),
        ],
    )
    def test_the_dtype_is_told_and_saved(self, mean, std, dtype, tmp_path):
        field = small(FourierFeatures(1, k=2, period=1.0), out_dim=torch.as_tensor(mean).numel())
        assert field.value_dtype == torch.float32
        field.set_values(mean, std)
        cn.save(field, tmp_path / "a.safetensors")
        for each in (field, copy.deepcopy(field), cn.load(tmp_path / "a.safetensors")):
            assert each.value_dtype == dtype
            assert each(draw(3, 1)).dtype == dtype
            assert each(draw(3, 1).float()).dtype == dtype
        assert field.double().value_dtype == torch.float64

    def test_tensors_set_by_hand_are_looked_at(self):
        field, other = (small(FourierFeatures(1, k=2)) for _ in range(2))
        other.set_values(1e8, 1.0)
        field.load_state_dict(other.state_dict())
        assert field.value_dtype == torch.float64

    @pytest.mark.parametrize("offset", [1e7, -1e8, 1e10])
    def test_a_fit_is_that_of_the_values_around_their_mean(self, offset):
        x = torch.linspace(0, 1, 129, dtype=torch.float64)[:-1, None]
        wave = torch.sin(2 * math.pi * x)

        def fitted(y):
            field = small(FourierFeatures(1, k=2, period=1.0), hidden_dim=32)
            result = fit(field, x, y, FitConfig(steps=200, progress=False))
            values = evaluate(field, x.numpy())
            assert rmse(values, y) == pytest.approx(result.rmse, rel=1e-6)
            return result

        plain, far = fitted(wave), fitted(offset + wave)
        assert plain.rmse < 0.05
        # one unit in the last place of a float64 is 2e-6 at 1e10
        assert far.rmse == pytest.approx(plain.rmse, rel=0.01)
        assert far.psnr == pytest.approx(plain.psnr, abs=0.1)
        assert far.history[-1].psnr == pytest.approx(plain.history[-1].psnr, abs=0.1)


def _fitted(period, dtype, encoding=None):
    encoding = encoding or FourierFeatures(1, k=6, period=period)
    field = small(encoding, num_hidden_layers=2).to(dtype)
    x = torch.arange(32, dtype=torch.float64)[:, None] * (period / 32)
    fit(field, x, torch.sign(x - period / 2), FitConfig(steps=40, precision="float32"))
    return field.requires_grad_(False)


class TestPeriodicity:
    """Of a fitted field: the network behind the encoding, values restored."""

    @pytest.mark.parametrize("period", [1.0, 24.0])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
    def test_bit_for_bit_where_the_sum_is_exact(self, period, dtype):
        field = _fitted(period, dtype)
        x = (torch.arange(-200, 200)[:, None] * period / 128).to(dtype)
        values = field(x)
        assert values.std() > 0
        for m in (1, -1, 7, 1000, -4096):
            assert torch.equal(field(x + m * period), values)

    def test_two_pi_in_float64(self):
        encoding = FourierFeatures(1, k=6)
        field = _fitted(math.tau, torch.float64, encoding)
        x = draw(200, 1) * math.tau
        feature_error = 1e-12 * encoding.out_dim
        slope = math.prod(
            torch.linalg.matrix_norm(layer.weight, 2).item() for layer in field.network.layers
        )
        for m in (1, -3, 100, 1000):
            shifted = x + m * math.tau
            for j in range(6):  # 1e-12 for each harmonic
                pair = slice(2 * j, 2 * j + 2)
                gap = (encoding(shifted) - encoding(x))[:, pair].abs().max()
                assert gap <= 1e-12 * (j + 1)
            gap = (field(shifted) - field(x)).abs().max()
            assert gap <= slope * feature_error * field.value_std.max()


class TestSpec:
    @pytest.mark.parametrize(
        "make",
        [
            lambda: FourierFeatures(2, k=3, period=[1.0, 24.0]),
            lambda: FourierFeatures(2, k=3, include_input=True),
            lambda: FourierFeatures.gaussian(2, k=3, sigma=2.0, seed=5),
            lambda: Concat([Identity(1), FourierFeatures(1, k=2)], axes=[[0], [1]]),
        ],
    )
    @pytest.mark.parametrize("prepared", [False, True])
    def test_round_trip(self, make, prepared):
        field = small(make(), 2)
        x, y = draw(12, 2) * 50, draw(12, 2) + 9
        if prepared:
            field.prepare(x, y)
        text = json.dumps(field.spec(), allow_nan=False)
        again = Field.from_spec(json.loads(text))
        assert json.dumps(again.spec()) == text
        again.load_state_dict(field.state_dict(), strict=True)
        assert torch.equal(again(x), field(x))
        # what was measured is not measured again
        again.prepare(x * 9, y * 9)
        if prepared:
            assert torch.equal(again(x), field(x))

    def test_a_plain_network_fits_but_has_no_spec(self):
        network = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        field = Field(FourierFeatures(1, k=2, period=1.0), network)
        x = draw(30, 1)
        result = fit(field, x, torch.cat([x, -x], 1), QUICK)
        assert result.losses[-1] < result.losses[0]
        with pytest.raises(InputError, match="Sequential"):
            field.spec()

    def test_a_compiled_network_has_the_spec_of_the_network(self):
        network = MLP(4, 1, hidden_dim=8)
        field = Field(FourierFeatures(1, k=2), torch.compile(network, backend="eager"))
        assert field.spec()["network"] == network.spec()

    def test_what_is_no_spec(self):
        good = small(FourierFeatures(2, k=1)).spec()
        domains = (5, [[0.0], [1.0]], [["a", "b"], [1.0, 1.0]], [[2.0, 0.0], [1.0, 1.0]], {"a": 0})
        for spec, words in (
            *(
                (spec, "an encoding and a network")
                for spec in (None, [], {}, {"encoding": {}}, "f")
            ),
            *(({**good, "domain": domain}, "a domain's bounds") for domain in domains),
            ({**good, "encoding": None}, "encoding"),
            ({**good, "network": 3}, "network"),
            ({**good, "network": {**good["network"], "in_dim": 5}}, "in_dim=5"),
        ):
            with pytest.raises(InputError, match=words) as caught:
                Field.from_spec(spec)
            assert "\n" not in str(caught.value)


def test_copies():
    field = small(FourierFeatures.gaussian(1, k=3))
    field.prepare(draw(9, 1) * 7, draw(9, 1))
    x = draw(4, 1)
    again = copy.deepcopy(field)
    assert torch.equal(again(x), field(x))
    with torch.no_grad():
        next(again.network.parameters()).add_(1.0)
    assert not torch.equal(again(x), field(x))


def test_derivatives_with_respect_to_the_coordinates():
    """In the signal's own units: of a fitted wave the slope and the curvature."""
    x = torch.arange(32, dtype=torch.float64)[:, None] * (24.0 / 32)
    field = Field(FourierFeatures(1, k=2, period=24.0), MLP(4, 1, num_hidden_layers=0)).double()
    omega = 2 * math.pi / 24.0
    fit_linear(field, x, 10 + 3 * torch.sin(omega * x))
    x.requires_grad_()
    (slope,) = torch.autograd.grad(field(x).sum(), x, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), x)
    torch.testing.assert_close(slope, 3 * omega * torch.cos(omega * x))
    torch.testing.assert_close(curvature, -3 * omega**2 * torch.sin(omega * x))
