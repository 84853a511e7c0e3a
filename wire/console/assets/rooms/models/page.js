// A model: what it is, how it measures, what is inside, what it predicts, and its versions beside each other.
import { html, useMemo } from '../../vendor/vendor.js'
import { useLive } from '../../core/live.js'
import { address, go, location, set } from '../../core/router.js'
import { Act, Badge, Empty, ErrorBox, Head, Loading, Panel, Stat, Statement, Table, Tabs, tab } from '../../core/ui.js'
import { Chart } from '../../core/chart.js'
import { bytes, count, duration, number, plural, when } from '../../core/format.js'
import { Curve } from '../trainings.js'
import { called, full, metric, smallerIsBetter, sqlName, useModel } from './model.js'
import { Measures } from './measures.js'
import { Inside } from './inside.js'
import { Predict } from './predict.js'

const tabs = [
  ['about', 'About'],
  ['measures', 'Measures'],
  ['inside', 'Inside'],
  ['predict', 'Predict'],
  ['versions', 'Versions'],
]

function About({ s }) {
  const { m } = s,
    c = useLive('curve', full(m))
  return html`<${Panel}><dl class="stats">${Object.entries(m.metrics)
    .slice(0, 10)
    .map(([k, v]) => html`<${Stat} name=${metric(k)}>${number(v, 4)}</>`)}
      <${Stat} name="loss">${number(m.train_loss, 5)}</></dl></>
    <div class="columns">
      <${Panel} title="Loss"><${Curve} rows=${(c?.rows ?? []).filter(r => r.version === m.version)} version=${m.version} height=${220} key=${m.version} /></>
      <${Panel} title="Facts"><dl class="facts">
        <dt>Algorithm</dt><dd>${m.algorithm}</dd><dt>Task</dt><dd>${m.task}</dd>
        ${m.target && html`<dt>Target</dt><dd>${s.about.target}</dd>`}${s.classes.length > 0 && html`<dt>Classes</dt><dd>${s.about.classes}</dd>`}
        <dt>Rows</dt><dd>${count(m.rows)}</dd><dt>Iterations</dt><dd>${count(m.iterations)}${m.stopped ? html` <span class="soft">ended by ${m.stopped}</span>` : ''}</dd>
        <dt>Trained</dt><dd>${when(m.created_at)} <span class="soft">in ${duration(m.seconds)}, by ${m.owner}</span></dd><dt>Size</dt><dd>${bytes(m.bytes)}</dd>
        ${m.snapshot && html`<dt>Trained on</dt><dd>${
          m.snapshot.tables.length
            ? m.snapshot.tables.map(
                t =>
                  html`<div><a href=${address('data', t.schema, t.table)}>${t.schema === 'public' ? t.table : `${t.schema}.${t.table}`}</a>, ${plural(t.rows, 'row')} <span class="soft" title=${t.digest}>of version ${t.version}, ${t.digest.slice(0, 12)}</span></div>`,
              )
            : 'rows of no table'
        }<div class="soft">as of ${when(m.snapshot.at)}, version ${m.snapshot.version} of the database</div></dd>`}<dt>Hash</dt><dd class="mono hash">${m.sha256}</dd>
        ${Object.entries(m.options).length > 0 && html`<dt>Options</dt><dd class="mono">${Object.entries(m.options).map(([k, v]) => html`<div>${k} = ${String(v)}</div>`)}</dd>`}
      </dl></></div>
    <${Panel} title="Features"><p class="features">${s.features.map(([n, t]) => html`<span>${n} <small>${t}</small></span> `)}</p></>
    <${Panel} title="Statement">${m.statement ? html`<${Statement} sql=${m.statement} />` : html`<${Empty}>Only its owner, ${m.owner}, sees the statement that trained it.</>`}</>`
}

// ── Versions ───────────────────────────────────────────────────────────────────────────────────────────────────

const dashes = v => (v === undefined || v === null ? html`<span class="soft">–</span>` : v)

function Versions({ s }) {
  const c = useLive('curve', full(s.m))
  const picked = (
    location.value.query.with ??
    s.versions
      .slice(-4)
      .map(v => v.version)
      .join(',')
  )
    .split(',')
    .filter(Boolean)
  const chosen = s.versions.filter(v => picked.includes(v.version))
  const pick = v => set({ with: (picked.includes(v) ? picked.filter(x => x !== v) : [...picked, v]).join(',') || '0' })
  const metrics = [...new Set(chosen.flatMap(v => Object.keys(v.metrics)))],
    options = [...new Set(chosen.flatMap(v => Object.keys(v.options)))]
  const loss = useMemo(() => {
    const rows = c?.rows ?? [],
      xs = [...new Set(rows.filter(r => picked.includes(r.version)).map(r => +r.iteration))].sort((a, b) => a - b),
      place = new Map(xs.map((x, i) => [x, i]))
    const line = (v, key) => {
      const y = Array(xs.length).fill(null)
      for (const r of rows) if (r.version === v && r[key] !== null) y[place.get(+r.iteration)] = +r[key]
      return y
    }
    const ys = [],
      lines = []
    chosen.forEach((v, i) => {
      ys.push(line(v.version, 'train_loss'))
      lines.push({ label: `version ${v.version}`, colour: 'series-' + (1 + (i % 8)) })
      const val = line(v.version, 'validation_loss')
      if (val.some(x => x !== null)) {
        ys.push(val)
        lines.push({ label: `version ${v.version}, validation`, colour: 'series-' + (1 + (i % 8)), dash: true })
      }
    })
    return { x: xs, ys, lines }
  }, [c, picked.join()])
  const row = (name, of, mark) => {
    const values = chosen.map(of),
      texts = values.map(v => (v === undefined || v === null ? '' : String(v)))
    const differs = new Set(texts).size > 1
    return html`<tr class=${differs && !mark ? 'differs' : ''}><th scope="row">${name}</th>${values.map((v, i) => html`<td class=${(mark ? 'number ' : '') + (mark && differs && mark(values) === i ? 'best' : '')}>${dashes(typeof v === 'number' ? number(v, 5) : v)}</td>`)}</tr>`
  }
  const best = k => values =>
    values.reduce((b, v, i) => (typeof v !== 'number' ? b : b < 0 || (smallerIsBetter(k) ? v < values[b] : v > values[b]) ? i : b), -1)
  return html`<${Panel} class="flush" title="All versions"><${Table} label="Versions" rows=${[...s.versions].reverse()} columns=${[
    {
      key: 'with',
      name: 'Compare',
      sort: false,
      cell: v =>
        html`<input type="checkbox" aria-label=${`Compare version ${v.version}`} checked=${picked.includes(v.version)} onChange=${() => pick(v.version)} />`,
    },
    {
      key: 'version',
      name: 'Version',
      cell: v =>
        html`<a href=${`${address('models', full(s.m))}?version=${v.version}`}>${v.version}</a>${v.is_default === 't' ? html` <${Badge} kind="good">default</>` : ''}`,
    },
    { key: 'algorithm', name: 'Algorithm' },
    { key: 'rows', name: 'Rows', number: true, cell: v => count(v.rows) },
    { key: 'iterations', name: 'Iterations', number: true },
    { key: 'train_loss', name: 'Loss', number: true, cell: v => number(v.train_loss, 6) },
    { key: 'created_at', name: 'Trained', cell: v => when(v.created_at) },
    { key: 'sha256', name: 'Hash', cell: v => html`<span class="mono" title=${v.sha256}>${v.sha256.slice(0, 12)}</span>` },
    {
      key: '',
      name: '',
      cell: v =>
        v.is_default === 't'
          ? ''
          : html`<${Act} sql=${`ALTER MODEL ${sqlName(v)} SET DEFAULT VERSION ${v.version}`} title=${`Let ${called(v)} mean version ${v.version}?`} done=${s.again}>Make default</>
        <${Act} sql=${`DROP MODEL ${sqlName(v)} VERSION ${v.version}`} title=${`Drop version ${v.version} for good?`} danger icon="trash" done=${s.again}>Drop</>`,
    },
  ]} /></>
    ${
      chosen.length > 0 &&
      html`<div class="columns">
      <${Panel} title="Losses">${loss.x.length ? html`<${Chart} ...${loss} height=${240} xlabel="iteration" ylabel="loss" label="Losses of the versions by iteration" key=${picked.join()} />` : html`<${Empty}>No losses are kept.</>`}</>
      <${Panel} title="Side by side"><div class="scroll" tabindex="0" role="group" aria-label="Versions side by side"><table class="beside">
        <thead><tr><th scope="col"><span class="sr">Measure</span></th>${chosen.map(v => html`<th scope="col" class="number">version ${v.version}</th>`)}</tr></thead><tbody>
        ${metrics.map(k => row(metric(k), v => v.metrics[k], best(k)))}${row('loss', v => (v.train_loss === null ? null : +v.train_loss), best('loss'))}
        ${row('seconds', v => +v.seconds, best('loss'))}
        ${options.map(k => row(k, v => (v.options[k] === undefined ? undefined : String(v.options[k]))))}${row('features', v => v.features.length)}${row('rows', v => count(v.rows))}
      </tbody></table></div></></div>
      ${new Set(chosen.map(v => v.statement)).size > 1 && html`<div class="columns">${chosen.map(v => html`<${Panel} title=${`Statement of version ${v.version}`}><${Statement} sql=${v.statement} max /></>`)}</div>`}`
    }`
}

export function Page({ name }) {
  const s = useModel(name, location.value.query.version)
  if (!s.ready) return html`<${Head} title=${name.replace(/^public\./, '')} sub="model" /><${Loading} />`
  if (s.error) return html`<${Head} title=${name} /><${ErrorBox} error=${s.error} />`
  if (!s.m)
    return html`<${Head} title=${name} /><${Panel}><${Empty}>There is no model ${name} that you may use. <a href="/models">All models</a></></>`
  const { m } = s,
    here = tab(tabs)
  return html`<${Head} title=${called(m)} sub=${html`${m.algorithm}${m.target ? ` of ${m.target}` : ''}`}>
      <label class="select"><span>Version</span><select value=${m.version} onChange=${e => set({ version: e.target.value })}>${s.versions.map(v => html`<option value=${v.version}>${v.version}${v.is_default === 't' ? ', default' : ''}</option>`)}</select></label>
      <${Act} sql=${`RETRAIN MODEL ${sqlName(m)}`} title=${`Train ${called(m)} again, as a new version?`} icon="refresh" done=${s.again}>Retrain</>
      <${Act} sql=${`DROP MODEL ${sqlName(m)}`} title=${`Drop ${called(m)} with all its versions?`} danger icon="trash" done=${() => go('/models')}>Drop</></>
    <${Tabs} tabs=${tabs} label="Model" />
    <div role="tabpanel" aria-label=${tabs.find(t => t[0] === here)?.[1]} key=${here + m.version}>
      ${here === 'measures' ? html`<${Measures} s=${s} />` : here === 'inside' ? html`<${Inside} s=${s} />` : here === 'predict' ? html`<${Predict} s=${s} />` : here === 'versions' ? html`<${Versions} s=${s} />` : html`<${About} s=${s} />`}
    </div>`
}
