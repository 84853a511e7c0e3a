// A form that writes a TRAIN statement, and starts it.
import { html, useEffect, useMemo, useState } from '../vendor/vendor.js'
import { array, ident, literal, qualified, run } from '../core/api.js'
import { address, go, location, set } from '../core/router.js'
import { Answer, Button, ErrorBox, Head, Panel, Statement, toast, useQuery } from '../core/ui.js'
import { isNumber } from '../core/format.js'

const sources = `SELECT n.nspname AS schema, c.relname AS name, array_to_string(array_agg(a.attname::text ORDER BY a.attnum), chr(31)) AS columns, array_to_string(array_agg(format_type(a.atttypid, a.atttypmod) ORDER BY a.attnum), chr(31)) AS types
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relkind IN ('r', 'v', 'm', 'p') AND a.attnum > 0 AND NOT a.attisdropped AND n.nspname !~ '^(pg_|information_schema$|cluster$|ml$|console$)' GROUP BY 1, 2 ORDER BY 1, 2`
const first = [
  'n_estimators',
  'max_depth',
  'learning_rate',
  'max_iterations',
  'l2_reg',
  'hidden_units',
  'n_clusters',
  'n_components',
  'validation_fraction',
  'class_weights',
  'seed',
]

const written = (o, v) => (o.type === 'text' || (!/^-?[\d.]+(e-?\d+)?$|^(true|false)$|^\[|^ARRAY/i.test(v) && o.type !== 'column') ? literal(v) : v)

// started begins a training that goes on when the room is left; the training's page shows how it goes.
function started(sql, name) {
  run(sql).then(
    () => toast(`${name} is trained`),
    e => toast(`${name}: ${e.message}`, 'bad'),
  )
}

export function Train() {
  const q = location.value.query
  const t = useQuery(sources),
    a = useQuery('SELECT algorithm, kind, supervised, description FROM ml.algorithms')
  const table = t.rows?.find(r => `${r.schema}.${r.name}` === q.from) ?? t.rows?.[0]
  const algorithm = a.rows?.find(r => r.algorithm === q.using) ?? a.rows?.find(r => r.algorithm === 'gradient_boosted_trees') ?? a.rows?.[0]
  const o = useQuery(
    algorithm
      ? `SELECT option, type, default_value, allowed_values, accepts, common, description FROM ml.options WHERE algorithm = ${literal(algorithm.algorithm)} AND supported`
      : null,
  )
  const [name, call] = useState(''),
    [left, leave] = useState([]),
    [options, choose] = useState({}),
    [error, fail] = useState(null)
  const columns = useMemo(() => (table ? table.columns.split('\x1f').map((n, i) => [n, table.types.split('\x1f')[i]]) : []), [table])
  const supervised = algorithm?.supervised !== 'f'
  const target = supervised ? (columns.find(c => c[0] === q.predict)?.[0] ?? columns[columns.length - 1]?.[0]) : null
  useEffect(() => leave([]), [table?.name])
  useEffect(() => choose({}), [algorithm?.algorithm])
  if (!table || !algorithm)
    return html`<${Head} title="Train a model" /><${Panel}><${Answer} of=${t.error || t.rows ? a : t}>${() => html`<p>There is no table yet that you may read. <a href="/data">Data</a></p>`}</></>`
  const known = (o.rows ?? []).sort((x, y) => (first.indexOf(x.option) + 1 || 99) - (first.indexOf(y.option) + 1 || 99))
  const given = known.filter(k => options[k.option] !== undefined && options[k.option] !== '')
  const kept = columns.filter(c => !left.includes(c[0]))
  const list = left.length ? kept.map(c => ident(c[0])).join(', ') : '*'
  const model = name || `${table.name}_${target ?? algorithm.kind}`
  const sql = `TRAIN OR REPLACE MODEL ${ident(model)} USING ${algorithm.algorithm}${target ? ` PREDICT ${ident(target)}` : ''}
${given.length ? `  WITH (${given.map(k => `${k.option} = ${written(k, options[k.option])}`).join(', ')})\n` : ''}  AS SELECT ${list} FROM ${qualified(table.schema, table.name)}`
  const begin = async e => {
    e.preventDefault()
    fail(null)
    try {
      await run('EXPLAIN ' + sql) // what is refused is refused here
    } catch (e) {
      return fail(e)
    }
    started(sql, model)
    go(address('trainings', 'public.' + model))
  }
  const kinds = [...new Set(a.rows.map(r => r.kind))]
  const field = (label, value, put, choices) =>
    html`<label class="field"><span>${label}</span><select value=${value} onChange=${e => put(e.target.value)}>${choices}</select></label>`
  return html`<${Head} title="Train a model"><a class="button" href="/trainings">All trainings</a></>
    <form onSubmit=${begin}><div class="columns">
      <${Panel} title="What"><div class="fields">
        ${field(
          'Rows of',
          `${table.schema}.${table.name}`,
          from => set({ from, predict: null }),
          t.rows.map(r => html`<option value=${`${r.schema}.${r.name}`}>${r.schema === 'public' ? r.name : `${r.schema}.${r.name}`}</option>`),
        )}
        ${field(
          'Algorithm',
          algorithm.algorithm,
          using => set({ using }),
          kinds.map(
            k =>
              html`<optgroup label=${k}>${a.rows.filter(r => r.kind === k).map(r => html`<option value=${r.algorithm}>${r.algorithm}</option>`)}</optgroup>`,
          ),
        )}
        ${
          supervised &&
          field(
            'Target',
            target,
            predict => set({ predict }),
            columns.map(c => html`<option value=${c[0]}>${c[0]}</option>`),
          )
        }
        <label class="field"><span>Name of the model</span><input name="model" value=${name} placeholder=${model} onInput=${e => call(e.target.value)} /></label></div>
        <p class="soft">${algorithm.description}</p>
        <h3>Features</h3><div class="checks">${columns.filter(c => c[0] !== target).map(([n, type]) => html`<label class="check"><input type="checkbox" checked=${!left.includes(n)} onChange=${e => leave(e.target.checked ? left.filter(x => x !== n) : [...left, n])} /> ${n} <small>${type}</small></label>`)}</div></>
      <${Panel} title="Options" class="options"><${Answer} of=${o}>${() =>
        html`<div class="fields">${known.map(
          k => html`<label class="field" key=${k.option} title=${k.description}><span>${k.option}</span>
        ${
          array(k.allowed_values).length
            ? html`<select value=${options[k.option] ?? ''} onChange=${e => choose({ ...options, [k.option]: e.target.value })}><option value="">${(k.default_value ?? 'as it is').slice(0, 40)}</option>${array(k.allowed_values).map(v => html`<option value=${v}>${v}</option>`)}</select>`
            : k.type === 'boolean'
              ? html`<select value=${options[k.option] ?? ''} onChange=${e => choose({ ...options, [k.option]: e.target.value })}><option value="">${(k.default_value ?? '').slice(0, 40) || 'as it is'}</option><option value="true">true</option><option value="false">false</option></select>`
              : html`<input name=${k.option} value=${options[k.option] ?? ''} placeholder=${k.default_value ?? ''} inputmode=${isNumber(k.type) || k.type === 'number' ? 'decimal' : null} onInput=${e => choose({ ...options, [k.option]: e.target.value })} />`
        }</label>`,
        )}</div>`}</></></div>
    <${Panel} title="Statement"><${Statement} sql=${sql} /><p></p><${ErrorBox} error=${error} /><div class="tools"><${Button} kind="primary" icon="play" type="submit">Train</><span class="soft">It is cancelled if this window is closed; from its last checkpoint it can be resumed.</span></div></></form>`
}
