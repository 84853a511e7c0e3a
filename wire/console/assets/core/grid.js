// A grid of any number of rows: only what is seen has elements, and these are used again while it scrolls.
import { html, useEffect, useRef } from '../vendor/vendor.js'
import { isNumber } from './format.js'
import { toast } from './ui.js'

const height = 26
const tallest = 16e6 // pixels; browsers lose count of taller elements

// Rows keeps rows in the chunks in which they came.
export class Rows {
  chunks = []
  starts = []
  length = 0
  add(chunk) {
    if (!chunk.length) return
    this.starts.push(this.length)
    this.chunks.push(chunk)
    this.length += chunk.length
  }
  at(i) {
    let lo = 0,
      hi = this.starts.length - 1
    while (lo < hi) {
      const mid = (lo + hi + 1) >> 1
      this.starts[mid] <= i ? (lo = mid) : (hi = mid - 1)
    }
    return this.chunks[lo]?.[i - this.starts[lo]]
  }
  *[Symbol.iterator]() {
    for (const c of this.chunks) yield* c
  }
}

const shown = v => (v.length > 300 ? v.slice(0, 300) + '…' : v).replace(/[\r\n]+/g, ' ⏎ ')

class View {
  constructor(box, columns, rows, onCell) {
    Object.assign(this, { box, columns, rows, onCell, pool: [], chosen: null, ask: 0 })
    this.widths = columns.map((c, j) => {
      let w = c.name.length
      for (let i = 0; i < Math.min(100, rows.length); i++) w = Math.max(w, Math.min(60, rows.at(i)?.[j]?.length ?? 4))
      return Math.round(26 + 8 * Math.min(w, 48))
    })
    box.textContent = ''
    this.space = this.cells = box.appendChild(document.createElement('div'))
    this.head = this.row('names')
    box.onscroll = () => this.later()
    box.onkeydown = e => this.key(e)
    box.onmousedown = e => this.press(e)
    box.ondblclick = () => this.chosen && this.onCell?.(this.value(), this.columns[this.chosen[1]])
    this.watch = new ResizeObserver(() => this.later())
    this.watch.observe(box)
    this.update()
  }
  row(kind = '') {
    const r = this.cells.appendChild(document.createElement('div'))
    r.className = 'row ' + kind
    return r
  }
  update() {
    this.gutter = 22 + 8 * Math.max(2, String(this.rows.length).length)
    this.lefts = []
    let x = this.gutter
    for (const w of this.widths) {
      this.lefts.push(x)
      x += w
    }
    this.total = height * (this.rows.length + 1)
    this.space.style.height = Math.min(this.total, tallest) + 'px'
    this.space.style.width = x + 'px'
    this.state = ''
    this.later()
  }
  later() {
    this.ask ||= requestAnimationFrame(() => {
      this.ask = 0
      this.draw()
    })
  }
  // The first row seen: where the element is shorter than the rows, a pixel of scrolling is more than one.
  top() {
    const room = this.box.clientHeight,
      real = Math.max(1, Math.min(this.total, tallest) - room)
    return (this.box.scrollTop / real) * Math.max(0, this.total - room)
  }
  // A row keeps its element while it is seen, and its place in the scrolled element, so that scrolling by little moves nothing.
  draw() {
    const top = this.top(),
      room = this.box.clientHeight,
      left = this.box.scrollLeft,
      wide = this.box.clientWidth,
      shift = this.box.scrollTop - top
    const first = Math.floor(top / height),
      count = Math.min(this.rows.length - first, Math.ceil(room / height) + 1)
    let c0 = 0
    while (c0 < this.columns.length - 1 && this.lefts[c0] + this.widths[c0] < left + this.gutter) c0++
    let c1 = c0
    while (c1 < this.columns.length && this.lefts[c1] < left + wide) c1++
    const state = `${c0} ${c1} ${left} ${this.chosen} ${this.widths}`,
      same = state === this.state
    this.state = state
    if (!same) this.fill(this.head, c0, c1, left, 0, -1)
    while (this.pool.length < count) this.pool.push(this.row())
    const n = this.pool.length,
      seen = Array(n).fill(false)
    for (let i = first; i < first + count; i++) {
      const r = this.pool[i % n]
      seen[i % n] = true
      if (r.style.display) r.style.display = ''
      const y = height * (i + 1) + shift
      if (same && r.index === i && r.whole) {
        if (r.y !== y) r.style.top = (r.y = y) + 'px'
      } else this.fill(r, c0, c1, left, y, i)
    }
    this.pool.forEach((r, k) => {
      if (!seen[k] && !r.style.display) r.style.display = 'none'
    })
  }
  fill(r, c0, c1, left, y, i) {
    const row = i < 0 ? null : this.rows.at(i)
    if (i >= 0) r.style.top = (r.y = y) + 'px'
    r.index = i
    r.whole = !!row
    while (r.children.length < c1 - c0 + 1) r.append(document.createElement('div'))
    while (r.children.length > c1 - c0 + 1) r.lastChild.remove()
    const set = (e, text, kind, x, w) => {
      if (e.firstChild?.nodeType !== 3 || e.firstChild.data !== text || e.childNodes.length > 1) e.textContent = text
      if (e.className !== kind) e.className = kind
      if (e.x !== x) e.style.left = (e.x = x) + 'px'
      if (e.w !== w) e.style.width = (e.w = w) + 'px'
    }
    for (let j = c0; j < c1; j++) {
      const v = i < 0 ? this.columns[j].name : row?.[j],
        e = r.children[j - c0]
      const number = isNumber(this.columns[j].type),
        chosen = this.chosen?.[0] === i && this.chosen?.[1] === j
      set(
        e,
        v === null || v === undefined ? 'NULL' : shown(v),
        (v === null ? 'null ' : '') + (number ? 'number ' : '') + (chosen ? 'chosen' : ''),
        this.lefts[j],
        this.widths[j],
      )
      e.dataset.column = j
      if (i < 0) {
        e.title = `${this.columns[j].name} ${this.columns[j].type}`
        e.append(Object.assign(document.createElement('span'), { className: 'pull' }))
      }
    }
    set(r.lastChild, i < 0 ? '' : String(i + 1), 'gutter', left, this.gutter)
    r.dataset.row = i
  }
  value = () => this.rows.at(this.chosen[0])?.[this.chosen[1]]
  choose(i, j) {
    i = Math.max(0, Math.min(this.rows.length - 1, i))
    j = Math.max(0, Math.min(this.columns.length - 1, j))
    this.chosen = [i, j]
    const top = this.top(),
      room = this.box.clientHeight - height,
      y = i * height
    const to = y < top ? y : y + height > top + room ? y + height - room : null
    if (to !== null)
      this.box.scrollTop = (to / Math.max(1, this.total - this.box.clientHeight)) * (Math.min(this.total, tallest) - this.box.clientHeight)
    const l = this.lefts[j] - this.gutter,
      r = this.lefts[j] + this.widths[j] - this.box.clientWidth
    if (this.box.scrollLeft > l) this.box.scrollLeft = l
    else if (this.box.scrollLeft < r) this.box.scrollLeft = r
    this.box.setAttribute('aria-label', `Result, row ${i + 1}, ${this.columns[j].name}: ${this.value() ?? 'NULL'}`)
    this.later()
  }
  key(e) {
    const page = Math.max(1, Math.floor(this.box.clientHeight / height) - 2),
      [i, j] = this.chosen ?? [0, -1]
    if ((e.ctrlKey || e.metaKey) && e.key === 'c' && this.chosen) {
      navigator.clipboard?.writeText(this.value() ?? '').then(() => toast('Copied'))
      return e.preventDefault()
    }
    const to = {
      ArrowDown: [i + (this.chosen ? 1 : 0), j],
      ArrowUp: [i - 1, j],
      ArrowLeft: [i, j - 1],
      ArrowRight: [i, j + 1],
      PageDown: [i + page, j],
      PageUp: [i - page, j],
      Home: e.ctrlKey ? [0, 0] : [i, 0],
      End: e.ctrlKey ? [this.rows.length - 1, this.columns.length - 1] : [i, this.columns.length - 1],
    }[e.key]
    if (e.key === 'Enter' && this.chosen) this.onCell?.(this.value(), this.columns[j])
    else if (!to || (e.metaKey && e.key !== 'ArrowDown')) return
    else this.choose(...to)
    e.preventDefault()
  }
  press(e) {
    const cell = e.target.closest('.row > div')
    if (e.target.className === 'pull') return this.pull(e, +cell.dataset.column)
    if (cell && !cell.classList.contains('gutter') && +cell.parentNode.dataset.row >= 0)
      this.choose(+cell.parentNode.dataset.row, +cell.dataset.column)
  }
  pull(e, j) {
    e.preventDefault()
    const from = e.clientX,
      was = this.widths[j]
    const move = m => {
      this.widths[j] = Math.max(40, was + m.clientX - from)
      this.update()
    }
    const end = () => {
      removeEventListener('mousemove', move)
      removeEventListener('mouseup', end)
    }
    addEventListener('mousemove', move)
    addEventListener('mouseup', end)
  }
  close() {
    this.watch.disconnect()
    cancelAnimationFrame(this.ask)
  }
}

// Grid shows Rows; version changes when rows have come.
export function Grid({ columns, rows, version, height = 420, onCell }) {
  const box = useRef(),
    view = useRef()
  useEffect(() => {
    view.current = new View(box.current, columns, rows, onCell)
    return () => view.current.close()
  }, [columns, rows])
  useEffect(() => view.current?.update(), [version])
  const tall = typeof height === 'number' ? Math.min(height, 26 * (rows.length + 1) + 18) + 'px' : height
  return html`<div class="grid" ref=${box} tabindex="0" role="application" aria-roledescription="grid" aria-label=${`Result, ${rows.length} rows`} style=${{ height: tall }} />`
}
