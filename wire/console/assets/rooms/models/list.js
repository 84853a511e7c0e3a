import { html } from '../../vendor/vendor.js'
import { json } from '../../core/api.js'
import { useLive } from '../../core/live.js'
import { address, location } from '../../core/router.js'
import { Answer, Badge, Empty, Head, Panel, Search, Select, Table, matches } from '../../core/ui.js'
import { bytes, count, duration, number, when } from '../../core/format.js'
import { called, full, metric } from './model.js'

const example = 'TRAIN MODEL fare USING gradient_boosted_trees PREDICT fare AS SELECT * FROM trips'
// The measure that says most of a task.
const first = ['roc_auc', 'accuracy', 'r2_score', 'concordance', 'davies_bouldin_index', 'total_explained_variance_ratio', 'reconstruction_error']
const best = m => {
  const all = json(m.metrics),
    k = first.find(k => all[k] !== undefined) ?? Object.keys(all)[0]
  return k ? [k, all[k]] : null
}

export function List() {
  const t = useLive('models')
  const q = location.value.query
  const columns = [
    { key: 'name', name: 'Model', cell: called },
    { key: 'algorithm', name: 'Algorithm' },
    { key: 'task', name: 'Task', cell: m => html`${m.task}${m.target ? html` <small>of ${m.target}</small>` : ''}` },
    {
      key: 'metric',
      name: 'Measured',
      sort: m => best(m)?.[1],
      cell: m => best(m) && html`<small>${metric(best(m)[0])}</small> ${number(best(m)[1], 4)}`,
    },
    { key: 'rows', name: 'Rows', number: true, cell: m => count(m.rows) },
    {
      key: 'iterations',
      name: 'Iterations',
      number: true,
      cell: m => html`${count(m.iterations)}${m.converged === 'f' ? html` <${Badge} kind="warn">not converged</>` : ''}`,
    },
    { key: 'seconds', name: 'Took', number: true, cell: m => duration(m.seconds) },
    { key: 'bytes', name: 'Size', number: true, cell: m => bytes(m.bytes) },
    {
      key: 'version',
      name: 'Version',
      number: true,
      cell: m => html`${m.version}${m.versions !== m.version ? html` <small>of ${m.versions}</small>` : ''}`,
    },
    { key: 'owner', name: 'Owner' },
    { key: 'created_at', name: 'Trained', cell: m => html`<span class="nowrap">${when(m.created_at)}</span>` },
  ]
  return html`<${Head} title="Models"><${Search} /><${Select} name="task" label="Task" options=${[['', 'All tasks'], ...new Set(t?.rows?.map(m => m.task) ?? [])]} />
      <a class="button primary" href="/trainings?new=1">Train a model</a></>
    <${Answer} of=${t} empty=${html`<${Panel}><${Empty} sql=${example}>There is no model yet that you may use. A statement trains one:</></>`}>${rows => html`<${Panel} class="flush models-list">
      <${Table} id="models" label="Models" columns=${columns} sort="name" href=${m => address('models', full(m))}
        rows=${rows.filter(m => (!q.task || m.task === q.task) && matches(q.q, [called(m), m.algorithm, m.target ?? '', m.owner, m.comment ?? '']))} /></>`}</>`
}
