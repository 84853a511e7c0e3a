// A result as a chart, of the kind and the columns that were chosen.
import { html, useMemo } from '../vendor/vendor.js'
import { Bars, Chart, Heat, bins } from './chart.js'
import { date, isNumber, isTime, number } from './format.js'
import { Empty } from './ui.js'

export const kinds = [
  ['line', 'Line'],
  ['bar', 'Bars'],
  ['scatter', 'Scatter'],
  ['histogram', 'Histogram'],
  ['heat', 'Heat map'],
]
const most = { line: 200000, bar: 60, scatter: 30000, histogram: 1e6, heat: 200000 }

const num = v => (v === null || v === undefined || v === '' ? null : Number.isFinite(+v) ? +v : null)

// suggest chooses what to draw by the columns' types.
export function suggest(columns) {
  const numbers = columns.filter(c => isNumber(c.type)),
    times = columns.filter(c => isTime(c.type)),
    others = columns.filter(c => !isNumber(c.type) && !isTime(c.type))
  if (times.length && numbers.length) return { kind: 'line', x: times[0].name, y: [numbers[0].name] }
  if (others.length && numbers.length) return { kind: 'bar', x: others[0].name, y: [numbers[0].name] }
  if (numbers.length > 1) return { kind: 'line', x: numbers[0].name, y: [numbers[1].name] }
  return { kind: 'histogram', x: (numbers[0] ?? columns[0])?.name, y: [] }
}

function take(columns, rows, name, limit) {
  const j = columns.findIndex(c => c.name === name),
    time = isTime(columns[j]?.type),
    out = []
  const every = Math.max(1, Math.ceil(rows.length / limit))
  for (let i = 0; i < rows.length; i += every) {
    const v = rows.at(i)[j]
    out.push(time ? (v === null ? null : date(v.length === 10 ? v + ' 00:00:00' : v) / 1000) : v)
  }
  return { values: out, time, every }
}

function make(columns, rows, { kind, x, y, group }) {
  const limit = most[kind],
    a = take(columns, rows, x, kind === 'bar' ? rows.length || 1 : limit)
  if (kind === 'histogram') return bins(a.values.map(num).filter(v => v !== null))
  if (kind === 'bar') return { items: a.values.map((v, i) => [v ?? 'NULL', num(rows.at(i)[columns.findIndex(c => c.name === y[0])]) ?? 0]) }
  if (kind === 'heat') {
    const names = l => [...new Set(l)].slice(0, 60)
    const b = take(columns, rows, group, limit),
      v = take(columns, rows, y[0], limit)
    const sorted = (l, c) => (isNumber(columns.find(k => k.name === c)?.type) ? l.sort((p, q) => p - q) : l.sort())
    const xs = sorted(names(a.values.map(String)), x),
      ys = sorted(names(b.values.map(String)), group)
    const cells = ys.map(() => xs.map(() => null))
    a.values.forEach((p, i) => {
      const r = ys.indexOf(String(b.values[i])),
        c = xs.indexOf(String(p))
      if (r >= 0 && c >= 0) cells[r][c] = (cells[r][c] ?? 0) + (num(v.values[i]) ?? 0)
    })
    return { xs, ys, cells }
  }
  // uPlot wants x in order; with a group each of its values is a line.
  const xs = a.values.map(v => (a.time ? v : num(v)))
  const lists = y.map(name => take(columns, rows, name, limit).values.map(num))
  const order = xs
    .map((_, i) => i)
    .filter(i => xs[i] !== null)
    .sort((p, q) => xs[p] - xs[q])
  if (!group) return { x: order.map(i => xs[i]), ys: lists.map(l => order.map(i => l[i])), names: y, time: a.time, every: a.every }
  const g = take(columns, rows, group, limit).values,
    names = [...new Set(g)].slice(0, 12),
    at = new Map(),
    x2 = []
  for (const i of order) {
    if (x2[x2.length - 1] !== xs[i] || kind === 'scatter') x2.push(xs[i])
    at.set(i, x2.length - 1)
  }
  const ys = names.map(() => Array(x2.length).fill(null))
  for (const i of order) {
    const k = names.indexOf(g[i])
    if (k >= 0) ys[k][at.get(i)] = lists[0]?.[i] ?? null
  }
  return { x: x2, ys, names: names.map(n => n ?? 'NULL'), time: a.time, every: a.every }
}

export function Draw({ columns, rows, version, spec, height = 340 }) {
  const made = useMemo(() => make(columns, rows, spec), [columns, rows, version, JSON.stringify(spec)])
  const label = `${spec.kind} of ${spec.y.join(', ') || spec.x} by ${spec.x}`
  if (spec.kind === 'bar') return html`<${Bars} items=${made.items} most=${most.bar} format=${number} label=${label} />`
  if (spec.kind === 'heat')
    return spec.group && spec.y.length
      ? html`<${Heat} rows=${made.ys} columns=${made.xs} cells=${made.cells} label=${label} corner=${`${spec.group} \\ ${spec.x}`} />`
      : html`<${Empty}>A heat map needs two columns to lay out and one of numbers.</>`
  if (!made.x.length) return html`<${Empty}>There are no numbers in these columns.</>`
  if (spec.kind === 'histogram')
    return html`<${Chart} x=${made.x} ys=${[made.y]} lines=${[{ label: 'rows', kind: 'histogram' }]} zero xlabel=${spec.x} ylabel="rows" height=${height} label=${label} xrange=${(_, lo, hi) => [lo, hi + made.width]} />`
  return html`${made.every > 1 && html`<p class="soft">Every ${made.every}th row is drawn.</p>`}
    <${Chart} x=${made.x} ys=${made.ys} lines=${made.names.map(label => ({ label, kind: spec.kind === 'scatter' ? 'points' : 'line' }))} xlabel=${spec.x} ylabel=${made.names.length === 1 ? made.names[0] : spec.group ? spec.y[0] : ''} time=${made.time} height=${height} label=${label} />`
}

// Choose is the row of fields for a spec.
export function Choose({ columns, spec, onChange }) {
  const names = columns.map(c => c.name),
    numbers = columns.filter(c => isNumber(c.type)).map(c => c.name)
  const field = (label, value, options, put) =>
    html`<label class="select"><span>${label}</span><select value=${value ?? ''} onChange=${e => put(e.target.value)}>${options.map(o => html`<option value=${o[0] ?? o}>${o[1] ?? o}</option>`)}</select></label>`
  const change = c => onChange({ ...spec, ...c })
  const pairs = l => l.map(n => [n, n])
  return html`<div class="tools choose">
    ${field('Chart', spec.kind, kinds, kind => change({ kind, ...(kind === 'heat' && !spec.group ? { group: names.find(n => n !== spec.x && n !== spec.y[0]) } : {}) }))}
    ${field(spec.kind === 'histogram' ? 'of' : 'x', spec.x, pairs(names), x => change({ x }))}
    ${spec.kind !== 'histogram' && field('y', spec.y[0] ?? '', pairs(numbers), y => change({ y: [y, ...spec.y.slice(1)] }))}
    ${spec.kind === 'line' && !spec.group && numbers.length > 2 && field('and', spec.y[1] ?? '', [['', 'nothing'], ...pairs(numbers)], y => change({ y: y ? [spec.y[0], y] : spec.y.slice(0, 1) }))}
    ${['line', 'scatter', 'heat'].includes(spec.kind) && field(spec.kind === 'heat' ? 'down' : 'by', spec.group ?? '', [['', 'nothing'], ...pairs(names)], group => change({ group: group || undefined }))}
  </div>`
}
