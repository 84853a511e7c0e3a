// node-postgres: promises, prepared statements, cursors, a pool, COPY streams.
const assert = require('node:assert')
const { Client, Pool } = require('pg')
const Cursor = require('pg-cursor')

async function main() {
  const url = process.env.URL
  const c = new Client({ connectionString: url })
  await c.connect()
  const one = async (sql, args) => (await c.query(sql, args)).rows[0].v
  assert.strictEqual(await one('SELECT $1::int + 1 AS v', [41]), 42)
  assert.strictEqual(await one('SELECT $1::int8 AS v', ['9223372036854775807']), '9223372036854775807')
  assert.strictEqual(await one('SELECT $1::text AS v', ["Grüße 🙂 '"]), "Grüße 🙂 '")
  assert.strictEqual(await one('SELECT $1::bool AS v', [true]), true)
  assert.strictEqual(await one('SELECT $1::numeric AS v', ['1.2300']), '1.2300')
  assert.deepStrictEqual(await one('SELECT $1::jsonb AS v', [{ a: [1, null] }]), { a: [1, null] })
  assert.deepStrictEqual(await one('SELECT $1::int[] AS v', [[1, 2, 3]]), [1, 2, 3])
  assert.deepStrictEqual(await one('SELECT $1::bytea AS v', [Buffer.from([0, 255])]), Buffer.from([0, 255]))
  const now = new Date('2024-05-06T07:08:09.123Z')
  assert.deepStrictEqual(await one('SELECT $1::timestamptz AS v', [now]), now)
  assert.strictEqual(await one('SELECT NULL::int AS v'), null)
  const many = await c.query('SELECT 1 AS a; SELECT 2 AS b')
  assert.deepStrictEqual(many.map(r => r.rows), [[{ a: 1 }], [{ b: 2 }]])
  for (let i = 0; i < 3; i++) {
    const r = await c.query({ name: 'named', text: 'SELECT $1::int AS v', values: [i], rowMode: 'array' })
    assert.deepStrictEqual(r.rows, [[i]])
  }
  await c.query('DROP TABLE IF EXISTS njs')
  await c.query('CREATE TABLE njs (id serial PRIMARY KEY, t text UNIQUE)')
  const ins = await c.query("INSERT INTO njs (t) VALUES ('a'), ('b') RETURNING id")
  assert.deepStrictEqual([ins.command, ins.rowCount, ins.rows.length], ['INSERT', 2, 2])
  await assert.rejects(c.query("INSERT INTO njs (t) VALUES ('a')"), e => e.code === '23505' && e.table === 'njs' && e.severity === 'ERROR')
  await assert.rejects(c.query('SELECT nothing'), e => e.code === '42703' && e.position === '8')
  await assert.rejects(c.query('SELECT $1::int', ['x']), e => e.code === '22P02')
  const cur = c.query(new Cursor('SELECT g FROM generate_series(1, 1000) g'))
  let n = 0
  for (;;) {
    const rows = await cur.read(300)
    if (rows.length === 0) break
    n += rows.length
  }
  assert.strictEqual(n, 1000)
  await cur.close()
  const early = c.query(new Cursor('SELECT g FROM generate_series(1, 100000000) g'))
  assert.strictEqual((await early.read(10)).length, 10)
  await early.close()
  const { from, to } = require('pg-copy-streams')
  const { pipeline } = require('node:stream/promises')
  const { Readable } = require('node:stream')
  await pipeline(Readable.from(['10\tten\n11\t', 'eleven\n']), c.query(from('COPY njs FROM STDIN')))
  let text = ''
  for await (const part of c.query(to('COPY njs (t) TO STDOUT'))) text += part
  assert.deepStrictEqual(text.trim().split('\n').sort(), ['a', 'b', 'eleven', 'ten'])
  const notices = []
  c.on('notice', m => notices.push(m.message))
  await c.query('DROP TABLE IF EXISTS never_was')
  assert.match(notices[0], /never_was/)
  await c.query('DROP TABLE njs')
  await c.end()
  const pool = new Pool({ connectionString: url, max: 8, statement_timeout: 5000 })
  const sums = await Promise.all(Array.from({ length: 100 }, (_, i) => pool.query('SELECT $1::int * 2 AS v', [i])))
  assert.deepStrictEqual(sums.map(r => r.rows[0].v), Array.from({ length: 100 }, (_, i) => 2 * i))
  await pool.end()
  console.log('node-postgres ok')
}
main().catch(e => { console.error(e); process.exit(1) })
