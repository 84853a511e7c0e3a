// Notebooks: cells of text, statements and charts, kept in a table of the database.
import { html, useEffect, useRef, useState } from '../vendor/vendor.js'
import { json, run as runNow, select } from '../core/api.js'
import { address, go, location } from '../core/router.js'
import { Editor } from '../core/editor.js'
import { Result, useRun } from '../core/result.js'
import { Text } from '../core/text.js'
import { Answer, Button, Empty, ErrorBox, Head, Loading, Panel, Search, Table, ask, matches, toast, useQuery } from '../core/ui.js'
import { ago } from '../core/format.js'

const make = `CREATE SCHEMA IF NOT EXISTS console;
CREATE TABLE IF NOT EXISTS console.notebooks (id text PRIMARY KEY, title text NOT NULL, cells text NOT NULL, owner text NOT NULL, version bigint NOT NULL, updated_at timestamptz NOT NULL)`
const newId = () => (crypto.randomUUID?.() ?? Math.random().toString(36).slice(2)).replaceAll('-', '').slice(0, 12)
const cell = (kind, text = '') => ({ id: newId(), kind, text })

async function create() {
  const id = newId(),
    cells = [cell('text', '# Untitled\n\nWhat is this about?'), cell('sql', 'SELECT 1')]
  const write = () => runNow('INSERT INTO console.notebooks VALUES ($1, $2, $3, current_user, 1, now())', [id, 'Untitled', JSON.stringify(cells)])
  try {
    await write()
  } catch (e) {
    if (!['42P01', '3F000'].includes(e.code)) return toast(e.message, 'bad')
    try {
      await runNow(make)
      await write()
    } catch (e) {
      return toast(e.message, 'bad')
    }
  }
  go(address('notebooks', id))
}

function List() {
  const t = useQuery('SELECT id, title, owner, updated_at FROM console.notebooks ORDER BY updated_at DESC'),
    q = location.value.query
  const none = html`<${Panel}><${Empty}>There is no notebook yet. A notebook is text, statements and charts below each other; it is kept in the table <code>console.notebooks</code>, for all who may read it.</></>`
  return html`<${Head} title="Notebooks"><${Search} /><${Button} kind="primary" icon="plus" onClick=${create}>New notebook</></>
    ${
      ['42P01', '3F000'].includes(t.error?.code)
        ? none
        : html`<${Answer} of=${t} empty=${none}>${rows =>
            html`<${Panel} class="flush"><${Table} id="notebooks" label="Notebooks" rows=${rows.filter(r => matches(q.q, [r.title, r.owner]))} href=${r => address('notebooks', r.id)} columns=${[
              { key: 'title', name: 'Notebook' },
              { key: 'owner', name: 'Owner' },
              { key: 'updated_at', name: 'Changed', cell: r => ago(r.updated_at) },
            ]} /></>`}</>`
    }`
}

function Cell({ c, conn, change, act, register }) {
  const r = useRun(),
    [editing, edit] = useState(!c.text),
    editor = useRef()
  const run = async () => {
    const sql = (editor.current?.selected().trim() || c.text).trim()
    if (sql) await r.run(sql, { conn, limit: 100000 })
  }
  const latest = useRef()
  latest.current = run
  useEffect(() => register(c.id, () => latest.current()), [])
  const tools = html`<div class="tools cell-tools">
    ${c.kind !== 'text' && (r.running ? html`<${Button} icon="stop" kind="danger quiet" label="Cancel" onClick=${r.stop} />` : html`<${Button} icon="play" kind="quiet" label="Run the cell (Ctrl+Enter)" onClick=${run} />`)}
    ${c.kind === 'chart' && html`<${Button} kind="quiet" onClick=${() => edit(!editing)}>${editing ? 'Hide the statement' : 'Statement'}</>`}
    ${c.kind === 'text' && html`<${Button} kind="quiet" onClick=${() => edit(!editing)}>${editing ? 'Done' : 'Edit'}</>`}
    <${Button} icon="up" kind="quiet" label="Move up" onClick=${() => act('up', c)} /><${Button} icon="trash" kind="quiet" label="Delete the cell" onClick=${() => act('delete', c)} /></div>`
  if (c.kind === 'text') {
    return html`<section class="cell" aria-label="Text">${tools}${
      editing
        ? html`<textarea aria-label="Text" rows=${Math.max(3, c.text.split('\n').length + 1)} value=${c.text} onInput=${e => change({ text: e.target.value })}
      onKeyDown=${e => (e.key === 'Escape' || (e.key === 'Enter' && (e.ctrlKey || e.metaKey))) && edit(false)} />`
        : html`<div onDblClick=${() => edit(true)}><${Text} text=${c.text} /></div>`
    }</section>`
  }
  const result = r.results[r.results.length - 1]
  return html`<section class="cell" aria-label=${c.kind === 'chart' ? 'Chart' : 'Statements'}>${tools}
    ${(c.kind === 'sql' || editing) && html`<${Editor} value=${c.text} handle=${editor} lines=${2} most=${18} onChange=${text => change({ text })} onRun=${run} label="Statements of the cell" placeholder="SELECT …" />`}
    ${r.failure && html`<${ErrorBox} error=${r.failure} />`}
    ${result ? html`<div class="cell-result"><${Result} result=${result} version=${r.version} running=${!!r.running} height=${300} view=${c.view ?? (c.kind === 'chart' ? 'chart' : 'rows')} onView=${view => change({ view })} spec=${c.spec} onSpec=${spec => change({ spec })} /></div>` : c.kind === 'chart' && !r.running && html`<p class="soft">Run it to see the chart.</p>`}</section>`
}

function One({ id }) {
  const [book, put] = useState(null),
    [dirty, mark] = useState(false),
    [error, fail] = useState(null)
  const runners = useRef(new Map()),
    now = useRef()
  now.current = book
  const load = () =>
    select('SELECT title, cells, owner, version, updated_at FROM console.notebooks WHERE id = $1', [id]).then(rows => {
      put(rows[0] ? { ...rows[0], cells: json(rows[0].cells, []) } : 'none')
      mark(false)
      fail(null)
    }, fail)
  useEffect(() => {
    load()
  }, [id])
  const update = f => {
    put(b => ({ ...b, ...f(b) }))
    mark(true)
  }
  const change = (c, what) => update(b => ({ cells: b.cells.map(x => (x.id === c.id ? { ...x, ...what } : x)) }))
  const act = (what, c) =>
    update(b => {
      const i = b.cells.findIndex(x => x.id === c.id),
        cells = [...b.cells]
      if (what === 'delete') cells.splice(i, 1)
      else if (i > 0) [cells[i - 1], cells[i]] = [cells[i], cells[i - 1]]
      return { cells }
    })
  const save = async () => {
    const b = now.current
    try {
      const rows = await select(
        'UPDATE console.notebooks SET title = $2, cells = $3, version = version + 1, updated_at = now() WHERE id = $1 AND version = $4::bigint RETURNING version',
        [id, b.title, JSON.stringify(b.cells), b.version],
      )
      if (!rows.length)
        return fail({ message: 'Somebody else has saved this notebook since you opened it.', hint: 'Copy what you changed, then open it again.' })
      put(x => ({ ...x, version: rows[0].version }))
      mark(false)
      fail(null)
      toast('Saved')
    } catch (e) {
      fail(e)
    }
  }
  useEffect(() => {
    const keys = e => {
      if ((e.ctrlKey || e.metaKey) && e.key === 's') {
        e.preventDefault()
        save()
      }
    }
    addEventListener('keydown', keys)
    return () => removeEventListener('keydown', keys)
  }, [])
  useEffect(() => {
    const warn = e => e.preventDefault()
    if (dirty) addEventListener('beforeunload', warn)
    return () => removeEventListener('beforeunload', warn)
  }, [dirty])
  if (!book) return error ? html`<${Head} title="Notebook" /><${ErrorBox} error=${error} />` : html`<${Loading} />`
  if (book === 'none')
    return html`<${Head} title="Notebook" /><${Panel}><${Empty}>There is no such notebook. <a href="/notebooks">All notebooks</a></></>`
  const all = async () => {
    for (const c of book.cells) await runners.current.get(c.id)?.()
  }
  const drop = async () =>
    (await ask({ title: `Delete “${book.title}” for good?`, action: 'Delete', danger: true })) &&
    runNow('DELETE FROM console.notebooks WHERE id = $1', [id]).then(() => go('/notebooks'), fail)
  const add = (kind, at) => update(b => ({ cells: b.cells.toSpliced(at, 0, cell(kind)) }))
  const Add = ({ at }) =>
    html`<div class="tools add">${[
      ['sql', 'SQL'],
      ['text', 'Text'],
      ['chart', 'Chart'],
    ].map(([k, t]) => html`<${Button} icon="plus" kind="quiet" onClick=${() => add(k, at)}>${t}</>`)}</div>`
  return html`<${Head} title=${html`<input class="title-input" aria-label="Title" value=${book.title} onInput=${e => update(() => ({ title: e.target.value }))} />`} sub=${`${book.owner}, ${dirty ? 'changed' : 'saved'}`}>
      <${Button} kind="danger quiet" icon="trash" onClick=${drop}>Delete</><${Button} icon="play" onClick=${all}>Run all</><${Button} kind="primary" icon="save" title="Ctrl+S" disabled=${!dirty} onClick=${save}>Save</></>
    <${ErrorBox} error=${error} />
    <div class="notebook">${book.cells.map(
      (c, i) =>
        html`<div key=${c.id}><${Cell} c=${c} conn=${'nb-' + id} change=${what => change(c, what)} act=${act} register=${(k, f) => {
          runners.current.set(k, f)
          return () => runners.current.delete(k)
        }} /><${Add} at=${i + 1} /></div>`,
    )}${!book.cells.length && html`<${Add} at=${0} />`}</div>`
}

export default function Notebooks() {
  const id = location.value.parts[1]
  return id ? html`<${One} id=${id} key=${id} />` : html`<${List} />`
}
