import pg from 'pg'
import { Kysely, PostgresDialect, Migrator } from 'kysely'
const db = new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: process.env.URL, max: 2 }) }) })
const migrations = { '1': { up: db => db.schema.createTable('kysely_t').addColumn('id', 'serial', c => c.primaryKey()).addColumn('v', 'text').execute(), down: db => db.schema.dropTable('kysely_t').execute() } }
const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } })
const check = (ok, what) => { if (!ok) { console.error('kysely:', what); process.exit(1) } }
const up = await migrator.migrateToLatest()
check(!up.error && up.results.length === 1, up.error ?? 'no migration ran')
check((await db.insertInto('kysely_t').values({ v: 'a' }).returning('id').executeTakeFirstOrThrow()).id === 1, 'returning')
const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
const t = tables.find(t => t.name === 'kysely_t')
check(t && t.columns.find(c => c.name === 'id').isAutoIncrementing && !t.columns.find(c => c.name === 'v').isAutoIncrementing, 'introspection')
const down = await migrator.migrateDown()
check(!down.error, down.error)
await sqlDrop('kysely_migration'); await sqlDrop('kysely_migration_lock')
await db.destroy()
console.log('kysely: migrations and introspection')
async function sqlDrop(name) { await db.schema.dropTable(name).execute() }
