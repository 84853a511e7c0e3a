"""The LSTM autoencoder of the Keras documentation's kind, by Keras: windows of 50 × 10,
LSTM of 100 and of 40 units, every step returned, a dense layer; mae, Adam, batches
of 128, not shuffled. With psql's connection string as --dsn it trains the same windows in Tributary.

    lstm_keras.py --windows 200 --epochs 50 [--dsn postgres://…]"""
import argparse
import os
import subprocess
import time

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
p = argparse.ArgumentParser()
p.add_argument("--windows", type=int, default=200)
p.add_argument("--epochs", type=int, default=50)
p.add_argument("--runs", type=int, default=3)
p.add_argument("--dsn")
p.add_argument("--psql", default="psql")
a = p.parse_args()

import numpy as np
import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(2)
tf.config.threading.set_inter_op_parallelism_threads(2)


def sql(text):
    # A dataset that is kept would have the next run read nothing.
    out = subprocess.run([a.psql, a.dsn, "-AtqX", "-c", "set tributary.keep_datasets = off", "-c", text], capture_output=True, text=True, check=True)
    return out.stdout.strip()


k, t, j = np.ogrid[: a.windows, :50, :10]
x = np.sin((k * 7 + t) * 0.05 * (j + 1) + k % 11)
x = ((x - x.mean((0, 1))) / x.std((0, 1))).astype("f")
if a.dsn:
    cols = ", ".join(f"sin((i / 50 * 7 + i % 50) * 0.05 * {c + 1} + (i / 50) % 11)::float8 as x{c}" for c in range(10))
    sql("drop table if exists lstm_windows")
    sql(f"create table lstm_windows as select i / 50 as k, i % 50 as t, {cols} from generate_series(0, {50 * a.windows - 1}) i")
for run in range(a.runs):
    tf.keras.utils.set_random_seed(run)
    m = tf.keras.Sequential([
        tf.keras.layers.Input((50, 10)),
        tf.keras.layers.LSTM(100, return_sequences=True),
        tf.keras.layers.LSTM(40, return_sequences=True),
        tf.keras.layers.Dense(10),
    ])
    m.compile(loss="mae", optimizer="adam")
    start, cpu = time.perf_counter(), time.process_time()
    m.fit(x, x, batch_size=128, epochs=a.epochs, shuffle=False, verbose=0)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(f"keras: {wall:.2f} s, {cpu:.2f} s of cpu time, mae {m.evaluate(x, x, batch_size=128, verbose=0):.4f}", flush=True)
    if a.dsn:
        start = time.perf_counter()
        row = sql(
            f"train or replace model lstm_windows using lstm_autoencoder with (units = [100, 40], return_sequences = true, window = 50, stride = 50, order_by = t, partition_by = k, "
            f"epochs = {a.epochs}, batch_size = 128, shuffle = false, seed = {run}) as select * from lstm_windows")
        wall = time.perf_counter() - start
        mae = sql("select avg(reconstruction_error) from ml.predict('lstm_windows', (select * from lstm_windows))")
        print(f"tributary: {wall:.2f} s, mae {mae}, {row}", flush=True)
