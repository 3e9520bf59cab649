"""Matrix products: by which library, and in which number format."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


def has_bfloat16(device: torch.device) -> bool:
    """Whether a device has instructions for bfloat16, with which it is faster than float32."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    processor = torch.cpu.get_capabilities()
    return processor.get("avx512_bf16", False) or processor.get("amx_bf16", False)


@contextmanager
def by_onednn() -> Iterator[None]:
    """Float32 products by oneDNN in place of MKL where the processor has AVX-512.

    On AMD, oneDNN is faster for the full softmax, and slower for the few rows of the sampled softmax
    (`python -m benchmarks by_hand`). torch has no setting for float32 by oneDNN, but "bf16" has this effect. On a
    processor with AMX it would round the factors to bfloat16, so MKL is used there.
    """
    matmul = torch.backends.mkldnn.matmul
    before = matmul.fp32_precision
    if torch.backends.cpu.get_cpu_capability() == "AVX512" and not torch.cpu.get_capabilities().get("amx_tile", False):
        matmul.fp32_precision = "bf16"
    try:
        yield
    finally:
        matmul.fp32_precision = before
