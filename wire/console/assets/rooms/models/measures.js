// How good a model is, on the rows of its own training query or on any others.
import { html, useMemo, useState } from '../../vendor/vendor.js'
import { ident, literal } from '../../core/api.js'
import { location, set } from '../../core/router.js'
import { Answer, Button, Empty, Panel, Stat, useQuery } from '../../core/ui.js'
import { Chart, Heat, bins } from '../../core/chart.js'
import { count, number, percent, short } from '../../core/format.js'
import { at, metric } from './model.js'

// Rows is the query that is measured on: the training's, or what was typed, which stands in the address.
export function useRows(s) {
  return location.value.query.rows ?? s.query
}
export function RowsField({ s, note }) {
  const rows = useRows(s),
    own = location.value.query.rows !== undefined
  const [text, put] = useState(rows ?? '')
  const apply = e => {
    e.preventDefault()
    set({ rows: text.trim() === s.query || !text.trim() ? null : text.trim() }, true)
  }
  return html`<details class="panel rows" open=${!rows}><summary>${own ? 'On the rows of a query' : s.query ? 'On the rows of the training query' : 'On which rows?'} <span class="soft">${own ? '' : (note ?? 'which the model has seen')}</span></summary>
    <form onSubmit=${apply}><textarea class="mono" rows="4" aria-label="Query of the rows" value=${text} onInput=${e => put(e.target.value)} placeholder="SELECT … with the features and the target" />
      <div class="tools"><${Button} kind="primary" type="submit">Use these rows</>${
        own &&
        s.query &&
        html`<${Button} onClick=${() => {
          put(s.query)
          set({ rows: null }, true)
        }}>Those of the training</>`
      }</div></form></details>`
}

// thin keeps some 400 rows of a curve.
const roc = (m, rows) => `SELECT threshold, recall, false_positive_rate, true_positives, false_positives, true_negatives, false_negatives
FROM (SELECT *, row_number() OVER (ORDER BY threshold DESC) AS i, count(*) OVER () AS n FROM ml.roc_curve(${at(m)}, (${rows}))) t
WHERE i % greatest(1, n / 400) = 0 OR i IN (1, n) ORDER BY threshold DESC`

function area(x, y) {
  let a = 0
  for (let i = 1; i < x.length; i++) a += ((x[i] - x[i - 1]) * (y[i] + y[i - 1])) / 2
  return a
}

const unit = [0, 1]
const square = { height: 300, xrange: unit, range: unit, format: v => number(v, 3), xformat: v => number(v, 3) }

function Curves({ s, rows }) {
  const q = useQuery(roc(s.m, rows))
  const [mark, put] = useState(null)
  const c = useMemo(() => {
    if (!q.rows?.length) return null
    const r = q.rows.map(x => Object.fromEntries(Object.entries(x).map(([k, v]) => [k, +v])))
    const x = [0, ...r.map(p => p.false_positive_rate)],
      y = [0, ...r.map(p => p.recall)]
    const pr = r.map(p => [p.recall, p.true_positives / Math.max(1, p.true_positives + p.false_positives)])
    const share =
      (r[0].true_positives + r[0].false_negatives) /
      Math.max(1, r[0].true_positives + r[0].false_negatives + r[0].false_positives + r[0].true_negatives)
    return { r, x, y, pr, share, auc: area(x, y) }
  }, [q.rows])
  if (!c) return html`<${Panel} title="ROC"><${Answer} of=${q} empty=${html`<${Empty}>There are no rows.</>`}>${() => ''}</></>`
  const i = mark ?? c.r.reduce((b, p, k) => (p.recall - p.false_positive_rate > c.r[b].recall - c.r[b].false_positive_rate ? k : b), 0),
    p = c.r[i]
  const precision = p.true_positives / Math.max(1, p.true_positives + p.false_positives)
  return html`<div class="columns">
    <${Panel} title="ROC" tools=${html`<span class="soft">area <b data-roc-auc>${number(c.auc, 4)}</b></span>`}><${Chart} x=${c.x} ys=${[c.y, c.x]} lines=${[
      { label: 'recall', fill: true },
      { label: 'by chance', colour: 'soft', dash: true, width: 1 },
    ]} xlabel="false positive rate" ylabel="recall" ...${square} label="ROC curve" /></>
    <${Panel} title="Precision and recall"><${Chart} x=${c.pr.map(a => a[0])} ys=${[c.pr.map(a => a[1]), c.pr.map(() => c.share)]} lines=${[{ label: 'precision' }, { label: 'by chance', colour: 'soft', dash: true, width: 1 }]} xlabel="recall" ylabel="precision" ...${square} label="Precision by recall" /></>
  </div>
  <${Panel} title="At a threshold"><label class="threshold"><span class="sr">Threshold</span><input type="range" min="0" max=${c.r.length - 1} value=${i} onInput=${e => put(+e.target.value)} aria-valuetext=${number(p.threshold, 4)} /></label>
    <dl class="stats small"><${Stat} name="Threshold">${number(p.threshold, 4)}</><${Stat} name="Precision">${percent(precision, 1)}</><${Stat} name="Recall">${percent(p.recall, 1)}</><${Stat} name="False positives" note=${percent(p.false_positive_rate, 1)}>${count(p.false_positives)}</>
      <${Stat} name="True positives">${count(p.true_positives)}</><${Stat} name="Missed">${count(p.false_negatives)}</><${Stat} name="Accuracy">${percent((p.true_positives + p.true_negatives) / (p.true_positives + p.true_negatives + p.false_positives + p.false_negatives), 1)}</></dl></>`
}

const positive = s =>
  `(${ident(s.target)}::text = ${literal(s.classes[1])}${s.targetType === 'boolean' ? ` OR ${ident(s.target)}::text = ${literal(s.classes[1][0])}` : ''})`

function Calibration({ s, rows }) {
  const p = ident(`predicted_${s.target}_proba`)
  const q = useQuery(`SELECT least(9, floor(p * 10))::int AS bin, avg(p) AS said, avg(y) AS was, count(*) AS n
FROM (SELECT ${p} AS p, CASE WHEN ${positive(s)} THEN 1.0 ELSE 0.0 END::float8 AS y FROM ml.predict(${at(s.m)}, (${rows}))) t GROUP BY 1 ORDER BY 1`)
  return html`<${Panel} title="Calibration"><${Answer} of=${q}>${r => html`<${Chart} x=${r.map(b => +b.said)} ys=${[r.map(b => +b.was), r.map(b => +b.said)]} lines=${[
    { label: 'share that was so', points: true },
    { label: 'as predicted', colour: 'soft', dash: true, width: 1 },
  ]} xlabel="predicted probability" ylabel="share" ...${square} height=${260} label="Calibration" />
    <p class="soft">Rows by tenth: ${r.map(b => short(b.n)).join(' · ')}</p>`}</></>`
}

function Confusion({ s, rows }) {
  const q = useQuery(`SELECT * FROM ml.confusion_matrix(${at(s.m)}, (${rows}))`)
  const m = useMemo(() => {
    if (!q.rows) return null
    const names = [...new Set(q.rows.flatMap(r => [r.expected_label, r.predicted_label]))].sort(),
      of = new Map(q.rows.map(r => [r.expected_label + '\0' + r.predicted_label, +r.count]))
    const cells = names.map(e => names.map(p => of.get(e + '\0' + p) ?? 0))
    return { names, cells, total: q.rows.reduce((t, r) => t + +r.count, 0) }
  }, [q.rows])
  return html`<${Panel} title="Confusion matrix"><${Answer} of=${q}>${() => html`<${Heat} rows=${m.names} columns=${m.names} cells=${m.cells} format=${v => html`${count(v)} <small class="inherit">${percent(v / m.total, 1)}</small>`} corner="was \\ predicted" label="Confusion matrix: was by row, predicted by column" />
    <p class="soft">${count(m.total)} rows; down what they were, across what was predicted.</p>`}</></>`
}

function Residuals({ s, rows }) {
  const q = useQuery(
    `SELECT ${ident(s.target)}::float8 AS was, ${ident('predicted_' + s.target)}::float8 AS said FROM ml.predict(${at(s.m)}, (${rows})) ORDER BY random() LIMIT 4000`,
  )
  const d = useMemo(() => {
    const r = (q.rows ?? [])
      .filter(x => x.was !== null && x.said !== null)
      .map(x => [+x.said, +x.was])
      .sort((a, b) => a[0] - b[0])
    return {
      n: r.length,
      x: r.map(p => p[0]),
      was: r.map(p => p[1]),
      res: r.map(p => p[1] - p[0]),
      h: bins(
        r.map(p => p[1] - p[0]),
        60,
      ),
    }
  }, [q.rows])
  if (!q.rows) return html`<${Panel} title="Residuals"><${Answer} of=${q}>${() => ''}</></>`
  return html`<div class="columns">
    <${Panel} title="Actual by predicted"><${Chart} x=${d.x} ys=${[d.was, d.x]} lines=${[
      { label: 'actual', kind: 'points' },
      { label: 'as predicted', colour: 'soft', dash: true },
    ]} xlabel="predicted" ylabel="actual" height=${300} label="Actual by predicted" /></>
    <${Panel} title="Residuals by predicted"><${Chart} x=${d.x} ys=${[d.res, d.x.map(() => 0)]} lines=${[
      { label: 'actual − predicted', kind: 'points' },
      { label: 'none', colour: 'soft', dash: true },
    ]} xlabel="predicted" ylabel="residual" height=${300} label="Residuals by predicted" /></>
    <${Panel} title="Residuals"><${Chart} x=${d.h.x} ys=${[d.h.y]} lines=${[{ label: 'rows', kind: 'histogram' }]} zero xlabel="actual − predicted" ylabel="rows" height=${240} label="Histogram of residuals" /></>
  </div><p class="soft">${count(d.n)} rows, drawn by chance.</p>`
}

function Survival({ s, rows }) {
  const q = useQuery(
    `WITH few AS (SELECT *, row_number() OVER () AS "row of them" FROM (${rows}) r LIMIT 6) SELECT "row of them" AS n, time, survival FROM ml.survival(${at(s.m)}, (SELECT * FROM few)) ORDER BY 1, 2`,
  )
  const d = useMemo(() => {
    const list = q.rows ?? [],
      ns = [...new Set(list.map(r => r.n))],
      xs = [...new Set(list.map(r => +r.time))].sort((a, b) => a - b),
      place = new Map(xs.map((x, i) => [x, i]))
    const ys = ns.map(() => Array(xs.length).fill(null))
    for (const r of list) ys[ns.indexOf(r.n)][place.get(+r.time)] = +r.survival
    return { x: xs, ys, lines: ns.map(n => ({ label: `row ${n}`, kind: 'step' })) }
  }, [q.rows])
  return html`<${Panel} title="Survival of the first rows"><${Answer} of=${q}>${() => html`<${Chart} ...${d} range=${unit} height=${300} xlabel=${s.target} ylabel="survival" label="Survival curves" />`}</></>`
}

function Evaluation({ s, rows }) {
  const q = useQuery(`SELECT * FROM ml.evaluate(${at(s.m)}, (${rows}))`)
  return html`<${Panel} title="Measured"><${Answer} of=${q}>${list =>
    list.map(
      r =>
        html`${r.target && html`<h3>${r.target}</h3>`}<dl class="stats small">${Object.entries(r)
          .filter(([k, v]) => k !== 'target' && v !== null)
          .map(([k, v]) => html`<${Stat} name=${metric(k)}>${number(v, 5)}</>`)}</dl>`,
    )}</></>`
}

function Errors({ s, rows }) {
  const q = useQuery(`SELECT reconstruction_error AS e FROM ml.predict(${at(s.m)}, (${rows})) LIMIT 20000`)
  const h = useMemo(() => bins((q.rows ?? []).map(r => +r.e)), [q.rows])
  return html`<${Panel} title="Errors of reconstruction"><${Answer} of=${q}>${() => html`<${Chart} x=${h.x} ys=${[h.y]} lines=${[{ label: 'rows', kind: 'histogram' }]} zero xlabel="error" ylabel="rows" height=${240} />`}</></>`
}

export function Measures({ s }) {
  const rows = useRows(s)
  if (!rows) return html`<${RowsField} s=${s} />`
  const one = s.targets.length < 2,
    task = s.m.task,
    two = s.classes.length === 2
  return html`<${RowsField} s=${s} /><${Evaluation} s=${s} rows=${rows} />
    ${task === 'classification' && one && html`${two && html`<${Curves} s=${s} rows=${rows} />`}<div class="columns"><${Confusion} s=${s} rows=${rows} />${two && html`<${Calibration} s=${s} rows=${rows} />`}</div>`}
    ${task === 'regression' && one && html`<${Residuals} s=${s} rows=${rows} />`}
    ${task === 'time-to-event' && html`<${Survival} s=${s} rows=${rows} />`}
    ${/autoencoder/.test(s.m.algorithm) && html`<${Errors} s=${s} rows=${rows} />`}`
}
