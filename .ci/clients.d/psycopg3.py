"""psycopg 3: both protocols, text and binary, server-side cursors, pipelines, COPY."""
import datetime as dt
import decimal
import os
import threading
import time
import uuid

import psycopg
from psycopg import errors
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

D = decimal.Decimal
conn = psycopg.connect(os.environ["URL"], autocommit=True)
assert conn.info.server_version >= 150000, conn.info.server_version
assert conn.info.parameter_status("client_encoding") == "UTF8"

VALUES = [
    ("bool", True), ("int2", -32768), ("int4", 2147483647), ("int8", -9223372036854775808),
    ("float4", 1.5), ("float8", -1e300), ("float8", float("inf")),
    ("numeric", D("123456789012345678901234567890.123456789")), ("numeric", D("-0.00001000")), ("numeric(12,2)", D("9999999999.99")),
    ("text", "Grüße 🙂 \\ ' \" \t\n"), ("varchar(5)", "abcde"), ("char(5)", "ab   "), ("name", "thing"),
    ("bytea", bytes(range(256))), ("date", dt.date(1, 1, 1)), ("date", dt.date(2024, 2, 29)),
    ("time", dt.time(23, 59, 59, 999999)), ("timetz", dt.time(1, 2, 3, tzinfo=dt.timezone(dt.timedelta(hours=-5)))),
    ("timestamp", dt.datetime(1999, 12, 31, 23, 59, 59, 123456)),
    ("timestamptz", dt.datetime(2024, 6, 1, 12, tzinfo=dt.timezone.utc)),
    ("interval", dt.timedelta(days=-3, hours=4, microseconds=5)),
    ("uuid", uuid.UUID("12345678-1234-5678-1234-567812345678")),
    ("jsonb", {"a": [1, 2.5, None, "x"]}), ("json", [1, {"b": False}]), ("oid", 4294967295),
    ("int4[]", [1, None, 3]), ("text[]", ["a,b", 'q"', None, ""]), ("numeric[]", [D("1.10")]), ("bool[]", [True, False]),
    ("date[]", [dt.date(2020, 1, 2)]), ("uuid[]", [uuid.UUID(int=7)]), ("float8[]", [0.1, -2.5]),
]
for binary in (False, True):
    for typ, v in VALUES:
        p = Jsonb(v) if typ in ("json", "jsonb") else v
        for param in ("%s", "%b", "%t"):
            try:
                got = conn.execute(f"SELECT {param}::{typ}", (p,), binary=binary).fetchone()[0]
            except psycopg.ProgrammingError as e:
                if "cannot adapt" in str(e) or "no binary" in str(e):
                    continue
                raise
            assert got == v, (typ, param, binary, got, v)
        assert conn.execute(f"SELECT NULL::{typ}", binary=binary).fetchone()[0] is None
    for n in ("NaN", "Infinity", "-Infinity"):
        assert str(conn.execute("SELECT %s::numeric", (D(n),), binary=binary).fetchone()[0]) == n
        assert str(conn.execute("SELECT %s::float8", (float(n),), binary=binary).fetchone()[0]) == str(float(n))

conn.execute("DROP TABLE IF EXISTS p3")
conn.execute("CREATE TABLE p3 (id int PRIMARY KEY, name text NOT NULL, at timestamptz DEFAULT now(), amount numeric(10,2))")
with conn.cursor() as cur:
    cur.executemany("INSERT INTO p3 (id, name, amount) VALUES (%s, %s, %s)", [(i, f"n{i}", D(i) / 4) for i in range(500)])
    assert cur.rowcount == 500, cur.rowcount
    cur.execute("UPDATE p3 SET amount = amount + 1 WHERE id < 10")
    assert (cur.rowcount, cur.statusmessage) == (10, "UPDATE 10")
    cur.execute("DELETE FROM p3 WHERE id >= 490 RETURNING id")
    assert sorted(r[0] for r in cur.fetchall()) == list(range(490, 500))
cur = conn.cursor(row_factory=dict_row)
row = cur.execute("SELECT * FROM p3 WHERE id = 3").fetchone()
assert row["amount"] == D("1.75") and row["at"].tzinfo is not None, row
d = cur.description[3]
assert (d.name, d.type_code, d.precision, d.scale) == ("amount", 1700, 10, 2), d

# A transaction, a savepoint, errors with their fields.
try:
    with conn.transaction():
        conn.execute("INSERT INTO p3 (id, name) VALUES (1000, 'x')")
        try:
            with conn.transaction():
                conn.execute("INSERT INTO p3 (id, name) VALUES (1, 'twice')")
        except errors.UniqueViolation as e:
            assert (e.sqlstate, e.diag.table_name, e.diag.constraint_name, e.diag.severity) == ("23505", "p3", "p3_pkey", "ERROR"), e.diag
            assert "Key (id)=(1) already exists" in e.diag.message_detail
        assert conn.execute("SELECT count(*) FROM p3 WHERE id = 1000").fetchone()[0] == 1
        raise ZeroDivisionError
except ZeroDivisionError:
    pass
assert conn.execute("SELECT count(*) FROM p3 WHERE id = 1000").fetchone()[0] == 0
try:
    conn.execute("INSERT INTO p3 (id) VALUES (2000)")
    raise SystemExit("NOT NULL did not hold")
except errors.NotNullViolation as e:
    assert e.diag.column_name == "name"
try:
    conn.execute("SELECT nothing FROM p3")
except errors.UndefinedColumn as e:
    assert e.diag.statement_position == "8", e.diag.statement_position

# A server-side cursor, a held one, and rows as they come.
with conn.transaction():
    with conn.cursor("big") as cur:
        cur.itersize = 1000
        cur.execute("SELECT g, g::text FROM generate_series(1, 20000) g")
        assert sum(r[0] for r in cur) == 200010000
    with conn.cursor("scr", scrollable=True) as cur:
        cur.execute("SELECT g FROM generate_series(1, 10) g")
        cur.fetchall()
        cur.scroll(-3)
        assert cur.fetchone()[0] in (8, 9)
with psycopg.connect(os.environ["URL"]) as other:  # psycopg does not pipeline after a stream
    assert sum(1 for _ in other.cursor().stream("SELECT * FROM generate_series(1, 5000)")) == 5000

with conn.pipeline():
    cs = [conn.execute("SELECT %s::int", (i,)) for i in range(100)]
assert [c.fetchone()[0] for c in cs] == list(range(100))
try:
    with conn.pipeline() as p:
        conn.execute("SELECT 1")
        conn.execute("SELECT 1/0")
        conn.execute("SELECT 2")
        p.sync()
except errors.DivisionByZero:
    pass
assert conn.execute("SELECT 5").fetchone()[0] == 5
for i in range(20):  # prepared after the fifth time
    assert conn.execute("SELECT name FROM p3 WHERE id = %s", (i,)).fetchone()[0] == f"n{i}"

# COPY in text and binary, both ways; one that fails.
conn.execute("DROP TABLE IF EXISTS c3")
conn.execute("CREATE TABLE c3 (i int, t text, n numeric, d date, b bytea, a int[])")
rows = [(i, None if i % 7 == 0 else f"t\t{i}\\\n", D(i) / 8, dt.date(2020, 1, 1) + dt.timedelta(i), bytes([i % 256]), [i, None]) for i in range(1000)]
for fmt in ("", " (FORMAT BINARY)"):
    conn.execute("TRUNCATE c3")
    with conn.cursor() as cur:
        with cur.copy("COPY c3 FROM STDIN" + fmt) as copy:
            copy.set_types(["int4", "text", "numeric", "date", "bytea", "int4[]"])
            for r in rows:
                copy.write_row(r)
        assert cur.rowcount == 1000
        with cur.copy("COPY (SELECT * FROM c3 ORDER BY i) TO STDOUT" + fmt) as copy:
            copy.set_types(["int4", "text", "numeric", "date", "bytea", "int4[]"])
            assert list(copy.rows()) == rows
    assert conn.execute("SELECT * FROM c3 ORDER BY i").fetchall() == rows
try:
    with conn.cursor().copy("COPY c3 FROM STDIN") as copy:
        copy.write("1\tx\n")
    raise SystemExit("a short row was taken")
except errors.BadCopyFileFormat as e:
    assert "line 1" in e.diag.context, e.diag.context
try:
    with conn.cursor().copy("COPY c3 FROM STDIN") as copy:
        copy.write("9999\tx\t1\t2020-01-01\t\\\\x00\t{}\n")
        raise KeyError
except KeyError:
    pass
assert conn.execute("SELECT count(*) FROM c3").fetchone()[0] == 1000

# Cancel, timeout, notices, termination.
def later(f):
    t = threading.Timer(0.3, f)
    t.start()
    return t
LONG = "SELECT count(*) FROM generate_series(1, 100000000000) g WHERE g % 7 = 3"
t = later(conn.cancel)
try:
    conn.execute(LONG)
    raise SystemExit("cancel did not get through")
except errors.QueryCanceled:
    t.join()
conn.execute("SET statement_timeout = '200ms'")
try:
    conn.execute(LONG)
    raise SystemExit("no timeout")
except errors.QueryCanceled as e:
    assert "statement timeout" in str(e)
conn.execute("RESET statement_timeout")
notices = []
conn.add_notice_handler(lambda d: notices.append((d.severity, d.message_primary)))
conn.execute("DROP TABLE IF EXISTS never_was")
assert notices == [("NOTICE", 'table "never_was" does not exist, skipping')], notices
conn.execute("SET TIME ZONE 'Asia/Tokyo'")
assert conn.info.parameter_status("TimeZone") == "Asia/Tokyo"
assert str(conn.info.timezone) == "Asia/Tokyo"
with psycopg.connect(os.environ["URL"], autocommit=True) as other:
    assert conn.execute("SELECT pg_terminate_backend(%s)", (other.info.backend_pid,)).fetchone()[0]
    try:
        other.execute("SELECT 1")
        raise SystemExit("terminated and alive")
    except (errors.AdminShutdown, psycopg.OperationalError):
        pass
with psycopg.connect(os.environ["URL"]) as other:
    other.execute("SET idle_in_transaction_session_timeout = '100ms'")
    time.sleep(0.5)
    try:
        other.execute("SELECT 1")
        raise SystemExit("idle in a transaction and alive")
    except (errors.IdleInTransactionSessionTimeout, psycopg.OperationalError):
        pass
try:
    psycopg.connect(os.environ["URL"].replace("/tributary?", "/nowhere?"))
    raise SystemExit("connected to a database that is not there")
except psycopg.OperationalError as e:
    assert 'database "nowhere" does not exist' in str(e), e
conn.execute("DROP TABLE p3, c3")
print("psycopg", psycopg.__version__, "ok")
