// What the threads of all nodes do, as a stream, and what the nodes send each other, as a matrix.
import { html, useEffect, useMemo, useRef, useState } from '../vendor/vendor.js'
import { useLive } from '../core/live.js'
import { address, location, set } from '../core/router.js'
import { Heat } from '../core/chart.js'
import { colour, scheme, series } from '../core/theme.js'
import { useKeys } from '../core/keys.js'
import { Answer, Button, Empty, Head, Panel, Select, Table } from '../core/ui.js'
import { bytes, clock, count, date, duration, short } from '../core/format.js'

const keep = 600 // seconds of tasks that the page remembers
const lane = 18

const hash = text => [...text].reduce((h, c) => (h * 31 + c.charCodeAt(0)) >>> 0, 7)
// brief is a statement's id without the node's.
const brief = id => id.replace(/^\d{6,}-/, '')
const tint = t => series(hash(`${t.statement} ${t.stage}`))

// useStream keeps the tasks that have come, newest state of each.
function useStream(paused) {
  const t = useLive('tasks'),
    kept = useRef(new Map())
  const [list, put] = useState([])
  useEffect(() => {
    if (!t?.rows || paused) return
    const from = Date.now() / 1000 - keep
    for (const r of t.rows)
      kept.current.set(`${r.node} ${r.slot} ${r.started_at}`, {
        ...r,
        from: date(r.started_at) / 1000,
        to: r.ended_at ? date(r.ended_at) / 1000 : null,
      })
    for (const [k, r] of kept.current) if ((r.to ?? Infinity) < from) kept.current.delete(k)
    put([...kept.current.values()])
  }, [t, paused])
  return { tasks: list, t }
}

function Stream({ tasks, span, end, onSpan }) {
  const box = useRef(),
    canvas = useRef(),
    places = useRef([])
  const [tip, show] = useState(null)
  const lanes = useMemo(
    () =>
      [...new Set(tasks.map(t => `${t.node}\0${t.slot}`))].sort((a, b) => {
        const [x, y] = [a.split('\0'), b.split('\0')]
        return x[0] < y[0] ? -1 : x[0] > y[0] ? 1 : x[1] - y[1]
      }),
    [tasks],
  )
  const state = useRef()
  state.current = { tasks, lanes, span, end }
  useEffect(() => {
    let frame = 0
    const el = box.current,
      c = canvas.current
    const draw = () => {
      frame = requestAnimationFrame(draw)
      const { tasks, lanes, span, end } = state.current,
        w = el.clientWidth,
        h = lane * lanes.length + 26,
        ratio = devicePixelRatio || 1
      const now = end ?? Date.now() / 1000,
        key = `${w} ${h} ${tasks.length} ${span} ${Math.round((now * w) / span)} ${scheme.value} ${tasks.reduce((n, t) => n + (t.to ?? 0), 0)}`
      if (c.drawn === key) return
      c.drawn = key
      Object.assign(c, { width: w * ratio, height: h * ratio })
      c.style.width = w + 'px'
      c.style.height = h + 'px'
      const g = c.getContext('2d'),
        left = 92,
        x = t => left + ((t - (now - span)) / span) * (w - left)
      g.scale(ratio, ratio)
      g.font = '11px system-ui, sans-serif'
      const step = [0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120].find(s => (s / span) * (w - left) > 70) ?? 300
      g.strokeStyle = colour('line')
      g.fillStyle = colour('soft')
      for (let t = Math.ceil((now - span) / step) * step; t <= now; t += step) {
        g.beginPath()
        g.moveTo(x(t), 0)
        g.lineTo(x(t), h - 20)
        g.stroke()
        g.fillText(step < 1 ? clock(new Date(t * 1000)) + (t % 1).toFixed(2).slice(1) : clock(new Date(t * 1000)), x(t) - 20, h - 6)
      }
      let before = ''
      lanes.forEach((l, k) => {
        const [node, slot] = l.split('\0')
        g.fillStyle = colour('soft')
        if (node !== before) g.fillText(node.slice(0, 11), 0, lane * k + 13)
        g.fillText(slot, 72, lane * k + 13)
        before = node
      })
      places.current = []
      const index = new Map(lanes.map((l, k) => [l, k]))
      for (const t of tasks) {
        const a = Math.max(left, x(t.from)),
          b = Math.min(w, x(t.to ?? now))
        if (b < left || a > w) continue
        const k = index.get(`${t.node}\0${t.slot}`),
          wide = Math.max(1.5, b - a)
        g.fillStyle = tint(t)
        g.globalAlpha = t.to === null ? 0.65 : 1
        g.fillRect(a, lane * k + 2, wide, lane - 4)
        places.current.push([a, a + wide, k, t])
      }
      g.globalAlpha = 1
    }
    draw()
    return () => cancelAnimationFrame(frame)
  }, [])
  const find = e => {
    const r = canvas.current.getBoundingClientRect(),
      px = e.clientX - r.left,
      k = Math.floor((e.clientY - r.top) / lane)
    const hit = places.current.findLast(([a, b, l]) => l === k && px >= a - 2 && px <= b + 2)
    show(hit ? { t: hit[3], x: Math.min(px + 12, r.width - 240), y: e.clientY - r.top + 12 } : null)
    return hit?.[3]
  }
  const wheel = e => {
    if (!e.ctrlKey && !e.shiftKey) return
    e.preventDefault()
    onSpan(Math.min(keep, Math.max(0.5, span * (e.deltaY > 0 || e.deltaX > 0 ? 1.3 : 1 / 1.3))))
  }
  return html`<div class="stream" ref=${box} onMouseMove=${find} onMouseLeave=${() => show(null)} onWheel=${wheel} onClick=${e => {
    const t = find(e)
    if (t) set({ statement: t.statement })
  }}>
    <canvas ref=${canvas} role="img" aria-label=${`Task stream: ${tasks.length} tasks on ${lanes.length} threads; the table below has the same by stage`} />
    ${tip && html`<div class="tip" style=${{ left: tip.x + 'px', top: tip.y + 'px' }}><strong>${tip.t.kind}</strong>, stage ${tip.t.stage}<br />statement ${brief(tip.t.statement)}<br />${duration((tip.t.to ?? Date.now() / 1000) - tip.t.from)}, ${short(tip.t.rows)} rows, ${bytes(tip.t.bytes)}</div>`}</div>`
}

function Matrix({ statement }) {
  const t = useLive('transfers')
  return html`<${Panel} title="Sent between nodes"><${Answer} of=${t} what="what nodes send each other" empty=${html`<${Empty}>No node has sent rows to another yet.</>`}>${rows => {
    const list = rows.filter(r => !statement || r.statement === statement),
      names = [...new Set(list.flatMap(r => [r.from_node, r.to_node]))].sort()
    const cells = names.map(() => names.map(() => null))
    for (const r of list)
      cells[names.indexOf(r.from_node)][names.indexOf(r.to_node)] = (cells[names.indexOf(r.from_node)][names.indexOf(r.to_node)] ?? 0) + +r.bytes
    return names.length
      ? html`<${Heat} rows=${names} columns=${names} cells=${cells} format=${bytes} corner="from \\ to" label="Bytes from each node to each other" />`
      : html`<${Empty}>This statement's nodes have sent each other nothing.</>`
  }}</></>`
}

const spans = [
  ['5', '5 s'],
  ['15', '15 s'],
  ['60', '1 min'],
  ['300', '5 min'],
  ['600', '10 min'],
]

export default function Tasks() {
  const q = location.value.query,
    span = +(q.span ?? 60),
    [paused, pause] = useState(null)
  const { tasks, t } = useStream(!!paused)
  const zoom = f =>
    set({ span: String(Math.round(10 * Math.min(keep, Math.max(0.5, +(new URLSearchParams(window.location.search).get('span') ?? 60) * f))) / 10) })
  useKeys({
    p: ['Stop and go on (tasks)', () => pause(p => (p ? null : Date.now() / 1000))],
    '+': ['Closer (tasks)', () => zoom(1 / 1.5)],
    '-': ['Farther (tasks)', () => zoom(1.5)],
  })
  const shown = tasks.filter(x => !q.statement || x.statement === q.statement)
  const stages = useMemo(() => {
    const of = new Map()
    for (const x of shown) {
      const key = `${x.statement} ${x.stage} ${x.kind}`,
        s =
          of.get(key) ??
          of
            .set(key, { statement: x.statement, stage: x.stage, kind: x.kind, tasks: 0, seconds: 0, rows: 0, bytes: 0, t: x, nodes: new Set() })
            .get(key)
      s.tasks++
      s.seconds += (x.to ?? Date.now() / 1000) - x.from
      s.rows += +x.rows
      s.bytes += +x.bytes
      s.nodes.add(x.node)
    }
    return [...of.values()]
  }, [tasks, q.statement])
  return html`<${Head} title="Tasks"><${Select} name="statement" label="Statement" options=${[['', 'All statements'], ...[...new Set(tasks.map(x => x.statement))].map(x => [x, brief(x)])]} />
      <div class="tools">${spans.map(([s, name]) => html`<${Button} kind=${+s === span ? 'chosen' : 'quiet'} aria-pressed=${+s === span} onClick=${() => set({ span: s === '60' ? null : s })}>${name}</>`)}</div>
      <${Button} icon=${paused ? 'play' : 'stop'} onClick=${() => pause(paused ? null : Date.now() / 1000)}>${paused ? 'Go on' : 'Stop'}</></>
    <${Panel} title="Threads"><${Answer} of=${t?.error ? t : { rows: tasks }} what="what its threads have done" empty=${html`<${Empty} sql="SELECT origin, count(*) FROM flights GROUP BY 1">Nothing has run in the last minute. Run a statement that reads many rows:</>`}>${() => html`<${Stream} tasks=${shown} span=${span} end=${paused} onSpan=${s => set({ span: String(Math.round(s * 10) / 10) })} /><p class="soft">A row a thread, a colour a stage. Ctrl and the wheel, or + and −, zoom.</p>`}</></>
    <div class="columns">
      <${Panel} title="Stages" class="flush">${
        stages.length
          ? html`<${Table} id="stages" label="Stages" rows=${stages} sort="-seconds" columns=${[
              { key: 'kind', name: 'Task', cell: s => html`<i class="swatch" style=${{ background: tint(s.t) }} /> ${s.kind}` },
              {
                key: 'statement',
                name: 'Statement',
                cell: s => html`<a href=${address('statements', s.statement)} title=${s.statement}>${brief(s.statement)}</a>`,
              },
              { key: 'stage', name: 'Stage', number: true },
              { key: 'tasks', name: 'Tasks', number: true },
              { key: 'seconds', name: 'Busy', number: true, cell: s => duration(s.seconds) },
              { key: 'rows', name: 'Rows', number: true, cell: s => count(s.rows) },
              { key: 'bytes', name: 'Bytes', number: true, cell: s => bytes(s.bytes) },
              { key: 'nodes', name: 'Nodes', number: true, sort: s => s.nodes.size, cell: s => s.nodes.size },
            ]} />`
          : html`<${Empty}>No stage has run.</>`
      }</>
      <${Matrix} statement=${q.statement} /></div>`
}
