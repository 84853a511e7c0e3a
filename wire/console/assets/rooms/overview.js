// What the cluster is, how it is, and what has happened.
import { html, useEffect, useMemo, useState } from '../vendor/vendor.js'
import { ident, own, records, run } from '../core/api.js'
import { useLive } from '../core/live.js'
import { location, set } from '../core/router.js'
import { Chart } from '../core/chart.js'
import { Act, Answer, Badge, Button, Empty, ErrorBox, Head, Meter, Panel, Stat, State, Table, useQuery } from '../core/ui.js'
import { ago, bytes, count, date, duration, percent, plural, short, since, when } from '../core/format.js'

const sum = (rows, key) => rows.reduce((n, r) => n + +(r[key] ?? 0), 0)
const marks = [0.6, 0.8, 0.95]

function Warnings() {
  const w = useLive('warnings')
  if (!w?.rows?.length) return null
  return html`<ul class="warnings" aria-label="Warnings">${w.rows.map(
    r => html`<li class=${/error|critical|bad/i.test(r.severity) ? 'bad' : ''}>
    <strong>${r.node ? r.node + ': ' : ''}${r.message}</strong>${r.hint && html` <span>${r.hint}</span>`}</li>`,
  )}</ul>`
}

function Summary({ nodes }) {
  const up = nodes.filter(n => n.state === 'ready')
  const limit = sum(up, 'memory_limit'),
    down = nodes.length - up.length
  return html`<${Panel}><dl class="stats">
    <${Stat} name="Nodes ready" kind=${down ? 'bad' : ''} note=${down ? plural(down, 'is not', 'are not') : ''}>${up.length} of ${nodes.length}</>
    <${Stat} name="Threads">${count(sum(up, 'threads'))}</>
    <${Stat} name="Memory charged" note=${limit ? `of ${bytes(limit)}` : ''}>${bytes(sum(up, 'memory_used'))}</>
    <${Stat} name="Spilled now">${bytes(sum(up, 'memory_spilled'))}</>
    <${Stat} name="Statements running" note=${sum(up, 'statements_queued') ? `${count(sum(up, 'statements_queued'))} queued` : ''}>${count(sum(up, 'statements_admitted'))}</>
    <${Stat} name="Damaged segments" kind=${sum(nodes, 'segments_damaged') ? 'bad' : ''}>${count(sum(nodes, 'segments_damaged'))}</>
  </dl></>`
}

const memory = n =>
  n.memory_limit
    ? html`<span title="from 60 % on statements spill, from 80 % on none is admitted, at 95 % the largest fails"><${Meter} value=${+n.memory_used} max=${+n.memory_limit} marks=${marks} label=${'Memory of ' + n.name} /></span> <small>${percent(n.memory_used / n.memory_limit)}</small>`
    : html`${bytes(n.memory_used)} <small>no limit</small>`
const disk = n => (n.disk_free === null ? '' : html`${bytes(n.disk_free)} <small>free</small>`)

function Nodes({ nodes }) {
  const may = useQuery('SELECT rolsuper FROM pg_roles WHERE rolname = current_user').rows?.[0]?.rolsuper === 't'
  const zones = nodes.some(n => n.zone),
    seen = key => nodes.some(n => n[key] !== undefined && n[key] !== null)
  const columns = [
    ...(zones ? [{ key: 'zone', name: 'Zone' }] : []),
    {
      key: 'name',
      name: 'Node',
      cell: n =>
        html`<strong>${n.name}</strong>${n.leader === 't' ? html` <${Badge}>leader</>` : ''}${n.votes === 'f' ? html` <${Badge}>no vote</>` : ''}`,
    },
    { key: 'state', name: 'State', cell: n => html`<${State} of=${n.state} />` },
    ...(seen('version') ? [{ key: 'version', name: 'Version' }] : []),
    ...(seen('started_at')
      ? [{ key: 'started_at', name: 'Up', cell: n => (n.state === 'ready' ? duration(Math.floor(since(n.started_at))) : '') }]
      : []),
    { key: 'memory_used', name: 'Memory', number: false, sort: n => n.memory_used / (n.memory_limit || 1), cell: memory },
    { key: 'rss', name: 'Process', number: true, cell: n => bytes(n.rss) },
    { key: 'memory_spilled', name: 'Spilled', number: true, cell: n => bytes(n.memory_spilled) },
    { key: 'disk_free', name: 'Disk', number: true, cell: disk },
    {
      key: 'statements_admitted',
      name: 'Running',
      number: true,
      cell: n => html`${n.statements_admitted}${+n.statements_queued ? html` <small>+${n.statements_queued} queued</small>` : ''}`,
    },
    {
      key: 'scrub_completed_at',
      name: 'Checked',
      cell: n =>
        +n.segments_damaged
          ? html`<span class="bad">${plural(n.segments_damaged, 'damaged segment')}</span>`
          : n.scrub_completed_at
            ? ago(n.scrub_completed_at)
            : n.scrub_progress
              ? percent(n.scrub_progress)
              : 'not yet',
    },
    ...(may
      ? [
          {
            key: '',
            name: '',
            cell: n =>
              n.state === 'draining'
                ? html`<${Act} sql=${`ALTER NODE ${ident(n.name)} RESUME`} icon="play" small title=${`Let ${n.name} hold rows and run statements again?`}>Resume</>`
                : n.state === 'ready' && nodes.length > 1
                  ? html`<${Act} sql=${`ALTER NODE ${ident(n.name)} DRAIN`} icon="out" small danger title=${`Move all that ${n.name} holds to the other nodes, and give it nothing more?`}>Drain</>`
                  : n.state === 'down' && nodes.length > 1
                    ? html`<${Act} sql=${`ALTER NODE ${ident(n.name)} DECOMMISSION FORCE`} icon="trash" small danger title=${`Remove ${n.name} for good? Rows of which it has the only copy are lost.`}>Remove</>`
                    : '',
          },
        ]
      : []),
    { key: 'address', name: 'Address', cell: n => html`<span class="soft mono">${n.pg_address}</span>` },
  ]
  return html`<${Panel} title="Nodes" class="flush"><${Table} label="Nodes" id="nodes" columns=${columns} rows=${nodes} rowClass=${n => (n.state === 'down' ? 'gone' : '')} /></>`
}

// The rows of a day are of 5 minutes or so each, those of an hour of 10 seconds.
const step = { hour: 10, day: 300 },
  fine = 40
const history = span =>
  `SELECT * FROM cluster.node_history WHERE at > now() - interval '1 ${span}' AND span_seconds ${span === 'hour' ? '<' : '>='} ${fine} ORDER BY at`

function useHistory(span) {
  const [state, put] = useState({})
  const fresh = useLive('history')
  useEffect(() => {
    const abort = new AbortController()
    run(own(history(span)), null, { signal: abort.signal }).then(
      a => put({ span, rows: records(a) }),
      error => abort.signal.aborted || put({ error }),
    )
    return () => abort.abort()
  }, [span])
  useEffect(() => {
    if (!fresh?.rows?.length) return
    put(s => {
      if (!s.rows) return s
      const known = new Set(s.rows.slice(-200).map(r => r.node + r.at))
      const rows = fresh.rows.filter(r => +r.span_seconds < fine === (s.span === 'hour') && !known.has(r.node + r.at))
      const from = Date.now() - (s.span === 'hour' ? 3.6e6 : 8.64e7)
      return rows.length ? { ...s, rows: [...s.rows.filter(r => date(r.at) > from), ...rows] } : s
    })
  }, [fresh])
  return state
}

// A chart's lines: one a node, at times that all nodes share.
function lines(rows, every, nodes, of) {
  const times = [...new Set(rows.map(r => Math.round(date(r.at) / 1000 / every) * every))].sort((a, b) => a - b)
  const place = new Map(times.map((t, i) => [t, i]))
  const ys = nodes.map(() => Array(times.length).fill(null))
  for (const r of rows) {
    const v = of(r)
    if (v !== null && Number.isFinite(v)) ys[nodes.indexOf(r.node)][place.get(Math.round(date(r.at) / 1000 / every) * every)] = v
  }
  return { x: times, ys }
}

const value = key => r => (r[key] === null || r[key] === undefined ? null : +r[key])
const kinds = [
  ['CPU', value('cpu'), { format: v => percent(v), range: (_, lo, hi) => [0, Math.max(1, hi)] }],
  ['Memory of the limit', r => (+r.memory_limit ? r.memory_used / r.memory_limit : null), { format: v => percent(v), range: [0, 1] }],
  ['Process memory', value('rss'), { format: bytes }],
  ['Statements a second', value('statements'), { format: short }],
  ['Latency, median', r => (r.p50_ms === null ? null : r.p50_ms / 1000), { format: duration }],
  ['Latency, 99 of 100', r => (r.p99_ms === null ? null : r.p99_ms / 1000), { format: duration }],
  ['Errors a second', value('errors'), { format: short }],
  ['Sessions', value('sessions'), { format: count }],
  ['Queued statements', value('queued'), { format: count }],
  ['Spilled', value('spilled_bytes'), { format: bytes }],
  ['Network in, a second', value('network_in_bytes'), { format: bytes }],
  ['Network out, a second', value('network_out_bytes'), { format: bytes }],
  ['Disk used', value('disk_used'), { format: bytes }],
]

function History() {
  const span = location.value.query.span === 'day' ? 'day' : 'hour'
  const h = useHistory(span)
  const drawn = useMemo(() => {
    if (!h.rows?.length) return null
    const nodes = [...new Set(h.rows.map(r => r.node))].sort()
    return {
      nodes,
      charts: kinds
        .map(([title, of, options]) => ({ title, options, ...lines(h.rows, step[h.span], nodes, of) }))
        .filter(c => c.ys.some(y => y.some(v => v !== null))),
    }
  }, [h.rows])
  const tools = Object.keys(step).map(
    s =>
      html`<${Button} kind=${s === span ? 'chosen' : 'quiet'} aria-pressed=${s === span} onClick=${() => set({ span: s === 'hour' ? null : s })}>Last ${s}</>`,
  )
  return html`<${Head} title="History" level="2">${tools}</>
    ${
      h.error
        ? html`<${Panel}><${ErrorBox} error=${h.error} what="a history of its load" /></>`
        : drawn
          ? html`<div class="columns three">
      ${drawn.charts.map(c => html`<${Panel} title=${c.title} key=${c.title}><${Chart} x=${c.x} ys=${c.ys} lines=${drawn.nodes.map(label => ({ label }))} height=${140} time zero sync="history" label=${c.title} ...${c.options} /></>`)}
    </div>`
          : html`<${Panel}><${Empty}>The first figures come after ten seconds.</></>`
    }`
}

function Events() {
  const e = useLive('events')
  const columns = [
    { key: 'at', name: 'When', cell: r => html`<span class="nowrap">${when(r.at)}</span>` },
    { key: 'node', name: 'Node' },
    { key: 'severity', name: 'Is', cell: r => html`<${State} of=${r.severity} />` },
    { key: 'kind', name: 'Kind' },
    { key: 'subject', name: 'Of' },
    { key: 'message', name: 'What happened', wide: true },
  ]
  return html`<${Panel} title="Events" class="flush"><${Answer} of=${e} what="events" empty=${html`<${Empty}>Nothing has happened yet.</>`}>${rows => html`<${Table} label="Events" id="events" columns=${columns} rows=${rows} most=${20} />`}</></>`
}

const first = `CREATE TABLE trips AS SELECT * FROM '/path/to/trips.csv';
TRAIN MODEL fare USING gradient_boosted_trees PREDICT fare AS SELECT * FROM trips;`

function Start() {
  const q = useQuery(
    "SELECT count(*) AS n FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace WHERE relkind IN ('r', 'p') AND nspname NOT IN ('pg_catalog', 'information_schema', 'console')",
  )
  if (q.rows?.[0]?.n !== '0') return null
  return html`<${Panel} title="Start here"><${Empty} sql=${first}>There is no table yet that you may read. A file becomes one, and a model is trained on it where it lies.</></>`
}

export default function Overview() {
  const n = useLive('nodes')
  return html`<${Head} title="Overview" /><${Warnings} /><${Start} />
    <${Answer} of=${n}>${nodes => html`<${Summary} nodes=${nodes} /><${Nodes} nodes=${nodes} />`}</>
    <${History} /><${Events} />`
}
