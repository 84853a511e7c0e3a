"""asyncpg: all binary, with its own introspection of types."""
import asyncio
import datetime as dt
import decimal
import io
import os
import uuid

import asyncpg

D = decimal.Decimal


async def main():
    c = await asyncpg.connect(os.environ["URL"])
    assert c.get_server_version().major >= 15
    for typ, v in [
        ("bool", True), ("int2", -5), ("int4", 1 << 30), ("int8", 1 << 60), ("float4", 0.5), ("float8", 1e-300), ("numeric", D("12345.678900")), ("numeric", D("NaN")),
        ("text", "ü\n"), ("varchar", "v"), ("bpchar", "c"), ("name", "n"), ("bytea", b"\x00\xff"), ("date", dt.date(2024, 2, 29)),
        ("time", dt.time(1, 2, 3, 4)), ("timestamp", dt.datetime(2020, 1, 2, 3, 4, 5, 6)), ("timestamptz", dt.datetime(2020, 1, 2, tzinfo=dt.timezone.utc)),
        ("interval", dt.timedelta(days=1, seconds=2, microseconds=3)), ("uuid", uuid.UUID(int=9)), ("json", '{"a": 1}'), ("jsonb", '{"a": 1}'), ("oid", 4000000000),
        ("int4[]", [1, None, 2]), ("text[]", ["a", None, "b,c"]), ("float8[]", [1.5]), ("numeric[]", [D("1.5")]), ("timestamptz[]", [dt.datetime(2020, 1, 2, tzinfo=dt.timezone.utc)]),
    ]:
        got = await c.fetchval(f"SELECT $1::{typ}", v)
        assert got == v or got != got and v != v, (typ, got, v)
        assert await c.fetchval(f"SELECT $1::{typ}", None) is None
    for ask, args in [(c.fetch, [1]), (c.fetchval, [1]), (c.prepare, [])]:  # asyncpg asks with Flush and waits: an error must come without Sync
        for sql, error in [("SELECT * FROM mispelt WHERE a = $1", asyncpg.UndefinedTableError), ("SELECT nope, $1::int", asyncpg.UndefinedColumnError), ("SELEC $1", asyncpg.PostgresSyntaxError)]:
            try:
                await asyncio.wait_for(ask(sql, *args), 20)
                raise SystemExit(f"no error of {sql}")
            except error:
                pass
    await c.execute("DROP TABLE IF EXISTS ap; CREATE TABLE ap (i int PRIMARY KEY, t text, n numeric, at timestamptz)")
    await c.executemany("INSERT INTO ap VALUES ($1, $2, $3, now())", [(i, f"t{i}", D(i) / 3) for i in range(300)])
    assert await c.execute("UPDATE ap SET t = 'x' WHERE i < 3") == "UPDATE 3"
    r = await c.fetchrow("SELECT * FROM ap WHERE i = $1", 7)
    assert r["t"] == "t7" and dict(r)["i"] == 7
    try:
        async with c.transaction():
            await c.execute("INSERT INTO ap VALUES (1)")
    except asyncpg.UniqueViolationError as e:
        assert e.constraint_name == "ap_pkey" and e.table_name == "ap"
    async with c.transaction(isolation="repeatable_read"):
        n = 0
        async for r in c.cursor("SELECT i FROM ap ORDER BY i", prefetch=50):
            assert r["i"] == n
            n += 1
        assert n == 300
        cur = await c.cursor("SELECT i FROM ap ORDER BY i")
        assert len(await cur.fetch(10)) == 10 and (await cur.fetchrow())["i"] == 10
    recs = [(1000 + i, f"c{i}", D(i), dt.datetime(2021, 1, 1, tzinfo=dt.timezone.utc)) for i in range(2000)]
    assert await c.copy_records_to_table("ap", records=recs) == "COPY 2000"
    out = io.BytesIO()
    assert await c.copy_from_query("SELECT i, t FROM ap WHERE i < $1 ORDER BY i", 5, output=out, format="csv") == "COPY 5"
    assert out.getvalue().decode().splitlines()[4] == "4,t4"
    try:
        await c.fetch("SELECT count(*) FROM generate_series(1, 100000000000) g WHERE g % 7 = 3", timeout=0.3)
        raise SystemExit("no timeout")
    except (TimeoutError, asyncio.TimeoutError):
        pass
    assert await c.fetchval("SELECT 1") == 1
    ps = await c.prepare("SELECT i, t FROM ap WHERE i = ANY($1::int[])")
    assert [a.name for a in ps.get_attributes()] == ["i", "t"] and ps.get_parameters()[0].name == "int4[]"
    assert len(await ps.fetch([1, 2, 5])) == 3
    logs = []
    c.add_log_listener(lambda _, m: logs.append(m.message))
    await c.execute("DROP TABLE IF EXISTS never_was")
    await asyncio.sleep(0)
    assert logs and "never_was" in logs[0], logs
    await c.execute("DROP TABLE ap")
    await c.close()
    async with asyncpg.create_pool(os.environ["URLS"], min_size=4, max_size=4) as pool:
        assert await asyncio.gather(*[pool.fetchval("SELECT $1::int + 1", i) for i in range(200)]) == list(range(1, 201))


asyncio.run(main())
print("asyncpg", asyncpg.__version__, "ok")
