"""Implicit matrix factorization by the package implicit and by Tributary, on the same generated ratings: seconds of CPU
of a training, and recall@10 of ratings that are held out. Users like items by the products of hidden vectors, popular items
more. Confidences are 1 + 10·r for both, 64 factors, 15 iterations, l2 0.05.

    factorization.py --dsn postgres://… --pid SERVER [--ratings 1000000 --users 20000 --items 5000] [--runs 3]

--pid is the server's process, whose CPU time is read. Needs psql, and `pip install implicit psycopg`."""
import argparse
import io
import os
import statistics
import time

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--dsn", required=True)
p.add_argument("--pid", type=int, required=True)
p.add_argument("--ratings", type=int, default=1_000_000)
p.add_argument("--users", type=int, default=20_000)
p.add_argument("--items", type=int, default=5_000)
p.add_argument("--factors", type=int, default=64)
p.add_argument("--iterations", type=int, default=15)
p.add_argument("--runs", type=int, default=3)
p.add_argument("--threads", type=int, default=2)
a = p.parse_args()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # implicit has threads of its own

import implicit
import numpy as np
import psycopg
from scipy.sparse import csr_matrix

alpha, l2 = 10, 0.05


def ratings():
    """Pairs of users and items, each once, and how often: for each user a share of the items, by taste and popularity."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(a.users, 12)).astype("f4"), rng.normal(size=(a.items, 12)).astype("f4")
    popular = (rng.normal(size=a.items) * 1.2).astype("f4")
    each = np.clip(rng.lognormal(0, 0.6, a.users) * a.ratings / a.users / 1.2, 3, a.items // 3).astype(int)
    users, items, times = [], [], []
    for u in range(a.users):
        score = 0.9 * (y @ x[u]) + popular + rng.gumbel(size=a.items).astype("f4") * 1.5
        top = np.argpartition(-score, each[u])[: each[u]]
        users.append(np.full(len(top), u, "i4"))
        items.append(top.astype("i4"))
        times.append(1 + rng.poisson(np.clip(score[top] / 4, 0, 6)))
    return np.concatenate(users), np.concatenate(items), np.concatenate(times).astype("f4")


u, i, r = ratings()
held = np.random.default_rng(2).random(len(u)) < 0.1
print(f"{len(u):,} ratings of {a.users:,} users and {a.items:,} items, {held.sum():,} held out; implicit {implicit.__version__}", flush=True)
asked = np.random.default_rng(3).choice(a.users, min(20_000, a.users), replace=False)


wanted = {}
for k in np.flatnonzero(held & np.isin(u, asked)):
    wanted.setdefault(int(u[k]), set()).add(int(i[k]))


def recall(top):
    """The mean share of the items held out that are among the first 10, of at most 10."""
    return statistics.mean(len(wanted[user] & set(got)) / min(len(wanted[user]), 10) for user, got in top.items() if user in wanted)


def cpu():
    with open(f"/proc/{a.pid}/stat") as f:
        fields = f.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


c = psycopg.connect(a.dsn, autocommit=True)
c.execute("set tributary.keep_datasets = off")
c.execute("drop table if exists bench_ratings")
c.execute("create table bench_ratings (u int, i int, r float4)")
with c.cursor().copy("copy bench_ratings from stdin (format csv)") as copy:
    for part in np.array_split(np.flatnonzero(~held), max(1, len(u) // 200_000)):
        text = io.StringIO()
        np.savetxt(text, np.column_stack([u[part], i[part], r[part]]), "%d", ",")
        copy.write(text.getvalue())
seen = csr_matrix((1 + alpha * r[~held], (u[~held], i[~held])), shape=(a.users, a.items))
train = f"""train or replace model bench_factors using matrix_factorization predict r with (user_col = u, item_col = i, feedback_type = implicit,
  num_factors = {a.factors}, max_iterations = {a.iterations}, tolerance = 0, wals_alpha = {alpha}, l2_reg = {l2}) as select * from bench_ratings"""
ours, peer = [], []
for run in range(a.runs):
    start, wall = cpu(), time.perf_counter()
    c.execute(train)
    ours.append((cpu() - start, time.perf_counter() - wall))
    model = implicit.als.AlternatingLeastSquares(a.factors, regularization=l2, alpha=1, iterations=a.iterations, num_threads=a.threads, random_state=run)
    start, wall = time.process_time(), time.perf_counter()
    model.fit(seen, show_progress=False)
    peer.append((time.process_time() - start, time.perf_counter() - wall))
    print(f"run {run + 1}: Tributary {ours[-1][0]:.2f} s of CPU in {ours[-1][1]:.2f} s, implicit {peer[-1][0]:.2f} s in {peer[-1][1]:.2f} s", flush=True)
found = {}
for user, item in c.execute("select u, i from ml.recommend('bench_factors', (select unnest(%s::int[]) as u), k => 10, exclude_seen => true)", (asked.tolist(),)):
    found.setdefault(user, []).append(item)
ids, _ = model.recommend(asked, seen[asked], N=10, filter_already_liked_items=True)
theirs = {int(user): row.tolist() for user, row in zip(asked, ids)}
print(f"recall@10: Tributary {recall(found):.4f}, implicit {recall(theirs):.4f}")
mine, its = (statistics.median(x[0] for x in list) for list in (ours, peer))
print(f"CPU: Tributary {mine:.2f} s, implicit {its:.2f} s: {mine / its:.2f} ×")
