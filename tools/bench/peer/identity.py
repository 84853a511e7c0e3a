"""What an identity key costs: 1,000,000 rows by INSERT ... SELECT and by COPY into a table
with one and into a table without, in turns, on one node and by a follower of three.

    python tools/bench/peer/identity.py --binary ./tributary --dir DIR [--rows 1000000] [--runs 5]

Starts the nodes in DIR and prints medians in seconds, without and with the key, and the
ratio. Needs psycopg.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import time

import psycopg


def start(binary, directory, n):
    nodes, ready = [], []
    for i in range(n):
        d = f"{directory}/{n}/{i}"
        os.makedirs(d)
        args = [binary, "serve", "--data", f"{d}/data", "--node", f"n{i}"]
        for port in ("pg", "http", "cluster"):
            args += [f"--listen-{port}", "127.0.0.1:0"]
        if i > 0:
            args += ["--join", ready[0]["cluster"], "--join-secret", f"{directory}/{n}/0/data/cluster-secret"]
        node = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=open(f"{d}/log", "w"), text=True)
        nodes.append(node)
        line = next(line for line in node.stdout if line.startswith("ready"))
        ready.append(dict(word.split("=", 1) for word in line.split() if "=" in word))
    return nodes, [r["pg"] for r in ready]


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--binary", required=True)
    args.add_argument("--dir", required=True)
    args.add_argument("--rows", type=int, default=1_000_000)
    args.add_argument("--runs", type=int, default=5)
    o = args.parse_args()
    data = "".join(f"{i}\ttext {i}\t{i * 0.5}\n" for i in range(o.rows)).encode()
    shutil.rmtree(o.dir, ignore_errors=True)
    for n in (1, 3):
        nodes, addresses = start(o.binary, o.dir, n)
        try:
            db = psycopg.connect(f"postgres://tributary@{addresses[-1]}/tributary", autocommit=True)
            times = {}
            for _ in range(o.runs):
                for table, key in ("plain", ""), ("keyed", "id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "):
                    for how in "INSERT", "COPY":
                        db.execute(f"DROP TABLE IF EXISTS {table}")
                        db.execute(f"CREATE TABLE {table} ({key}a int, b text, x float8)")
                        begin = time.perf_counter()
                        if how == "INSERT":
                            db.execute(f"INSERT INTO {table} (a, b, x) SELECT i, 'text ' || i, i * 0.5 FROM generate_series(1, {o.rows}) i")
                        else:
                            with db.cursor().copy(f"COPY {table} (a, b, x) FROM STDIN") as copy:
                                for at in range(0, len(data), 1 << 20):
                                    copy.write(data[at:at + (1 << 20)])
                        times.setdefault((how, table), []).append(time.perf_counter() - begin)
            for how in "INSERT", "COPY":
                plain, keyed = (statistics.median(times[how, table]) for table in ("plain", "keyed"))
                print(f"{n} node{'s'[:n - 1]}: {how} {plain:.3f} {keyed:.3f} {keyed / plain:.2f}", flush=True)
            db.close()
        finally:
            for node in nodes:
                node.terminate()
            for node in nodes:
                node.wait()


if __name__ == "__main__":
    main()
