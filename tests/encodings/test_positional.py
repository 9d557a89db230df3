"""The Transformer's positional encoding."""

import math

import mpmath
import pytest
import torch

from coordnet.encodings import FourierFeatures, SinusoidalPositionalEncoding
from coordnet.errors import InputError


@pytest.fixture
def formula():
    """pe(pos) for exact positions, from the definition, with fifty digits."""

    def pe(positions, d, C):
        rows = []
        with mpmath.workdps(50):
            for pos in positions:
                row = []
                for i in range(1, d // 2 + 1):
                    angle = mpmath.mpf(pos) / mpmath.mpf(C) ** (mpmath.mpf(2 * (i - 1)) / d)
                    row += [float(mpmath.sin(angle)), float(mpmath.cos(angle))]
                rows.append(row)
        return torch.tensor(rows, dtype=torch.float64)

    return pe


@pytest.mark.parametrize(("d", "C"), [(2, 1e4), (8, 1e4), (64, 1e4), (6, 100.0), (512, 1e4)])
def test_table_is_the_formula(formula, d, C):
    n = 12 if d == 512 else 50
    table = SinusoidalPositionalEncoding(d, C).table(n)
    assert table.shape == (n, d)
    assert table.dtype == torch.float32
    assert (table - formula(range(n), d, C)).abs().max() <= 1e-6


@pytest.mark.parametrize("d", [2, 8, 128])
def test_table_is_the_geometric_ladder(same_bits, d):
    positions = torch.arange(100)[:, None]
    ladder = FourierFeatures.geometric(1, d // 2)
    assert same_bits(SinusoidalPositionalEncoding(d).table(100), ladder(positions))


def test_default_constant_and_first_row():
    pe = SinusoidalPositionalEncoding(4)
    assert pe.C == 10_000.0
    assert pe.table(1).tolist() == [[0.0, 1.0, 0.0, 1.0]]
    assert pe.table(3)[1].tolist() == pytest.approx(
        [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)], abs=1e-7
    )
    assert "d=4" in repr(pe)


def test_a_table_continues_where_another_ends(same_bits):
    pe = SinusoidalPositionalEncoding(16)
    whole = pe.table(100)
    assert same_bits(torch.cat([pe.table(60), pe.table(40, start=60)]), whole)
    assert same_bits(pe.table(3, start=-1)[1:], whole[:2])
    assert pe.table(0).shape == (0, 16)


def test_tokens_piece_by_piece(uniform, same_bits):
    pe, tokens = SinusoidalPositionalEncoding(8), uniform((2, 10, 8), -1, 1).float()
    whole = pe(tokens)
    assert same_bits(whole, tokens + pe.table(10))
    pieces = [pe(tokens[:, :7]), pe(tokens[:, 7:], start=7)]
    assert same_bits(torch.cat(pieces, 1), whole)
    assert same_bits(pe(tokens[0, :1]), whole[0, :1])


def test_any_leading_axes():
    pe = SinusoidalPositionalEncoding(4)
    for lead in ((), (3,), (2, 3), (0,)):
        tokens = torch.zeros(*lead, 5, 4)
        assert torch.equal(pe(tokens), pe.table(5).expand_as(tokens))
        assert pe(torch.zeros(*lead, 0, 4)).shape == (*lead, 0, 4)


@pytest.mark.parametrize(
    ("dtype", "bound"), [(torch.float32, 1e-6), (torch.float64, 2e-9)], ids=str
)
def test_real_negative_and_huge_positions(formula, dtype, bound):
    positions = torch.tensor([0.5, -3.0, -0.25, 1e6, -1e6, 123456.7, 999_999.0], dtype=dtype)
    features = SinusoidalPositionalEncoding(32).encode(positions)
    assert features.dtype == dtype
    assert (features - formula(positions.tolist(), 32, 1e4)).abs().max() <= bound


def test_encode_takes_positions_of_any_shape(same_bits):
    pe = SinusoidalPositionalEncoding(6)
    positions = torch.arange(12)
    assert pe.encode(torch.tensor(3)).shape == (6,)
    assert same_bits(pe.encode(positions.view(3, 4)).view(12, 6), pe.table(12))


def test_given_positions(uniform, same_bits):
    pe, tokens = SinusoidalPositionalEncoding(8), uniform((2, 5, 8)).float()
    order = torch.tensor([[4, 0, 2, 2, 1], [9, 8, 7, 6, 1_000_000]])
    assert same_bits(pe(tokens, positions=order), tokens + pe.encode(order))
    one = order[0]
    assert same_bits(pe(tokens, positions=one), tokens + pe.encode(one))
    assert same_bits(pe(tokens, positions=torch.arange(5)), pe(tokens))
    assert same_bits(pe(tokens, positions=torch.tensor(2.0)), tokens + pe.encode(torch.tensor(2.0)))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_narrow_tokens_are_rounded_once(uniform, formula, dtype):
    """Position and sum keep their digits: one rounding, to the nearest number of the dtype."""
    tokens = uniform((300, 16), -2, 2).to(dtype)
    pe = SinusoidalPositionalEncoding(16)
    out = pe(tokens)
    assert out.dtype == dtype
    exact = tokens.double() + formula(range(300), 16, 1e4)
    half_ulp = 0.5 * torch.finfo(dtype).eps * exact.abs()
    assert ((out.double() - exact).abs() <= half_ulp + 1e-6).all()
    assert torch.equal(out, (tokens.float() + pe.table(300)).to(dtype))
    far = pe(tokens, start=100_000)  # bf16 has no 100,001
    assert len(far.unique(dim=0)) == 300


def test_double_tokens_get_double_encodings(uniform, formula):
    pe, tokens = SinusoidalPositionalEncoding(16), uniform((20, 16))
    for out in (pe(tokens), pe(tokens, positions=torch.arange(20).float())):
        assert out.dtype == torch.float64
        assert (out - tokens - formula(range(20), 16, 1e4)).abs().max() < 1e-13


def test_casts_and_autocast_change_no_bit(uniform, same_bits):
    pe, tokens = SinusoidalPositionalEncoding(32), uniform((50, 32)).float()
    expected = pe(tokens)
    with torch.autocast("cpu", torch.bfloat16):
        assert same_bits(pe(tokens), expected)
    assert same_bits(pe.to(torch.bfloat16)(tokens), expected)
    assert same_bits(pe.half().float()(tokens), expected)
    assert not list(pe.parameters())


def test_gradients_pass_to_tokens_and_positions():
    pe = SinusoidalPositionalEncoding(8)
    tokens = torch.zeros(3, 8, requires_grad=True)
    positions = torch.tensor([0.0, 1.5, 2.0], requires_grad=True)
    pe(tokens, positions=positions).sum().backward()
    assert torch.equal(tokens.grad, torch.ones(3, 8))
    assert positions.grad.isfinite().all()
    assert (positions.grad != 0).all()


def test_positions_are_shifted_by_a_rotation():
    """pe(pos + s) is a fixed rotation of pe(pos), pair by pair: why the encoding is what it is."""
    pe, s = SinusoidalPositionalEncoding(8), 13
    pairs = pe.encode(torch.arange(40, dtype=torch.float64)).unflatten(-1, (-1, 2))
    omega = pe.features.frequencies[:, 0] * s
    sin, cos = pairs.unbind(-1)
    turned = torch.stack(
        [sin * omega.cos() + cos * omega.sin(), cos * omega.cos() - sin * omega.sin()], -1
    )
    shifted = pe.encode(torch.arange(40, dtype=torch.float64) + s).unflatten(-1, (-1, 2))
    torch.testing.assert_close(turned, shifted, rtol=0, atol=1e-13)


def test_bad_sizes_tokens_positions_and_counts():
    pe = SinusoidalPositionalEncoding(4)

    def refused(call, rule, got):
        with pytest.raises(InputError) as caught:
            call()
        assert rule in caught.value.rule
        assert got in caught.value.got

    for d in (0, 1, -2, 3, 511, 4.0, "8", None):
        refused(lambda d=d: SinusoidalPositionalEncoding(d), "d must be", f"d={d!r}")
    refused(lambda: pe(torch.zeros(3, 5)), "d=4", "(3, 5)")
    refused(lambda: pe(torch.zeros(4)), "d=4", "(4,)")
    refused(lambda: pe(torch.zeros(3, 4, dtype=torch.int64)), "floating", "int64")
    refused(lambda: pe([[0.0] * 4]), "tensor", "list")
    tokens = torch.zeros(3, 4)
    refused(lambda: pe(tokens, positions=torch.arange(5)), "(3,)", "(5,)")
    refused(lambda: pe(tokens, positions=torch.zeros(2, 3)), "(3,)", "(2, 3)")
    refused(lambda: pe(tokens, positions=[0, 1, 2]), "positions", "list")
    refused(lambda: pe(tokens.double(), positions=[0, 1, 2]), "positions", "list")
    refused(lambda: pe.encode(3), "positions", "int")
    refused(lambda: pe(tokens, positions=torch.arange(3), start=2), "not both", "start=2")
    refused(lambda: pe(tokens, start=0.5), "start", "0.5")
    refused(lambda: pe.table(3, start=True), "start", "True")
    refused(lambda: pe.table(-1), "n must", "n=-1")
    refused(lambda: pe.table(2.0), "n must", "n=2.0")


def test_state_dict_round_trip(same_bits):
    pe, other = SinusoidalPositionalEncoding(8, C=50.0), SinusoidalPositionalEncoding(8)
    other.load_state_dict(pe.state_dict())
    assert same_bits(other.table(9), pe.table(9))
