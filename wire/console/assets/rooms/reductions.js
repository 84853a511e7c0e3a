// The tree of a training's reductions: which node merges the sums of which, from the nodes' own up to the root.
import { html } from '../vendor/vendor.js'
import { plural } from '../core/format.js'

const wide = 120,
  high = 64,
  box = { w: 108, h: 36 }
const fit = text => (text.length > 16 ? text.slice(0, 15) + '…' : text)

export function Reductions({ rows }) {
  const places = rows.map(r => ({ level: +r.level, place: +r.place, node: r.node ?? 'a node that is gone' })),
    top = Math.max(...places.map(p => p.level)),
    by = new Map(places.map(p => [p.level + ' ' + p.place, p])),
    below = p => [2 * p.place, 2 * p.place + 1].map(i => by.get(p.level - 1 + ' ' + i)).filter(c => c)
  places.sort((a, b) => a.level - b.level || a.place - b.place)
  for (const p of places) p.x = p.level === 0 ? p.place : below(p).reduce((sum, c) => sum + c.x, 0) / below(p).length
  const leaves = places.filter(p => p.level === 0).length,
    width = leaves * wide,
    height = top * high + box.h + 8
  const x = p => p.x * wide + (wide - box.w) / 2,
    y = p => (top - p.level) * high + 4
  return html`<div class="scroll" tabindex="0" role="group" aria-label="The tree of reductions"><svg class="tree" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="img"
    aria-label=${`The sums of ${plural(leaves, 'node')} are merged in ${plural(top, 'level')}; the root is on ${by.get(top + ' 0')?.node}`}>
    ${places.flatMap(p =>
      below(p).map(c => html`<path class="edge" d=${`M${x(p) + box.w / 2} ${y(p) + box.h}C${x(p) + box.w / 2} ${y(p) + box.h + 14} ${x(c) + box.w / 2} ${y(c) - 14} ${x(c) + box.w / 2} ${y(c)}`} />`),
    )}
    ${places.map(
      p => html`<g transform=${`translate(${x(p)} ${y(p)})`}><rect class=${p.level ? '' : 'leaf'} width=${box.w} height=${box.h} rx="6" />
        <text class="name" x=${box.w / 2} y="15" text-anchor="middle">${fit(p.node)}</text>
        <text class="soft" x=${box.w / 2} y="29" text-anchor="middle">${p.level === 0 ? 'sums its rows' : below(p).length > 1 ? 'merges' : 'passes on'}</text></g>`,
    )}</svg></div>`
}
