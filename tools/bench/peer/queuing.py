"""The queuing experiment: a reduction of each of many Parquet files and a join of
neighbours, on three nodes, with worker_saturation 1.1 (splits are handed out as
threads come free) and inf (all at once).

    python tools/bench/peer/queuing.py --binary ./tributary --dir DIR [--files 1000]
        [--rows 30000] [--memory 512MiB] [--runs 3] [--plot docs/queuing.svg]

Makes the files in DIR (kept for the next run), starts three nodes of one thread in
DIR/nodes, and reads the files with as many as given and with ten times as many
(--more). Reports seconds, CPU seconds of the three processes and, by samples of 10 ms,
their anonymous memory above what they had before the statement: its peak at the node
that has most, and of all: medians of the runs. Settings take turns, and so does which of
them is first: a machine whose speed drifts tells a few per cent by pairs alone. Needs
pyarrow, numpy and psycopg.
"""

import argparse
import os
import shutil
import subprocess
import threading
import time

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq


def files(directory, first, last, rows):
    os.makedirs(directory, exist_ok=True)
    for part in range(first, last):
        path = f"{directory}/{part:06d}.parquet"
        if os.path.exists(path):
            continue
        r = np.random.default_rng(part)
        table = pa.table({
            "part": pa.array(np.full(rows, part, dtype=np.int32)),
            "x": pa.array(r.standard_normal(rows)),
            "y": pa.array(r.standard_normal(rows)),
        })
        pq.write_table(table, path + ".tmp", compression="none", use_dictionary=["part"])
        os.rename(path + ".tmp", path)


def anonymous(pid):
    with open(f"/proc/{pid}/status") as f:
        for line in f:
            if line.startswith("RssAnon"):
                return int(line.split()[1]) * 1024
    return 0


def cpu(pids):
    """Seconds of all threads of the processes, by their clocks (CPUCLOCK_SCHED)."""
    return sum(time.clock_gettime(~p << 3 | 2) for p in pids)


class Watch:
    """Samples the memory of processes until it is stopped."""

    def __init__(self, pids):
        self.pids, self.samples, self.done = pids, [], threading.Event()
        self.start = time.monotonic()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.done.is_set():
            self.samples.append((time.monotonic() - self.start, [anonymous(p) for p in self.pids]))
            self.done.wait(0.01)

    def stop(self):
        self.done.set()
        self.thread.join()
        base = self.samples[0][1]
        return [(t, [max(0, a - b) for a, b in zip(s, base)]) for t, s in self.samples]


QUERY = """
WITH part AS (
  SELECT part, count(*) AS n, avg(x) AS x, sum(x * y) AS xy, stddev(y) AS y
  FROM read_parquet('{glob}') GROUP BY part)
SELECT count(*), sum(a.n), sum(abs(a.x - b.x) + abs(a.xy - b.xy) + abs(a.y - b.y))
FROM part a JOIN part b ON b.part = a.part + 1"""


class Cluster:
    def __init__(self, binary, directory, memory):
        self.processes, self.ports = [], []
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
        first = None
        for k in (1, 2, 3):
            args = [binary, "serve", "--data", f"{directory}/n{k}", "--node", f"n{k}", "--threads", "1",
                    "--memory", memory, "--listen-pg", "127.0.0.1:0", "--listen-http", "127.0.0.1:0",
                    "--listen-cluster", "127.0.0.1:0"]
            if first:
                args += ["--join", first, "--join-secret", f"{directory}/n1/cluster-secret"]
            log = open(f"{directory}/n{k}.log", "w")
            p = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=log, text=True)
            self.processes.append(p)
            line = p.stdout.readline()
            words = dict(w.split("=", 1) for w in line.split() if "=" in w)
            self.ports.append(int(words["pg"].rsplit(":", 1)[1]))
            first = first or words["cluster"]

    def pids(self):
        return [p.pid for p in self.processes]

    def close(self):
        for p in self.processes:
            p.terminate()
        for p in self.processes:
            p.wait()


def measure(c, saturation, directory):
    with psycopg.connect(f"host=127.0.0.1 port={c.ports[0]} user=tributary dbname=tributary", autocommit=True) as conn:
        conn.execute(f"SET worker_saturation = '{saturation}'")
        conn.execute(f"SET tributary.shared_directories = '{directory}'")
        w = Watch(c.pids())
        start, used = time.monotonic(), cpu(c.pids())
        answer = conn.execute(QUERY.format(glob=f"{directory}/*.parquet")).fetchone()
        seconds, used = time.monotonic() - start, cpu(c.pids()) - used
        return seconds, w.stop(), answer, used


def plot(path, series):
    """series is [(name, samples)]; the sum of the nodes' memory by time, as SVG."""
    width, height, left, bottom = 720, 320, 60, 40
    end = max(s[-1][0] for _, s in series)
    top = max(sum(m) for _, s in series for _, m in s) / 1e6 * 1.1 or 1
    colours = ["#1f6f54", "#b5541c", "#3a5a9b", "#8a3a7a"]
    x = lambda t: left + (width - left - 20) * t / end
    y = lambda mb: height - bottom - (height - bottom - 20) * mb / top
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="white"/>']
    for k in range(5):
        mb = top * k / 4
        out.append(f'<path d="M{left} {y(mb):.1f}H{width - 20}" stroke="#ddd"/><text x="{left - 6}" y="{y(mb) + 4:.1f}" text-anchor="end">{mb:.0f}</text>')
        out.append(f'<text x="{x(end * k / 4):.1f}" y="{height - bottom + 16}" text-anchor="middle">{end * k / 4:.1f}</text>')
    out.append(f'<text x="{left}" y="12">anonymous memory of three nodes above the start, MB; seconds</text>')
    for k, (name, samples) in enumerate(series):
        step = max(1, len(samples) // 300)
        points = " ".join(f"{x(t):.1f},{y(sum(m) / 1e6):.1f}" for t, m in samples[::step])
        out.append(f'<polyline fill="none" stroke="{colours[k % 4]}" stroke-width="1.5" points="{points}"/>')
        out.append(f'<text x="{width - 24}" y="{30 + 16 * k}" text-anchor="end" fill="{colours[k % 4]}">{name}</text>')
    out.append("</svg>")
    with open(path, "w") as f:
        f.write("\n".join(out) + "\n")


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--binary", required=True)
    a.add_argument("--dir", required=True)
    a.add_argument("--files", type=int, default=1000)
    a.add_argument("--more", type=int, default=10, help="times as many files in the second part; 0: none")
    a.add_argument("--rows", type=int, default=30000)
    a.add_argument("--memory", default="512MiB")
    a.add_argument("--runs", type=int, default=3)
    a.add_argument("--plot")
    o = a.parse_args()
    sets = [("few", o.files)]
    files(f"{o.dir}/few", 0, o.files, o.rows)
    if o.more:
        files(f"{o.dir}/many", 0, o.files * o.more, o.rows)
        sets.append(("many", o.files * o.more))
    c = Cluster(o.binary, f"{o.dir}/nodes", o.memory)
    try:
        series = []
        for name, n in sets:
            turns = [(s, measure(c, s, f"{o.dir}/{name}")) for k in range(o.runs + 1) for s in (("1.1", "inf") if k % 2 else ("inf", "1.1"))][2:]
            for saturation in ("1.1", "inf"):
                runs = [r for s, r in turns if s == saturation]
                middle = sorted(runs, key=lambda r: r[0])[len(runs) // 2]
                most = sorted(max(max(m) for _, m in r[1]) for r in runs)[len(runs) // 2]
                total = sorted(max(sum(m) for _, m in r[1]) for r in runs)[len(runs) // 2]
                print(f"{n} files, worker_saturation {saturation}: {middle[0]:.2f} s, {sorted(r[3] for r in runs)[len(runs) // 2]:.2f} s of CPU, "
                      f"peak of a node {most / 1e6:.0f} MB, of all {total / 1e6:.0f} MB; {middle[2]}", flush=True)
                if name == sets[-1][0]:
                    series.append((f"{n} files, worker_saturation {saturation}", middle[1]))
            pairs = [dict(turns[k:k + 2]) for k in range(0, len(turns), 2)]
            ratios = sorted(p["1.1"][0] / p["inf"][0] for p in pairs)
            print(f"{n} files, time of 1.1 to that of inf, by pairs of neighbouring runs: {', '.join(f'{r:.2f}' for r in ratios)}", flush=True)
        if o.plot:
            plot(o.plot, series)
    finally:
        c.close()


if __name__ == "__main__":
    main()
