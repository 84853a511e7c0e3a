"""Trains trees of other libraries on the rows of `tributary bench trees --export DIR`.

    python trees.py {boosted|categories|forest|flights|all} DIR

Prints seconds of `fit`, CPU seconds and the AUC of the rows that were left out.
Needs `pip install pandas scikit-learn lightgbm`, and takes xgboost and
scikit-learn-intelex where they are installed.
"""

import argparse
import os

cases = ("boosted", "categories", "forest", "flights")
args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
args.add_argument("case", choices=cases + ("all",))
args.add_argument("directory")
args.add_argument("--only", help="part of a learner's name")
args.add_argument("--runs", type=int, default=3)
args.add_argument("--threads", type=int, default=2)
args.add_argument("--json", help="file for the results")
o = args.parse_args()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(o.threads)  # read when NumPy is imported

import json
import pathlib
import statistics
import time

import lightgbm
import numpy as np
import pandas as pd
import sklearn
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import roc_auc_score


def boosters():
    def lgb(**more):
        return lambda: lightgbm.LGBMClassifier(n_estimators=100, max_depth=6, num_leaves=64, learning_rate=0.1, n_jobs=o.threads, verbose=-1, **more)

    yield "lightgbm", lgb()
    yield "lightgbm quantised", lgb(use_quantized_grad=True)
    try:
        import xgboost

        yield "xgboost", lambda: xgboost.XGBClassifier(n_estimators=100, max_depth=6, learning_rate=0.1, tree_method="hist", n_jobs=o.threads, enable_categorical=True)
    except ImportError:
        pass
    yield "histgradientboosting", lambda: HistGradientBoostingClassifier(max_iter=100, max_depth=6, max_leaf_nodes=64, learning_rate=0.1, early_stopping=False,
                                                                         categorical_features="from_dtype")


def forests():
    def arguments():
        return {"n_estimators": 50, "max_depth": 12, "n_jobs": o.threads, "random_state": 0}

    try:
        from sklearnex.ensemble import RandomForestClassifier as Fast

        yield "sklearnex", lambda: Fast(**arguments())
    except ImportError:
        pass
    yield "sklearn", lambda: RandomForestClassifier(**arguments())


results = []
print(f"scikit-learn {sklearn.__version__}, LightGBM {lightgbm.__version__}, {o.threads} threads")
print("\n| case | learner | cold s | min s | median s | cpu s | AUC |\n|---|---|---:|---:|---:|---:|---:|")
for case in cases if o.case == "all" else (o.case,):
    path = pathlib.Path(o.directory, f"trees-{case}.csv")
    if not path.exists():
        continue
    d = pd.read_csv(path)
    target = "late" if case == "flights" else "y"
    for c in d.columns:
        if not pd.api.types.is_numeric_dtype(d[c]):
            d[c] = d[c].astype("category")
        elif c not in (target, "part"):
            d[c] = d[c].astype(np.float32)
    train, test = d[d.part == 0], d[d.part == 1]
    x, xt = (t.drop(columns=[target, "part"]) for t in (train, test))
    if case in ("boosted", "forest"):
        x, xt = np.ascontiguousarray(x), np.ascontiguousarray(xt)
    for name, make in forests() if case == "forest" else boosters():
        if o.only and o.only not in name:
            continue
        times, cpu = [], []
        for _ in range(o.runs + 1):
            model = make()
            t, c = time.perf_counter(), time.process_time()
            model.fit(x, train[target])
            times.append(time.perf_counter() - t)
            cpu.append(time.process_time() - c)
        auc = roc_auc_score(test[target], model.predict_proba(xt)[:, 1])
        hot = times[1:] or times
        r = {"suite": "trees", "name": f"{case} {name}", "cold": times[0], "min": min(hot), "median": statistics.median(hot), "max": max(hot),
             "cpu": statistics.median(cpu[1:] or cpu), "rows": len(train), "values": {"auc": repr(auc)}}
        results.append(r)
        print(f"| {case} | {name} | {times[0]:.2f} | {r['min']:.2f} | {r['median']:.2f} | {r['cpu']:.2f} | {auc:.5f} |", flush=True)
if o.json:
    pathlib.Path(o.json).write_text(json.dumps({"server": f"LightGBM {lightgbm.__version__}", "results": results}, indent=2) + "\n")
