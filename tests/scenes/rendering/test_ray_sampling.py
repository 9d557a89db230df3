"""Where rays are sampled: even edges, strata, samples that follow coarse weights."""

import math

import pytest
import torch

from coordnet.errors import InputError
from coordnet.scenes.rendering.ray_sampling import merge, ray_edges, sample_pdf, stratified


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


EDGES = torch.tensor([0.0, 0.5, 1.0, 3.0, 3.5, 4.0], dtype=torch.float64)
WEIGHTS = torch.tensor([1.0, 0.0, 2.0, 4.0, 0.0], dtype=torch.float64)
CDF = torch.tensor([0.0, 1 / 7, 1 / 7, 3 / 7, 1, 1], dtype=torch.float64)


def test_edges_are_even_in_distance_or_in_its_inverse():
    assert ray_edges(2.0, 6.0, 4).tolist() == [2, 3, 4, 5, 6]
    near, far = torch.tensor([1.0, 2.0]), torch.tensor([[2.0], [4.0], [8.0]])
    edges = ray_edges(near, far, 5)
    assert edges.shape == (3, 2, 6)
    torch.testing.assert_close(edges.diff(dim=-1), ((far - near) / 5)[..., None].expand(3, 2, 5))
    inverse = 1 / ray_edges(near, 9.0, 3, spacing="disparity")
    torch.testing.assert_close(inverse.diff(dim=-1), ((1 / 9 - 1 / near) / 3)[:, None].expand(2, 3))


def test_edges_begin_and_end_where_they_are_told_to():
    near = torch.rand(1000, generator=generator()) + 0.1
    edges = ray_edges(near, near + 3, 7)
    assert torch.equal(edges[:, 0], near)
    assert torch.equal(edges[:, -1], near + 3)
    assert (edges.diff(dim=-1) > 0).all()
    endless = ray_edges(0.5, math.inf, 4, spacing="disparity")
    assert endless.tolist() == pytest.approx([0.5, 2 / 3, 1, 2, math.inf])


def test_strata_hold_one_sample_each():
    edges = ray_edges(torch.tensor([1.0, 2.0]), 6.0, 50)
    assert torch.equal(stratified(edges), edges[:, :-1] + edges.diff(dim=-1) * 0.5)
    first, again = stratified(edges, generator(1)), stratified(edges, generator(1))
    assert torch.equal(first, again)
    assert not torch.equal(first, stratified(edges, generator(2)))
    assert ((first >= edges[:, :-1]) & (first <= edges[:, 1:])).all()


def test_strata_are_sampled_evenly():
    stats = pytest.importorskip("scipy.stats")
    part = (stratified(EDGES.expand(4000, 6), generator(3)) - EDGES[:-1]) / EDGES.diff()
    assert stats.kstest(part.flatten().numpy(), "uniform").pvalue > 1e-3


@pytest.mark.parametrize("independent", [True, False])
def test_random_samples_follow_the_weights(independent):
    stats = pytest.importorskip("scipy.stats")
    numpy = pytest.importorskip("numpy")

    def cdf(t):
        return numpy.interp(t, EDGES.numpy(), CDF.numpy())

    t = sample_pdf(EDGES, WEIGHTS.expand(500, 5), 16, generator(), independent=independent)
    assert stats.kstest(t.flatten().numpy(), cdf).pvalue > 1e-3
    # the test can tell: the same samples do not follow other weights
    even = stats.uniform(0, 4).cdf
    assert stats.kstest(t.flatten().numpy(), even).pvalue < 1e-9


def test_deterministic_samples_are_the_quantiles():
    t = sample_pdf(EDGES, WEIGHTS, 7)
    assert t.tolist() == pytest.approx([0.25, 1.5, 2.5, 3.0625, 3.1875, 3.3125, 3.4375])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("independent", [True, False])
def test_nothing_is_sampled_where_there_is_no_weight(dtype, independent):
    """The last interval is empty, and rounding brings some u up to 1."""
    edges, weights = EDGES.to(dtype), WEIGHTS.to(dtype).expand(20_000, 5)
    t = sample_pdf(edges, weights, 64, generator(5), independent=independent)
    assert ((t <= 0.5) | ((t >= 1) & (t <= 3.5))).all()
    assert (t.diff(dim=-1) >= 0).all()


def test_rays_without_weight_are_sampled_evenly():
    weights = torch.stack([torch.zeros(5), torch.full((5,), 1e-30), torch.eye(5)[2]]).double()
    t = sample_pdf(EDGES, weights, 8)
    assert t[0].tolist() == pytest.approx([0.25 + i / 2 for i in range(8)])
    assert t[1].tolist() == pytest.approx(sample_pdf(EDGES, torch.ones(5), 8).tolist())
    assert ((t[2] > 1) & (t[2] < 3)).all()


def test_rays_without_length_are_sampled_where_they_are():
    t = sample_pdf(torch.full((3, 6), 2.0), torch.zeros(3, 5), 4, generator())
    assert (t == 2).all()
    assert (
        sample_pdf(torch.full((3, 6), 2.0), torch.rand(3, 5, generator=generator()), 4) == 2
    ).all()


def test_padding_reaches_intervals_without_weight():
    padded = sample_pdf(EDGES, WEIGHTS, 7000, padding=1.0)
    counts = torch.histogram(padded, EDGES).hist
    assert counts.tolist() == pytest.approx([7000 * w / 12 for w in (2, 1, 3, 5, 1)], abs=2)


def test_shapes_broadcast_and_gradients_stop():
    weights = WEIGHTS.expand(2, 3, 5).clone().requires_grad_()
    t = sample_pdf(EDGES, weights, 4)
    assert t.shape == (2, 3, 4)
    assert not t.requires_grad
    assert torch.equal(t, sample_pdf(EDGES.expand(2, 3, 6), WEIGHTS, 4))
    assert sample_pdf(EDGES.expand(0, 6), WEIGHTS, 4).shape == (0, 4)
    strided = torch.rand(6, 9, generator=generator()).cumsum(0).t()
    assert torch.equal(
        sample_pdf(strided, torch.ones(9, 5), 3),
        sample_pdf(strided.contiguous(), torch.ones(9, 5), 3),
    )


def test_merged_edges_are_sorted():
    coarse, fine = EDGES.expand(2, 1, 6), torch.tensor([[0.75], [5.0], [0.25]]).double()
    both = merge(coarse, fine)
    assert both.shape == (2, 3, 7)
    assert (both.diff(dim=-1) >= 0).all()
    assert both[1, 0].tolist() == [0, 0.5, 0.75, 1, 3, 3.5, 4]


def test_the_global_generator_is_left_alone():
    state = torch.get_rng_state()
    sample_pdf(EDGES, WEIGHTS, 4, generator(), independent=True)
    sample_pdf(EDGES, WEIGHTS, 4, generator())
    sample_pdf(EDGES, WEIGHTS, 4)
    stratified(EDGES, generator())
    stratified(EDGES)
    assert torch.equal(torch.get_rng_state(), state)


def test_what_cannot_be_sampled_is_refused():
    calls = [
        (lambda: ray_edges(1.0, 2.0, 0), "num_samples must be"),
        (lambda: ray_edges(1.0, 2.0, 3, spacing="log"), "spacing must be one of"),
        (lambda: sample_pdf(EDGES, WEIGHTS, 0), "num_samples must be"),
        (lambda: sample_pdf(EDGES[:-1], WEIGHTS, 4), "one more than the weights"),
        (lambda: sample_pdf(EDGES[:1], WEIGHTS[:0], 4), "one more than the weights"),
        (lambda: sample_pdf(EDGES, WEIGHTS, 4, independent=True), "independent samples need"),
    ]
    for call, words in calls:
        with pytest.raises(InputError, match=words):
            call()
