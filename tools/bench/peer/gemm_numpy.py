"""Matrix products of float32 by NumPy's OpenBLAS, on one thread: the shapes of
BenchmarkGemm in exec/kernel/f32, the best of many runs of each."""
import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
import time

import numpy as np

for m, n, k in [(512, 512, 512), (128, 400, 100), (64, 100, 400), (6400, 110, 400)]:
    a, b = np.random.rand(m, k).astype("f"), np.random.rand(k, n).astype("f")
    c = np.empty((m, n), "f")
    times = 1 + 1_000_000 // (m * n * k)
    best, end = float("inf"), time.perf_counter() + 2
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(times):
            np.matmul(a, b, out=c)
        best = min(best, time.perf_counter() - start)
    print(f"{m}x{n}x{k}: {2 * m * n * k * times / best / 1e9:.1f} GFLOP/s")
