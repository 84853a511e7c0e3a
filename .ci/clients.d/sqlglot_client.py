"""sqlglot: what its postgres dialect makes of our statements in the form of relations runs (Superset and others send that)."""
import os

import psycopg
import sqlglot

conn = psycopg.connect(os.environ["URL"], autocommit=True)
conn.execute("CREATE TABLE sg AS SELECT i % 7 AS x, i % 11 AS z, (i % 7 + i % 3 > 4) AS late FROM generate_series(1, 300) i")


def run(text):
    """Runs what sqlglot writes after it has read text."""
    return conn.execute(sqlglot.parse_one(text, dialect="postgres").sql(dialect="postgres")).fetchall()


train = "ml.train('sgm', 'logistic_regression', (SELECT x, z, late FROM sg), target => 'late', options => '{\"max_iterations\": 5}', replace => true)"
assert run(f"SELECT version, rows FROM {train}") == [(1, 300)]
assert run(f"SELECT t.version FROM {train} AS t LIMIT 1") == [(2,)]
assert run("SELECT version FROM ml.train('sgm', 'logistic_regression', 'SELECT x, z, late FROM sg', target => ARRAY['late'], replace => true)") == [(3,)]
assert run("SELECT version FROM ml.retrain('sgm')") == [(4,)]
assert ("algorithm", "logistic_regression") in run("SELECT * FROM ml.describe_model('sgm')")
assert len(run("SELECT * FROM ml.explain_train('sgm', 'logistic_regression', (SELECT * FROM sg), target => 'late', replace => true)")) > 3
assert run("SELECT name FROM ml.models WHERE name = 'sgm'") == [("sgm",)]
want = conn.execute("SELECT count(*) FROM sg WHERE predict('sgm', sg)").fetchall()
assert run("SELECT count(*) FROM sg WHERE predict('sgm', sg)") == want
assert run("SELECT count(*) FROM sg WHERE ml.predict('sgm', sg)") == want
assert run("SELECT count(*) FROM ml.predict('sgm', (SELECT * FROM sg)) WHERE predicted_late") == want
assert run("SELECT predict('sgm', x => 6, z => 1) IS NOT NULL") == [(True,)]
assert len(run("SELECT * FROM ml.evaluate('sgm', (SELECT * FROM sg))")) > 0
assert len(run("SELECT * FROM ml.weights('sgm')")) == 3
assert run("SELECT * FROM ml.alter_model('sgm', default_version => 2)") == [("ALTER MODEL",)]
assert run("SELECT * FROM ml.drop_model('sgm')") == [("DROP MODEL",)]
conn.execute("DROP TABLE sg")
print("sqlglot: training, looking and predicting by SELECT")
