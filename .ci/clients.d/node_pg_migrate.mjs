// node-pg-migrate: migrations under an advisory lock, up and down, two at once.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { runner } from 'node-pg-migrate'
import pg from 'pg'
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'migrations'))
fs.writeFileSync(path.join(dir, '1_first.js'), `export const up = pgm => {
  pgm.createType('npm_mood', ['sad', 'ok'])
  pgm.createTable('npm_t', { id: 'id', name: { type: 'varchar(20)', notNull: true, unique: true }, m: 'npm_mood', at: { type: 'timestamp', default: pgm.func('current_timestamp') } })
  pgm.createIndex('npm_t', ['name', 'at'])
}
`)
fs.writeFileSync(path.join(dir, '2_second.js'), `export const up = pgm => {
  pgm.addColumns('npm_t', { parent: { type: 'integer', references: 'npm_t', onDelete: 'cascade' } })
  pgm.alterColumn('npm_t', 'name', { type: 'text', default: 'x' })
  pgm.renameColumn('npm_t', 'm', 'mood')
  pgm.createView('npm_v', {}, 'SELECT id, name FROM npm_t')
  pgm.addConstraint('npm_t', 'npm_long', { check: 'length(name) < 100' })
}
export const down = pgm => { pgm.dropView('npm_v'); pgm.dropConstraint('npm_t', 'npm_long'); pgm.dropColumns('npm_t', ['parent']); pgm.renameColumn('npm_t', 'mood', 'm') }
`)
fs.writeFileSync(path.join(dir, 'package.json'), '{"type": "module"}')
const run = (direction, count) => runner({ databaseUrl: process.env.URL, dir, direction, count, migrationsTable: 'npm_migrations', ignorePattern: 'package.json', log: () => {}, checkOrder: true })
const both = await Promise.allSettled([run('up'), run('up')])
const ok = both.filter(r => r.status === 'fulfilled')
const refused = both.filter(r => r.status === 'rejected')
// Who finds the lock taken gives up by itself.
const check = (ok, what) => { if (!ok) { console.error('node-pg-migrate:', what); process.exit(1) } }
check(ok.length >= 1 && refused.every(r => /already running/.test(r.reason.message)), refused.map(r => r.reason))
check(ok.reduce((n, r) => n + r.value.length, 0) === 2, 'two migrations run once')
const c = new pg.Client({ connectionString: process.env.URL })
await c.connect()
check((await c.query("INSERT INTO npm_t (mood) VALUES ('ok') RETURNING name")).rows[0].name === 'x', 'the second migration')
check((await run('down', 1)).length === 1 && (await run('up')).length === 1 && (await run('up')).length === 0, 'down and up again')
await c.query('DROP VIEW npm_v; DROP TABLE npm_t, npm_migrations; DROP TYPE npm_mood')
await c.end()
fs.rmSync(dir, { recursive: true })
console.log('node-pg-migrate ok')
