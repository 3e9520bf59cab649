"""Two optimisers that update only the rows a batch touched: the paper's gradient ascent, and Adam."""

import torch
from torch import Tensor, nn

from pipeline.networks.base import Gradient


class Ascent:
    """theta += e_t dL/dtheta summed over the words of the batch (paper, section 3; L: the log-likelihood)."""

    def state(self) -> dict[str, Tensor]:
        """What a checkpoint must keep beside the parameters: nothing."""
        return {}

    @torch.no_grad()
    def step(self, network: nn.Module, gradient: Gradient, rate: float, batch: int) -> None:
        """One update. The gradient is a mean over `batch` words, the update the sum of theirs, each times `rate`."""
        for name, (rows, slope) in gradient.slopes.items():
            parameter = network.get_parameter(name)
            if rows is None:
                parameter.add_(slope, alpha=-rate * batch)
            else:
                parameter.index_add_(0, rows, slope, alpha=-rate * batch)


class Adam:
    """Adam (Kingma and Ba 2015), lazily: the moments of a row move only when the row is touched.

    Moving all of them would cost |V| rows a step where the sampled softmax touches a tenth.
    """

    def __init__(self, network: nn.Module, beta1: float, beta2: float, epsilon: float):
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon
        self.steps = torch.zeros((), dtype=torch.int64)
        self.first = {name: torch.zeros_like(p) for name, p in network.named_parameters()}
        self.second = {name: torch.zeros_like(p) for name, p in network.named_parameters()}

    def state(self) -> dict[str, Tensor]:
        """What a checkpoint must keep: the tensors themselves, to be read and to be written into."""
        moments = {f"first.{k}": v for k, v in self.first.items()} | {f"second.{k}": v for k, v in self.second.items()}
        return moments | {"steps": self.steps}

    @torch.no_grad()
    def step(self, network: nn.Module, gradient: Gradient, rate: float, batch: int) -> None:
        """One update at `rate`; the scale of the gradient, and so `batch`, matters to epsilon alone."""
        self.steps += 1
        steps = int(self.steps)
        correction = (1 - self.beta2**steps) ** 0.5
        rate = rate * correction / (1 - self.beta1**steps)
        epsilon = self.epsilon * correction
        for name, (rows, slope) in gradient.slopes.items():
            parameter, first, second = network.get_parameter(name), self.first[name], self.second[name]
            if rows is None:
                m, v = first, second
            else:
                m, v = first[rows], second[rows]
            m.lerp_(slope, 1 - self.beta1)
            v.mul_(self.beta2).addcmul_(slope, slope, value=1 - self.beta2)
            change = torch.div(m, v.sqrt().add_(epsilon), out=slope)
            if rows is None:
                parameter.add_(change, alpha=-rate)
            else:
                first.index_copy_(0, rows, m)
                second.index_copy_(0, rows, v)
                parameter.index_add_(0, rows, change, alpha=-rate)
