# DuckDB reads, updates and deletes rows of an attached server by their ctid, and keeps a DuckLake's
# catalog in it.
import os
import tempfile

import duckdb
import duckdb_extension_ducklake
import duckdb_extension_postgres_scanner

con = duckdb.connect(config={"allow_unsigned_extensions": "true"})


def load(module, name):
    for folder, _, files in os.walk(os.path.dirname(module.__file__)):
        for file in files:
            if file.endswith(".duckdb_extension"):
                con.execute(f"INSTALL '{os.path.join(folder, file)}'")
                con.execute(f"LOAD {name}")
                return
    raise SystemExit(f"no {name} in its package")


load(duckdb_extension_postgres_scanner, "postgres_scanner")
load(duckdb_extension_ducklake, "ducklake")
dsn = f"host={os.environ['PGHOST']} port={os.environ['PGPORT']} user=tributary dbname=tributary sslmode=disable"


def want(sql, rows):
    got = con.execute(sql).fetchall()
    assert got == rows, f"{sql} gave {got}, not {rows}"


con.execute(f"ATTACH '{dsn}' AS p (TYPE postgres)")
con.execute("CREATE TABLE p.public.duck AS SELECT i AS id, 'v' || i AS v FROM range(20000) r(i)")
want("SELECT count(*), sum(id)::BIGINT FROM p.public.duck", [(20000, 199990000)])
want("UPDATE p.public.duck SET v = 'x' WHERE id % 10 = 3", [(2000,)])
want("DELETE FROM p.public.duck WHERE id % 10 = 4", [(2000,)])
want("SELECT count(*), count(*) FILTER (v = 'x'), sum(id)::BIGINT FROM p.public.duck", [(18000, 2000, 179992000)])
con.execute("BEGIN")
con.execute("INSERT INTO p.public.duck VALUES (-1, 'own')")
con.execute("UPDATE p.public.duck SET v = 'own2' WHERE id = -1")
want("SELECT v FROM p.public.duck WHERE id = -1", [("own2",)])
con.execute("DELETE FROM p.public.duck WHERE id = -1")
want("SELECT count(*) FROM p.public.duck WHERE id = -1", [(0,)])
con.execute("COMMIT")
con.execute("DROP TABLE p.public.duck")

with tempfile.TemporaryDirectory() as files:
    con.execute(f"ATTACH 'ducklake:postgres:{dsn}' AS lake (DATA_PATH '{files}')")
    con.execute("USE lake")
    con.execute("CREATE TABLE a (i int, v varchar)")
    con.execute("INSERT INTO a VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    con.execute("DELETE FROM a WHERE i = 1")
    con.execute("UPDATE a SET v = 'z' WHERE i = 2")
    want("SELECT * FROM a ORDER BY 1", [(2, "z"), (3, "c")])
    con.execute("INSERT INTO a SELECT i, 'n' FROM range(1000) r(i)")
    con.execute("UPDATE a SET v = 'm' WHERE i % 2 = 0")
    want("SELECT v, count(*) FROM a GROUP BY 1 ORDER BY 1", [("c", 1), ("m", 501), ("n", 500)])
    con.execute("ALTER TABLE a ADD COLUMN k int")
    want("SELECT count(*), count(k) FROM a", [(1002, 0)])
    con.execute("DROP TABLE a")
    con.execute("USE memory")
    con.execute("DETACH lake")
print("duckdb: attached tables, a DuckLake's catalog")
