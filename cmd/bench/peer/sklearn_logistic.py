"""Trains scikit-learn's logistic regression on the rows of `tributary bench logistic --export DIR`.

    python sklearn_logistic.py DIR [--answers DIR]

Writes the mean log loss for `tributary bench logistic --check DIR`. Needs
`pip install scikit-learn`.
"""

import argparse
import os

args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
args.add_argument("directory")
args.add_argument("--c", type=float, default=1.0)
args.add_argument("--runs", type=int, default=5)
args.add_argument("--threads", type=int, default=2)
args.add_argument("--answers", help="directory for the loss")
args.add_argument("--json", help="file for the results")
o = args.parse_args()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(o.threads)  # read when NumPy is imported

import json
import pathlib
import statistics
import time

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression

x = np.load(pathlib.Path(o.directory, "logistic-x.npy"))
y = np.load(pathlib.Path(o.directory, "logistic-y.npy"))
print(f"scikit-learn {sklearn.__version__}, NumPy {np.__version__}, {o.threads} threads, {x.shape[0]} x {x.shape[1]}")

results, losses = [], {}
print("\n| logistic | cold s | min s | median s | max s | cpu s | iterations | mean log loss | objective |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|")
for dtype in (np.float32, np.float64):
    xd = x.astype(dtype)
    times, cpu = [], []
    for _ in range(o.runs + 1):
        t, c = time.perf_counter(), time.process_time()
        model = LogisticRegression(C=o.c, solver="lbfgs", tol=1e-6, max_iter=1000).fit(xd, y)
        times.append(time.perf_counter() - t)
        cpu.append(time.process_time() - c)
    w = model.coef_[0].astype(np.float64)
    z = x.astype(np.float64) @ w + float(model.intercept_[0])
    loss = float(np.mean(np.logaddexp(0, z) - y * z))
    objective = o.c * loss * len(y) + 0.5 * float(w @ w)
    losses[dtype.__name__] = loss
    hot = times[1:]
    r = {"suite": "logistic", "name": "lbfgs " + dtype.__name__, "cold": times[0], "min": min(hot), "median": statistics.median(hot), "max": max(hot),
         "cpu": statistics.median(cpu[1:]), "rows": len(y), "values": {"iterations": str(model.n_iter_[0]), "train_loss": repr(loss), "objective": repr(objective)}}
    results.append(r)
    print(f"| {r['name']} | {r['cold']:.3f} | {r['min']:.3f} | {r['median']:.3f} | {r['max']:.3f} | {r['cpu']:.2f} | {model.n_iter_[0]} | {loss:.9f} | {objective:.6f} |", flush=True)
if o.answers:
    pathlib.Path(o.answers).mkdir(parents=True, exist_ok=True)
    # float64 is the better minimum of the two.
    pathlib.Path(o.answers, "logistic.csv").write_text(f"train_loss~\n{losses['float64']!r}\n")
if o.json:
    pathlib.Path(o.json).write_text(json.dumps({"server": f"scikit-learn {sklearn.__version__}", "results": results}, indent=2) + "\n")
