"""psycopg2, and SQLAlchemy with its reflection, over psycopg2 and psycopg 3."""
import datetime as dt
import decimal
import io
import os

import psycopg2
import psycopg2.extras
import sqlalchemy as sa
from psycopg2 import errors
from sqlalchemy import orm

conn = psycopg2.connect(os.environ["URL"])
cur = conn.cursor(cursor_factory=psycopg2.extras.RealDictCursor)
cur.execute("DROP TABLE IF EXISTS p2")
cur.execute("CREATE TABLE p2 (i int, t text, b bytea, a int[], at timestamptz)")
psycopg2.extras.execute_values(cur, "INSERT INTO p2 VALUES %s", [(i, f"t'{i}\\", bytes([i, 0, 255]), [i, None], dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)) for i in range(50)])
cur.execute("SELECT * FROM p2 WHERE i = %s", (7,))
row = cur.fetchone()
assert (row["t"], bytes(row["b"]), row["a"]) == ("t'7\\", b"\x07\x00\xff", [7, None]), row
conn.commit()
buf = io.StringIO()
cur.copy_expert("COPY p2 (i, t) TO STDOUT CSV HEADER", buf)
assert buf.getvalue().splitlines()[0] == "i,t" and len(buf.getvalue().splitlines()) == 51
cur.execute("CREATE TABLE p2c (i int, t text)")
buf.seek(0)
cur.copy_expert("COPY p2c FROM STDIN CSV HEADER", buf)
cur.execute("SELECT count(*) AS n FROM p2c JOIN p2 USING (i, t)")
assert cur.fetchone()["n"] == 50
try:
    cur.execute("SELECT 1/0")
except errors.DivisionByZero:
    pass
try:
    cur.execute("SELECT 1")
    raise SystemExit("a failed transaction goes on")
except errors.InFailedSqlTransaction:
    conn.rollback()
named = conn.cursor("named")
named.itersize = 10
named.execute("SELECT i FROM p2 ORDER BY i")
assert [r[0] for r in named] == list(range(50))
conn.rollback()
cur = conn.cursor()
cur.execute("DROP TABLE p2")
conn.commit()
conn.close()

for driver in ("psycopg2", "psycopg"):
    eng = sa.create_engine(os.environ["URL"].replace("postgres://", f"postgresql+{driver}://"))
    meta = sa.MetaData()
    parent = sa.Table(
        "sa_parent", meta,
        sa.Column("id", sa.Integer, sa.Identity(), primary_key=True), sa.Column("name", sa.String(40), nullable=False, unique=True),
        sa.Column("price", sa.Numeric(10, 2), server_default="0"), sa.Column("at", sa.DateTime(timezone=True), server_default=sa.func.now()), sa.Column("data", sa.JSON),
        sa.Column("tags", sa.ARRAY(sa.Text)), sa.Column("ok", sa.Boolean), sa.Column("f", sa.Float), sa.Column("big", sa.BigInteger), comment="the parents",
    )
    child = sa.Table("sa_child", meta, sa.Column("id", sa.Integer, primary_key=True), sa.Column("parent", sa.ForeignKey("sa_parent.id")))
    meta.drop_all(eng)
    meta.create_all(eng)
    insp = sa.inspect(eng)
    assert {"sa_parent", "sa_child"} <= set(insp.get_table_names()), insp.get_table_names()
    assert "public" in insp.get_schema_names()
    cols = {c["name"]: c for c in insp.get_columns("sa_parent")}
    assert list(cols) == ["id", "name", "price", "at", "data", "tags", "ok", "f", "big"], list(cols)
    assert str(cols["name"]["type"]) == "VARCHAR(40)" and not cols["name"]["nullable"], cols["name"]
    assert str(cols["price"]["type"]) == "NUMERIC(10, 2)" and isinstance(cols["tags"]["type"], sa.ARRAY), cols
    assert isinstance(cols["at"]["type"], sa.DateTime) and cols["at"]["type"].timezone, cols["at"]
    assert insp.get_pk_constraint("sa_parent")["constrained_columns"] == ["id"]
    assert [u["column_names"] for u in insp.get_unique_constraints("sa_parent")] == [["name"]], insp.get_unique_constraints("sa_parent")
    fks = insp.get_foreign_keys("sa_child")
    assert [(f["constrained_columns"], f["referred_table"], f["referred_columns"]) for f in fks] == [(["parent"], "sa_parent", ["id"])], fks
    insp.get_indexes("sa_parent"), insp.get_check_constraints("sa_parent"), insp.get_view_names(), insp.get_sequence_names(), insp.get_table_comment("sa_parent")
    assert insp.has_table("sa_parent") and not insp.has_table("sa_nothing")
    again = sa.MetaData()
    again.reflect(eng, only=["sa_parent", "sa_child"])
    assert again.tables["sa_child"].c.parent.references(again.tables["sa_parent"].c.id)

    class Base(orm.DeclarativeBase):
        pass

    class Parent(Base):
        __table__ = parent

    with orm.Session(eng) as s:
        s.add_all([Parent(name=f"p{i}", price=decimal.Decimal(i), tags=["a", "b"], data={"i": i}, ok=i % 2 == 0, f=i / 3, big=i << 40) for i in range(20)])
        s.commit()
        p = s.scalars(sa.select(Parent).where(Parent.name == "p5")).one()
        assert (p.price, p.tags, p.data, p.big) == (decimal.Decimal("5.00"), ["a", "b"], {"i": 5}, 5 << 40), p.__dict__
        p.price = decimal.Decimal("7.5")
        s.commit()
        assert s.scalar(sa.select(sa.func.sum(Parent.price))) == decimal.Decimal("192.50")
        s.execute(sa.insert(child), [{"id": i, "parent": p.id} for i in range(30)])
        n = s.scalar(sa.select(sa.func.count()).select_from(child.join(parent)).where(parent.c.name.in_(["p5", "p6"])))
        assert n == 30, n
        s.rollback()
        s.add(Parent(name="p5"))
        try:
            s.commit()
            raise SystemExit("unique did not hold")
        except sa.exc.IntegrityError:
            s.rollback()
    meta.drop_all(eng)
    eng.dispose()
with psycopg2.connect(os.environ["URL"]) as c:
    c.cursor().execute("DROP TABLE IF EXISTS p2c")
print("psycopg2", psycopg2.__version__, "and SQLAlchemy", sa.__version__, "ok")
