"""Volume rendering: closed forms, derivatives, extremes; packed samples give what padded do."""

import math

import pytest
import torch

from coordnet.errors import InputError
from coordnet.scenes import PackedSamples, render_rays
from coordnet.scenes.rendering import volume

S = 24


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def random_edges(*lead, number=S, seed=1, dtype=torch.float64):
    """Uneven edges from about 1 to about 3."""
    lengths = 0.1 + draw(*lead, number + 1, seed=seed)
    return (1 + 2 * lengths.cumsum(-1) / lengths.sum(-1, keepdim=True)).to(dtype)


@pytest.fixture
def rays():
    """Rays of different numbers of samples, some of none: (densities, colors, edges, keep)."""
    densities = 8 * draw(40, S, seed=2) ** 3
    keep = draw(40, S, seed=3) < draw(40, 1, seed=4) * 1.5
    keep[0], keep[7:9], keep[39] = False, False, False
    return densities, draw(40, S, 3, seed=5), random_edges(40), keep


# closed forms


@pytest.mark.parametrize("density", [0.0, 1e-6, 0.3, 2.0, 50.0])
def test_constant_density_lets_exp_of_minus_sigma_l_through(density):
    edges = random_edges(3)
    length = edges[:, -1] - edges[:, 0]
    densities = torch.full((3, S), density, dtype=torch.float64)
    expected = -torch.expm1(-density * length)
    samples = PackedSamples.of_edges(edges)
    torch.testing.assert_close(volume.opacity(volume.weights(densities, edges), edges), expected)
    flat = volume.weights(densities.flatten(), samples)
    torch.testing.assert_close(volume.opacity(flat, samples), expected, rtol=1e-12, atol=1e-15)
    passed = volume.transmittance(densities, edges)
    torch.testing.assert_close(passed, torch.exp(-density * (edges[:, :-1] - edges[:, :1])))


def test_weights_are_the_steps_of_the_transmittance(rays):
    densities, _, edges, _ = rays
    passed, shares = volume.transmittance(densities, edges), volume.weights(densities, edges)
    torch.testing.assert_close(shares[:, :-1], passed[:, :-1] - passed[:, 1:])
    assert (passed[:, 0] == 1).all()
    assert (volume.opacity(shares, edges) <= 1).all()


@pytest.mark.parametrize("density", [0.5, 3.0, 20.0])
def test_expected_and_median_depth_of_a_slab(density):
    """A slab from 2 to 3: the mean of a truncated exponential distribution, and its median."""
    edges = torch.linspace(1, 4, 3001, dtype=torch.float64)
    middle = volume.midpoints(edges)
    densities = torch.where((middle > 2) & (middle < 3), density, 0.0).double()
    shares = volume.weights(densities, edges)
    gone = math.exp(-density)
    mean = 2 + 1 / density - gone / (1 - gone)
    assert volume.expected_depth(shares, edges).item() == pytest.approx(mean, abs=2e-6)
    median = 2 - math.log(1 - (1 - gone) / 2) / density
    assert volume.median_depth(shares, edges).item() == pytest.approx(median, abs=1e-9)
    samples = PackedSamples.of_edges(edges[None])
    assert volume.expected_depth(shares, samples).item() == pytest.approx(mean, abs=2e-6)
    assert volume.median_depth(shares, samples).item() == pytest.approx(median, abs=1e-9)


def test_median_depth_is_exact_for_coarse_intervals():
    """Two intervals with the same density give what a thousand give."""
    for number in (1, 2, 1000):
        edges = torch.linspace(0, 2, number + 1, dtype=torch.float64)
        shares = volume.weights(torch.full((number,), 1.5, dtype=torch.float64), edges)
        expected = -math.log((1 + math.exp(-3)) / 2) / 1.5
        assert volume.median_depth(shares, edges).item() == pytest.approx(expected, rel=1e-12)


def test_depth_of_a_delta():
    edges = torch.linspace(0, 5, 11)
    for at in range(10):
        densities = torch.zeros(10)
        densities[at] = 1e8
        shares = volume.weights(densities, edges)
        assert shares.tolist() == [float(i == at) for i in range(10)]
        assert volume.expected_depth(shares, edges) == edges[at] + 0.25
        assert volume.median_depth(shares, edges) == edges[at]
        samples = PackedSamples.of_edges(edges[None])
        assert volume.expected_depth(shares, samples) == edges[at] + 0.25
        assert volume.median_depth(shares, samples) == edges[at]


def test_rays_that_meet_nothing_have_the_depth_0():
    edges = random_edges(2)
    nothing = torch.zeros(2, S, dtype=torch.float64)
    samples = PackedSamples.of_edges(edges)
    for depth in (
        volume.expected_depth(nothing, edges),
        volume.median_depth(nothing, edges),
        volume.expected_depth(nothing.flatten(), samples),
        volume.median_depth(nothing.flatten(), samples),
    ):
        assert depth.tolist() == [0, 0]


def test_two_layers_over_a_background():
    """Red of opacity ½ before green of opacity ¾ before blue."""
    densities = torch.tensor([math.log(2), 0.0, math.log(4)], dtype=torch.float64)
    colors = torch.tensor([[1.0, 0, 0], [9, 9, 9], [0, 1, 0]], dtype=torch.float64)
    edges = torch.tensor([0.0, 1, 2, 3], dtype=torch.float64)
    background = [0.0, 0.0, 1.0]
    expected = torch.tensor([0.5, 0.375, 0.125], dtype=torch.float64)
    shares = volume.weights(densities, edges)
    torch.testing.assert_close(volume.color(shares, colors, edges, background), expected)
    samples = PackedSamples.of_edges(edges[None])
    found = volume.composite(densities, colors, samples, background)
    torch.testing.assert_close(found.color[0], expected)
    torch.testing.assert_close(volume.color(shares, colors, samples, background)[0], expected)


@pytest.mark.parametrize("background", [None, 0.25, [0.1, 0.2, 0.3], "rays"])
def test_backgrounds_show_where_nothing_is(background, rays):
    densities, colors, edges, _ = rays
    behind = draw(40, 3, seed=8) if background == "rays" else background
    numbers = torch.as_tensor(0.0 if behind is None else behind, dtype=torch.float64)
    empty = volume.weights(0 * densities, edges)
    torch.testing.assert_close(volume.color(empty, colors, edges, behind), numbers.expand(40, 3))
    shares = volume.weights(densities, edges)
    expected = (shares[..., None] * colors).sum(1) + (1 - shares.sum(1))[:, None] * numbers
    torch.testing.assert_close(volume.color(shares, colors, edges, behind), expected)
    samples = PackedSamples.of_edges(edges)
    found = volume.composite(densities.flatten(), colors.view(-1, 3), samples, behind)
    torch.testing.assert_close(found.color, expected)


def test_distortion_loss_is_the_double_sum(rays):
    densities, _, edges, keep = rays
    shares = volume.weights(densities, edges) * keep
    middle, lengths = volume.midpoints(edges), edges.diff(dim=-1)
    apart = (middle[:, :, None] - middle[:, None]).abs()
    expected = (shares[:, :, None] * shares[:, None] * apart).sum((1, 2))
    expected = expected + (shares**2 * lengths).sum(1) / 3
    torch.testing.assert_close(volume.distortion_loss(shares, edges), expected)
    samples = PackedSamples.of_edges(edges, keep)
    found = volume.distortion_loss(shares[keep], samples)
    torch.testing.assert_close(found, expected)


# any axes, any dtype


@pytest.mark.parametrize("lead", [(), (3,), (2, 3), (0,), (2, 0, 3)], ids=str)
@pytest.mark.parametrize("number", [0, 1, 5])
def test_any_leading_axes(lead, number):
    edges = random_edges(*lead, number=number)
    densities, colors = draw(*lead, number), draw(*lead, number, 4)
    shares = volume.weights(densities, edges)
    assert shares.shape == (*lead, number)
    assert volume.transmittance(densities, edges).shape == (*lead, number)
    assert volume.color(shares, colors, edges, 1.0).shape == (*lead, 4)
    for function in (volume.expected_depth, volume.median_depth, volume.distortion_loss):
        assert function(shares, edges).shape == lead


def test_edges_may_be_shared_by_rays():
    edges, densities = random_edges(), draw(2, 3, S)
    shares = volume.weights(densities, edges)
    assert torch.equal(shares, volume.weights(densities, edges.expand(2, 3, S + 1)))
    for function in (volume.expected_depth, volume.median_depth, volume.distortion_loss):
        found = function(shares, edges)
        assert torch.equal(found, function(shares, edges.expand(2, 3, S + 1)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_taken_to_float32(dtype, rays):
    densities, colors, edges, _ = (each.to(torch.float32) for each in rays)
    half = densities.to(dtype)
    assert torch.equal(volume.weights(half, edges), volume.weights(half.float(), edges))
    samples = PackedSamples.of_edges(edges)
    leaf = half.flatten().requires_grad_()
    colors = colors.view(-1, 3).to(dtype).requires_grad_()
    found = volume.composite(leaf, colors, samples)
    assert found.color.dtype == found.weights.dtype == torch.float32
    (found.color.sum() + found.weights.sum()).backward()
    assert leaf.grad.dtype == colors.grad.dtype == dtype


# derivatives


def of_weights(function):
    return lambda densities, edges: function(volume.weights(densities, edges), edges)


@pytest.mark.parametrize(
    "function",
    [
        volume.transmittance,
        volume.weights,
        of_weights(volume.expected_depth),
        of_weights(volume.distortion_loss),
        lambda densities, edges: volume.color(
            volume.weights(densities, edges), draw(2, 5, 3), edges, [0.2, 0.3, 0.4]
        ),
    ],
    ids=["transmittance", "weights", "depth", "distortion", "color"],
)
def test_derivatives_of_padded_rays_in_densities_and_edges(function):
    inputs = (draw(2, 5, seed=6).requires_grad_(), random_edges(2, number=5).requires_grad_())
    assert torch.autograd.gradcheck(function, inputs)
    assert torch.autograd.gradgradcheck(function, inputs)


@pytest.fixture
def few():
    """Five rays of 0 to 4 samples."""
    rays = torch.tensor([1, 1, 1, 1, 3, 4, 4])
    starts = torch.tensor([1.0, 1.5, 2.5, 3.0, 1.0, 2.0, 2.2], dtype=torch.float64)
    return PackedSamples.of_rays(rays, starts, starts + 0.2 + draw(7), 5)


@pytest.mark.parametrize("numbers", [1, 3, 6])
def test_derivatives_of_packed_rays(few, numbers):
    inputs = (3 * draw(7).requires_grad_(), draw(7, numbers).requires_grad_(), draw(5, numbers))
    inputs[2].requires_grad_()

    def everything(densities, colors, background):
        found = volume.composite(densities, colors, few, background)
        return (*found, volume.distortion_loss(found.weights, few))

    assert torch.autograd.gradcheck(everything, inputs)


@pytest.mark.parametrize(
    "function",
    [
        volume.weights,
        volume.transmittance,
        lambda densities, samples: volume.composite(densities, draw(7, 3), samples).opacity,
        lambda densities, samples: volume.composite(densities, draw(7, 3), samples).color,
    ],
    ids=["weights", "transmittance", "opacity", "color"],
)
def test_derivatives_of_each_output_alone(few, function):
    densities = 3 * draw(7).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: function(x, few), (densities,))


def test_second_derivatives_of_packed_sums(few):
    shares = (draw(7) / 4).requires_grad_()
    for function in (volume.opacity, volume.distortion_loss, volume.expected_depth):
        assert torch.autograd.gradcheck(lambda x, f=function: f(x, few), (shares,))
        assert torch.autograd.gradgradcheck(lambda x, f=function: f(x, few), (shares,))
    assert torch.autograd.gradgradcheck(lambda x: volume.transmittance(x, few), (shares,))


def test_second_derivatives_of_composite_are_refused_not_wrong(few):
    densities = draw(7).requires_grad_()
    shares = volume.weights(densities, few)
    (first,) = torch.autograd.grad((shares**2).sum(), densities, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


EXTREMES = [0.0, 1e-30, 1.0, 1e10, 1e30]


@pytest.mark.parametrize("last", [1.0, 1e10, 1e30, math.inf])
@pytest.mark.parametrize("density", EXTREMES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_values_and_gradients_are_finite_at_every_density(density, last, dtype):
    edges = torch.tensor([[1.0, 1.5, 2.0, 2.0, 2.0 + last]], dtype=dtype)
    samples = PackedSamples.of_edges(edges)
    unit = last if math.isfinite(last) else 1.0

    def padded(sigma, tint):
        shares = volume.weights(sigma, edges)
        depth = volume.expected_depth(shares, edges, normalize=False)
        loss = volume.distortion_loss(shares, edges)
        median = volume.median_depth(shares, edges)
        return volume.color(shares, tint, edges, 0.5), shares, depth / unit, loss / unit, median

    def flat(sigma, tint):
        seen, _, _, shares = volume.composite(sigma.view(-1), tint.view(-1, 3), samples, 0.5)
        depth = volume.expected_depth(shares, samples, normalize=False)
        loss = volume.distortion_loss(shares, samples)
        return seen, shares, depth / unit, loss / unit, volume.median_depth(shares, samples)

    for pattern in ([1, 1, 1, 1], [0, 0, 0, 1], [0, 1, 0, 1], [1, 0, 0, 0]):
        found = []
        for render in (padded, flat):
            sigma = (density * torch.tensor([pattern], dtype=dtype)).requires_grad_()
            tint = torch.ones(1, 4, 3, dtype=dtype, requires_grad=True)
            parts = render(sigma, tint)
            (parts[0].sum() + parts[2].sum() + parts[3].sum()).backward()
            found.append([*(each.detach().flatten() for each in parts), sigma.grad[0], tint.grad])
            assert all(part.isfinite().all() for part in found[-1]), (render, pattern, found[-1])
            assert 0 <= parts[1].sum() <= 1 + 1e-6
        for one, other in zip(*found, strict=True):
            torch.testing.assert_close(one.flatten(), other.flatten(), rtol=1e-5, atol=1e-6)


def test_an_infinite_interval_ends_the_ray():
    edges = torch.tensor([0.0, 1.0, math.inf])
    densities = torch.tensor([math.log(2), 1e-20], requires_grad=True)
    shares = volume.weights(densities, edges)
    torch.testing.assert_close(shares, torch.tensor([0.5, 0.5]))
    assert volume.expected_depth(shares, edges).item() == pytest.approx(0.75)
    shares[1].backward()
    assert densities.grad.tolist() == [-0.5, 0.0]
    samples = PackedSamples.of_edges(edges[None])
    torch.testing.assert_close(volume.weights(densities.detach(), samples), shares.detach())
    assert volume.expected_depth(shares.detach(), samples).item() == pytest.approx(0.75)


# packed samples


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.float64, 1e-12)], ids=str
)
def test_packed_equals_padded(rays, dtype, tolerance):
    densities, colors, edges, keep = (e.to(dtype) if e.is_floating_point() else e for e in rays)
    background, slopes = draw(40, 3, dtype=dtype), draw(40, 3, seed=9, dtype=dtype)
    samples = PackedSamples.of_edges(edges, keep)
    sigma, tint = densities.clone().requires_grad_(), colors.clone().requires_grad_()
    shares = volume.weights(sigma * keep, edges)
    seen = volume.color(shares, tint, edges, background)
    depth = volume.expected_depth(shares, edges)
    loss = (seen * slopes).sum() + depth.sum() + volume.distortion_loss(shares, edges).sum()
    loss.backward()
    flat, paint = densities[keep].requires_grad_(), colors[keep].requires_grad_()
    found = volume.composite(flat, paint, samples, background)
    depths = volume.expected_depth(found.weights, samples)
    lost = volume.distortion_loss(found.weights, samples)
    ((found.color * slopes).sum() + depths.sum() + lost.sum()).backward()
    pairs = [
        (found.weights, shares[keep]),
        (found.color, seen),
        (found.opacity, volume.opacity(shares, edges)),
        (depths, depth),
        (lost, volume.distortion_loss(shares, edges)),
        (volume.transmittance(flat, samples), volume.transmittance(densities * keep, edges)[keep]),
        (volume.median_depth(found.weights, samples), volume.median_depth(shares, edges)),
        (flat.grad, sigma.grad[keep]),
        (paint.grad, tint.grad[keep]),
    ]
    for one, other in pairs:
        assert (one - other).abs().max() <= tolerance * max(1, other.abs().max().item())


def test_the_last_of_many_rays_keeps_its_digits():
    """A running sum in float32 has lost them: 4096 rays of 48 samples, most of them opaque."""
    densities, edges = 200 * draw(4096, 48, dtype=torch.float32), random_edges(4096, number=48)
    densities[-1000:] *= 1e-3
    edges = edges.float()
    samples = PackedSamples.of_edges(edges)
    exact = volume.weights(densities.double(), edges.double()).flatten()
    found = volume.weights(densities.flatten(), samples)
    assert (found - exact).abs().max() < 5e-7
    depths = (densities * edges.diff(dim=-1)).flatten()
    running = depths.cumsum(0) - depths
    naive = torch.exp(running.view(4096, 48)[:, :1] - running.view(4096, 48)).flatten()
    naive = naive * -torch.expm1(-depths)
    assert (naive - exact).abs().max() > 1e-4


def test_results_repeat_bit_for_bit_on_any_number_of_threads(rays):
    densities, colors, edges, keep = (e.float() if e.is_floating_point() else e for e in rays)
    samples = PackedSamples.of_edges(edges, keep)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            flat = densities[keep].requires_grad_()
            seen = volume.composite(flat, colors[keep], samples, 0.5)
            seen.color.sum().backward()
            found.append((*(each.detach() for each in seen), flat.grad))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


def test_a_device_without_float64_sums_on_the_cpu(rays, monkeypatch):
    densities, colors, edges, keep = (e.float() if e.is_floating_point() else e for e in rays)
    samples = PackedSamples.of_edges(edges, keep)
    expected = volume.composite(densities[keep], colors[keep], samples)
    asked = []
    monkeypatch.setattr("coordnet.scenes.rendering.ray_sums.supports_float64", asked.append)
    for one, other in zip(
        volume.composite(densities[keep], colors[keep], samples), expected, strict=True
    ):
        assert torch.equal(one, other)
    assert asked


def test_what_is_not_visible_adds_less_than_the_threshold(rays):
    densities, colors, edges, _ = rays
    samples = PackedSamples.of_edges(edges)
    flat, paint = 4 * densities.flatten(), colors.view(-1, 3)
    seen = volume.visible(flat, samples, 1e-3)
    assert torch.equal(seen, (volume.transmittance(4 * densities, edges) >= 1e-3).flatten())
    assert 0.2 < seen.double().mean() < 0.9
    short = samples.keep(seen)
    assert short.counts().tolist() == seen.view(40, S).sum(1).tolist()
    whole = volume.composite(flat, paint, samples)
    less = volume.composite(flat[seen], paint[seen], short)
    assert 0 < (whole.color - less.color).abs().max() < 1e-3


def test_samples_are_kept_in_order(rays):
    _, _, edges, keep = rays
    samples = PackedSamples.of_edges(edges, keep)
    row, column = keep.nonzero().unbind(1)
    assert torch.equal(samples.ray_indices, row)
    assert torch.equal(samples.starts, edges[row, column])
    assert torch.equal(samples.ends, edges[row, column + 1])
    assert samples.counts().tolist() == keep.sum(1).tolist()
    again = PackedSamples.of_rays(row, samples.starts, samples.ends, 40)
    assert torch.equal(again.offsets, samples.offsets)
    torch.testing.assert_close(samples.midpoints, volume.midpoints(edges)[keep])
    assert (len(samples), samples.num_rays) == (int(keep.sum()), 40)


@pytest.mark.parametrize("more", [0, 100])
def test_a_fixed_number_of_samples_changes_nothing_where_there_is_room(rays, more):
    densities, colors, edges, keep = rays
    exact = PackedSamples.of_edges(edges, keep)
    number = len(exact)
    samples = PackedSamples.of_edges(edges).keep(keep.flatten(), number + more)
    assert len(samples) == number + more
    assert samples.filled.sum() == number
    assert samples.complete.all()
    assert torch.equal(samples.counts(), exact.counts())
    for name in ("ray_indices", "starts", "ends"):
        assert torch.equal(getattr(samples, name)[:number], getattr(exact, name))
    flat = torch.cat([densities[keep], draw(more) * 1e6]).requires_grad_()
    paint = torch.cat([colors[keep], draw(more, 3)]).requires_grad_()
    found = volume.composite(flat, paint, samples, 0.3)
    expected = volume.composite(densities[keep], colors[keep], exact, 0.3)
    torch.testing.assert_close(found.color, expected.color)
    torch.testing.assert_close(found.opacity, expected.opacity)
    for function in (volume.expected_depth, volume.median_depth, volume.distortion_loss):
        torch.testing.assert_close(
            function(found.weights, samples), function(expected.weights, exact)
        )
    found.color.sum().backward()
    assert (flat.grad[number:] == 0).all()
    assert (paint.grad[number:] == 0).all()
    fewer = samples.keep(samples.starts < 2)
    assert torch.equal(fewer.starts, exact.keep(exact.starts < 2).starts)


def test_rays_that_lost_samples_are_named(rays):
    _, _, edges, keep = rays
    whole = PackedSamples.of_edges(edges, keep)
    room = int(whole.offsets[20]) + 1  # ray 20 loses all but one of its samples
    samples = PackedSamples.of_edges(edges).keep(keep.flatten(), room)
    assert samples.filled.all()
    has_some = whole.counts() > 0
    assert whole.counts()[20] > 1
    assert torch.equal(samples.complete[:20], torch.ones(20, dtype=torch.bool))
    assert not samples.complete[20:][has_some[20:]].any()
    assert torch.equal(samples.starts, whole.starts[:room])
    assert samples.counts()[:21].tolist() == [*whole.counts()[:20].tolist(), 1]
    again = samples.keep(torch.ones(room, dtype=torch.bool), room + 5)
    assert torch.equal(again.complete, samples.complete)


def test_no_samples_and_no_rays():
    for number in (0, 3):
        none = torch.zeros(0)
        samples = PackedSamples.of_rays(torch.zeros(0, dtype=torch.int64), none, none, number)
        flat, paint = torch.zeros(0, requires_grad=True), torch.zeros(0, 3, requires_grad=True)
        found = volume.composite(flat, paint, samples, [0.1, 0.2, 0.3])
        torch.testing.assert_close(
            found.color, torch.tensor([[0.1, 0.2, 0.3]] * number).view(-1, 3)
        )
        assert found.opacity.shape == (number,)
        found.color.sum().backward()
        assert flat.grad.shape == (0,)
        for function in (volume.expected_depth, volume.median_depth, volume.distortion_loss):
            assert function(found.weights, samples).tolist() == [0] * number
        assert volume.transmittance(flat, samples).shape == (0,)
        assert len(samples.keep(torch.zeros(0, dtype=torch.bool))) == 0
        if number:
            some = samples.keep(torch.zeros(0, dtype=torch.bool), 4)
            assert (len(some), some.filled.any().item()) == (4, False)
            zero = torch.zeros(4)
            assert volume.composite(zero + 9, zero[:, None], some, 1.0).color.tolist() == [[1]] * 3


# fields


def ball(positions, directions):
    """A soft ball, whose color depends on where it is seen from."""
    densities = 30 * torch.sigmoid(20 * (0.7 - positions.norm(dim=-1)))
    return densities, torch.sigmoid(positions + directions)


def toward_the_center(*lead):
    origins = torch.nn.functional.normalize(draw(*lead, 3, seed=3) - 0.5, dim=-1) * 3
    return origins, torch.nn.functional.normalize(-origins + 0.2 * draw(*lead, 3), dim=-1)


def test_any_callable_is_rendered_padded_and_packed():
    origins, directions = toward_the_center(30)
    edges = torch.linspace(1, 5, 65, dtype=torch.float64).expand(30, 65)
    padded = render_rays(ball, origins, directions, edges, background=1.0)
    samples = PackedSamples.of_edges(edges)
    flat = render_rays(ball, origins, directions, samples, background=1.0)
    assert padded.opacity.min() > 0.9
    for name in ("color", "opacity", "depth"):
        torch.testing.assert_close(getattr(padded, name), getattr(flat, name))
    torch.testing.assert_close(padded.weights.flatten(), flat.weights)
    # the ball's surface is at 0.7
    at = origins + padded.depth[:, None] * directions
    assert (at.norm(dim=-1) - 0.65).abs().max() < 0.1


def test_leading_axes_of_rays_and_shared_edges():
    origins, directions = toward_the_center(2, 5)
    edges = torch.linspace(1, 5, 17, dtype=torch.float64)
    seen = render_rays(ball, origins, directions, edges)
    assert [each.shape for each in seen] == [(2, 5, 3), (2, 5), (2, 5), (2, 5, 16)]
    one = render_rays(ball, origins[1, 3], directions[1, 3], edges)
    torch.testing.assert_close(one.color, seen.color[1, 3])


def test_a_field_is_evaluated_where_it_is_told_to_be():
    asked = []

    def field(positions, directions):
        asked.append(positions[..., 2])
        return positions[..., 2], positions

    origin, direction = torch.zeros(3), torch.tensor([0.0, 0.0, 1.0])
    edges = torch.tensor([1.0, 2.0, 4.0])
    render_rays(field, origin, direction, edges)
    seen = render_rays(field, origin, direction, edges, distances=torch.tensor([1.0, 2.0]))
    assert [each.tolist() for each in asked] == [[1.5, 3.0], [1.0, 2.0]]
    torch.testing.assert_close(seen.opacity, 1 - torch.exp(torch.tensor(-5.0)))


def test_gradients_reach_origins_and_directions():
    origins, directions = (each.requires_grad_() for each in toward_the_center(2))
    samples = PackedSamples.of_edges(torch.linspace(1, 5, 9, dtype=torch.float64).expand(2, 9))

    def seen(origins, directions):
        return render_rays(ball, origins, directions, samples).color

    assert torch.autograd.gradcheck(seen, (origins, directions))


# refusals


def test_shapes_that_do_not_fit_are_refused(few):
    edges, x = random_edges(2), draw(2, 3)
    shares = draw(2, S)
    calls = [
        (lambda: volume.weights(shares, edges[:, :-3]), "densities must be one per sample"),
        (lambda: volume.expected_depth(shares, edges[:, 1:-1]), "weights must be one per"),
        (lambda: volume.median_depth(shares, edges[:, 1:]), "weights must be one per"),
        (lambda: volume.distortion_loss(shares, edges[:, 1:]), "weights must be one per"),
        (lambda: volume.color(shares, draw(2, S - 1, 3), edges), "colors must be one row per"),
        (lambda: render_rays(ball, draw(2, 2), x, edges), "must have 3"),
        (lambda: render_rays(ball, x, x, edges, distances=edges), "distances must be one per"),
        (lambda: render_rays(lambda x, d: (x[..., :1], x), x, x, edges), "one density and one"),
        (lambda: volume.weights(draw(6), few), "one per sample"),
        (lambda: volume.composite(draw(7, 1), draw(7, 3), few), "densities must be one per"),
        (lambda: volume.composite(draw(7), draw(7), few), "colors must be one row per"),
        (lambda: volume.opacity(draw(8), few), "weights must be one per"),
        (lambda: few.positions(draw(4, 3), draw(4, 3)), r"shape \(5, 3\)"),
        (lambda: few.keep(draw(7)), "mask must be bool"),
        (lambda: few.keep(draw(7) > 0.5, 0), "capacity must be an integer"),
        (lambda: PackedSamples.of_edges(edges[0]), r"edges must have shape \(R, S\+1\)"),
        (lambda: PackedSamples.of_edges(edges.clone().requires_grad_()), "constants"),
        (
            lambda: PackedSamples.of_rays(few.ray_indices, few.starts[1:], few.ends, 5),
            "one number per sample",
        ),
    ]
    for call, words in calls:
        with pytest.raises(InputError, match=words):
            call()


@pytest.mark.cuda
def test_nothing_waits_on_a_cuda_device(rays):
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    densities, colors, edges, keep = (each.cuda() for each in rays)
    expected = volume.composite(densities[keep], colors[keep], PackedSamples.of_edges(edges, keep))
    flat, paint = densities.flatten().requires_grad_(), colors.view(-1, 3).requires_grad_()
    background = torch.ones(3, device="cuda")
    keep = keep.flatten()
    torch.cuda.set_sync_debug_mode("error")
    try:
        samples = PackedSamples.of_edges(edges).keep(keep, 1000)
        order = keep.cumsum(0) - 1
        at = torch.zeros(1001, dtype=torch.int64, device="cuda").scatter_(
            0, torch.where(keep, order, 1000), torch.arange(len(keep), device="cuda")
        )[:1000]
        found = volume.composite(flat[at], paint[at], samples, background)
        found.color.sum().backward()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert samples.filled.sum() == keep.sum()
    torch.testing.assert_close(found.opacity, expected.opacity)
