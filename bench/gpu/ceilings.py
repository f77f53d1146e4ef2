"""What PyTorch reaches on the same GPU, as JSON: python3 bench/gpu/ceilings.py [--json FILE].

Copy of 1 GiB, float32 GEMM of 4096³ without TF32, and float32 causal attention of 4,096 tokens with 32/8 heads of 64 by
each of scaled_dot_product_attention's backends that takes it. Medians and quartiles of CUDA events.
"""

import argparse
import json
import statistics

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

WARM_UP = 3
REPEATS = 15
SAMPLE_MS = 50


def milliseconds(work, times):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(times):
        work()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / times


def measure(work):
    for _ in range(WARM_UP):
        once = milliseconds(work, 1)
    times = min(500, max(1, round(SAMPLE_MS / max(once, 0.01))))
    milliseconds(work, times)
    samples = [milliseconds(work, times) for _ in range(REPEATS)]
    lower, median, upper = statistics.quantiles(samples, n=4, method="inclusive")
    return {"ms": median, "quartiles": [lower, upper], "repeats": REPEATS, "runs": times}


def copy(results):
    x = torch.randn(2**28, device="cuda")
    y = torch.empty_like(x)
    timing = measure(lambda: y.copy_(x))
    results["copy"] = {**timing, "rate": 2 * x.nbytes / timing["ms"] / 1e9}


def gemm(results):
    n = 4096
    a, b = (torch.randn(n, n, device="cuda") for _ in range(2))
    c = torch.empty_like(a)
    timing = measure(lambda: torch.mm(a, b, out=c))
    results["gemm"] = {**timing, "rate": 2 * n**3 / timing["ms"] / 1e9}


def attention(results):
    tokens, heads, kv_heads, head_dim = 4096, 32, 8, 64
    q = torch.randn(1, heads, tokens, head_dim, device="cuda")
    # Not every backend takes grouped heads, so keys and values are repeated beforehand, outside of the time.
    k, v = (
        torch.randn(1, kv_heads, tokens, head_dim, device="cuda").repeat_interleave(heads // kv_heads, dim=1)
        for _ in range(2)
    )
    backends = {}
    for backend in (SDPBackend.EFFICIENT_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION, SDPBackend.MATH):
        try:
            with sdpa_kernel(backend):
                backends[backend.name] = measure(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True))
        except RuntimeError:
            continue
    name, timing = min(backends.items(), key=lambda item: item[1]["ms"])
    flop = 2 * tokens * (tokens + 1) * heads * head_dim
    results["attention"] = {**timing, "rate": flop / timing["ms"] / 1e9, "backend": name, "backends": backends}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json")
    args = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    results = {}
    with torch.inference_mode():
        for work in (copy, gemm, attention):
            work(results)
            torch.cuda.empty_cache()
    report = {
        "environment": {
            "gpu": torch.cuda.get_device_name(),
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
            "driver": driver(),
        },
        "results": results,
    }
    text = json.dumps(report, indent=1)
    print(text)
    if args.json:
        with open(args.json, "w") as file:
            file.write(text + "\n")


def driver():
    try:
        with open("/proc/driver/nvidia/version") as file:
            return file.readline().strip()
    except OSError:
        return None


if __name__ == "__main__":
    main()
