"""Which library multiplies float32 matrices."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def by_onednn() -> Iterator[None]:
    """Products by oneDNN in place of MKL where the processor has AVX-512.

    On AMD that is faster for a full softmax, slower for a sampled one's few rows (`python -m benchmarks by_hand`).
    torch has no name for float32 by oneDNN, but "bf16" leads there. A processor with AMX would then round the factors
    to bfloat16, so it keeps MKL.
    """
    matmul = torch.backends.mkldnn.matmul
    before = matmul.fp32_precision
    if torch.backends.cpu.get_cpu_capability() == "AVX512" and not torch.cpu._is_amx_tile_supported():
        matmul.fp32_precision = "bf16"
    try:
        yield
    finally:
        matmul.fp32_precision = before
