// What is being trained, what has been, and how the loss went.
import { html, useMemo } from '../vendor/vendor.js'
import { ident } from '../core/api.js'
import { useLive } from '../core/live.js'
import { address, location, set } from '../core/router.js'
import { Chart } from '../core/chart.js'
import { Act, Answer, Button, Empty, ErrorBox, Head, Meter, Panel, Search, Select, Stat, State, Statement, Table, matches } from '../core/ui.js'
import { Reductions } from './reductions.js'
import { Train } from './train.js'
import { bytes, count, duration, interval, number, short, when } from '../core/format.js'

const running = j => !['done', 'failed', 'cancelled'].includes(j.state)
const full = j => `${j.schema}.${j.model}`
const called = j => (j.schema === 'public' ? j.model : full(j))
const sqlName = j => (j.schema === 'public' ? ident(j.model) : `${ident(j.schema)}.${ident(j.model)}`)

export const example = `TRAIN MODEL fare USING gradient_boosted_trees PREDICT fare
  WITH (n_estimators = 100) AS
  SELECT * FROM trips`

const Cancel = ({ job }) =>
  html`<${Act} sql=${`CANCEL TRAINING ${sqlName(job)}`} title=${`Cancel the training of ${called(job)}?`} danger icon="stop">Cancel</>`
const Resume = ({ job }) =>
  html`<${Act} sql=${`RESUME TRAINING ${sqlName(job)}`} title=${`Go on with the training of ${called(job)}, from its last checkpoint?`} icon="play">Resume</>`

// How far a training is: by the time that is left at most.
function Progress({ job, note }) {
  const left = interval(job.eta)
  if (left === null) return html`<span class="soft">${job.phase}${+job.epoch ? ` ${count(job.epoch)}` : ''}</span>`
  return html`<${Meter} value=${took(job)} max=${took(job) + left} label=${`Progress of ${called(job)}`} />${note && html` <small>${count(job.epoch)}</small>`}`
}

// Curve of one version's losses; with several versions of one model each is a line.
export function Curve({ rows, version, log, marks, height = 260 }) {
  const drawn = useMemo(() => {
    const list = rows.filter(r => !version || r.version === version)
    const val = list.some(r => r.validation_loss !== null)
    return {
      x: list.map(r => +r.iteration),
      ys: [
        list.map(r => (r.train_loss === null ? null : +r.train_loss)),
        ...(val ? [list.map(r => (r.validation_loss === null ? null : +r.validation_loss))] : []),
      ],
      lines: [{ label: 'train' }, ...(val ? [{ label: 'validation' }] : [])],
    }
  }, [rows, version])
  if (!drawn.x.length) return html`<${Empty}>No iteration has ended yet.</>`
  return html`<${Chart} ...${drawn} marks=${marks} height=${height} xlabel="iteration" ylabel="loss" log=${log && drawn.ys.every(y => y.every(v => v === null || v > 0))} format=${v => number(v, 4)} xformat=${v => String(Math.round(v * 10) / 10)} label="Loss by iteration" />`
}

function Live({ job }) {
  const c = useLive('curve', full(job))
  const last = c?.rows?.length ? c.rows[c.rows.length - 1].version : null
  return html`<${Panel} title=${html`<a href=${address('trainings', full(job))}>${called(job)}</a>`} tools=${html`<${State} of=${job.state} /><${Cancel} job=${job} />`}>
    <${Facts} job=${job} />
    ${c?.rows ? html`<${Curve} rows=${c.rows} version=${last} height=${180} />` : c?.error ? html`<${ErrorBox} error=${c.error} />` : ''}
  </>`
}

function Facts({ job, all }) {
  return html`<dl class="stats small">
    <${Stat} name="Phase">${job.phase || '–'}</>
    ${+job.iterations ? html`<${Stat} name="Iterations">${count(job.iterations)}</>` : ''}
    <${Stat} name="Rows">${count(job.rows)}</>
    ${job.rows_per_second && html`<${Stat} name="Rows a second">${short(job.rows_per_second)}</>`}
    ${job.eta && running(job) && html`<${Stat} name="Left at most">${duration(interval(job.eta))}</>`}
    ${job.train_loss && html`<${Stat} name="Loss">${number(job.train_loss, 6)}</>`}
    <${Stat} name="Driven by">${job.coordinator}</>
    ${all && html`<${Stat} name="Owner">${job.owner}</><${Stat} name="Begun">${when(job.created_at)}</><${Stat} name=${running(job) ? 'Last heard of' : 'Ended'}>${when(job.updated_at)}</>`}
  </dl>`
}

function List() {
  const t = useLive('jobs')
  const q = location.value.query
  const columns = [
    { key: 'model', name: 'Model', cell: called },
    { key: 'state', name: 'State', cell: j => html`<${State} of=${j.state} />` },
    { key: 'epoch', name: 'Iterations', number: true, cell: j => (running(j) ? html`<${Progress} job=${j} note />` : count(j.epoch)) },
    { key: 'train_loss', name: 'Loss', number: true, cell: j => number(j.train_loss) },
    { key: 'rows', name: 'Rows', number: true, cell: j => count(j.rows) },
    { key: 'seconds', name: 'Took', number: true, sort: j => took(j), cell: j => duration(took(j)) },
    { key: 'owner', name: 'Owner' },
    { key: 'coordinator', name: 'Driven by' },
    { key: 'created_at', name: 'Begun', cell: j => html`<span class="nowrap">${when(j.created_at)}</span>` },
    {
      key: 'error',
      name: 'Error',
      wide: true,
      cell: j => j.error && html`<span class="bad">${j.error}</span> <small class="mono">${j.error_code}</small>`,
    },
    {
      key: '',
      name: '',
      cell: j => (running(j) ? html`<${Cancel} job=${j} />` : ['failed', 'cancelled'].includes(j.state) ? html`<${Resume} job=${j} />` : ''),
    },
  ]
  return html`<${Head} title="Trainings"><${Search} /><${Select} name="state" label="State" options=${[['', 'All states'], 'running', 'done', 'failed', 'cancelled']} />
      <a class="button primary" href="/trainings?new=1">Train a model</a></>
    <${Answer} of=${t} empty=${html`<${Panel}><${Empty} sql=${example}>Nothing is being trained, and nothing was in the last hour. A training is a statement:</></>`}>${rows => {
      const live = rows.filter(j => running(j))
      const list = rows.filter(
        j =>
          (!q.state || (q.state === 'running' ? running(j) : j.state === q.state)) && matches(q.q, [called(j), j.owner, j.error ?? '', j.statement]),
      )
      return html`${live.length > 0 && html`<div class="columns">${live.slice(0, 6).map(j => html`<${Live} job=${j} key=${j.job} />`)}</div>`}
        <${Panel} class="flush" title="All that are kept"><${Table} id="trainings" label="Trainings" columns=${columns} rows=${list} sort="-created_at" href=${j => address('trainings', full(j))} /></>`
    }}</>`
}

const took = j => {
  const [a, b] = [j.created_at, j.updated_at].map(t => Date.parse(t.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00')))
  return (b - a) / 1000
}

function One({ name }) {
  const t = useLive('jobs'),
    c = useLive('curve', name),
    e = useLive('training_events', name),
    m = useLive('training_reductions', name)
  const q = location.value.query
  const jobs = t?.rows?.filter(j => full(j) === name) ?? []
  const job = jobs.find(j => j.job === q.job) ?? jobs[0]
  const events = e?.rows?.filter(r => r.job === job?.job) ?? []
  const merges = m?.rows?.filter(r => r.job === job?.job) ?? []
  const marks = events.filter(r => /taken|resumed/.test(r.kind)).map(r => [+r.iteration, `${r.kind}, ${r.node ?? 'a node'}`])
  const versions = [...new Set(c?.rows?.map(r => r.version) ?? [])]
  const version = q.version ?? versions[versions.length - 1]
  const curve = c?.rows?.filter(r => r.version === version) ?? []
  const best = curve.reduce((b, r) => (r.validation_loss !== null && (b === null || +r.validation_loss < +b.validation_loss) ? r : b), null)
  return html`<${Head} title=${name.replace(/^public\./, '')} sub="training">
      ${job && running(job) && html`<${Cancel} job=${job} />`}${job && ['failed', 'cancelled'].includes(job.state) && html`<${Resume} job=${job} />`}
      <a class="button" href=${address('models', name)}>The model</a></>
    ${
      job &&
      html`<${Panel} title=${html`<${State} of=${job.state} />`}>
      ${job.error && html`<${ErrorBox} error=${{ message: job.error, code: job.error_code }} />`}
      ${running(job) && job.eta && html`<p><${Progress} job=${job} /></p>`}<${Facts} job=${job} all /></>`
    }
    <${Panel} title="Loss" tools=${html`
      ${versions.length > 1 && html`<label class="select"><span>Version</span><select value=${version} onChange=${e => set({ version: e.target.value })}>${versions.map(v => html`<option value=${v}>${v}</option>`)}</select></label>`}
      <${Button} kind=${q.log ? 'chosen' : 'quiet'} aria-pressed=${!!q.log} onClick=${() => set({ log: q.log ? null : 1 })}>Logarithmic</>`}>
      <${Answer} of=${c} empty=${html`<${Empty}>No iteration has ended yet.</>`}>${rows => html`<${Curve} rows=${rows} version=${version} log=${!!q.log} marks=${version === versions[versions.length - 1] ? marks : null} height=${320} key=${version} />
        ${best && html`<p class="soft">The validation loss is least at iteration ${best.iteration}: ${number(best.validation_loss, 6)}.</p>`}`}</></>
    ${
      events.length > 0 &&
      html`<${Panel} class="flush" title="What happened"><${Table} label="What happened" rows=${events} columns=${[
        { key: 'at', name: 'When', cell: r => html`<span class="nowrap">${when(r.at)}</span>` },
        { key: 'kind', name: 'What', cell: r => html`<${State} of=${r.kind} />` },
        { key: 'iteration', name: 'Iteration', number: true, cell: r => count(r.iteration) },
        { key: 'node', name: 'Driven by' },
        { key: 'bytes', name: 'Checkpoint', number: true, cell: r => bytes(r.bytes) },
      ]} /></>`
    }
    ${merges.length > 1 && html`<${Panel} title="How sums are merged"><${Reductions} rows=${merges} /></>`}
    ${job && html`<${Panel} title="Statement"><${Statement} sql=${job.statement} /></>`}
    ${
      jobs.length > 1 &&
      html`<${Panel} class="flush" title="All trainings of this model that are kept"><${Table} label="Trainings of this model" rows=${jobs} href=${j => address('trainings', full(j)) + '?job=' + j.job} columns=${[
        { key: 'created_at', name: 'Begun', cell: j => when(j.created_at) },
        { key: 'state', name: 'State', cell: j => html`<${State} of=${j.state} />` },
        { key: 'epoch', name: 'Iterations', number: true },
        { key: 'train_loss', name: 'Loss', number: true, cell: j => number(j.train_loss, 6) },
        { key: 'error', name: 'Error', wide: true },
      ]} /></>`
    }
    ${t?.rows && !job && html`<p class="soft">The training itself is no longer kept; its curve is with the model.</p>`}`
}

export default function Trainings() {
  const name = location.value.parts[1]
  if (location.value.query.new) return html`<${Train} />`
  return name ? html`<${One} name=${name.includes('.') ? name : 'public.' + name} key=${name} />` : html`<${List} />`
}
