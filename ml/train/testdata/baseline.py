"""Times scikit-learn on the data of BenchmarkLogistic and prints its objective,
C * sum of log losses + |w|^2 / 2. Run: python baseline.py [rows]"""
import sys
import time

import numpy as np
from sklearn.linear_model import LogisticRegression

rows, d = int(sys.argv[1]) if len(sys.argv) > 1 else 1000000, 28
n = rows * (d + 1)
# the generator state = state * a + c, by doubling
a, c = np.uint64(6364136223846793005), np.uint64(1442695040888963407)
state = np.zeros(n + 1, dtype=np.uint64)
state[0] = 42
with np.errstate(over="ignore"):
    k, ak, ck = 1, a, c
    while k <= n:
        m = min(k, n + 1 - k)
        state[k : k + m] = state[:m] * ak + ck
        ck = ck * ak + ck
        ak = ak * ak
        k *= 2
u = ((state[1:].view(np.int64) >> 11).astype(np.float64) * 2.0**-52).reshape(rows, d + 1)
x = np.ascontiguousarray(u[:, :d].astype(np.float32))
w = (np.arange(d) % 7 - 3) / 2
y = (x.astype(np.float64) @ w + 2 * u[:, d] > 0).astype(np.int32)
for dtype in (np.float32, np.float64):
    xd = x.astype(dtype)
    for solver in ("lbfgs",):
        best = cpu = 1e9
        for _ in range(3):
            t, c = time.perf_counter(), time.process_time()
            m = LogisticRegression(C=1.0, solver=solver, tol=1e-6, max_iter=1000).fit(xd, y)
            best, cpu = min(best, time.perf_counter() - t), min(cpu, time.process_time() - c)
        th = m.coef_[0].astype(np.float64)
        z = x.astype(np.float64) @ th + float(m.intercept_[0])
        obj = np.sum(np.logaddexp(0, z) - y * z) + 0.5 * th @ th
        print(f"{dtype.__name__} {solver}: {best*1000:.0f} ms ({cpu*1000:.0f} ms of processor), {m.n_iter_[0]} iterations, objective {obj:.6f}")
