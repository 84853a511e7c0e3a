// The log of all nodes, newest first.
import { html, useMemo, useRef, useState } from '../vendor/vendor.js'
import { json } from '../core/api.js'
import { useLive } from '../core/live.js'
import { location } from '../core/router.js'
import { useKeys } from '../core/keys.js'
import { Answer, Button, Empty, Head, Panel, Search, Select, State, Table, matches } from '../core/ui.js'
import { when } from '../core/format.js'

const levels = [
  ['', 'All levels'],
  ['INFO', 'Info and above'],
  ['WARN', 'Warnings and errors'],
  ['ERROR', 'Errors'],
]
// pairs are the fields of a line, those of fields within them too.
const pairs = (o, before = '') =>
  Object.entries(o).flatMap(([k, v]) =>
    v && typeof v === 'object' && !Array.isArray(v) ? pairs(v, `${before}${k}.`) : [[before + k, Array.isArray(v) ? v.join(',') : String(v)]],
  )

const rank = l => ({ DEBUG: 0, INFO: 1, WARN: 2, WARNING: 2, ERROR: 3 })[(l ?? '').toUpperCase()] ?? 1

// What came between two answers that did not overlap is not shown; the relation has it.
export default function Logs() {
  const live = useLive('logs'),
    q = location.value.query,
    [stopped, stop] = useState(null)
  const kept = useRef(new Map())
  const rows = useMemo(() => {
    if (!stopped) for (const r of live?.rows ?? []) kept.current.set(`${r.at} ${r.node} ${r.message} ${r.fields}`, r)
    const list = [...kept.current.values()].sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0)).slice(0, 3000)
    return list
  }, [live, stopped])
  useKeys({ p: ['Stop and go on (logs)', () => stop(s => !s)] })
  const fits = r => rank(r.level) >= rank(q.level || 'DEBUG') && (!q.node || r.node === q.node) && matches(q.q, [r.message, r.fields ?? ''])
  return html`<${Head} title="Logs"><${Search} /><${Select} name="level" label="Level" options=${levels} /><${Select} name="node" label="Node" options=${[['', 'All nodes'], ...new Set(rows.map(r => r.node))]} />
      <${Button} icon=${stopped ? 'play' : 'stop'} onClick=${() => stop(!stopped)}>${stopped ? 'Go on' : 'Stop'}</></>
    <${Panel} class="flush"><${Answer} of=${live?.error ? live : { rows }} what="its log" empty=${live?.rows ? html`<${Empty} sql="SELECT * FROM cluster.logs ORDER BY at DESC">The log has no lines.</>` : html`<${Empty}>…</>`}>${all =>
      html`<${Table} id="logs" label="Log" most=${300} rows=${all.filter(fits)} columns=${[
        { key: 'at', name: 'When', cell: r => html`<span class="mono nowrap">${when(r.at)}</span>` },
        { key: 'node', name: 'Node' },
        { key: 'level', name: 'Level', sort: r => rank(r.level), cell: r => html`<${State} of=${(r.level ?? '').toLowerCase()} />` },
        {
          key: 'message',
          name: 'Message',
          wide: true,
          cell: r =>
            html`${r.message} <span class="soft mono">${pairs(json(r.fields)).map(([k, v]) => html`<span class="pair"><i>${k}=</i>${v}</span> `)}</span>`,
        },
      ]} />`}</></>`
}
