"""LambdaRank by LightGBM and by Tributary with the same settings: 100 rounds of trees of 31 leaves, on generated
queries of 5 to 59 rows of 8 numbers and five degrees of relevance, of which a fifth is left out. Prints NDCG@10 of
those queries, which one function here measures for both, and the seconds of the training.

    ranking.py --dsn postgres://… [--queries 10000] [--seeds 3]

The server reads the rows from a file: --dsn is of one on this machine. Needs
`pip install lightgbm numpy`."""
import argparse
import os
import subprocess
import tempfile
import time

import lightgbm
import numpy as np

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--queries", type=int, default=10000)
p.add_argument("--seeds", type=int, default=3)
p.add_argument("--dsn", required=True)
p.add_argument("--psql", default="psql")
a = p.parse_args()


def sql(text):
    return subprocess.run([a.psql, a.dsn, "-AtqX", "-c", text], capture_output=True, text=True, check=True).stdout.strip()


def ndcg(label, score, k=10):
    discount = 1 / np.log2(np.arange(2, k + 2))
    gain = 2.0 ** label - 1
    best = np.sort(gain)[::-1][:k]
    if best.sum() == 0:
        return 1.0
    got = gain[np.argsort(-score, kind="stable")][:k]
    return (got * discount[: len(got)]).sum() / (best * discount[: len(best)]).sum()


print(f"{'seed':4} {'LightGBM':>9} {'s':>6} {'Tributary':>9} {'s':>6} {'difference':>10}")
for seed in range(a.seeds):
    rng = np.random.default_rng(seed)
    n = rng.integers(5, 60, a.queries)
    query = np.repeat(np.arange(a.queries), n)
    x = rng.normal(size=(len(query), 8)).round(3)
    worth = 1.2 * np.sin(x[:, 0]) + 0.8 * x[:, 1] * (x[:, 2] > 0) + 0.5 * x[:, 3] + 0.4 * rng.normal(size=a.queries)[query]
    worth += 0.9 * rng.normal(size=len(query))
    y = np.digitize(worth, np.quantile(worth, [0.55, 0.8, 0.93, 0.985]))
    test = query % 5 == 0
    columns = [f"x{j}" for j in range(x.shape[1])]
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as f:
        np.savetxt(f, np.column_stack([x, query, y, np.arange(len(y))]), delimiter=",", header=",".join(columns + ["query", "relevance", "id"]), comments="",
                   fmt=["%.17g"] * x.shape[1] + ["%d"] * 3)
        f.flush()
        os.chmod(f.name, 0o644)
        sql("drop table if exists ranking_rows")
        sql(f"create table ranking_rows as select * from read_csv('{f.name}')")
    start = time.perf_counter()
    peer = lightgbm.train(
        {"objective": "lambdarank", "num_leaves": 31, "learning_rate": 0.1, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 1, "lambda_l2": 1, "max_bin": 255, "num_threads": 2, "verbose": -1},
        lightgbm.Dataset(x[~test], y[~test], group=np.bincount(query[~test])[np.unique(query[~test])]), 100)
    took = time.perf_counter() - start
    theirs = peer.predict(x[test])
    start = time.perf_counter()
    sql("train or replace model ranking_trees using boosted_trees predict relevance with (objective = 'lambdarank', query_id = 'query', n_estimators = 100, "
        f"num_leaves = 31, learn_rate = 0.1, min_child_weight = 1, l2 = 1) as select {', '.join(columns)}, query, relevance from ranking_rows where query % 5 <> 0")
    own = time.perf_counter() - start
    ours = np.array(sql("select predict('ranking_trees', r) from ranking_rows r where query % 5 = 0 order by id").split(), float)
    ends = np.flatnonzero(np.diff(query[test])) + 1
    mean = lambda s: np.mean([ndcg(l, v) for l, v in zip(np.split(y[test], ends), np.split(s, ends))])
    t, o = mean(theirs), mean(ours)
    print(f"{seed:4} {t:9.5f} {took:6.2f} {o:9.5f} {own:6.2f} {o - t:10.5f}", flush=True)
