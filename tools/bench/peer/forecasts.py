"""Automatic exponential smoothing and ARIMA by statsforecast and by Tributary, on the same generated daily series with
seasons of 7, in turn. Prints seconds of processor time of training and forecasting, and the mean MASE of the days that
follow, which are left out, and how many of them lie within the 90 % intervals.

    forecasts.py --dsn postgres://… --pid PID [--series 1000] [--only 0-25] [--days 730] [--horizon 14] [--kind ets,arima] [--seeds 1]

PID is the process of the server, which is on this machine: its processor time is read from /proc. statsforecast is
compiled and warmed up before its time is taken, and takes the series in parts of 25, so that a long run shows where it is.
Their forecasts and time can be kept in a directory (--keep), where a later run finds them.
Needs `pip install statsforecast`."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import pandas as pd
from statsforecast import StatsForecast
from statsforecast.models import AutoARIMA, AutoETS

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--series", type=int, default=1000)
p.add_argument("--only", help="parts of the series that are forecast, of 25 or whole numbers of them: 250-375,800-1000")
p.add_argument("--days", type=int, default=730)
p.add_argument("--horizon", type=int, default=14)
p.add_argument("--seeds", type=int, default=1)
p.add_argument("--kind", default="ets,arima")
p.add_argument("--dsn")
p.add_argument("--pid", type=int)
p.add_argument("--psql", default="psql")
p.add_argument("--keep", type=pathlib.Path, help="a directory for what statsforecast forecast")
p.add_argument("--own", action="store_true", help="Tributary alone")
p.add_argument("--theirs", action="store_true", help="statsforecast alone")
a = p.parse_args()
if not a.theirs and not (a.dsn and a.pid):
    p.error("--dsn and --pid are required, unless statsforecast is run alone")


wanted = range(a.series) if not a.only else {i for r in a.only.split(",") for i in range(int(r.split("-")[0]), int(r.split("-")[1]))}


def sql(text):
    return subprocess.run([a.psql, a.dsn, "-AtqX", "-F,", "-c", text], capture_output=True, text=True, check=True).stdout.strip()


def used():
    fields = open(f"/proc/{a.pid}/stat").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def generated(rng, n):
    """Series of several kinds: a level that walks, a trend, a season that is fixed or walks, errors that hang together."""
    t = np.arange(n)
    level = rng.uniform(50, 200) + np.cumsum(rng.normal(size=n) * rng.choice([0, 0.2, 1]))
    trend = t * rng.choice([0, 0, 0.02, 0.05])
    season = np.zeros(n)
    week = rng.normal(size=7) * rng.choice([0, 3, 8])
    drift = rng.choice([0, 0, 0.2])
    for i in t:
        season[i] = week[i % 7]
        week[i % 7] += drift * rng.normal()
    e = rng.normal(size=n) * rng.uniform(1, 4)
    phi, theta = rng.uniform(-0.3, 0.7), rng.uniform(-0.4, 0.4)
    u = np.zeros(n)
    for i in t:
        u[i] = e[i] + (phi * u[i - 1] + theta * e[i - 1] if i else 0)
    return level + trend + season + u


def peer(train, seed, kind, part=25):
    """What statsforecast forecasts of all series, and the seconds of processor time it took, from files where they are kept."""
    model = kinds[kind][1]
    forecast = lambda data: StatsForecast(models=[model(season_length=7)], freq="D", n_jobs=1).forecast(df=data, h=a.horizon, level=[90])
    parts, took, warm = [], 0.0, False
    for first in range(0, a.series, part):
        if first not in wanted:
            continue
        kept = a.keep and a.keep / f"{kind}-{seed}-{a.days}-{a.horizon}-{first}-{min(first + part, a.series)}.parquet"
        if kept and kept.exists():
            got = pd.read_parquet(kept)
        else:
            if not warm:
                forecast(train[train.unique_id < train.unique_id.min() + 2])
                warm = True
            data = train[(train.unique_id >= first) & (train.unique_id < first + part)]
            start = time.process_time()
            got = forecast(data)
            got["took"] = time.process_time() - start
            if kept:
                a.keep.mkdir(parents=True, exist_ok=True)
                got.to_parquet(kept)
        parts.append(got)
        took += got.took.iloc[0]
        print(f"statsforecast, {kind}: {min(first + part, a.series)} series in {took:.1f} s", file=sys.stderr, flush=True)
    return pd.concat(parts), took


kinds = {"ets": ("exponential_smoothing", AutoETS), "arima": ("arima", AutoARIMA)}
print(f"{'kind':6}{'seed':>5}{'statsforecast s':>16}{'Tributary s':>12}{'ratio':>7}{'MASE theirs':>12}{'ours':>8}{'ratio':>7}{'coverage theirs':>16}{'ours':>7}")
for seed in range(a.seeds):
    rng = np.random.default_rng(seed)
    frames = []
    for i in range(a.series):
        frames.append(pd.DataFrame({"unique_id": i, "ds": pd.date_range("2020-01-01", periods=a.days + a.horizon), "y": generated(rng, a.days + a.horizon).round(3)}))
    rows = pd.concat(frames)
    rows = rows[rows.unique_id.isin(wanted)]
    last = rows.ds.min() + pd.Timedelta(days=a.days)
    train, test = rows[rows.ds < last], rows[rows.ds >= last]
    wide = train.pivot(index="ds", columns="unique_id", values="y")
    scale = (wide - wide.shift(7)).abs().mean()
    if not a.theirs:
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as f:
            train.to_csv(f.name, index=False)
            os.chmod(f.name, 0o644)
            sql("drop table if exists forecast_rows")
            sql(f"create table forecast_rows as select unique_id, ds::date as ds, y::float8 as y from read_csv('{f.name}')")

    def judged(mean, lower, upper):
        y = test.pivot(index="ds", columns="unique_id", values="y")
        return ((y - mean).abs().mean() / scale).mean(), ((y >= lower) & (y <= upper)).to_numpy().mean()

    for kind in a.kind.split(","):
        ours, theirs = kinds[kind]
        took, far, inside = float("nan"), float("nan"), float("nan")
        if not a.own:
            got, took = peer(train, seed, kind)
            name = theirs(season_length=7).alias
            far, inside = judged(*(got.pivot(index="ds", columns="unique_id", values=c) for c in (name, f"{name}-lo-90", f"{name}-hi-90")))
        if a.theirs:
            print(f"{kind:6}{seed:5}{took:16.2f}{'':19}{far:12.4f}{'':15}{inside:16.3f}", flush=True)
            continue
        start = used()
        sql(f"train or replace model forecast_{kind} using {ours} predict y group by unique_id with (order_by = ds) as select * from forecast_rows")
        text = sql(f"select unique_id, ds, forecast_value, prediction_interval_lower_bound, prediction_interval_upper_bound from ml.forecast('forecast_{kind}', horizon => {a.horizon}, confidence => 0.9)")
        own = used() - start
        own_rows = pd.DataFrame([line.split(",") for line in text.splitlines()], columns=["unique_id", "ds", "mean", "lower", "upper"])
        own_rows = own_rows.astype({"unique_id": int, "mean": float, "lower": float, "upper": float})
        own_rows.ds = pd.to_datetime(own_rows.ds)
        f, c = judged(*(own_rows.pivot(index="ds", columns="unique_id", values=c) for c in ("mean", "lower", "upper")))
        print(f"{kind:6}{seed:5}{took:16.2f}{own:12.2f}{own / took:7.3f}{far:12.4f}{f:8.4f}{f / far:7.3f}{inside:16.3f}{c:7.3f}", flush=True)
