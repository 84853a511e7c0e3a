// What runs on all nodes, what ran, which kinds of statement cost most, and one statement with its plan.
import { html } from '../vendor/vendor.js'
import { useLive } from '../core/live.js'
import { address, location } from '../core/router.js'
import { Plan, fromOperators } from '../core/plan.js'
import {
  Act,
  Answer,
  Badge,
  Empty,
  ErrorBox,
  Head,
  Meter,
  Panel,
  Search,
  Select,
  Stat,
  State,
  Statement,
  Table,
  Tabs,
  matches,
  tab,
  useQuery,
} from '../core/ui.js'
import { bytes, count, date, duration, percent, short, when } from '../core/format.js'

const line = text => html`<span class="clip mono">${(text ?? '').replace(/\s+/g, ' ').slice(0, 200)}</span>`
const Cancel = ({ s }) => html`<${Act} sql=${`SELECT pg_cancel_backend(${s.pid})`} title="Cancel the statement?" danger icon="stop">Cancel</>`
const Terminate = ({ s }) => html`<${Act} sql=${`SELECT pg_terminate_backend(${s.pid})`} title="End the session that runs it?" danger>Terminate</>`

function Running() {
  const t = useLive('statements'),
    q = location.value.query
  return html`<${Answer} of=${t} what="what all nodes run" empty=${html`<${Panel}><${Empty} sql="SELECT * FROM cluster.statements">No statement runs.</></>`}>${rows => html`<${Panel} class="flush">
    <${Table} id="running" label="Running statements" rows=${rows.filter(r => matches(q.q, [r.query, r.role, r.node, r.application ?? '']))} sort="-seconds" href=${r => address('statements', r.id)} columns=${[
      { key: 'query', name: 'Statement', cell: r => line(r.query) },
      { key: 'state', name: 'State', cell: r => html`<${State} of=${r.state} />${+r.queued ? html` <small>place ${r.queued}</small>` : ''}` },
      { key: 'seconds', name: 'For', number: true, cell: r => duration(r.seconds) },
      {
        key: 'progress',
        name: 'Read',
        cell: r =>
          r.progress === null
            ? ''
            : html`<${Meter} value=${+r.progress} max=${1} label="Share that is read" /> <small>${percent(r.progress)}</small>`,
      },
      { key: 'rows', name: 'Rows', number: true, cell: r => short(r.rows) },
      { key: 'memory', name: 'Memory', number: true, cell: r => bytes(r.memory) },
      { key: 'spilled_bytes', name: 'Spilled', number: true, cell: r => (+r.spilled_bytes ? bytes(r.spilled_bytes) : '') },
      { key: 'role', name: 'Role' },
      { key: 'node', name: 'Node' },
      { key: 'application', name: 'Client', cell: r => html`${r.application} <small>${r.client}</small>` },
      { key: '', name: '', cell: r => html`<${Cancel} s=${r} /><${Terminate} s=${r} />` },
    ]} /></>`}</>`
}

const outcomes = [
  ['', 'All'],
  ['done', 'Done'],
  ['failed', 'Failed'],
  ['slow', 'Of a second and more'],
]

function History() {
  const t = useLive('statement_history'),
    q = location.value.query
  const fits = r =>
    (!q.outcome || (q.outcome === 'failed' ? r.sqlstate : q.outcome === 'done' ? !r.sqlstate : r.seconds >= 1)) &&
    (!q.role || r.role === q.role) &&
    matches(q.q, [r.query, r.role, r.node, r.sqlstate ?? '', r.error ?? ''])
  return html`<${Answer} of=${t} what="a history of statements" empty=${html`<${Panel}><${Empty}>No statement has ended yet.</></>`}>${rows => html`
    <div class="tools filters"><${Select} name="outcome" label="Outcome" options=${outcomes} /><${Select} name="role" label="Role" options=${[['', 'All roles'], ...new Set(rows.map(r => r.role))]} /></div>
    <${Panel} class="flush"><${Table} id="history" label="Statements that ended" rows=${rows.filter(fits)} sort="-started_at" href=${r => address('statements', r.id)} columns=${[
      { key: 'query', name: 'Statement', cell: r => line(r.query) },
      {
        key: 'sqlstate',
        name: 'Outcome',
        cell: r => (r.sqlstate ? html`<span title=${r.error}><${Badge} kind="bad">${r.sqlstate}</></span>` : html`<${Badge} kind="good">${r.tag}</>`),
      },
      { key: 'started_at', name: 'Begun', cell: r => when(r.started_at) },
      { key: 'seconds', name: 'Took', number: true, cell: r => duration(r.seconds) },
      { key: 'rows', name: 'Rows', number: true, cell: r => short(r.rows) },
      { key: 'memory_peak', name: 'Memory', number: true, cell: r => bytes(r.memory_peak) },
      { key: 'spilled_bytes', name: 'Spilled', number: true, cell: r => (+r.spilled_bytes ? bytes(r.spilled_bytes) : '') },
      { key: 'exchanged_bytes', name: 'Exchanged', number: true, cell: r => (+r.exchanged_bytes ? bytes(r.exchanged_bytes) : '') },
      { key: 'role', name: 'Role' },
      { key: 'node', name: 'Node' },
    ]} /></>`}</>`
}

function Kinds() {
  const t = useQuery(
      'SELECT queryid, query, calls, total_exec_time, mean_exec_time, max_exec_time, stddev_exec_time, rows FROM pg_stat_statements ORDER BY total_exec_time DESC LIMIT 500',
    ),
    q = location.value.query
  const ms = key => ({ key, number: true, cell: r => duration(r[key] / 1000) })
  return html`<${Answer} of=${t} what="statistics of statements" empty=${html`<${Panel}><${Empty}>No statement has been counted yet.</></>`}>${rows => {
    const all = rows.reduce((s, r) => s + +r.total_exec_time, 0)
    return html`<${Panel} class="flush"><${Table} id="kinds" label="Kinds of statement" sort="-total_exec_time" rows=${rows.filter(r => matches(q.q, [r.query]))} columns=${[
      { key: 'query', name: 'Statement', cell: r => html`<a href=${'/sql?q=' + encodeURIComponent(r.query)}>${line(r.query)}</a>` },
      { key: 'calls', name: 'Calls', number: true, cell: r => count(r.calls) },
      { ...ms('total_exec_time'), name: 'In all' },
      {
        key: 'share',
        name: 'Share',
        sort: r => +r.total_exec_time,
        cell: r =>
          html`<${Meter} value=${+r.total_exec_time} max=${all} label="Share of the time" /> <small>${percent(r.total_exec_time / all, 1)}</small>`,
      },
      { ...ms('mean_exec_time'), name: 'Mean' },
      { ...ms('stddev_exec_time'), name: '±' },
      { ...ms('max_exec_time'), name: 'Longest' },
      { key: 'rows', name: 'Rows', number: true, cell: r => short(r.rows) },
    ]} /></>`
  }}</>`
}

function One({ id }) {
  const live = useLive('statement', id),
    ops = useLive('operators', id)
  const now = live?.rows?.[0]
  const h = useQuery('SELECT * FROM cluster.statement_history WHERE id::text = $1 -- ' + (now ? 'runs' : 'ended'), [id])
  const past = h.rows?.[0],
    s = now ?? past
  if (!s)
    return html`<${Head} title="Statement" sub=${id} /><${Panel}>${h.error ? html`<${ErrorBox} error=${h.error} what="a history of statements" />` : h.rows && live?.rows && html`<${Empty}>It is no longer kept. <a href="/statements?tab=history">All that are</a></>`}</>`
  return html`<${Head} title="Statement" sub=${id}>${now && html`<${Cancel} s=${now} /><${Terminate} s=${now} />`}</>
    <${Panel}><dl class="stats">
      <${Stat} name="State">${now ? html`<${State} of=${now.state} />` : past.sqlstate ? html`<${Badge} kind="bad">${past.sqlstate}</>` : html`<${Badge} kind="good">${past.tag}</>`}</>
      <${Stat} name=${now ? 'For' : 'Took'}>${duration(s.seconds)}</>${past?.planning_ms && html`<${Stat} name="Planning">${duration(past.planning_ms / 1000)}</>`}
      <${Stat} name="Rows">${count(s.rows)}</><${Stat} name=${now ? 'Memory' : 'Memory at most'}>${bytes(s.memory ?? s.memory_peak)}</><${Stat} name="Spilled">${bytes(s.spilled_bytes)}</>${past?.exchanged_bytes && html`<${Stat} name="Exchanged">${bytes(past.exchanged_bytes)}</>`}
      <${Stat} name="Role">${s.role}</><${Stat} name="Node">${s.node}</><${Stat} name="Begun">${when(date(s.started_at))}</></dl>
      ${now?.progress && html`<${Meter} value=${+now.progress} max=${1} label="Share that is read" />`}
      ${past?.error && !now && html`<${ErrorBox} error=${{ message: past.error, code: past.sqlstate }} />`}</>
    <${Panel} title="Text"><${Statement} sql=${s.query} /></>
    <${Panel} title="Plan">${ops?.rows?.length ? html`<${Plan} tree=${fromOperators(ops.rows)} />` : ops?.error ? html`<${ErrorBox} error=${ops.error} what="what operators did" />` : html`<${Empty} sql=${'EXPLAIN (ANALYZE) ' + s.query}>No operators are kept of it.</>`}</>`
}

const tabs = [
  ['running', 'Running'],
  ['history', 'History'],
  ['kinds', 'By fingerprint'],
]

export default function Statements() {
  const id = location.value.parts[1],
    here = tab(tabs)
  if (id) return html`<${One} id=${id} key=${id} />`
  return html`<${Head} title="Statements"><${Search} /></><${Tabs} tabs=${tabs} label="Statements" />
    <div role="tabpanel" aria-label=${tabs.find(t => t[0] === here)?.[1]}>${here === 'history' ? html`<${History} />` : here === 'kinds' ? html`<${Kinds} />` : html`<${Running} />`}</div>`
}
