"""Trains scikit-learn's models on the rows of `tributary bench {logistic|ridge} --export DIR`.

    python sklearn_linear.py {logistic|ridge} DIR [--answers DIR]

Writes the mean loss for `tributary bench … --check DIR`. Needs
`pip install scikit-learn`, and takes scikit-learn-intelex with --intelex.
"""

import argparse
import os

args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
args.add_argument("suite", choices=("logistic", "ridge"))
args.add_argument("directory")
args.add_argument("--intelex", action="store_true", help="patched by scikit-learn-intelex")
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

if o.intelex:
    from sklearnex import patch_sklearn

    patch_sklearn(verbose=False)

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression, Ridge

x = np.load(pathlib.Path(o.directory, f"{o.suite}-x.npy"))
y = np.load(pathlib.Path(o.directory, f"{o.suite}-y.npy"))
print(f"scikit-learn {sklearn.__version__}, NumPy {np.__version__}, {o.threads} threads, {x.shape[0]} x {x.shape[1]}")


def mean_loss(model):
    z = x.astype(np.float64) @ np.ravel(model.coef_).astype(np.float64) + float(np.ravel(model.intercept_)[0])
    if o.suite == "ridge":
        return float(np.mean((z - y) ** 2))
    return float(np.mean(np.logaddexp(0, z) - y * z))


results, losses = [], {}
name = ("lbfgs" if o.suite == "logistic" else "cholesky") + (" intelex" if o.intelex else "")
print(f"\n| {o.suite} | cold s | min s | median s | max s | cpu s | iterations | mean loss |\n|---|---:|---:|---:|---:|---:|---:|---:|")
for dtype in (np.float32, np.float64):
    xd, yd = x.astype(dtype), y.astype(dtype if o.suite == "ridge" else y.dtype)
    times, cpu = [], []
    for _ in range(o.runs + 1):
        model = Ridge(alpha=1.0) if o.suite == "ridge" else LogisticRegression(C=o.c, solver="lbfgs", tol=1e-6, max_iter=1000)
        t, c = time.perf_counter(), time.process_time()
        model.fit(xd, yd)
        times.append(time.perf_counter() - t)
        cpu.append(time.process_time() - c)
    loss = losses[dtype.__name__] = mean_loss(model)
    hot, iterations = times[1:], str(np.ravel(getattr(model, "n_iter_", None) or [1])[0])
    r = {"suite": o.suite, "name": f"{name} {dtype.__name__}", "cold": times[0], "min": min(hot), "median": statistics.median(hot), "max": max(hot),
         "cpu": statistics.median(cpu[1:]), "rows": len(y), "values": {"iterations": iterations, "train_loss": repr(loss)}}
    results.append(r)
    print(f"| {r['name']} | {r['cold']:.3f} | {r['min']:.3f} | {r['median']:.3f} | {r['max']:.3f} | {r['cpu']:.2f} | {iterations} | {loss:.9f} |", flush=True)
if o.answers:
    pathlib.Path(o.answers).mkdir(parents=True, exist_ok=True)
    # float64 is the better minimum of the two.
    pathlib.Path(o.answers, f"{o.suite}.csv").write_text(f"train_loss~\n{losses['float64']!r}\n")
if o.json:
    pathlib.Path(o.json).write_text(json.dumps({"server": f"scikit-learn {sklearn.__version__}", "results": results}, indent=2) + "\n")
