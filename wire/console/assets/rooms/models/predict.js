// A form with an input a feature, and the same prediction as a statement and as programs.
import { html, useEffect, useState } from '../../vendor/vendor.js'
import { ident, literal, run, select } from '../../core/api.js'
import { location, set } from '../../core/router.js'
import { Button, Copy, Empty, ErrorBox, Panel, Stat, Statement, Value } from '../../core/ui.js'
import { Bars } from '../../core/chart.js'
import { duration, isNumber, number } from '../../core/format.js'
import { at, sqlName } from './model.js'

// Only a text may be empty.
const isText = type => /^(text|character|varchar|bpchar|name)/.test(type)
const absent = (v, type) => v === undefined || v === null || (v === '' && !isText(type))
const value = (text, type) =>
  absent(text, type)
    ? `NULL::${type}`
    : isNumber(type) && Number.isFinite(+text)
      ? String(text) + (/^-?\d+$/.test(text) && /double|real|numeric/.test(type) ? `::${type}` : '')
      : `${literal(text)}::${type}`
const args = (s, given) => s.features.map(([n, t]) => `${ident(n)} => ${value(given[n], t)}`).join(', ')

export const statement = (s, given) => {
  const a = args(s, given),
    m = at(s.m)
  const more = s.m.task === 'classification' && s.targets.length < 2 ? `,\n       predict_proba(${m}, ${a}) AS probability` : ''
  return `SELECT predict(${m}, ${a}) AS prediction${more}`
}

const python = (s, given) => `import psycopg

with psycopg.connect("${dsn()}") as db:
    row = db.execute("""
        SELECT predict(${at(s.m)}, ${s.features.map(([n, t]) => `${ident(n)} => %(${n})s::${t}`).join(', ')})
    """, {${s.features.map(([n, t]) => `${JSON.stringify(n)}: ${absent(given[n], t) ? 'None' : isNumber(t) ? given[n] : JSON.stringify(given[n])}`).join(', ')}}).fetchone()
    print(row[0])
`
const goType = t => (isNumber(t) ? (/int/.test(t) ? 'int64' : 'float64') : t === 'boolean' ? 'bool' : 'string')
const golang = (s, given) => `db, err := pgx.Connect(ctx, "${dsn()}")
if err != nil {
	return err
}
defer db.Close(ctx)
var prediction string
err = db.QueryRow(ctx, \`SELECT predict(${at(s.m)}, ${s.features.map(([n, t], i) => `${ident(n)} => $${i + 1}::${t}`).join(', ')})::text\`,
	${s.features.map(([n, t]) => (absent(given[n], t) ? 'nil' : goType(t) === 'string' ? JSON.stringify(given[n]) : goType(t) === 'bool' ? String(given[n][0] === 't') : given[n])).join(', ')},
).Scan(&prediction)
`
const dsn = () => `postgres://${window.location.hostname}:5432/tributary`

export function Predict({ s }) {
  const [given, put] = useState({})
  const [answer, show] = useState(null)
  const [error, fail] = useState(null)
  const language = location.value.query.language ?? 'SQL'
  useEffect(() => {
    // a row to begin with
    if (!s.query) return
    select(`SELECT ${s.features.map(([n]) => ident(n)).join(', ')} FROM (${s.query}) r LIMIT 1`).then(
      rows => rows[0] && put(g => ({ ...rows[0], ...g })),
      () => {},
    )
  }, [s.m.version])
  if (/lstm/.test(s.m.algorithm) || s.about['option window']) {
    return html`<${Panel} title="Predict"><${Empty} sql=${`SELECT * FROM ml.predict(${at(s.m)}, (${s.query ?? 'SELECT …'}))`}>A model of sequences scores windows of rows; a row alone has no prediction.</></>`
  }
  const sql = statement(s, given)
  const submit = async e => {
    e.preventDefault()
    fail(null)
    try {
      const a = await run(sql)
      show({ row: a.rows[0], seconds: a.seconds })
    } catch (e) {
      show(null)
      fail(e)
    }
  }
  const p = answer?.row?.[1]
  const probabilities =
    p === undefined || p === null
      ? null
      : p[0] === '{'
        ? p
            .slice(1, -1)
            .split(',')
            .map((v, i) => [s.classes[i] ?? String(i), +v])
        : [
            [s.classes[0], 1 - p],
            [s.classes[1], +p],
          ]
  const programs = { SQL: sql, Python: python(s, given), Go: golang(s, given) }
  return html`<div class="columns">
    <${Panel} title="One row"><form onSubmit=${submit}><div class="fields">${s.features.map(
      ([n, t]) =>
        t === 'boolean'
          ? html`<label class="field" key=${n}><span title=${`${n} ${t}`}>${n} <small>${t}</small></span><select value=${given[n] ?? ''} onChange=${e => put({ ...given, [n]: e.target.value })}><option value="">NULL</option><option value="t">true</option><option value="f">false</option></select></label>`
          : html`<${Value} key=${n} id=${'feature-' + n} name=${n} label=${n} note=${t} text=${isText(t)} value=${given[n] ?? null} inputmode=${isNumber(t) ? 'decimal' : null} onChange=${v => put({ ...given, [n]: v })} />`,
    )}</div>
      <${Button} kind="primary" type="submit">Predict</></form></>
    <${Panel} title="Prediction"><${ErrorBox} error=${error} />
      ${
        answer
          ? html`<dl class="stats"><${Stat} name=${s.target ?? 'prediction'}><span data-prediction>${s.m.task === 'regression' ? number(answer.row[0], 6) : answer.row[0]}</span></></dl>
        ${probabilities && html`<${Bars} items=${probabilities} format=${v => number(v, 4)} label="Probabilities" />`}<p class="soft">in ${duration(answer.seconds)}</p>`
          : !error && html`<${Empty}>Fill in a row, and ask.</>`
      }</>
  </div>
  <${Panel} title="From elsewhere" tools=${Object.keys(programs).map(l => html`<${Button} kind=${l === language ? 'chosen' : 'quiet'} aria-pressed=${l === language} onClick=${() => set({ language: l === 'SQL' ? null : l })}>${l}</>`)}>
    ${
      language === 'SQL'
        ? html`<${Statement} sql=${sql} /><h3>A whole table</h3><${Statement} sql=${`SELECT * FROM ml.predict(${literal(sqlName(s.m))}, (${s.query ?? 'SELECT …'}))`} />`
        : html`<div class="statement"><pre tabindex="0"><code>${programs[language]}</code></pre><div class="tools"><${Copy} text=${programs[language]} /></div></div>`
    }</>`
}
