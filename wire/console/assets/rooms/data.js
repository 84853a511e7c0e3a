// Schemas, tables, where their rows lie, what is in their columns, and what uses them.
import { html, useMemo } from '../vendor/vendor.js'
import { array, ident, literal, qualified } from '../core/api.js'
import { address, location, set } from '../core/router.js'
import { Bars, Chart } from '../core/chart.js'
import { Grid, Rows } from '../core/grid.js'
import { Act, Answer, Badge, Empty, ErrorBox, Head, Panel, Search, Select, Stat, Statement, Table, Tabs, matches, tab, useQuery } from '../core/ui.js'
import { bytes, count, date, isNumber, isTime, percent, plural, short } from '../core/format.js'

const kinds = { r: 'table', v: 'view', m: 'materialized view', p: 'table', f: 'foreign table' }
const relations = `SELECT n.nspname AS schema, c.relname AS name, c.relkind AS kind, pg_get_userbyid(c.relowner) AS owner, obj_description(c.oid, 'pg_class') AS comment,
  (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns,
  p.partitions, p.segments, p.rows, p.bytes
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN (SELECT schema, "table", count(*) AS partitions, sum(segments) AS segments, sum(rows - deleted_rows) AS rows, sum(bytes) AS bytes FROM cluster.partitions GROUP BY 1, 2) p ON p.schema = n.nspname AND p."table" = c.relname
WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') ORDER BY 1, 2`
const own = s => !/^(pg_catalog|information_schema|pg_toast|cluster|ml)$/.test(s)

const make = "CREATE TABLE trips AS SELECT * FROM '/path/to/trips.csv'"

function List() {
  const t = useQuery(relations),
    q = location.value.query
  const schemas = [...new Set((t.rows ?? []).map(r => r.schema))]
  const columns = [
    { key: 'name', name: 'Relation' },
    { key: 'schema', name: 'Schema' },
    { key: 'kind', name: 'Kind', cell: r => kinds[r.kind] },
    { key: 'rows', name: 'Rows', number: true, cell: r => count(r.rows) },
    { key: 'bytes', name: 'Size', number: true, cell: r => bytes(r.bytes) },
    { key: 'columns', name: 'Columns', number: true },
    { key: 'partitions', name: 'Partitions', number: true },
    { key: 'segments', name: 'Segments', number: true, cell: r => count(r.segments) },
    { key: 'owner', name: 'Owner' },
    { key: 'comment', name: 'Comment', wide: true },
  ]
  return html`<${Head} title="Data"><${Search} /><${Select} name="schema" label="Schema" options=${[['', 'Your schemas'], ['*', 'All schemas'], ...schemas]} />
      <a class="button primary" href=${'/sql?q=' + encodeURIComponent(make)}>Make a table</a></>
    <${Answer} of=${t}>${rows => {
      const list = rows.filter(
        r => (q.schema === '*' || (q.schema ? r.schema === q.schema : own(r.schema))) && matches(q.q, [r.schema, r.name, r.comment ?? '']),
      )
      const sum = key => list.reduce((n, r) => n + +(r[key] ?? 0), 0)
      if (!list.length && !q.q && !q.schema)
        return html`<${Panel}><${Empty} sql=${make}>There is no table yet that you may read. A file becomes one:</></>`
      return html`<${Panel}><dl class="stats"><${Stat} name="Relations">${count(list.length)}</><${Stat} name="Rows">${short(sum('rows'))}</><${Stat} name="On disk">${bytes(sum('bytes'))}</></dl></>
        <${Panel} class="flush"><${Table} id="data" label="Relations" columns=${columns} rows=${list} sort="name" href=${r => address('data', r.schema, r.name)} /></>`
    }}</>`
}

// ── A relation ─────────────────────────────────────────────────────────────────────────────────────────────────

const columnsOf = `SELECT a.attnum AS n, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull AS required, pg_get_expr(d.adbin, d.adrelid) AS "default", col_description(a.attrelid, a.attnum) AS comment,
  s.null_frac, s.n_distinct, s.avg_width, s.most_common_vals::text AS vals, s.most_common_freqs::text AS freqs, s.histogram_bounds::text AS bounds
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum LEFT JOIN pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname AND s.attname = a.attname
WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY 1`

const distinct = (c, rows) => (c.n_distinct === null ? null : c.n_distinct < 0 ? Math.round(-c.n_distinct * rows) : +c.n_distinct)

const bars = 40

// kept makes a histogram of what ANALYZE kept: the common values where they are, and the other rows spread between the bounds, of which
// each two have as many rows between them.
function kept(c, vals, freqs, bounds, numeric) {
  if (!vals.length && bounds.length < 2) return null
  const xs = vals.map(numeric),
    bs = bounds.map(numeric),
    all = [...xs, ...bs].filter(Number.isFinite)
  if (!all.length) return null
  const lo = Math.min(...all),
    w = (Math.max(...all) - lo) / bars || 1,
    y = Array(bars).fill(0),
    bin = x => Math.min(bars - 1, Math.floor((x - lo) / w))
  xs.forEach((x, i) => Number.isFinite(x) && (y[bin(x)] += freqs[i]))
  const each = Math.max(0, 1 - c.null_frac - freqs.reduce((a, b) => a + b, 0)) / Math.max(1, bs.length - 1)
  for (let i = 1; i < bs.length; i++) {
    const [a, b] = [bs[i - 1], bs[i]]
    if (!Number.isFinite(b - a)) continue
    if (bin(a) === bin(b)) y[bin(a)] += each
    else for (let k = bin(a); k <= bin(b); k++) y[k] += (each * (Math.min(b, lo + (k + 1) * w) - Math.max(a, lo + k * w))) / (b - a)
  }
  return { x: y.map((_, i) => lo + i * w), y, w }
}

// What is in a column: of the statistics that are kept, or of rows that are read when asked.
function Column({ schema, table, c }) {
  const wide = isNumber(c.type),
    time = isTime(c.type),
    from = `(SELECT ${ident(c.name)} AS v FROM ${qualified(schema, table)} LIMIT 200000) t`
  const vals = array(c.vals),
    freqs = array(c.freqs).map(Number),
    bounds = array(c.bounds)
  const numbers = wide ? 'v::float8' : 'extract(epoch FROM v)::float8'
  const stored = useMemo(
    () => ((wide || time) && kept(c, vals, freqs, bounds, b => (time ? date(b.length === 10 ? b + ' 00:00:00' : b) / 1000 : +b))) || null,
    [c],
  )
  const h = useQuery(
    (wide || time) && !stored
      ? `WITH b AS (SELECT min(${numbers}) AS lo, max(${numbers}) AS hi FROM ${from})
SELECT least(${bars - 1}, floor(${bars} * (${numbers} - lo) / nullif(hi - lo, 0)))::int AS bin, min(lo) AS lo, max(hi) AS hi, count(*) AS n FROM ${from}, b WHERE v IS NOT NULL GROUP BY 1 ORDER BY 1`
      : null,
  )
  const f = useQuery(
    vals.length ? null : `SELECT v::text AS v, count(*) AS n, sum(count(*)) OVER () AS total FROM ${from} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 15`,
  )
  const drawn = useMemo(() => {
    if (stored) return stored
    if (!h.rows?.length || h.rows[0].bin === null) return null
    const lo = +h.rows[0].lo,
      w = (h.rows[0].hi - lo) / bars,
      y = Array(bars).fill(0)
    for (const r of h.rows) y[+r.bin] = +r.n
    return { x: y.map((_, i) => lo + i * w), y, w }
  }, [h.rows, stored])
  return html`<div class="columns inner"><div><h3>Commonest values</h3>${
    vals.length
      ? html`<${Bars} items=${vals.map((v, i) => [v ?? 'NULL', freqs[i]])} most=${15} format=${v => percent(v, 1)} label="Commonest values" />`
      : html`<${Answer} of=${f}>${rows => html`<${Bars} items=${rows.map(r => [r.v ?? 'NULL', r.n / r.total])} most=${15} format=${v => percent(v, 1)} label="Commonest values" /><p class="soft">Of ${plural(rows[0]?.total ?? 0, 'row')}.</p>`}</>`
  }</div>
    ${(wide || time) && html`<div><h3>Histogram</h3><${ErrorBox} error=${h.error} />${drawn && html`<${Chart} x=${drawn.x} ys=${[drawn.y]} lines=${[{ label: stored ? 'share of rows' : 'rows', kind: 'histogram' }]} zero time=${time} xlabel=${c.name} ylabel=${stored ? 'share' : 'rows'} format=${stored ? v => percent(v, 1) : undefined} height=${200} xrange=${(_, lo, hi) => [lo, hi + drawn.w]} label=${`Histogram of ${c.name}`} />`}</div>`}</div>`
}

function Columns({ schema, table, rows }) {
  const t = useQuery(columnsOf, [schema, table]),
    open = location.value.query.column
  return html`<${Answer} of=${t} empty=${html`<${Panel}><${Empty}>There is no such relation that you may read.</></>`}>${list => html`
    <${Panel} class="flush"><${Table} label="Columns" id="columns" rows=${list} most=${500} rowClass=${c => (c.name === open ? 'chosen' : '')} columns=${[
      {
        key: 'name',
        name: 'Column',
        cell: c =>
          html`<button type="button" class="as-link" aria-expanded=${c.name === open} onClick=${() => set({ column: c.name === open ? null : c.name })}>${c.name}</button>`,
      },
      { key: 'type', name: 'Type', cell: c => html`<span class="mono">${c.type}</span>` },
      {
        key: 'required',
        name: 'NULL',
        cell: c =>
          c.required === 't'
            ? html`<${Badge}>not null</>`
            : c.null_frac === null
              ? ''
              : percent(c.null_frac, c.null_frac > 0 && c.null_frac < 0.01 ? 2 : 0),
        sort: c => +c.null_frac,
      },
      { key: 'n_distinct', name: 'Distinct', number: true, sort: c => distinct(c, rows), cell: c => count(distinct(c, rows)) },
      { key: 'avg_width', name: 'Bytes', number: true },
      {
        key: 'vals',
        name: 'Commonest',
        sort: false,
        wide: true,
        cell: c => html`<span class="soft">${array(c.vals).slice(0, 5).join(' · ')}</span>`,
      },
      { key: 'default', name: 'Default', cell: c => c.default && html`<span class="mono">${c.default}</span>` },
      ...(list.some(c => c.comment) ? [{ key: 'comment', name: 'Comment' }] : []),
    ]} /></>
    ${list.some(c => c.name === open) ? html`<${Panel} key=${open} title=${open}><${Column} schema=${schema} table=${table} c=${list.find(c => c.name === open)} /></>` : html`<p class="soft">Choose a column to see what is in it.${rows > 0 && list.every(c => c.vals === null && c.bounds === null) ? html` Its commonest values and histogram are not kept yet: ANALYZE does that. <${Act} sql=${`ANALYZE ${qualified(schema, table)}`} icon="refresh" done=${t.again}>Analyze</>` : ''}</p>`}`}</>`
}

function Sample({ schema, table }) {
  const t = useQuery(`SELECT * FROM ${qualified(schema, table)} LIMIT 200`)
  const rows = useMemo(() => {
    const r = new Rows()
    r.add(t.raw ?? [])
    return r
  }, [t.raw])
  return html`<${Answer} of=${t}>${() => html`<${Panel} title="The first rows" tools=${html`<a class="button" href=${'/sql?run=1&q=' + encodeURIComponent(`SELECT * FROM ${qualified(schema, table)} LIMIT 1000`)}>Open in SQL</a>`}><${Grid} columns=${t.columns} rows=${rows} version=${0} height=${560} /></>`}</>`
}

function Places({ schema, table }) {
  const t = useQuery(
      'SELECT partition, segments, rows, deleted_rows, bytes, nodes FROM cluster.partitions WHERE schema = $1 AND "table" = $2 ORDER BY partition',
      [schema, table],
    ),
    n = useQuery('SELECT name, state FROM cluster.nodes ORDER BY 1')
  return html`<${Answer} of=${t} empty=${html`<${Panel}><${Empty}>It has no rows of its own that lie anywhere.</></>`}>${rows => {
    const nodes = [...new Set([...(n.rows ?? []).map(r => r.name), ...rows.flatMap(r => array(r.nodes))])]
    const up = new Map((n.rows ?? []).map(r => [r.name, r.state]))
    return html`<${Panel} class="flush" title="Partitions"><${Table} label="Partitions" rows=${rows} sort="partition" id="partitions" columns=${[
      { key: 'partition', name: 'Partition', number: true },
      { key: 'rows', name: 'Rows', number: true, cell: r => count(r.rows) },
      { key: 'deleted_rows', name: 'Deleted', number: true, cell: r => count(r.deleted_rows) },
      { key: 'bytes', name: 'Size', number: true, cell: r => bytes(r.bytes) },
      { key: 'segments', name: 'Segments', number: true },
      ...nodes.map(node => ({
        key: 'at-' + node,
        name: node,
        sort: r => (array(r.nodes).includes(node) ? 1 : 0),
        cell: r =>
          array(r.nodes).includes(node)
            ? html`<${Badge} kind=${up.get(node) === 'ready' ? 'good' : 'bad'}>${up.get(node) === 'ready' ? 'copy' : (up.get(node) ?? 'gone')}</>`
            : '',
      })),
    ]} /></>`
  }}</>`
}

const word = (text, name) => new RegExp(`(^|[^\\w$])"?${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}"?($|[^\\w$])`, 'i').test(text ?? '')

function Uses({ schema, table }) {
  const v = useQuery(
      "SELECT schemaname AS schema, viewname AS name, definition FROM pg_views WHERE schemaname NOT IN ('pg_catalog', 'information_schema')",
    ),
    m = useQuery('SELECT schema, name, algorithm, statement FROM ml.models ORDER BY 1, 2'),
    i = useQuery('SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = $1 AND tablename = $2', [schema, table])
  const c = useQuery(
    'SELECT conname, pg_get_constraintdef(k.oid) AS def FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2',
    [schema, table],
  )
  const views = (v.rows ?? []).filter(r => word(r.definition, table) && !(r.name === table && r.schema === schema)),
    models = (m.rows ?? []).filter(r => word(r.statement, table)),
    self = (v.rows ?? []).find(r => r.name === table && r.schema === schema)
  return html`<div class="columns">
    <${Panel} title="Models trained on it" class="flush">${
      models.length
        ? html`<${Table} label="Models" rows=${models} href=${r => address('models', `${r.schema}.${r.name}`)} columns=${[
            { key: 'name', name: 'Model' },
            { key: 'algorithm', name: 'Algorithm' },
          ]} />`
        : html`<${Empty}>No model that you may use names it.</>`
    }</>
    <${Panel} title="Views over it" class="flush">${
      views.length
        ? html`<${Table} label="Views" rows=${views} href=${r => address('data', r.schema, r.name)} columns=${[
            { key: 'name', name: 'View' },
            { key: 'schema', name: 'Schema' },
          ]} />`
        : html`<${Empty}>No view names it.</>`
    }</></div>
    ${self && html`<${Panel} title="Its definition"><${Statement} sql=${self.definition.trim()} /></>`}
    ${
      (i.rows?.length > 0 || c.rows?.length > 0) &&
      html`<${Panel} title="Indexes and constraints" class="flush"><${Table} label="Indexes and constraints" rows=${[...(i.rows ?? []).map(r => ({ name: r.indexname, def: r.indexdef })), ...(c.rows ?? []).map(r => ({ name: r.conname, def: r.def }))]} columns=${[
        { key: 'name', name: 'Name' },
        { key: 'def', name: 'Definition', wide: true, cell: r => html`<code>${r.def}</code>` },
      ]} /></>`
    }`
}

const tabs = [
  ['columns', 'Columns'],
  ['sample', 'Sample'],
  ['partitions', 'Partitions'],
  ['uses', 'Uses'],
]

function One({ schema, table }) {
  const t = useQuery(
    `SELECT count(*) AS partitions, sum(rows - deleted_rows) AS rows, sum(bytes) AS bytes FROM cluster.partitions WHERE schema = ${literal(schema)} AND "table" = ${literal(table)}`,
  )
  const s = t.rows?.[0],
    here = tab(tabs)
  return html`<${Head} title=${schema === 'public' ? table : `${schema}.${table}`} sub=${s?.rows ? `${plural(s.rows, 'row')}, ${bytes(s.bytes)}, ${plural(s.partitions, 'partition')}` : ''}>
      <a class="button" href=${'/sql?q=' + encodeURIComponent(`SELECT * FROM ${qualified(schema, table)} LIMIT 100`)}>Query it</a></>
    <${Tabs} tabs=${tabs} label="Relation" /><div role="tabpanel" aria-label=${tabs.find(t => t[0] === here)?.[1]} key=${here}>
    ${here === 'sample' ? html`<${Sample} schema=${schema} table=${table} />` : here === 'partitions' ? html`<${Places} schema=${schema} table=${table} />` : here === 'uses' ? html`<${Uses} schema=${schema} table=${table} />` : html`<${Columns} schema=${schema} table=${table} rows=${+(s?.rows ?? 0)} />`}</div>`
}

export default function Data() {
  const [, schema, table] = location.value.parts
  return table ? html`<${One} schema=${schema} table=${table} key=${schema + '.' + table} />` : html`<${List} />`
}
