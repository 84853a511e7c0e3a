// Charts: lines, points and bars by uPlot, with axes, the theme's colours and what is under the cursor; bars of categories and heat maps.
import { html, uPlot, useEffect, useRef, useState } from '../vendor/vendor.js'
import { colour, scheme, series } from './theme.js'
import { bytes, clock, number, short } from './format.js'

const two = n => String(n).padStart(2, '0')
// Times of an axis are as short as their distance allows.
const times = (_, list, __, ___, step) =>
  list.map(t => {
    const d = new Date(t * 1000)
    return step >= 86400
      ? `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`
      : step >= 60
        ? `${two(d.getHours())}:${two(d.getMinutes())}`
        : clock(d)
  })
const binary = Array.from({ length: 60 }, (_, i) => 2 ** i)

const axis = (label, time, format) => ({
  label,
  labelSize: label ? 18 : 0,
  labelFont: '12px system-ui, sans-serif',
  font: '11px system-ui, sans-serif',
  labelGap: 0,
  stroke: () => colour('soft'),
  grid: { stroke: () => colour('line'), width: 1 },
  ticks: { show: false },
  gap: 4,
  ...(format === bytes ? { incrs: binary } : {}),
  ...(time ? { values: times } : { values: (_, list) => list.map(v => (v === null ? '' : format ? format(v) : short(v))) }),
})

const stepped = () => uPlot.paths.stepped({ align: 1 })
const paths = {
  bars: () => uPlot.paths.bars({ size: [0.92, 60], align: 0 }),
  histogram: () => uPlot.paths.bars({ size: [1], align: 1, gap: 1 }),
  points: () => () => null,
  step: stepped,
  line: () => uPlot.paths.linear(),
}

// Chart: x and ys of the same length (null is a gap), lines [{label, kind, colour, dash, fill}]; time: x is seconds since 1970; format and xformat write the axes;
// zero: the axis goes down to 0; marks [[x, text]] are lines across.
export function Chart({
  x,
  ys,
  lines,
  height = 200,
  xlabel,
  ylabel,
  time,
  format,
  xformat,
  label,
  range,
  xrange,
  zero,
  log,
  equal,
  sync,
  onSelect,
  marks,
  legend = true,
}) {
  const box = useRef(),
    plot = useRef(),
    latest = useRef()
  const [at, put] = useState(null)
  latest.current = { onSelect, marks }
  const shape = JSON.stringify([lines.map(l => [l.label, l.kind, l.dash]), height, xlabel, ylabel, time, log, zero, scheme.value, range, xrange])
  useEffect(() => {
    const el = box.current
    const width = () => Math.max(120, el.clientWidth)
    plot.current = new uPlot(
      {
        width: width(),
        height: equal ? Math.min(width(), height) : height,
        padding: [8, time ? 26 : 12, 0, 0],
        scales: {
          x: { time: !!time, ...(xrange ? { range: xrange } : {}) },
          y: {
            distr: log ? 3 : 1,
            range:
              range ??
              ((_, lo, hi) =>
                log
                  ? [lo, hi]
                  : lo === null
                    ? [0, 1]
                    : lo === hi
                      ? [lo - Math.abs(lo || 1) * 0.1, hi + Math.abs(hi || 1) * 0.1]
                      : uPlot.rangeNum(lo, hi, { min: { pad: 0.06, soft: 0, mode: zero ? 1 : 0 }, max: { pad: 0.08, soft: 0, mode: zero ? 1 : 0 } })),
          },
        },
        axes: [
          { ...axis(xlabel, time, xformat), size: 24 + (xlabel ? 2 : 0), space: 60 },
          { ...axis(ylabel, false, format), size: (_, v) => 14 + 6.6 * Math.max(2, ...(v ?? []).map(t => t.length)), space: 34 },
        ],
        series: [
          {},
          ...lines.map((l, i) => ({
            label: l.label,
            stroke: () => (l.colour ? colour(l.colour) : series(i)),
            width: l.width ?? 1.75,
            dash: l.dash ? [4, 4] : undefined,
            spanGaps: true,
            points: {
              show: l.kind === 'points' ? true : (l.points ?? (x ?? []).length === 1),
              size: l.kind === 'points' ? 4 : 5,
              fill: () => (l.colour ? colour(l.colour) : series(i)) + (l.kind === 'points' ? '99' : ''),
              stroke: 'transparent',
              width: 0,
            },
            paths: paths[l.kind ?? 'line']?.(),
            fill:
              l.kind === 'bars' || l.kind === 'histogram'
                ? () => (l.colour ? colour(l.colour) : series(i)) + 'b0'
                : l.fill
                  ? () => (l.colour ? colour(l.colour) : series(i)) + '22'
                  : undefined,
          })),
        ],
        cursor: { y: false, points: { size: 6 }, drag: { x: !!onSelect, y: false, setScale: false }, sync: sync ? { key: sync } : undefined },
        legend: { show: false },
        hooks: {
          draw: [
            u => {
              const g = u.ctx
              for (const [at, text] of latest.current.marks ?? []) {
                const left = u.valToPos(at, 'x', true)
                if (left < u.bbox.left || left > u.bbox.left + u.bbox.width) continue
                g.save()
                g.strokeStyle = g.fillStyle = colour('warn')
                g.font = `${11 * devicePixelRatio}px system-ui, sans-serif`
                g.textAlign = left > u.bbox.left + u.bbox.width * 0.8 ? 'right' : 'left'
                g.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio])
                g.beginPath()
                g.moveTo(left, u.bbox.top)
                g.lineTo(left, u.bbox.top + u.bbox.height)
                g.stroke()
                g.fillText(` ${text} `, left, u.bbox.top + 11 * devicePixelRatio)
                g.restore()
              }
            },
          ],
          setCursor: [u => put(u.cursor.idx ?? null)],
          setSelect: [
            u => {
              if (u.select.width < 4) return
              latest.current.onSelect?.(u.posToVal(u.select.left, 'x'), u.posToVal(u.select.left + u.select.width, 'x'))
              u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false)
            },
          ],
        },
      },
      [x, ...ys],
      el,
    )
    const canvas = el.querySelector('canvas')
    canvas.setAttribute('role', 'img')
    canvas.setAttribute('aria-label', label ?? [ylabel, xlabel].filter(Boolean).join(' by ') ?? 'chart')
    const watch = new ResizeObserver(() => plot.current?.setSize({ width: width(), height: equal ? Math.min(width(), height) : height }))
    watch.observe(el)
    return () => {
      watch.disconnect()
      plot.current.destroy()
      plot.current = null
    }
  }, [shape])
  useEffect(() => {
    plot.current?.setData([x, ...ys])
  }, [x, ys, JSON.stringify(marks)])
  const i = at ?? x.length - 1
  const show = (v, f) => (v === null || v === undefined ? '–' : f ? f(v) : number(v))
  return html`<div class="chart"><div ref=${box} />${
    legend &&
    x.length > 0 &&
    html`<div class="legend">
    ${(at !== null || !time) && html`<span>${xlabel ? xlabel + ' ' : ''}<b>${time ? clock(new Date(1000 * x[i])) : show(x[i], xformat)}</b></span>`}
    ${lines.map((l, k) => html`<span><i style=${{ background: `var(--${l.colour ?? 'series-' + (1 + (k % 8))})` }} />${l.label} <b>${show(ys[k]?.[i], format)}</b></span>`)}
  </div>`
  }</div>`
}

// Spark is a curve without axes, for a table's cell.
export function Spark({ values, label = 'curve' }) {
  const list = values.filter(v => v !== null && Number.isFinite(+v)).map(Number)
  if (list.length < 2) return null
  const lo = Math.min(...list),
    hi = Math.max(...list)
  const points = list.map((v, i) => `${(1 + (98 * i) / (list.length - 1)).toFixed(1)},${(21 - (18 * (v - lo)) / (hi - lo || 1)).toFixed(1)}`)
  return html`<svg class="spark" width="100" height="24" viewBox="0 0 100 24" role="img" aria-label=${label}><polyline points=${points.join(' ')} fill="none" stroke="var(--series-1)" stroke-width="1.5" /></svg>`
}

// Bars of categories: [[name, value]], beside a common line if some are below 0.
export function Bars({ items, format = number, most = 30, label }) {
  const list = items.slice(0, most)
  const hi = Math.max(0, ...list.map(i => i[1])),
    lo = Math.min(0, ...list.map(i => i[1])),
    span = hi - lo || 1
  return html`<div class="bars" role="group" aria-label=${label}>${list.map(
    ([name, v]) => html`<span title=${name}>${name}</span>
    <div><i class=${v < 0 ? 'minus' : ''} style=${{ left: (100 * ((v < 0 ? v : 0) - lo)) / span + '%', width: (100 * Math.abs(v)) / span + '%' }} /></div><b>${format(v)}</b>`,
  )}
    ${items.length > most && html`<span class="soft">and ${items.length - most} more</span><div /><b />`}</div>`
}

const mix = (a, b, t) => {
  const p = s => [1, 3, 5].map(i => parseInt(s.slice(i, i + 2), 16))
  const [x, y] = [p(a), p(b)]
  return x.map((v, i) => Math.round(v + (y[i] - v) * t))
}

// over is the colour of text on a background: black or white, whichever contrasts more, which is 4.58 at least (WCAG 2, relative luminance).
const over = rgb => {
  const [r, g, b] = rgb.map(v => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? '#000000' : '#ffffff'
}

// Heat map: cells [row][column] of numbers or null, with names. It is a table, so that it is read without colours too.
export function Heat({ rows, columns, cells, format = short, label, corner = '', text = true }) {
  scheme.value // drawn again in the other theme
  const all = cells.flat().filter(v => v !== null && Number.isFinite(v))
  const lo = Math.min(0, ...all),
    hi = Math.max(...all, 1e-300)
  const [c0, c1] = [colour('heat-0'), colour('heat-1')]
  return html`<div class="scroll" tabindex="0" role="group" aria-label=${label}><table class="heat">
    <thead><tr><th scope="col">${corner || html`<span class="sr">Row</span>`}</th>${columns.map(c => html`<th class="number" scope="col">${c}</th>`)}</tr></thead>
    <tbody>${rows.map(
      (r, i) =>
        html`<tr><th scope="row">${r}</th>${columns.map((_, j) => {
          const v = cells[i][j],
            shade = v === null ? null : mix(c0, c1, (v - lo) / (hi - lo || 1))
          return html`<td class="number" title=${v === null ? '' : `${r}, ${columns[j]}: ${number(v)}`} style=${shade ? { background: `rgb(${shade.join(',')})`, color: over(shade) } : {}}>${v === null || !text ? '' : format(v)}</td>`
        })}</tr>`,
    )}</tbody></table></div>`
}

// bins of numbers for a histogram: {x: left edges, y: counts, width}.
export function bins(values, most = 40) {
  const list = values.filter(Number.isFinite)
  if (!list.length) return { x: [], y: [], width: 1 }
  let lo = Infinity,
    hi = -Infinity
  for (const v of list) {
    if (v < lo) lo = v
    if (v > hi) hi = v
  }
  const n = Math.max(1, Math.min(most, Math.ceil(Math.sqrt(list.length)))),
    width = (hi - lo) / n || 1
  const y = Array(n).fill(0)
  for (const v of list) y[Math.min(n - 1, Math.floor((v - lo) / width))]++
  return { x: y.map((_, i) => lo + i * width), y, width }
}
