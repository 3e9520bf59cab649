"""The energy network (paper, section 5.1) and the cycling architecture (Bengio and others, NIPS 2000).

The next word is scored together with its context: E(w, context) = v . tanh(d + H x) + b_w with x = [C(w); C(context)],
and P(w | context) = softmax over all w of E. v is shared, or indexed by w. The part of H x that comes from the context
is computed once a context, the part from the candidate once for all contexts; their sum and its tanh remain for each
pair, h of them.

Gradient, for one context with p = d + H_context C(context), g_k = H_word C(k), t_k = tanh(p + g_k):
    dL/dE = softmax(E) - [target];  dL/dv = sum_k dL/dE_k t_k;  s_k = dL/dE_k v (1 - t_k^2)
    dL/dp = sum_k s_k;  dL/dg_k = s_k, summed over the contexts
"""

import torch
from torch import Tensor, nn

from pipeline.core.networks import base
from pipeline.core.networks.architecture import Architecture
from pipeline.core.networks.base import Gradient, dropout_mask
from pipeline.core.networks.softmax import softmax_gradient

CELLS = 1 << 19  # pairs times hidden units that are worked on at a time: they stay in the processor's cache


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

    def forward(self, context: Tensor) -> Tensor:
        """Log-probabilities of all words (B, V) after each context (B, n-1)."""
        t = torch.tanh(self.context_part(context)[:, None] + self.word_part(slice(len(self.b))))
        return torch.log_softmax(self.b + (t * self.v).sum(2), 1)

    @torch.no_grad()
    def log_probabilities(self, context: Tensor, target: Tensor) -> Tensor:
        """Exact natural-log probability (B,) of each target (B,) after its context (B, n-1)."""
        p, g = self.context_part(context), self.word_part(slice(len(self.b)))
        v = self.v.expand(len(g), -1)
        own = (torch.tanh(p + g[target]) * v[target]).sum(1) + self.b[target]
        total = torch.full_like(own, -torch.inf)
        size = max(1, CELLS // p.numel())
        for part in (slice(start, start + size) for start in range(0, len(g), size)):
            t = (p[:, None] + g[part]).tanh_()
            total = torch.logaddexp(total, torch.logsumexp(_scores(t, v[part]) + self.b[part], 1))
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
        p, g = self.context_part(context), self.word_part(candidates)
        v = self.v[candidates] if self.architecture.indexed else self.v
        keep = dropout_mask(p, dropout, generator)
        bias, column = self.b[candidates] - log_inclusion, torch.searchsorted(candidates, target)
        loss, dp, dg = p.new_zeros(()), torch.empty_like(p), torch.zeros_like(g)
        dv, db = torch.zeros_like(g), torch.zeros_like(bias)
        size = max(1, CELLS // g.numel())
        for part in (slice(start, start + size) for start in range(0, len(p), size)):
            t = (p[part, None] + g).tanh_()
            y = _scores(t * keep[part, None], v) + bias
            share = len(y) / len(p)
            mean, dy = softmax_gradient(y, log_inclusion, column[part])
            loss += mean * share
            dy *= share
            db += dy.sum(0)
            dv += torch.einsum("bk,bkh,bh->kh", dy, t, keep[part])
            slope = t.square_().neg_().add_(1).mul_(keep[part, None]).mul_(dy[:, :, None]).mul_(v)
            dp[part] = slope.sum(1)
            dg += slope.sum(0)
        x, own = self.features(context), self.C[candidates]
        m = self.architecture.m
        placed = torch.cat([context.flatten(), candidates])
        slopes = torch.cat([(dp @ self.H[:, m:]).view(-1, m), dg @ self.H[:, :m]])
        return Gradient(
            loss,
            {
                "C": self.feature_gradient(placed, slopes),
                "H": (None, torch.cat([dg.T @ own, dp.T @ x], 1)),
                "d": (None, dp.sum(0)),
                "v": (candidates, dv) if self.architecture.indexed else (None, dv.sum(0, keepdim=True)),
                "b": (candidates, db),
            },
        )


def _scores(t: Tensor, v: Tensor) -> Tensor:
    """v . t of each pair, (B, K), from t (B, K, h) and v (K, h), or (1, h) for all."""
    return t @ v[0] if len(v) == 1 else torch.einsum("bkh,kh->bk", t, v)
