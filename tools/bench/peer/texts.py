"""TF-IDF of words and pairs of words with logistic regression, by scikit-learn's TfidfVectorizer and LogisticRegression and by
Tributary, on the same generated texts: seconds of processor time from texts to the model, and log loss and area under the ROC
curve of texts that are left out. Words are drawn with the frequencies of Zipf's law; a tenth of them say something of the class.

    texts.py --dsn postgres://… --pid SERVER [--texts 200000] [--terms 500000] [--runs 3]

--pid is the server's process, whose processor time is read; it has as many threads as it was started with. A fifth more texts
than --texts are made, and left out. Needs `pip install scikit-learn psycopg`."""
import argparse
import os
import statistics
import time

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--dsn", required=True)
p.add_argument("--pid", type=int, required=True)
p.add_argument("--texts", type=int, default=200_000)
p.add_argument("--words", type=int, default=25)
p.add_argument("--terms", type=int, default=500_000)
p.add_argument("--vocabulary", type=int, default=60_000)
p.add_argument("--runs", type=int, default=3)
p.add_argument("--threads", type=int, default=2)
a = p.parse_args()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(a.threads)

import numpy as np
import psycopg
import sklearn
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

rng = np.random.default_rng(1)
n = a.texts + a.texts // 5
share = 1 / np.arange(3, a.vocabulary + 3)
drawn = rng.choice(a.vocabulary, (n, a.words), p=share / share.sum())
says = rng.normal(size=a.vocabulary) * (rng.random(a.vocabulary) < 0.1)
y = (says[drawn].sum(1) + rng.logistic(size=n) * 0.3 > 0).astype(int)
texts = [" ".join(f"w{w}" for w in row) for row in drawn]
train, test = slice(0, a.texts), slice(a.texts, n)

c = psycopg.connect(a.dsn, autocommit=True)
c.execute("set tributary.keep_datasets = off")
for name, part in (("bench_texts", train), ("bench_texts_left", test)):
    c.execute(f"drop table if exists {name}")
    c.execute(f"create table {name} (id int, text text, y int)")
    with c.cursor().copy(f"copy {name} from stdin") as copy:
        for i in range(*part.indices(n)):
            copy.write_row((i, texts[i], int(y[i])))


def server():
    with open(f"/proc/{a.pid}/stat") as f:
        fields = f.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


print(f"{a.texts:,} texts of {a.words} words, {a.terms:,} terms; scikit-learn {sklearn.__version__}", flush=True)
ours, terms, fits = [], [], []
for run in range(a.runs):
    start = server()
    c.execute(f"""train or replace model bench_terms using logistic_regression predict y transform (ml.tf_idf(text, array[1, 2], {a.terms})) with (c = 1)
        as select text, y from bench_texts""")
    ours.append(server() - start)
    start = time.process_time()
    vectors = TfidfVectorizer(ngram_range=(1, 2), max_features=a.terms)
    x = vectors.fit_transform(texts[train])
    terms.append(time.process_time() - start)
    start = time.process_time()
    model = LogisticRegression(C=1, max_iter=1000).fit(x, y[train])
    fits.append(time.process_time() - start)
    print(f"run {run + 1}: Tributary {ours[-1]:.2f} s of CPU, scikit-learn {terms[-1]:.2f} + {fits[-1]:.2f} s", flush=True)
mine = dict(c.execute("select id, predict_proba('bench_terms', '1', t) from bench_texts_left t").fetchall())
mine = np.array([mine[i] for i in range(*test.indices(n))])
its = model.predict_proba(vectors.transform(texts[test]))[:, 1]
print(f"texts left out: log loss {log_loss(y[test], mine):.4f} and {log_loss(y[test], its):.4f}, area under the ROC curve "
      f"{roc_auc_score(y[test], mine):.4f} and {roc_auc_score(y[test], its):.4f}, of Tributary and scikit-learn")
mine, its = statistics.median(ours), statistics.median(t + f for t, f in zip(terms, fits))
print(f"CPU: Tributary {mine:.2f} s, scikit-learn {its:.2f} s: {mine / its:.2f} ×")
