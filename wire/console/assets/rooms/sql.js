// The room for statements: an editor, what they answer, and what was run and saved before.
import { html, useEffect, useMemo, useRef, useState } from '../vendor/vendor.js'
import { run as runNow, select } from '../core/api.js'
import { location, set } from '../core/router.js'
import { Editor, forgetCatalog } from '../core/editor.js'
import { Result, useRun } from '../core/result.js'
import { Button, Dialog, ErrorBox, Head, Panel, ask, toast, useQuery, Value } from '../core/ui.js'
import { ago, duration, plural } from '../core/format.js'

const past = { key: 'sql-history', most: 200 }
const readPast = () => {
  try {
    return JSON.parse(localStorage.getItem(past.key)) ?? []
  } catch {
    return []
  }
}
function remember(entry) {
  const list = [entry, ...readPast().filter(h => h.sql !== entry.sql)].slice(0, past.most)
  localStorage.setItem(past.key, JSON.stringify(list))
}

// One session of the node for this tab, so that SET and BEGIN last.
const conn = sessionStorage.getItem('conn') ?? crypto.randomUUID?.() ?? String(Math.random())
sessionStorage.setItem('conn', conn)

const make = `CREATE SCHEMA IF NOT EXISTS console;
CREATE TABLE IF NOT EXISTS console.saved_queries (name text PRIMARY KEY, sql text NOT NULL, owner text NOT NULL, updated_at timestamptz NOT NULL)`

async function save(name, sql) {
  const write = () =>
    runNow(
      `INSERT INTO console.saved_queries VALUES ($1, $2, current_user, now())
    ON CONFLICT (name) DO UPDATE SET sql = excluded.sql, owner = excluded.owner, updated_at = excluded.updated_at`,
      [name, sql],
    )
  try {
    await write()
  } catch (e) {
    if (!['42P01', '3F000'].includes(e.code)) throw e
    await runNow(make)
    await write()
  }
}

const parameters = text => Math.max(0, ...[...text.replace(/'(?:[^']|'')*'|--[^\n]*/g, '').matchAll(/\$(\d{1,2})\b/g)].map(m => +m[1]))

function Params({ n, values, put }) {
  return (
    n > 0 &&
    html`<div class="fields">${Array.from(
      { length: n },
      (_, i) =>
        html`<${Value} id=${'param-' + i} label=${'$' + (i + 1)} text value=${values[i] ?? null} onChange=${v => put(Array.from({ length: n }, (_, k) => (k === i ? v : (values[k] ?? null))))} />`,
    )}</div>`
  )
}

function Side({ open, version }) {
  const which = location.value.query.list ?? 'history'
  const saved = useQuery(which === 'saved' ? `SELECT name, sql, owner, updated_at FROM console.saved_queries ORDER BY name -- ${version}` : null)
  const history = useMemo(readPast, [version, which])
  const [word, filter] = useState('')
  const fits = h => !word || ((h.name ?? '') + h.sql).toLowerCase().includes(word.toLowerCase())
  const remove = async s => {
    if (!(await ask({ title: `Delete the saved query “${s.name}”?`, action: 'Delete', danger: true }))) return
    await runNow('DELETE FROM console.saved_queries WHERE name = $1', [s.name]).catch(e => toast(e.message, 'bad'))
    saved.again()
  }
  const none = html`<p class="soft pad">${which === 'history' ? 'What you run is kept here, in this browser.' : 'Saved queries are kept in the table console.saved_queries, for all who may read it.'}</p>`
  const list = (which === 'history' ? history : (saved.rows ?? [])).filter(fits)
  return html`<aside class="panel flush side-list" aria-label="History and saved queries">
    <header><div class="tools">${[
      ['history', 'History'],
      ['saved', 'Saved'],
    ].map(
      ([k, t]) =>
        html`<${Button} kind=${which === k ? 'chosen' : 'quiet'} aria-pressed=${which === k} onClick=${() => set({ list: k === 'history' ? null : k })}>${t}</>`,
    )}</div></header>
    <div class="pad"><input type="search" class="search" placeholder="Search  /" aria-label="Search in the list" value=${word} onInput=${e => filter(e.target.value)} /></div>
    ${saved.error && saved.error.code !== '42P01' && saved.error.code !== '3F000' && which === 'saved' && html`<${ErrorBox} error=${saved.error} />`}
    ${list.length === 0 && none}<ul tabindex="-1">${list.map(
      h => html`<li>
      <button type="button" onClick=${() => open(h.sql)}>${h.name && html`<strong>${h.name}</strong>`}<code>${h.sql.replace(/\s+/g, ' ').slice(0, 140)}</code>
        <small>${h.name ? `${h.owner}, ${ago(h.updated_at)}` : html`${ago(h.at)}${h.error ? html`, <span class="bad">${h.error}</span>` : `, ${duration(h.seconds)}`}`}</small></button>
      ${h.name && html`<${Button} icon="trash" kind="quiet" label=${`Delete ${h.name}`} onClick=${() => remove(h)} />`}</li>`,
    )}</ul>
  </aside>`
}

const limits = [
  ['1000', '1,000 rows'],
  ['100000', '100,000 rows'],
  ['1000000', '1,000,000 rows'],
  ['', 'all rows'],
]

export default function SQL() {
  const editor = useRef(),
    start = useRef(location.value.query.q ?? sessionStorage.getItem('sql') ?? '')
  const [text, type] = useState(start.current)
  const [values, put] = useState([])
  const [saving, ask] = useState(null)
  const [version, changed] = useState(0)
  const r = useRun()
  const q = location.value.query
  const limit = q.limit ?? '100000'
  const shown = Math.min(+(q.statement ?? r.results.length), r.results.length)
  const n = parameters(text)
  const ran = useRef({ offset: 0, sql: '' })

  const go = async (before = '') => {
    const all = editor.current.text(),
      chosen = editor.current.selected()
    const sql = (chosen.trim() ? chosen : all).replace(/\s+$/, '')
    if (!sql.trim() || r.running) return
    ran.current = { offset: (chosen.trim() ? editor.current.start() : 0) - before.length, sql: before + sql }
    set({ q: all, statement: null, ...(before ? { view: null } : {}) })
    const s = await r.run(before + sql, {
      params: n ? Array.from({ length: n }, (_, i) => values[i] ?? null) : undefined,
      conn,
      limit: limit ? +limit : undefined,
    })
    const error = s.failure ?? s.results.find(x => x.error)?.error
    remember({ sql: all, at: new Date().toISOString(), seconds: s.seconds, error: error && (error.code ?? 'failed') })
    if (/\b(create|drop|alter|train)\b/i.test(sql)) forgetCatalog()
    changed(v => v + 1)
  }
  const where = e => {
    const p = [...ran.current.sql].slice(0, e.position - 1).join('').length + ran.current.offset
    const word = /^\w+/.exec(editor.current.text().slice(p))?.[0].length ?? 1
    editor.current.select(Math.max(0, p), Math.max(0, p) + word)
  }
  const open = sql => {
    editor.current.set(sql)
    editor.current.focus()
  }
  useEffect(() => {
    // a link to a statement while the room is open
    if (q.q !== undefined && editor.current && q.q !== editor.current.text() && !r.running) editor.current.set(q.q)
  }, [q.q])
  useEffect(() => {
    if (q.run === '1' && q.q && !/\b(insert|update|delete|drop|create|alter|truncate|train|copy|grant|revoke)\b/i.test(q.q)) {
      set({ run: null })
      go()
    }
  }, [])
  const result = r.results[shown - 1]
  const spec = q.chart ? { kind: q.chart, x: q.x, y: (q.y ?? '').split('\u001f').filter(Boolean), group: q.by } : undefined
  return html`<${Head} title="SQL">
      <label class="select"><span class="sr">At most</span><select aria-label="At most so many rows" value=${limit} onChange=${e => set({ limit: e.target.value === '100000' ? null : e.target.value })}>${limits.map(([k, t]) => html`<option value=${k}>${t}</option>`)}</select></label>
      <${Button} icon="save" onClick=${() => ask(text)} disabled=${!text.trim()}>Save</>
      <${Button} onClick=${() => go('EXPLAIN (FORMAT json) ')} disabled=${!!r.running}>Explain</><${Button} onClick=${() => go('EXPLAIN (ANALYZE, FORMAT json) ')} disabled=${!!r.running} title="Runs the statement, and shows its plan with what was measured">Explain and run</>
      ${r.running ? html`<${Button} icon="stop" kind="danger" onClick=${r.stop}>Cancel</>` : html`<${Button} icon="play" kind="primary" title="Ctrl+Enter" onClick=${() => go()}>Run</>`}
    </>
    <div class="sql-room"><div>
      <${Editor} value=${start.current} handle=${editor} onRun=${() => go()} onChange=${t => {
        type(t)
        sessionStorage.setItem('sql', t)
      }} label="Statements" placeholder="SELECT …   Ctrl+Enter runs; several statements end with ;" />
      <div class="under"><${Params} n=${n} values=${values} put=${put} /></div>
      ${
        (r.results.length > 0 || r.running || r.failure) &&
        html`<${Panel} class="results">
        ${r.running && html`<p class="soft" role="status">Running, ${duration((Date.now() - r.running.since) / 1000)}</p>`}
        <${ErrorBox} error=${r.failure} />
        ${r.results.length > 1 && html`<div class="tools pick" role="group" aria-label="Statements">${r.results.map((x, i) => html`<${Button} kind=${i === shown - 1 ? 'chosen' : 'quiet'} aria-pressed=${i === shown - 1} onClick=${() => set({ statement: i + 1 })}>${i + 1} ${x.error ? html`<span class="bad">error</span>` : x.columns ? plural(x.rows.length, 'row') : (x.tag ?? '…')}</>`)}</div>`}
        ${result && html`<${Result} result=${result} sql=${r.results.length === 1 && !n && /^\s*(select|with|from|table|values)\b/i.test(ran.current.sql) ? ran.current.sql : null} version=${r.version} running=${!!r.running} height=${520} view=${q.view ?? 'rows'} onView=${v => set({ view: v === 'rows' ? null : v })} spec=${spec} onSpec=${s => set({ chart: s.kind, x: s.x, y: s.y.join('\u001f'), by: s.group })} onError=${where} />`}
      </>`
      }
    </div><${Side} open=${open} version=${version} /></div>
    ${
      saving !== null &&
      html`<${Save} sql=${saving} onClose=${() => {
        ask(null)
        changed(v => v + 1)
      }} />`
    }`
}

function Save({ sql, onClose }) {
  const [name, put] = useState('')
  const [error, fail] = useState(null)
  const submit = async e => {
    e.preventDefault()
    try {
      const there = await select('SELECT owner FROM console.saved_queries WHERE name = $1', [name]).catch(() => [])
      if (there.length && !error?.again) return fail({ message: `“${name}” is there already; Save again replaces it.`, again: true })
      await save(name, sql)
      toast('Saved')
      set({ list: 'saved' })
      onClose()
    } catch (e) {
      fail(e)
    }
  }
  return html`<${Dialog} title="Save the statements" onClose=${onClose}><form onSubmit=${submit}>
    <label class="field"><span>Name</span><input required autofocus value=${name} onInput=${e => {
      put(e.target.value)
      fail(null)
    }} /></label>
    <${ErrorBox} error=${error} /><footer><${Button} onClick=${onClose}>Close</><${Button} kind="primary" type="submit">Save</></footer></form></>`
}
