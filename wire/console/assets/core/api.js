// The node's HTTP API: log in, and run statements as the role that did.
import { signal } from '../vendor/vendor.js'

// {user, super, csrf, node, version, passwordless}, null if nobody is logged in, undefined until it is known.
export const session = signal(undefined)
export const passwordless = signal(false)

export class SQLError extends Error {
  constructor(e) {
    super(e.message)
    Object.assign(this, e)
  }
}

const post = (path, body, signal) =>
  fetch(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-CSRF-Token': session.value?.csrf ?? '' },
    body: JSON.stringify(body),
    signal,
  })

async function failure(response) {
  if (response.status === 401) session.value = null
  let e
  try {
    e = (await response.json()).error
  } catch {
    e = null
  }
  return new SQLError(typeof e === 'string' ? { message: e } : (e ?? { message: `the node answered ${response.status} ${response.statusText}` }))
}

export async function whoAmI() {
  const response = await fetch('/api/session')
  const answer = await response.json().catch(() => ({}))
  passwordless.value = !!answer.passwordless
  if (!response.ok && answer.passwordless && !sessionStorage.getItem('left')) return login('', '')
  session.value = response.ok ? answer : null
}

export async function login(user, password) {
  const response = await post('/api/login', { user, password })
  if (!response.ok) throw await failure(response)
  session.value = await response.json()
}

export async function logout() {
  sessionStorage.setItem('left', '1') // who logs out is asked for a name, also where none is needed
  await post('/api/logout', {})
  session.value = null
}

export const cancel = id => post('/api/cancel', { id })

// copyOut runs a COPY … TO STDOUT, and returns its bytes.
export async function copyOut(sql) {
  const response = await post('/api/download', { sql })
  if (!response.ok) throw await failure(response)
  return response.blob()
}

// query runs statements and tells what comes as it comes: on.columns, on.rows, on.notice, on.tag, on.error, each with the number of the
// statement in the text, from 0. It ends with the last statement, and throws only if the statements never reached the engine.
export async function query(sql, { params, conn, limit, id, signal } = {}, on = {}) {
  const response = await post('/api/query', { sql, params, conn, limit, id }, signal)
  if (!response.ok) throw await failure(response)
  let n = 0
  const line = text => {
    if (!text) return
    const m = JSON.parse(text)
    if (m.columns) on.columns?.(m.columns, n)
    else if (m.rows && m.tag === undefined) on.rows?.(m.rows, n)
    else if (m.notice) on.notice?.(m.notice, n)
    else if (m.error) on.error?.(m.error, n)
    else if (m.tag !== undefined) on.tag?.(m, n++)
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) break
    const lines = (rest + value).split('\n')
    rest = lines.pop()
    lines.forEach(line)
  }
  line(rest)
}

// The page's own statements say so, and are not shown among those of users.
const mark = '/* console */'
export const own = sql => sql.replace(/^\s*\w+/, `$& ${mark}`)

// They share two sessions of the node; one that finds both at work gets a session of its own.
const sessions = new Set(['page-1', 'page-2'])

// run is query for one answer: the last statement's {columns, rows, tag, seconds, notices}.
export async function run(sql, params, options = {}) {
  const conn = options.conn === undefined && sql.includes(mark) ? sessions.values().next().value : undefined
  if (conn) {
    sessions.delete(conn)
    try {
      return await run(sql, params, { ...options, conn })
    } finally {
      sessions.add(conn)
    }
  }
  let answer = { columns: [], rows: [] }
  const notices = []
  let error
  await query(
    sql,
    { params, ...options },
    {
      columns: columns => {
        answer = { columns, rows: [] }
      },
      rows: rows => {
        for (const r of rows) answer.rows.push(r)
      },
      notice: n => notices.push(n),
      tag: t => {
        answer = { columns: [], rows: [], ...answer, tag: t.tag, seconds: t.seconds, cut: t.cut }
      },
      error: e => {
        error = e
      },
    },
  )
  if (error) throw new SQLError(error)
  return { ...answer, notices }
}

// records are the rows as objects by column name; values are text or null.
export const records = ({ columns, rows }) => rows.map(r => Object.fromEntries(columns.map((c, i) => [c.name, r[i]])))
export const select = async (sql, params, options) => records(await run(sql, params, options))

const plain = /^[a-z_][a-z0-9_$]*$/
const reserved = new Set(
  (
    'all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create current_date current_role ' +
    'current_time current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign from grant group having in initially ' +
    'intersect into join lateral leading left limit localtime localtimestamp natural not null offset on only or order placing primary references returning right ' +
    'select session_user some symmetric table then to trailing true union unique user using variadic when where window with'
  ).split(' '),
)
export const ident = name => (plain.test(name) && !reserved.has(name) ? name : `"${String(name).replaceAll('"', '""')}"`)
export const literal = text => (text === null || text === undefined ? 'NULL' : `'${String(text).replaceAll("'", "''")}'`)
export const qualified = (schema, name) => (schema === 'public' ? ident(name) : `${ident(schema)}.${ident(name)}`)

// array parses an array of PostgreSQL's text form, of one dimension.
export function array(text) {
  if (!text || text[0] !== '{') return []
  const out = []
  let item = '',
    quoted = false,
    was = false
  for (let i = 1; i < text.length; i++) {
    const c = text[i]
    if (quoted) {
      if (c === '\\') item += text[++i]
      else if (c === '"') quoted = false
      else item += c
    } else if (c === '"') quoted = was = true
    else if (c === ',' || c === '}') {
      if (item !== '' || was) out.push(item === 'NULL' && !was ? null : item)
      item = ''
      was = false
    } else item += c
  }
  return out
}

export function json(text, otherwise = {}) {
  try {
    return JSON.parse(text) ?? otherwise
  } catch {
    return otherwise
  }
}
