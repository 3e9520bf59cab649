"""The sampled softmax is the full one in the mean."""

import numpy as np
import pytest
import torch
from test_network import V, batch

from pipeline.core.errors import InputError
from pipeline.core.gradient import gradient
from pipeline.core.network import Architecture, Network
from pipeline.core.sampling import Sampler, inclusion_probabilities


@pytest.mark.parametrize("samples", [1, 10, 39, 40, 100])
def test_inclusion_probabilities_sum_to_the_samples(samples):
    counts = np.random.default_rng(0).zipf(1.3, V)
    inclusion = inclusion_probabilities(counts, samples, 0.75)
    assert (inclusion > 0).all() and (inclusion <= 1).all()
    assert inclusion.sum() == pytest.approx(min(samples, V))
    loose = inclusion < 1
    share = inclusion[loose] / (counts[loose] + 1.0) ** 0.75
    assert np.allclose(share, share[0] if len(share) else 0)


def test_no_samples_is_an_error():
    with pytest.raises(InputError, match=r"recipe\.samples"):
        inclusion_probabilities(np.ones(4), 0, 1.0)


def test_targets_are_always_candidates_and_certain():
    sampler = Sampler(torch.full((V,), 0.1))
    random = torch.Generator().manual_seed(0)
    for _ in range(50):
        targets = torch.randint(V, (6,), generator=random)
        candidates, log_inclusion = sampler.draw(targets, random)
        assert (candidates.diff() > 0).all()
        is_target = torch.isin(candidates, targets)
        assert torch.equal(candidates[is_target], targets.unique())
        assert (log_inclusion[is_target] == 0).all()
        assert torch.allclose(log_inclusion[~is_target], torch.tensor(0.1).log())


def test_the_mean_gradient_of_many_draws_is_the_full_softmaxs():
    """2,000 draws: cosine at least .99 with the full gradient and the norm within 5 %, for every parameter."""
    random = torch.Generator().manual_seed(0)
    architecture, words = Architecture(3, 5, 4, True), 2000
    counts = np.random.default_rng(0).zipf(1.3, words).clip(max=10**6)
    unigram = torch.tensor(np.log((counts + 1) / (counts + 1).sum()), dtype=torch.float32)
    network = Network(architecture, words).initialise(1, 1, unigram, random).double()
    context, target = batch(architecture)
    everything = gradient(network, context, target, torch.arange(words), torch.zeros(words))
    sampler = Sampler(torch.tensor(inclusion_probabilities(counts, 150, 0.75)))
    mean = {name: torch.zeros_like(getattr(network, name)) for name in ("C", "H", "d", "WU", "b")}
    for _ in range(2000):
        found = gradient(network, context, target, *sampler.draw(target, random))
        for name in ("H", "d"):
            mean[name] += getattr(found, name) / 2000
        mean["C"][found.words] += found.C / 2000
        for name in ("WU", "b"):
            mean[name][found.candidates] += getattr(found, name) / 2000
    for name, ours in mean.items():
        full = torch.zeros_like(ours)
        full[everything.words if name == "C" else slice(None)] = getattr(everything, name)
        cosine = torch.nn.functional.cosine_similarity(ours.flatten(), full.flatten(), 0)
        assert cosine >= 0.99, (name, cosine)
        assert abs(ours.norm() / full.norm() - 1) <= 0.05, (name, ours.norm() / full.norm())
