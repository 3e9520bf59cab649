"""The sampled softmax is the full one in the mean."""

import numpy as np
import pytest
import torch
from conftest import architecture as shape
from test_network import V, batch

from pipeline.core.families.feedforward import FeedforwardNetwork
from pipeline.core.training.sampling import PoissonSampler, inclusion_probabilities, make_sampler


@pytest.mark.parametrize("samples", [1, 10, 39, 40, 100])
def test_inclusion_probabilities_sum_to_the_samples(samples):
    counts = np.random.default_rng(0).zipf(1.3, V)
    inclusion = inclusion_probabilities(counts, samples, 0.75)
    assert (inclusion > 0).all() and (inclusion <= 1).all()
    assert inclusion.sum() == pytest.approx(min(samples, V))
    loose = inclusion < 1
    share = inclusion[loose] / (counts[loose] + 1.0) ** 0.75
    assert np.allclose(share, share[0] if len(share) else 0)


def test_targets_are_always_candidates_and_certain():
    sampler = PoissonSampler(torch.full((V,), 0.1))
    torch.manual_seed(0)
    for _ in range(50):
        targets = torch.randint(V, (6,))
        candidates, correction = sampler.draw(targets)
        assert (candidates.diff() > 0).all()
        is_target = torch.isin(candidates, targets)
        assert torch.equal(candidates[is_target], targets.unique())
        assert (correction[is_target] == 0).all()
        assert torch.allclose(correction[~is_target], torch.tensor(0.1).log())


@pytest.mark.parametrize("kind,samples", [("poisson", 150), ("importance", 400)])
def test_the_mean_gradient_of_many_draws_is_the_full_softmaxs(kind, samples):
    """2,000 draws: cosine at least .99 with the full gradient and the norm within 5 %, for every parameter."""
    random = torch.Generator().manual_seed(0)
    architecture, words = shape(3, 5, 4, True), 2000
    counts = np.random.default_rng(0).zipf(1.3, words).clip(max=10**6)
    unigram = torch.tensor(np.log((counts + 1) / (counts + 1).sum()), dtype=torch.float32)
    network = FeedforwardNetwork(architecture, words).initialise(1, 1, unigram, random).double()
    context, target = batch(architecture)
    network.loss(context, target).backward()
    everything = {name: parameter.grad for name, parameter in network.named_parameters()}
    network.zero_grad()
    torch.manual_seed(0)
    sampler = make_sampler(kind, counts, samples, 0.75, torch.device("cpu"))
    for _ in range(2000):
        network.loss(context, target, *sampler.draw(target)).backward()
    for name, parameter in network.named_parameters():
        ours, full = parameter.grad / 2000, everything[name]
        cosine = torch.nn.functional.cosine_similarity(ours.flatten(), full.flatten(), 0)
        assert cosine >= 0.99, (name, cosine)
        assert abs(ours.norm() / full.norm() - 1) <= 0.05, (name, ours.norm() / full.norm())


def test_importance_weights_are_the_draws_over_what_was_expected():
    """A word drawn c times of k weighs c / (k q); a target that was not drawn next to nothing."""
    counts = np.array([70, 20, 7, 0])
    sampler = make_sampler("importance", counts, 2, 1.0, torch.device("cpu"))
    torch.manual_seed(0)
    total, target = torch.zeros(4), torch.tensor([3])
    for _ in range(5000):
        candidates, correction = sampler.draw(target)
        assert (candidates.diff() > 0).all() and 3 in candidates
        total[candidates] += torch.exp(-correction)
    assert torch.allclose(total / 5000, torch.ones(4), atol=0.25)
    with_all = make_sampler("importance", counts, 0, 1.0, torch.device("cpu"))
    assert with_all.full and with_all.draw(target) == (None, None)
