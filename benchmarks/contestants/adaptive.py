"""torch.nn.AdaptiveLogSoftmaxWithLoss: frequent words in a head, the others in two clusters of fewer features. Fused
AdamW."""

from torch import Tensor, nn

from benchmarks.contestants import Task, full

CUTOFFS = [2000, 6000]


class Network(full.Network):
    """The full network with another output layer, for which words are numbered by how frequent they are."""

    def __init__(self, task: Task):
        super().__init__(task)
        inputs = self.output.in_features
        self.output = nn.AdaptiveLogSoftmaxWithLoss(inputs, len(task.counts), CUTOFFS, div_value=2.0, head_bias=True)
        self.register_buffer("rank", task.counts.argsort(descending=True).argsort())

    def loss(self, context: Tensor, target: Tensor) -> Tensor:
        """Mean over the batch, in nats."""
        return self.output(self.features(context), self.rank[target]).loss

    def log_probabilities(self, context: Tensor, target: Tensor) -> Tensor:
        """Exact, (B,)."""
        return self.output(self.features(context), self.rank[target]).output


def train(task: Task) -> tuple[Network, float]:
    """The network, and the seconds that its training took."""
    network = Network(task)
    return network, full.loop(network, full.optimisers(network, task), network.loss, task)
