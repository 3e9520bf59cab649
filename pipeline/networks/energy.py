"""The energy network (paper, section 5.1) and the cycling architecture (Bengio and others, NIPS 2000).

The next word is scored together with its context: E(w, context) = v . tanh(d + H x) + b_w with x = [C(w); C(context)],
and P(w | context) = softmax over all w of E. v is shared, or indexed by w. The part of H x that comes from the context
is computed once a context, the part from the candidate once for all contexts; their sum and its tanh remain for each
pair, h of them. They lie as (contexts, h, words), the words side by side in memory, a few contexts and words at a time.

Gradient, for one context with p = d + H_context C(context), g_k = H_word C(k), t_k = tanh(p + g_k):
    dL/dE = softmax(E) - [target];  dL/dv = sum_k dL/dE_k t_k;  s_k = dL/dE_k v (1 - t_k^2)
    dL/dp = sum_k s_k;  dL/dg_k = s_k, summed over the contexts
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from pipeline.networks import base
from pipeline.networks.architecture import Architecture
from pipeline.networks.base import Gradient, dropout_mask
from pipeline.networks.softmax import softmax_gradient

CELLS = 1 << 18  # pairs times hidden units that are worked on at a time: they stay in the processor's cache
WORDS = 512  # of the vocabulary at a time


class Network(base.Network):
    """C (V, m), H (h, n m) whose first m columns are the candidate's, d (h), v (1, h) or (V, h), b (V)."""

    def __init__(self, architecture: Architecture, vocabulary: int):
        super().__init__()
        self.architecture = architecture
        h, m = architecture.h, architecture.m
        self.C = nn.Parameter(torch.zeros(vocabulary, m))
        self.H = nn.Parameter(torch.zeros(h, architecture.inputs + m))
        self.d = nn.Parameter(torch.zeros(h))
        self.v = nn.Parameter(torch.zeros(vocabulary if architecture.indexed else 1, h))
        self.b = nn.Parameter(torch.zeros(vocabulary))

    def context_part(self, context: Tensor) -> Tensor:
        """p = d + H_context C(context), (B, h)."""
        return torch.addmm(self.d, self.features(context), self.H[:, self.architecture.m :].T)

    def word_part(self, words: Tensor | slice) -> Tensor:
        """g = H_word C(words), (K, h)."""
        return self.C[words] @ self.H[:, : self.architecture.m].T

    def output_weights(self, words: Tensor | slice) -> Tensor:
        """v for these words, (h, K), or (h, 1) where one serves all."""
        return (self.v[words] if self.architecture.indexed else self.v).T

    def forward(self, context: Tensor) -> Tensor:
        """Log-probabilities of all words (B, V) after each context (B, n-1)."""
        every = slice(len(self.b))
        t = torch.tanh(self.context_part(context)[:, :, None] + self.word_part(every).T)
        return torch.log_softmax(_scores(t, self.output_weights(every)[None]) + self.b, 1)

    @torch.no_grad()
    def log_probabilities(self, context: Tensor, target: Tensor) -> Tensor:
        """Exact natural-log probability (B,) of each target (B,) after its context (B, n-1)."""
        p, g = self.context_part(context), self.word_part(slice(len(self.b))).T.contiguous()
        own = (torch.tanh(p + g.T[target]) * self.output_weights(target).T).sum(1) + self.b[target]
        blocks = [(g[:, words], self.output_weights(words)[None]) for words in _parts(len(self.b), WORDS)]
        space, total = p.new_empty(max(CELLS, blocks[0][0].numel())), torch.empty_like(own)
        for part in _parts(len(p), CELLS // blocks[0][0].numel()):
            y = torch.cat([_scores(_hidden(p[part], words, space), v) for words, v in blocks], 1)
            total[part] = torch.logsumexp(y.add_(self.b), 1)
        return own - total

    @torch.no_grad()
    def gradient(
        self,
        context: Tensor,
        target: Tensor,
        candidates: Tensor,
        log_inclusion: Tensor,
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> Gradient:
        """A few contexts at a time. dropout is that of the hidden units, the same ones for all candidates."""
        p, g = self.context_part(context), self.word_part(candidates).T.contiguous()
        v = self.output_weights(candidates)
        keep = dropout_mask(p, dropout, generator)[:, :, None]
        bias, column = self.b[candidates] - log_inclusion, torch.searchsorted(candidates, target)
        loss, dp, dg = p.new_zeros(()), torch.empty_like(p), torch.zeros_like(g)
        dv, db = torch.zeros_like(v), torch.zeros_like(bias)
        space, more = p.new_empty(2, max(CELLS, g.numel()))
        for part in _parts(len(p), CELLS // g.numel()):
            t, kept = _hidden(p[part], g, space), keep[part] * v
            y = _scores(t, kept) + bias
            share = len(y) / len(p)
            mean, dy = softmax_gradient(y, log_inclusion, column[part])
            loss += mean * share
            dy *= share
            db += dy.sum(0)
            dy = dy[:, None]
            weighted = torch.mul(t, dy, out=more[: t.numel()].view_as(t))
            slope = torch.sub(dy, t.mul_(weighted), out=t).mul_(kept)
            if not self.architecture.indexed:
                weighted = weighted.sum(2, keepdim=True)
            dv += (weighted * keep[part]).sum(0)
            dp[part] = slope.sum(2)
            dg += slope.sum(0)
        x, own = self.features(context), self.C[candidates]
        m = self.architecture.m
        placed = torch.cat([context.flatten(), candidates])
        slopes = torch.cat([(dp @ self.H[:, m:]).view(-1, m), dg.T @ self.H[:, :m]])
        return Gradient(
            loss,
            {
                "C": self.feature_gradient(placed, slopes),
                "H": (None, torch.cat([dg @ own, dp.T @ x], 1)),
                "d": (None, dp.sum(0)),
                "v": (candidates if self.architecture.indexed else None, dv.T.contiguous()),
                "b": (candidates, db),
            },
        )


def _parts(total: int, size: int) -> Iterator[slice]:
    """0 to total in slices of at most so many, at least one."""
    size = max(1, size)
    return (slice(start, start + size) for start in range(0, total, size))


def _hidden(p: Tensor, g: Tensor, space: Tensor) -> Tensor:
    """tanh(p + g) of each pair, (B, h, K), from p (B, h) and g (h, K), in some memory that is there."""
    t = space[: len(p) * g.numel()].view(len(p), *g.shape)
    return torch.add(p[:, :, None], g, out=t).tanh_()


def _scores(t: Tensor, v: Tensor) -> Tensor:
    """v . t of each pair, (B, K), from t (B, h, K) and v (B or 1, h, K), or (B or 1, h, 1) for all words."""
    if v.shape[2] > 1:
        return (t * v).sum(1)
    return torch.bmm(v.expand(len(t), -1, -1).transpose(1, 2), t)[:, 0]  # matmul would copy t
