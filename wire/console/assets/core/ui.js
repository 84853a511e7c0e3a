// The parts that every room is made of.
import { html, signal, useEffect, useRef, useState } from '../vendor/vendor.js'
import { own, run, records, select } from './api.js'
import { location, set } from './router.js'

// ── Reading ────────────────────────────────────────────────────────────────────────────────────────────────────

// useQuery runs a statement while the component is shown: {rows (objects), columns, error, loading, again}. A null statement runs nothing.
export function useQuery(sql, params, options) {
  const [state, put] = useState({ loading: !!sql })
  const [n, again] = useState(0)
  useEffect(() => {
    if (!sql) return put({ loading: false })
    const abort = new AbortController()
    put(s => ({ ...s, loading: true }))
    run(own(sql), params, { ...options, signal: abort.signal }).then(
      a => put({ rows: records(a), columns: a.columns, raw: a.rows, seconds: a.seconds, cut: a.cut, loading: false }),
      error => abort.signal.aborted || put({ error, loading: false }),
    )
    return () => abort.abort()
  }, [sql, JSON.stringify(params), n])
  return { ...state, again: () => again(n => n + 1) }
}

// ── Small things ───────────────────────────────────────────────────────────────────────────────────────────────

const paths = {
  overview: 'M3 12h4l3-8 4 16 3-8h4',
  sql: 'M5 7l5 5-5 5M12 17h7',
  notebooks: 'M6 3h12v18H6zM10 3v18M13 8h3M13 12h3',
  data: 'M4 6c0-4 16-4 16 0v12c0 4-16 4-16 0zM4 6c0 4 16 4 16 0M4 12c0 4 16 4 16 0',
  models: 'M12 3v6M12 9l-6 5M12 9l6 5M6 14v4M18 14v4M10 3h4M4 20h4M16 20h4',
  trainings: 'M4 4v16h16M7 8c2 6 5 8 12 9',
  statements: 'M4 6h16M4 10h10M4 14h13M4 18h7',
  tasks: 'M4 6h7v3H4zM9 11h8v3H9zM13 16h7v3h-7z',
  logs: 'M5 4h14v16H5zM8 8h8M8 12h8M8 16h5',
  settings: 'M4 7h10M18 7h2M4 17h2M10 17h10M14 5v4M8 15v4',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  close: 'M6 6l12 12M18 6L6 18',
  theme: 'M12 4a8 8 0 100 16zM12 4a8 8 0 010 16',
  out: 'M10 4H5v16h5M14 8l4 4-4 4M18 12H9',
  refresh: 'M20 11a8 8 0 10-2 6M20 5v6h-6',
  play: 'M7 5l12 7-12 7z',
  stop: 'M7 7h10v10H7z',
  down: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  open: 'M8 5l7 7-7 7',
  plus: 'M12 5v14M5 12h14',
  trash: 'M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13',
  up: 'M12 20V5M6 11l6-6 6 6',
  save: 'M5 4h12l2 2v14H5zM8 4v5h7V4M8 20v-6h8v6',
  manual: 'M12 6c-2-2-5-2-8-1v13c3-1 6-1 8 1 2-2 5-2 8-1V5c-3-1-6-1-8 1zM12 6v13',
}
export const Icon = ({ name }) => html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${paths[name]} /></svg>`

export const Badge = ({ kind = '', children }) => html`<span class=${'badge ' + kind}>${children}</span>`

const kinds = {
  ready: 'good',
  done: 'good',
  active: 'live',
  running: 'live',
  resuming: 'live',
  down: 'bad',
  failed: 'bad',
  error: 'bad',
  fatal: 'bad',
  critical: 'bad',
  cancelled: 'warn',
  warning: 'warn',
  warn: 'warn',
  suspect: 'warn',
  draining: 'warn',
  leaving: 'warn',
  joining: 'live',
  queued: 'warn',
  'taken over': 'warn',
  resumed: 'warn',
}
// State is a word with its colour and a mark, so that it is told without the colour too.
export const State = ({ of }) => html`<${Badge} kind=${kinds[String(of ?? '').toLowerCase()] ?? ''}>${of}</>`

export function Button({ icon, children, kind = '', label, ...rest }) {
  return html`<button type="button" class=${'button ' + kind + (children ? '' : ' square')} aria-label=${label} title=${label} ...${rest}>
    ${icon && html`<${Icon} name=${icon} />`}${children && html`<span>${children}</span>`}
  </button>`
}

export function Copy({ text, label = 'Copy' }) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
    } catch {
      // without https only a selection can be copied
      const area = Object.assign(document.createElement('textarea'), { value: text })
      document.body.append(area)
      area.select()
      document.execCommand('copy')
      area.remove()
    }
    toast('Copied')
  }
  return html`<${Button} icon="copy" kind="quiet" label=${label} onClick=${copy} />`
}

const words =
  /('(?:[^']|'')*')|(--[^\n]*)|\b(select|from|where|group|order|by|having|limit|join|left|inner|on|as|with|using|predict|train|or|replace|model|create|table|view|insert|into|values|update|delete|set|and|not|null|case|when|then|else|end|explain|analyze|distinct|union|all|in|is|between|like|filter|over|partition|transform|options|resume|cancel|training|retrain|copy|to|alter|drop|grant|revoke|desc|asc|true|false)\b|\b(\d+(?:\.\d+)?)\b/gi

// Statement shows a text of SQL with its words told apart, a button that copies it and one that opens it in the editor.
export function Statement({ sql, max }) {
  const out = []
  let last = 0
  for (const m of (sql ?? '').slice(0, 20000).matchAll(words)) {
    if (m.index > last) out.push(sql.slice(last, m.index))
    out.push(html`<span class=${m[1] ? 'sql-text' : m[2] ? 'sql-note' : m[3] ? 'sql-word' : 'sql-number'}>${m[0]}</span>`)
    last = m.index + m[0].length
  }
  out.push((sql ?? '').slice(last, 20000))
  return html`<div class="statement">
    <pre tabindex="0" class=${max ? 'short' : ''}><code>${out}</code></pre>
    <div class="tools"><${Copy} text=${sql ?? ''} label="Copy the statement" /><a class="button quiet square" href=${'/sql?q=' + encodeURIComponent(sql ?? '')} aria-label="Open in the editor" title="Open in the editor"><${Icon} name="sql" /></a></div>
  </div>`
}

// Empty says why there is nothing here, and what to type to change that.
export const Empty = ({ children, sql }) => html`<div class="empty"><p>${children}</p>${sql && html`<${Statement} sql=${sql} />`}</div>`

export function ErrorBox({ error, what }) {
  if (!error) return null
  if (what && (error.code === '42P01' || error.code === '42883')) return html`<${Empty}>This node does not keep ${what}.</>`
  return html`<div class="error" role="alert">
    <strong>${error.message}</strong>${error.code && html` <span class="soft mono">${error.code}</span>`}
    ${error.detail && html`<div>${error.detail}</div>`}${error.hint && html`<div class="hint">Hint: ${error.hint}</div>`}
  </div>`
}

export const Loading = () => html`<div class="loading" role="status"><span class="sr">Loading</span></div>`

// Answer shows what a query's state has to show before its rows are there, and its rows by a function after.
export function Answer({ of, what, children, empty }) {
  if (of?.error) return html`<${ErrorBox} error=${of.error} what=${what} />`
  if (!of?.rows) return html`<${Loading} />`
  if (!of.rows.length && empty) return empty
  return children(of.rows)
}

export const Panel = ({ title, tools, children, class: c = '', id }) => html`<section class=${'panel ' + c} id=${id}>
  ${(title || tools) && html`<header>${title && html`<h2>${title}</h2>`}${tools && html`<div class="tools">${tools}</div>`}</header>`}${children}
</section>`

export const Head = ({ title, sub, level = 1, children }) =>
  html`<div class="head"><${'h' + level} class="title">${title}</>${sub && html`<span class="soft">${sub}</span>`}<div class="tools">${children}</div></div>`

export const Stat = ({ name, children, note, kind = '' }) =>
  html`<div class=${'stat ' + kind}><dt>${name}</dt><dd>${children}${note && html` <small>${note}</small>`}</dd></div>`

export function Meter({ value, max, label, marks = [] }) {
  const share = max > 0 ? Math.min(1, value / max) : 0
  const kind = marks.length && share >= marks[marks.length - 1] ? 'bad' : marks.length && share >= marks[0] ? 'warn' : ''
  return html`<div class=${'meter ' + kind} role="meter" aria-label=${label} aria-valuemin="0" aria-valuemax="100" aria-valuenow=${Math.round(100 * share)}>
    <i style=${{ width: 100 * share + '%' }} />${marks.map(m => html`<b style=${{ left: 100 * m + '%' }} />`)}
  </div>`
}

// ── Choosing ───────────────────────────────────────────────────────────────────────────────────────────────────

export function Search({ name = 'q', label = 'Search' }) {
  return html`<input type="search" class="search" placeholder=${label + '  /'} aria-label=${label} value=${location.value.query[name] ?? ''} onInput=${e => set({ [name]: e.target.value })} />`
}
export const matches = (text, row) =>
  !text ||
  text
    .toLowerCase()
    .split(/\s+/)
    .every(w => row.join(' ').toLowerCase().includes(w))

export const Select = ({ name, label, options, first = '' }) => html`<label class="select"><span class="sr">${label}</span>
  <select aria-label=${label} value=${location.value.query[name] ?? first} onChange=${e => set({ [name]: e.target.value === first ? null : e.target.value })}>
    ${options.map(o => (Array.isArray(o) ? html`<option value=${o[0]}>${o[1]}</option>` : html`<option value=${o}>${o}</option>`))}
  </select></label>`

// Value is a field of a value that may be NULL, and empty where it is a text: typing makes it a value, the button NULL or empty.
export const Value = ({ id, label, note, value, text, onChange, ...rest }) => html`<div class="field"><label for=${id} title=${label}>${label}${note && html` <small>${note}</small>`}</label>
  <div class="value"><input id=${id} value=${value ?? ''} placeholder=${value === null || !text ? 'NULL' : 'empty'} onInput=${e => onChange(e.target.value === '' && !text ? null : e.target.value)} ...${rest} />
    ${text && html`<button type="button" class=${'button ' + (value === null ? 'chosen' : 'quiet')} aria-pressed=${value === null} aria-label=${`${label} is NULL`} onClick=${() => onChange(value === null ? '' : null)}>NULL</button>`}</div></div>`

// Tabs: [[key, title]]; which is shown stands in the address.
export function Tabs({ name = 'tab', tabs, label }) {
  const here = location.value.query[name] ?? tabs[0][0]
  const list = useRef()
  const move = e => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key]
    if (!step) return
    const i = (tabs.findIndex(t => t[0] === here) + step + tabs.length) % tabs.length
    set({ [name]: i ? tabs[i][0] : null })
    list.current.children[i].focus()
  }
  return html`<div class="tabs" role="tablist" aria-label=${label} ref=${list} onKeyDown=${move}>
    ${tabs.map(([key, title], i) => html`<button type="button" role="tab" aria-selected=${key === here} tabindex=${key === here ? 0 : -1} onClick=${() => set({ [name]: i ? key : null })}>${title}</button>`)}
  </div>`
}
export const tab = (tabs, name = 'tab') => location.value.query[name] ?? tabs[0][0]

// ── Tables ─────────────────────────────────────────────────────────────────────────────────────────────────────

const value = (c, r) => {
  const v = c.sort ? c.sort(r) : r[c.key]
  return c.number && typeof v === 'string' ? +v : v
}
const order = (a, b) => (a === b ? 0 : a === null || a === undefined ? 1 : b === null || b === undefined ? -1 : a < b ? -1 : 1)

// Table: columns [{key, name, number, cell(row), sort(row), wide}], rows of objects. A heading sorts; arrow keys go from row to row where a row is a link.
// With an id its order stands in the address.
export function Table({ id, columns, rows, sort, href, label, most = 200, rowClass }) {
  const [own, put] = useState(sort ?? '')
  const [shown, more] = useState(most)
  const now = id ? (location.value.query['sort-' + id] ?? sort ?? '') : own
  const body = useRef()
  const by = columns.find(c => c.key === now.replace(/^-/, ''))
  const list = by ? [...rows].sort((a, b) => (now[0] === '-' ? order(value(by, b), value(by, a)) : order(value(by, a), value(by, b)))) : rows
  const turn = c => {
    const next = now === c.key ? '-' + c.key : now === '-' + c.key ? c.key : (c.number ? '-' : '') + c.key
    id ? set({ ['sort-' + id]: next === sort ? null : next }) : put(next)
  }
  const keys = e => {
    const links = [...body.current.querySelectorAll('tr > :first-child a, tr > :first-child button')]
    const i = links.indexOf(document.activeElement)
    const to = { ArrowDown: i + 1, ArrowUp: i - 1, Home: 0, End: links.length - 1 }[e.key]
    if (i < 0 || to === undefined || !links[to]) return
    e.preventDefault()
    links[to].focus()
  }
  const click = (e, r) => {
    if (!href || e.target.closest('a, button, input, summary') || window.getSelection().toString()) return
    e.currentTarget.querySelector('a')?.click()
  }
  return html`<div class="scroll" tabindex=${href ? undefined : 0} role="group" aria-label=${label}>
    <table>
      <thead><tr>${columns.map(c => {
        const dir = now === c.key ? 'ascending' : now === '-' + c.key ? 'descending' : null
        return html`<th class=${(c.number ? 'number' : '') + (c.wide ? ' wide' : '')} aria-sort=${dir} scope="col">
          ${c.name && c.key && c.sort !== false ? html`<button type="button" onClick=${() => turn(c)}>${c.name}</button>${dir && html`<span class="arrow" aria-hidden="true">${dir === 'ascending' ? '↑' : '↓'}</span>`}` : html`<span class=${c.name ? '' : 'sr'}>${c.name || 'Actions'}</span>`}
        </th>`
      })}</tr></thead>
      <tbody ref=${body} onKeyDown=${keys}>${list.slice(0, shown).map(
        r => html`<tr class=${(href ? 'link ' : '') + (rowClass?.(r) ?? '')} onClick=${e => click(e, r)}>
        ${columns.map((c, i) => {
          const v = c.cell ? c.cell(r) : r[c.key]
          return html`<td class=${(c.number ? 'number' : '') + (c.wide ? ' wide' : '')} title=${c.wide && !c.cell ? v : undefined}>${i === 0 && href ? html`<a href=${href(r)}>${v || '—'}</a>` : v}</td>`
        })}
      </tr>`,
      )}</tbody>
    </table>
    ${list.length > shown && html`<p class="more"><${Button} onClick=${() => more(shown + 1000)}>Show ${Math.min(1000, list.length - shown)} more of ${list.length}</></p>`}
  </div>`
}

// ── What comes over the page ───────────────────────────────────────────────────────────────────────────────────

const toasts = signal([])
export function toast(text, kind = '') {
  const t = { text, kind }
  toasts.value = [...toasts.value, t]
  setTimeout(
    () => {
      toasts.value = toasts.value.filter(x => x !== t)
    },
    kind === 'bad' ? 8000 : 2500,
  )
}
export const Toasts = () =>
  html`<div class="toasts" role="status" aria-live="polite">${toasts.value.map(t => html`<div class=${'toast ' + t.kind}>${t.text}</div>`)}</div>`

// Dialog keeps the focus inside while it is shown; Escape and a click outside close it.
export function Dialog({ title, onClose, children, wide }) {
  const ref = useRef()
  useEffect(() => {
    const before = document.activeElement
    ref.current.showModal()
    return () => before?.focus?.()
  }, [])
  return html`<dialog ref=${ref} class=${wide ? 'wide' : ''} aria-label=${title} onCancel=${e => {
    e.preventDefault()
    onClose()
  }} onClick=${e => e.target === ref.current && onClose()}>
    <div class="body"><header><h2>${title}</h2><${Button} icon="close" kind="quiet" label="Close" onClick=${onClose} /></header>${children}</div>
  </dialog>`
}

const question = signal(null)
// ask shows a question with the statement that an answer of yes runs.
export const ask = q =>
  new Promise(done => {
    question.value = { ...q, done }
  })
export function Question() {
  const q = question.value
  if (!q) return null
  const end = answer => {
    question.value = null
    q.done(answer)
  }
  return html`<${Dialog} title=${q.title} onClose=${() => end(false)}>
    ${q.text && html`<p>${q.text}</p>`}${q.sql && html`<${Statement} sql=${q.sql} />`}
    <footer><${Button} onClick=${() => end(false)}>Keep</><${Button} kind=${q.danger ? 'danger' : 'primary'} autofocus onClick=${() => end(true)}>${q.action}</></footer>
  </>`
}

// Act is a button that runs a statement, after a question if it is one that hurts; where small, an icon only.
export function Act({ sql, params, children, title, danger, icon, done, small, kind = '' }) {
  const [busy, put] = useState(false)
  const act = async () => {
    if (title && !(await ask({ title, sql, action: children, danger }))) return
    put(true)
    try {
      const rows = await select(sql, params)
      toast(`${children}: ${Object.values(rows[0] ?? {})[0] === 'f' ? 'there was nothing to do' : 'done'}`)
      done?.()
    } catch (e) {
      toast(e.message, 'bad')
    }
    put(false)
  }
  return html`<${Button} icon=${icon} kind=${kind || (danger ? 'danger quiet' : '')} disabled=${busy} onClick=${act} label=${small ? children : undefined}>${small ? '' : children}</>`
}
