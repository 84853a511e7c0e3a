// What a model has learnt: what matters to it, its weights, centroids or components.
import { html, useEffect, useMemo, useRef } from '../../vendor/vendor.js'
import { json } from '../../core/api.js'
import { location, set } from '../../core/router.js'
import { Answer, Button, Empty, Panel, Table, useQuery } from '../../core/ui.js'
import { Bars, Chart, Heat } from '../../core/chart.js'
import { colour, scheme } from '../../core/theme.js'
import { count, number, percent } from '../../core/format.js'
import { at } from './model.js'
import { RowsField, useRows } from './measures.js'
import { Trees } from './trees.js'

const trees = a => /trees|forest/.test(a)
const linear = a => /linear|logistic|ridge|lasso|elastic|huber|quantile|poisson|gamma|tweedie|svm|time_to_event/.test(a)

function Importance({ s }) {
  const q = useQuery(`SELECT * FROM ml.feature_importance(${at(s.m)})`)
  const kinds = trees(s.m.algorithm)
    ? [
        ['importance_gain', 'Gain'],
        ['importance_weight', 'Splits'],
        ['importance_cover', 'Cover'],
      ]
    : [['importance_weight', 'Weights']]
  const by = location.value.query.by ?? kinds[0][0]
  return html`<${Panel} title="Importance" tools=${kinds.length > 1 && kinds.map(([k, t]) => html`<${Button} kind=${by === k ? 'chosen' : 'quiet'} aria-pressed=${by === k} onClick=${() => set({ by: k === kinds[0][0] ? null : k })}>${t}</>`)}>
    <${Answer} of=${q}>${rows =>
      html`<${Bars} label="Importance of features" most=${25} format=${v => number(v, 4)} items=${rows
        .filter(r => !r.target || r.target === rows[0].target)
        .map(r => [r.feature, +r[by]])
        .sort((a, b) => b[1] - a[1])} />`}</></>`
}

// A point for each row and feature: across what the feature added, its colour the feature's value from low to high.
function Swarm({ features, height = 26 }) {
  const canvas = useRef()
  useEffect(() => {
    const c = canvas.current,
      box = c.parentNode,
      draw = () => {
        const w = box.clientWidth,
          h = height * features.length + 22,
          ratio = devicePixelRatio || 1
        Object.assign(c, { width: w * ratio, height: h * ratio })
        c.style.width = w + 'px'
        c.style.height = h + 'px'
        const g = c.getContext('2d'),
          left = Math.min(150, w * 0.3)
        g.scale(ratio, ratio)
        g.font = '12px system-ui, sans-serif'
        const most = Math.max(...features.flatMap(f => f.points.map(p => Math.abs(p.by))), 1e-12),
          x = v => left + (w - left - 8) * (0.5 + (0.48 * v) / most)
        g.strokeStyle = colour('line-strong')
        g.beginPath()
        g.moveTo(x(0), 0)
        g.lineTo(x(0), h - 20)
        g.stroke()
        const low = colour('series-1'),
          high = colour('series-6'),
          none = colour('soft')
        features.forEach((f, k) => {
          g.fillStyle = colour('ink')
          g.textAlign = 'left'
          g.fillText(f.name.length > 20 ? f.name.slice(0, 19) + '…' : f.name, 0, height * k + height / 2 + 4)
          f.points.forEach((p, i) => {
            g.fillStyle = p.rank === null ? none : p.rank > 0.5 ? high : low
            g.globalAlpha = p.rank === null ? 0.4 : 0.25 + 0.6 * Math.abs(p.rank - 0.5) * 2
            g.beginPath()
            g.arc(x(p.by), height * k + height / 2 + (((i * 7919) % 17) - 8) * 0.9, 2, 0, 7)
            g.fill()
          })
          g.globalAlpha = 1
        })
        g.fillStyle = none
        g.textAlign = 'center'
        for (const v of [-most, -most / 2, 0, most / 2, most]) g.fillText(number(v, 2), x(v), h - 4)
      }
    draw()
    const watch = new ResizeObserver(draw)
    watch.observe(box)
    return () => watch.disconnect()
  }, [features, scheme.value])
  return html`<div><canvas ref=${canvas} role="img" aria-label="What each feature added to the predictions, a point a row" /></div>`
}

function Shap({ s, rows }) {
  const q = useQuery(`SELECT * FROM ml.explain_predict(${at(s.m)}, (SELECT * FROM (${rows}) r LIMIT 400))`)
  const f = useMemo(() => {
    const of = new Map()
    for (const r of q.rows ?? []) {
      const key = Object.keys(r).find(k => k.startsWith('top_feature_attributions'))
      for (const a of json(r[key], [])) {
        const v = r[a.feature]
        ;(of.get(a.feature) ?? of.set(a.feature, []).get(a.feature)).push({
          by: a.attribution,
          value: v === null || v === undefined || v === '' || !Number.isFinite(+v) ? null : +v,
        })
      }
    }
    return [...of]
      .map(([name, points]) => {
        const values = points
          .map(p => p.value)
          .filter(v => v !== null)
          .sort((a, b) => a - b)
        for (const p of points)
          p.rank =
            p.value === null || values.length < 2 || values[0] === values[values.length - 1]
              ? null
              : (values.indexOf(p.value) + values.lastIndexOf(p.value)) / 2 / (values.length - 1)
        return { name, points, mean: points.reduce((t, p) => t + Math.abs(p.by), 0) / points.length }
      })
      .sort((a, b) => b.mean - a.mean)
  }, [q.rows])
  return html`<${Panel} title="What features add (SHAP)"><${Answer} of=${q} empty=${html`<${Empty}>There are no rows.</>`}>${list => html`<div class="columns inner">
      <div><h3>In the mean</h3><${Bars} items=${f.map(x => [x.name, x.mean])} most=${20} format=${v => number(v, 3)} label="Mean size of what a feature adds" /></div>
      <div><h3>Row by row</h3><${Swarm} features=${f.slice(0, 20)} /><p class="soft"><i class="dot low" /> low values of the feature, <i class="dot high" /> high ones, <i class="dot" /> neither</p></div></div>
      <p class="soft">${count(list.length)} rows; in the units of the margin${s.classes.length === 2 ? `, the log-odds of ${s.classes[1]}` : ''}.</p>`}</></>`
}

function Weights({ s }) {
  const original = location.value.query.weights !== 'scaled'
  const q = useQuery(`SELECT * FROM ml.weights(${at(s.m)}${original && s.m.algorithm !== 'time_to_event' ? ', original => true' : ''})`)
  return html`<${Panel} title="Weights" class="flush" tools=${html`<${Button} kind=${original ? 'chosen' : 'quiet'} aria-pressed=${original} onClick=${() => set({ weights: null })}>Of the columns</><${Button} kind=${original ? 'quiet' : 'chosen'} aria-pressed=${!original} onClick=${() => set({ weights: 'scaled' })}>As scaled</>`}>
    <${Answer} of=${q}>${rows => {
      const has = k => rows.some(r => r[k] !== null)
      const n = (key, name) => ({ key, name, number: true, cell: r => number(r[key], 5) })
      return html`<${Table} id="weights" label="Weights" most=${40} rows=${rows} columns=${[
        { key: 'feature', name: 'Feature' },
        ...(has('class') ? [{ key: 'class', name: 'Class' }] : []),
        ...(has('target') && s.targets.length > 1 ? [{ key: 'target', name: 'Target' }] : []),
        n('weight', 'Weight'),
        { ...n('size', 'Size'), sort: r => Math.abs(r.weight), cell: r => number(Math.abs(r.weight), 3) },
        ...(has('std_error') ? [n('std_error', 'Std. error'), n('statistic', 'Statistic'), n('p_value', 'p')] : []),
      ].filter(c => c.key !== 'size' || rows.length > 8)} />`
    }}</></>`
}

// names joins what a value is of: a column, or a category of one.
const named = r => (r.category ? `${r.feature} = ${r.category}` : r.feature)
function grid(rows, down, value) {
  const rs = [...new Set(rows.map(r => r[down]))].sort((a, b) => a - b),
    cs = [...new Set(rows.map(named))],
    cells = rs.map(() => cs.map(() => null))
  for (const r of rows) cells[rs.indexOf(r[down])][cs.indexOf(named(r))] = +r[value]
  return { rs, cs, cells }
}

function Centroids({ s, rows }) {
  const q = useQuery(`SELECT * FROM ml.centroids(${at(s.m)}) ORDER BY 1`)
  const sizes = useQuery(
    rows && `SELECT cluster, count(*) AS n, avg(distance) AS distance FROM ml.predict(${at(s.m)}, (${rows})) GROUP BY 1 ORDER BY 1`,
  )
  return html`<${Panel} title="Centroids"><${Answer} of=${q}>${list => {
    const g = grid(list, 'centroid_id', 'value'),
      scaled = g.cells.map(r =>
        r.map((v, j) => {
          const col = g.cells.map(x => x[j]),
            lo = Math.min(...col),
            hi = Math.max(...col)
          return hi > lo ? (v - lo) / (hi - lo) : 0.5
        }),
      )
    return html`<${Heat} rows=${g.rs.map(r => 'cluster ' + r)} columns=${g.cs} cells=${scaled.map((r, i) => r.map((t, j) => t))} format=${v => v} text=${false} label="Centroids, from the least to the greatest of each column" />
      <div class="scroll" tabindex="0" role="group" aria-label="Centroids"><table><thead><tr><th scope="col">Cluster</th>${g.cs.map(c => html`<th scope="col" class="number">${c}</th>`)}</tr></thead><tbody>${g.rs.map((r, i) => html`<tr><th scope="row">${r}</th>${g.cells[i].map(v => html`<td class="number">${number(v, 4)}</td>`)}</tr>`)}</tbody></table></div>`
  }}</></>
  ${rows && html`<${Panel} title="Rows by cluster"><${Answer} of=${sizes}>${list => html`<${Bars} items=${list.map(r => ['cluster ' + r.cluster, +r.n])} format=${count} label="Rows by cluster" />`}</></>`}`
}

function Components({ s }) {
  const v = useQuery(`SELECT * FROM ml.explained_variance_ratio(${at(s.m)}) ORDER BY 1`),
    l = useQuery(`SELECT * FROM ml.components(${at(s.m)}) ORDER BY 1`)
  return html`<div class="columns"><${Panel} title="Explained variance"><${Answer} of=${v}>${r => {
    let sum = 0
    const all = r.map(x => (sum += +x.explained_variance_ratio))
    return html`<${Bars} items=${r.map(x => ['component ' + x.component, +x.explained_variance_ratio])} format=${x => percent(x, 1)} label="Explained variance" />${r.length > 2 && html`<${Chart} x=${r.map(x => +x.component)} ys=${[all]} lines=${[{ label: 'together', points: true }]} zero xlabel="component" height=${180} format=${x => percent(x)} xformat=${x => String(x)} />`}`
  }}</></>
  <${Panel} title="Loadings"><${Answer} of=${l}>${r => {
    const g = grid(r, 'component', 'loading'),
      flat = g.cs.map((_, j) => g.rs.map((_, i) => g.cells[i][j]))
    return html`<${Heat} rows=${g.cs} columns=${g.rs.map(c => 'component ' + c)} cells=${flat} format=${x => number(x, 3)} label="Loadings" />`
  }}</></></div>`
}

export function Inside({ s }) {
  const a = s.m.algorithm,
    rows = useRows(s),
    weights = linear(a) && !('hidden_units' in s.m.options)
  const explains = (weights || trees(a) || a === 'mlp') && a !== 'time_to_event'
  const any = weights || trees(a) || explains || /kmeans|pca|svd/.test(a)
  return html`${(trees(a) || weights) && a !== 'time_to_event' && html`<${Importance} s=${s} />`}
    ${explains && (rows ? html`<${Shap} s=${s} rows=${rows} />` : html`<${RowsField} s=${s} />`)}
    ${trees(a) && html`<${Trees} s=${s} />`}${weights && html`<${Weights} s=${s} />`}${a === 'kmeans' && html`<${Centroids} s=${s} rows=${rows} />`}${/^(pca|svd)$/.test(a) && html`<${Components} s=${s} />`}
    ${!any && html`<${Panel}><${Empty}>Nothing inside of a model of this algorithm is shown by a relation.</></>`}`
}
