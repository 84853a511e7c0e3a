// The trees of a model, one at a time: what each node asks, and how many rows went where.
import { html, useEffect, useMemo, useRef } from '../../vendor/vendor.js'
import { array } from '../../core/api.js'
import { location, set } from '../../core/router.js'
import { Answer, Empty, Panel, useQuery } from '../../core/ui.js'
import { count, number, plural, short } from '../../core/format.js'
import { at } from './model.js'

const wide = 143,
  high = 92,
  box = { w: 134, h: 50 }
const fit = (text, n) => (text.length > n ? text.slice(0, n - 1) + '…' : text)

function asked(r) {
  if (r.split !== null) return `≤ ${number(r.split, 5)}`
  if (r.categories === null) return 'not NULL'
  const list = array(r.categories)
  return list.length ? `= ${list.join(', ')}` : 'NULL'
}

// lay places the nodes down to a depth: leaves beside each other, every other node over the middle of its children.
function lay(rows, depth) {
  const by = new Map(rows.map(r => [r.node, r])),
    out = []
  let across = 0
  const below = r => (r.feature === null ? 0 : 2 + below(by.get(r.yes)) + below(by.get(r.no)))
  const place = (r, level) => {
    const n = { r, level, rest: r.feature !== null && level === depth ? below(r) : 0 }
    out.push(n)
    if (r.feature === null || n.rest) n.x = across++
    else {
      n.children = [place(by.get(r.yes), level + 1), place(by.get(r.no), level + 1)]
      n.x = (n.children[0].x + n.children[1].x) / 2
    }
    return n
  }
  if (rows.length) place(rows[0], 0)
  return { nodes: out, width: across * wide, height: (Math.max(0, ...out.map(n => n.level)) + 1) * high - high + box.h + 8 }
}

function Tree({ rows, depth, classes }) {
  const { nodes, width, height } = useMemo(() => lay(rows, depth), [rows, depth])
  const value = r => {
    const v = array(r.value).map(Number)
    if (v.length < 2) return number(v[0], 4)
    const i = v.indexOf(Math.max(...v))
    return `${classes[i] ?? i + 1}: ${number(v[i], 3)}`
  }
  const view = useRef()
  useEffect(() => {
    if (nodes.length) view.current.scrollLeft = nodes[0].x * wide + wide / 2 - view.current.clientWidth / 2 // the root in the middle
  }, [nodes])
  const x = n => n.x * wide + 6,
    y = n => n.level * high + 4
  return html`<div class="scroll" ref=${view} tabindex="0" role="group" aria-label="The tree"><svg class="tree" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="img"
    aria-label=${`Tree of ${plural(rows.length, 'node')}, drawn to depth ${depth}; its root splits by ${rows[0]?.feature ?? 'nothing'}`}>
    ${nodes.flatMap(n =>
      (n.children ?? []).map((c, i) => {
        const x1 = x(n) + box.w / 2,
          y1 = y(n) + box.h,
          x2 = x(c) + box.w / 2,
          y2 = y(c)
        return html`<path class="edge" d=${`M${x1} ${y1}C${x1} ${y1 + 20} ${x2} ${y2 - 20} ${x2} ${y2}`} /><text class="side" x=${(x1 + x2) / 2 + (i ? 8 : -8)} y=${(y1 + y2) / 2 + 3} text-anchor=${i ? 'start' : 'end'}>${i ? 'no' : 'yes'}${n.r.missing === c.r.node ? ', NULL' : ''}</text>`
      }),
    )}
    ${nodes.map(n => {
      const { r } = n,
        leaf = r.feature === null
      const about = leaf ? [value(r), ''] : [fit(r.feature, 17), fit(asked(r), 19)]
      return html`<g transform=${`translate(${x(n)} ${y(n)})`}><title>${leaf ? `value ${r.value}` : `${r.feature} ${asked(r)}; gain ${number(r.gain, 4)}`}; cover ${number(r.cover, 5)}</title>
        <rect class=${leaf ? 'leaf' : n.rest ? 'cut' : ''} width=${box.w} height=${box.h} rx="6" />
        <text class="name" x=${box.w / 2} y=${leaf ? 22 : 17} text-anchor="middle">${about[0]}</text>
        ${!leaf && html`<text x=${box.w / 2} y="31" text-anchor="middle">${about[1]}</text>`}
        <text class="soft" x=${box.w / 2} y=${leaf ? 39 : 44} text-anchor="middle">${n.rest ? `${count(n.rest)} nodes below` : `cover ${short(r.cover)}${leaf ? '' : `, gain ${short(r.gain)}`}`}</text></g>`
    })}</svg></div>`
}

export function Trees({ s }) {
  const { query } = location.value,
    tree = Math.max(1, +query.tree || 1),
    depth = Math.max(1, +query.depth || 3)
  const q = useQuery(`SELECT * FROM ml.trees(${at(s.m)}, tree => ${tree}) ORDER BY target, node`),
    all = useQuery(`SELECT max(tree) AS n FROM ml.trees(${at(s.m)})`)
  const n = all.rows?.[0]?.n
  const field = (label, key, value, most) =>
    html`<label class="select"><span>${label}</span><input type="number" class="small" min="1" max=${most} value=${value} onChange=${e => set({ [key]: e.target.value })} /></label>`
  const targets = [...new Set(q.rows?.map(r => r.target) ?? [])]
  return html`<${Panel} title="Trees" tools=${html`${field('Tree', 'tree', tree, n)}${n && html`<span class="soft">of ${count(n)}</span>`}${field('Depth', 'depth', depth, 12)}
      <a class="button" href=${'/sql?run=1&q=' + encodeURIComponent(`SELECT * FROM ml.trees(${at(s.m)}, tree => ${tree})`)}>Open in SQL</a>`}>
    <${Answer} of=${q} empty=${html`<${Empty}>There is no tree of this number.</>`}>${rows =>
      targets.map(target => {
        const own = rows.filter(r => r.target === target)
        return html`${(targets.length > 1 || own[0].class !== null) && html`<h3>${targets.length > 1 ? target : ''}${own[0].class !== null ? `For the score of ${own[0].class}` : ''}</h3>`}<${Tree} rows=${own} depth=${depth} classes=${s.classes} key=${target} />`
      })}</></>`
}
