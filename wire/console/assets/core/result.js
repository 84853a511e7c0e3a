// What statements have answered: rows as a grid, a chart or a plan, notices, errors, and the rows as files.
import { html, useEffect, useMemo, useRef, useState } from '../vendor/vendor.js'
import { cancel, copyOut, query } from './api.js'
import { Grid, Rows } from './grid.js'
import { Choose, Draw, suggest } from './draw.js'
import { Plan, fromExplain } from './plan.js'
import { Button, Copy, Dialog, ErrorBox, Loading, toast } from './ui.js'
import { duration, plural } from './format.js'

// useRun runs texts of statements: {results, running, seconds, run(sql, options), stop()}. A result is {columns, rows, notices, tag, seconds, error}.
export function useRun() {
  const [, draw] = useState(0)
  const s = useRef({ results: [], running: null, version: 0 }).current
  const asked = useRef(0)
  const later = () => {
    asked.current ||= requestAnimationFrame(() => {
      asked.current = 0
      s.version++
      draw(s.version)
    })
  }
  const run = async (sql, { params, conn, limit } = {}) => {
    if (s.running) return s
    const id = crypto.randomUUID?.() ?? String(Math.random()),
      abort = new AbortController()
    Object.assign(s, { results: [], running: { id, abort, since: Date.now() }, failure: null })
    const at = n => (s.results[n] ??= { columns: null, rows: new Rows(), notices: [] })
    later()
    const tick = setInterval(later, 100)
    try {
      await query(
        sql,
        { params, conn, limit, id, signal: abort.signal },
        {
          columns: (columns, n) => {
            Object.assign(at(n), { columns })
            later()
          },
          rows: (rows, n) => {
            at(n).rows.add(rows)
            later()
          },
          notice: (notice, n) => {
            at(n).notices.push(notice)
            later()
          },
          tag: (t, n) => {
            Object.assign(at(n), { tag: t.tag, seconds: t.seconds, cut: t.cut })
            later()
          },
          error: (error, n) => {
            at(n).error = error
            later()
          },
        },
      )
    } catch (e) {
      s.failure = abort.signal.aborted ? { message: 'The statement was stopped.' } : e
    }
    clearInterval(tick)
    s.seconds = (Date.now() - s.running.since) / 1000
    s.running = null
    later()
    return s
  }
  // A cancelled statement says so itself; if the node does not answer the request is dropped, which cancels too.
  const stop = () => {
    const r = s.running
    if (!r) return
    cancel(r.id).catch(() => {})
    setTimeout(() => s.running === r && r.abort.abort(), 3000)
  }
  useEffect(() => () => s.running?.abort.abort(), [])
  return { ...s, run, stop }
}

const csv = v => (v === null || v === undefined ? '' : /[",\r\n]/.test(v) || v === '' ? `"${v.replaceAll('"', '""')}"` : v)
function* csvOf(columns, rows) {
  yield columns.map(c => csv(c.name)).join(',') + '\n'
  for (const r of rows) yield r.map(csv).join(',') + '\n'
}
const bare = /^(smallint|integer|real|double precision|numeric)/
function* jsonOf(columns, rows) {
  let before = '[\n'
  for (const r of rows) {
    const cell = (c, v) =>
      v === null
        ? 'null'
        : c.type === 'boolean'
          ? String(v === 't' || v === 'true')
          : (bare.test(c.type) && Number.isFinite(+v)) || /^jsonb?$/.test(c.type)
            ? v
            : JSON.stringify(v)
    yield before + '{' + columns.map((c, j) => `${JSON.stringify(c.name)}: ${cell(c, r[j])}`).join(', ') + '}'
    before = ',\n'
  }
  yield before === ',\n' ? '\n]\n' : '[]\n'
}
const keep = (blob, name) => {
  const url = URL.createObjectURL(blob)
  Object.assign(document.createElement('a'), { href: url, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(url), 10000)
}
// Parquet is written by the node, which runs the statement again for all its rows.
const parquet = sql =>
  copyOut(`COPY (${sql.replace(/[\s;]+$/, '')}) TO STDOUT (FORMAT parquet)`).then(
    blob => keep(blob, 'result.parquet'),
    e => toast(e.message, 'bad'),
  )
function download(kind, { columns, rows }) {
  const parts = []
  let part = ''
  for (const t of kind === 'csv' ? csvOf(columns, rows) : jsonOf(columns, rows)) {
    part += t
    if (part.length > 1 << 20) {
      parts.push(part)
      part = ''
    }
  }
  keep(new Blob([...parts, part], { type: kind === 'csv' ? 'text/csv' : 'application/json' }), `result.${kind}`)
}

function Cell({ cell, onClose }) {
  let text = cell.value ?? 'NULL'
  if (/^jsonb?$/.test(cell.column.type)) {
    try {
      text = JSON.stringify(JSON.parse(text), null, 2)
    } catch {
      /* shown as it is */
    }
  }
  return html`<${Dialog} title=${`${cell.column.name}, ${cell.column.type}`} wide onClose=${onClose}><div class="statement"><pre tabindex="0"><code>${text}</code></pre><div class="tools"><${Copy} text=${text} /></div></div></>`
}

export const Notices = ({ notices }) =>
  notices.length > 0 &&
  html`<ul class="notices">${notices.slice(-50).map(n => html`<li><strong class=${n.severity === 'WARNING' ? 'warn' : 'soft'}>${n.severity}</strong> ${n.message}${n.hint ? html` <span class="soft">${n.hint}</span>` : ''}</li>`)}</ul>`

const planOf = r =>
  r.columns?.length === 1 && r.columns[0].name === 'QUERY PLAN' && r.rows.length ? fromExplain([...r.rows].map(x => x[0]).join('\n')) : null

// Result shows one, of the statement sql if it may be run again; spec and onSpec are its chart's, view and onView which of them is seen.
export function Result({ result: r, sql, version, running, height, view = 'rows', onView, spec, onSpec, onError }) {
  const [cell, look] = useState(null)
  const plan = useMemo(() => (r.tag === undefined ? null : planOf(r)), [r, r.tag])
  const chart = spec ?? (r.columns ? suggest(r.columns) : null)
  if (r.error)
    return html`<${Notices} notices=${r.notices} /><${ErrorBox} error=${r.error} />${r.error.position && onError && html`<${Button} onClick=${() => onError(r.error)}>Show where</>`}`
  if (!r.columns)
    return html`<${Notices} notices=${r.notices} />${r.tag !== undefined ? html`<p class="soft">${r.tag}, ${duration(r.seconds)}</p>` : running && html`<${Loading} />`}`
  const views = [...(plan ? [['plan', 'Plan']] : []), ['rows', 'Rows'], ['chart', 'Chart']]
  const now = plan && view === 'rows' && onView && !r.seen ? 'plan' : view
  return html`<${Notices} notices=${r.notices} />
    <div class="result-bar"><div class="tools">${views.map(
      ([k, t]) =>
        html`<${Button} kind=${now === k ? 'chosen' : 'quiet'} aria-pressed=${now === k} onClick=${() => {
          r.seen = true
          onView?.(k)
        }}>${t}</>`,
    )}</div>
      <span class="soft">${plural(r.rows.length, 'row')}${r.cut ? ', and more: the limit ended it' : ''}${r.seconds !== undefined ? `, ${duration(r.seconds)}` : running ? ' so far' : ''}</span>
      <div class="tools"><${Button} icon="down" kind="quiet" onClick=${() => download('csv', r)}>csv</><${Button} icon="down" kind="quiet" onClick=${() => download('json', r)}>JSON</>${sql && html`<${Button} icon="down" kind="quiet" onClick=${() => parquet(sql)}>Parquet</>`}</div></div>
    ${
      now === 'plan'
        ? html`<${Plan} tree=${plan} />`
        : now === 'chart'
          ? html`<${Choose} columns=${r.columns} spec=${chart} onChange=${onSpec} /><${Draw} columns=${r.columns} rows=${r.rows} version=${version} spec=${chart} />`
          : html`<${Grid} columns=${r.columns} rows=${r.rows} version=${version} height=${height} onCell=${(value, column) => look({ value, column })} />`
    }
    ${cell && html`<${Cell} cell=${cell} onClose=${() => look(null)} />`}`
}
