// postgres.js: pipelined extended protocol; an error of a query with parameters comes, and leaves the connection usable.
import postgres from 'postgres'
const check = (ok, what) => { if (!ok) { console.error('postgres.js:', what); process.exit(1) } }
const sql = postgres(process.env.URLS, { max: 2, onnotice: () => {} })
for (let i = 0; i < 6; i++) {
  const code = await sql`SELECT * FROM mispelt WHERE a = ${i}`.then(() => 'none', e => e.code)
  check(code === '42P01', `a missing table is ${code}`)
  check(await sql`SELECT nope, ${i}::int`.then(() => 'none', e => e.code) === '42703', 'a missing column')
  check(await sql`SELECT ${i}::int / 0 AS v`.then(() => 'none', e => e.code) === '22012', 'an error of execution')
}
check((await Promise.all(Array.from({ length: 50 }, (_, i) => sql`SELECT ${i}::int + 1 AS v`))).every((r, i) => r[0].v === i + 1), 'pipelined')
await sql`DROP TABLE IF EXISTS pjs`
await sql`CREATE TABLE pjs (id serial PRIMARY KEY, t text UNIQUE, j jsonb, a int[], at timestamptz)`
const rows = [{ t: 'a', j: { x: 1 }, a: [1, 2], at: new Date(0) }, { t: 'b', j: null, a: [], at: null }]
const ins = await sql`INSERT INTO pjs ${sql(rows, 't', 'j', 'a', 'at')} RETURNING *`
check(ins.count === 2 && ins[0].j.x === 1 && ins[0].a[1] === 2 && ins[0].at.getTime() === 0 && ins[1].j === null, 'insert of rows')
check((await sql`SELECT t FROM pjs WHERE t IN ${sql(['a', 'c'])}`).length === 1, 'lists')
check(await sql.begin(async q => { await q`INSERT INTO pjs (t) VALUES ('a')` }).then(() => 'none', e => e.code) === '23505', 'a transaction that fails')
check(await sql.begin(async q => { await q`INSERT INTO pjs (t) VALUES ('c')`; await q.savepoint(s => s`SELECT 1 / 0`).catch(() => {}); return (await q`SELECT count(*)::int AS n FROM pjs`)[0].n }) === 3, 'savepoint')
let n = 0
for await (const part of sql`SELECT g FROM generate_series(1, 1000) g`.cursor(300)) n += part.length
check(n === 1000, 'cursor')
check((await sql`DESCRIBE MODEL nothing`.then(() => 'none', e => e.code)) === '42704', 'a statement of our own')
check((await sql`SELECT 1 AS a, 2 AS b`.describe()).columns.length === 2, 'describe')
await sql`DROP TABLE pjs`
await sql.end()
console.log('postgres.js ok')
