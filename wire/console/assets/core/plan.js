// A plan as a tree: what was expected of each operator, what came, and where the time went.
import { html } from '../vendor/vendor.js'
import { bytes, count, duration, short } from './format.js'

const plain = new Set([
  'Node Type',
  'Title',
  'Plans',
  'Stage',
  'Startup Cost',
  'Total Cost',
  'Plan Rows',
  'Plan Width',
  'Actual Startup Time',
  'Actual Total Time',
  'Actual Rows',
  'Actual Loops',
  'Actual Batches',
  'Peak Memory',
  'Spilled',
  'Sent',
  'Relation Name',
  'Alias',
  'Parent Relationship',
])

// alone takes from each operator's time that of the operators below it. One that only waits for another stage has none of its own.
function alone(n) {
  const below = n.children.filter(c => c.stage === n.stage).reduce((s, c) => s + (c.seconds ?? 0), 0),
    waits = n.children.length > 0 && n.children.every(c => c.stage !== n.stage)
  n.children.forEach(alone)
  if (n.seconds !== null && n.seconds !== undefined) n.seconds = waits ? null : Math.max(0, n.seconds - below)
  return n
}

// fromExplain makes a tree of what EXPLAIN (FORMAT json) returns: {name, stage, details, estimated, rows, seconds, memory, spilled, sent, children}.
export function fromExplain(text) {
  let top
  try {
    top = JSON.parse(text)[0]
  } catch {
    return null
  }
  const tree = p => {
    const children = (p.Plans ?? []).map(tree)
    return {
      name: p.Title ?? p['Node Type'],
      stage: p.Stage,
      children,
      estimated: p['Plan Rows'],
      rows: p['Actual Rows'],
      memory: p['Peak Memory'],
      spilled: p.Spilled,
      sent: p.Sent,
      seconds: p['Actual Total Time'] === undefined ? null : p['Actual Total Time'] / 1000,
      details: Object.entries(p)
        .filter(([k, v]) => (!plain.has(k) && typeof v !== 'object') || (Array.isArray(v) && k !== 'Plans'))
        .map(([k, v]) => `${k}: ${Array.isArray(v) ? v.join(', ') : v}`),
    }
  }
  return top?.Plan ? alone(tree(top.Plan)) : null
}

// fromOperators makes the tree of rows of cluster.statement_operators: what nodes did of one operator is added up.
export function fromOperators(rows) {
  const ops = new Map()
  for (const r of rows) {
    const key = `${r.stage}.${r.operator}`,
      add = (a, b) => (b === null || b === undefined ? a : (a ?? 0) + +b)
    const o =
      ops.get(key) ??
      ops
        .set(key, {
          key,
          name: r.name,
          stage: r.stage,
          details: r.detail ? r.detail.split('\n') : [],
          children: [],
          parent: r.parent,
          estimated: r.estimated_rows === null ? undefined : +r.estimated_rows,
          nodes: [],
        })
        .get(key)
    o.rows = add(o.rows, r.rows)
    o.seconds = add(o.seconds, r.seconds)
    o.memory = add(o.memory, r.memory_peak)
    o.spilled = add(o.spilled, r.spilled_bytes)
    o.sent = add(o.sent, r.sent_bytes)
    if (r.node) o.nodes.push(r)
  }
  const roots = []
  for (const o of ops.values()) {
    const parent =
      o.parent === null || o.parent === undefined
        ? null
        : (ops.get(`${o.stage}.${o.parent}`) ?? [...ops.values()].find(p => p !== o && p.key.endsWith('.' + o.parent)))
    ;(parent && parent !== o ? parent.children : roots).push(o)
  }
  roots.forEach(alone)
  return roots.length === 1 ? roots[0] : roots.length ? { name: 'Statement', details: [], children: roots } : null
}

function flat(node, depth = 0, marks = '', out = []) {
  out.push({ node, marks })
  node.children.forEach((c, i) => {
    const last = i === node.children.length - 1
    flat(c, depth + 1, marks.replace(/├╴$/, '│ ').replace(/└╴$/, '  ') + (last ? '└╴' : '├╴'), out)
  })
  return out
}

// How far the estimate was off, as a factor from which plans go wrong.
function off({ estimated: e, rows: r }) {
  if (e === undefined || r === undefined || r === null) return null
  const f = Math.max(1, r) / Math.max(1, e)
  return f >= 10 || f <= 0.1
    ? html`<span class="warn" title=${`estimated ${count(e)}, were ${count(r)}`}>${f >= 1 ? `${short(f)}× more` : `${short(1 / f)}× fewer`}</span>`
    : ''
}

export function Plan({ tree }) {
  if (!tree) return null
  const list = flat(tree),
    total = list.reduce((s, { node }) => s + (node.seconds ?? 0), 0),
    ran = list.some(({ node }) => node.rows !== undefined && node.rows !== null)
  return html`<div class="plan" role="group" aria-label="Plan" tabindex="0"><div>
    <div class="op titles"><div>Operator</div><span>Estimated</span><span>Rows</span><span>${ran ? 'Estimate' : ''}</span><span>Time</span><span>Memory</span></div>
    ${list.map(
      ({ node: n, marks }) => html`<div class="op">
      <div><div class="name"><i aria-hidden="true">${marks}</i><span><strong>${n.name}</strong>${n.stage ? html` <small>stage ${n.stage}</small>` : ''}
        ${n.details.map(d => html`<div class="detail">${d}</div>`)}${n.nodes?.length > 1 && html`<details><summary class="detail">${n.nodes.length} nodes</summary>${n.nodes.map(r => html`<div class="detail">${r.node}: ${count(r.rows)} rows, ${duration(r.seconds)}${+r.sent_bytes ? `, ${bytes(r.sent_bytes)} sent` : ''}${+r.spilled_bytes ? `, ${bytes(r.spilled_bytes)} spilled` : ''}</div>`)}</details>`}</span></div></div>
      <span>${n.estimated === undefined ? '' : short(n.estimated)}</span><span>${n.rows === undefined || n.rows === null ? '' : short(n.rows)}</span><span>${off(n)}</span>
      <span class="time">${n.seconds === null || n.seconds === undefined ? '' : html`${duration(n.seconds)}<i style=${{ width: (total ? (100 * n.seconds) / total : 0) + '%' }} />`}</span>
      <span>${+n.memory ? bytes(n.memory) : ''}${+n.spilled ? html`<div class="warn">${bytes(n.spilled)} spilled</div>` : ''}${+n.sent ? html`<div class="soft">${bytes(n.sent)} sent</div>` : ''}</span>
    </div>`,
    )}</div></div>`
}
