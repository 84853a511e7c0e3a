// What rooms know of a model: its name in SQL, its training query, its features' types.
import { array, ident, json, literal, own, records, run } from '../../core/api.js'
import { useEffect, useState } from '../../vendor/vendor.js'

export const full = m => `${m.schema}.${m.name}`
export const called = m => (m.schema === 'public' ? m.name : full(m))
export const sqlName = m => (m.schema === 'public' ? ident(m.name) : `${ident(m.schema)}.${ident(m.name)}`)
// at is the text that functions take, of a version.
export const at = m => literal(`${sqlName(m)}@${m.version}`)

// trainingQuery is what stands after AS at the top level of a TRAIN or RETRAIN statement, null if there is no such.
export function trainingQuery(statement) {
  if (!statement) return null
  const token = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\$(\w*)\$[\s\S]*?\$\1\$|[()[\]]|\bas\b/gi
  let depth = 0
  for (const m of statement.matchAll(token)) {
    if (m[0] === '(' || m[0] === '[') depth++
    else if (m[0] === ')' || m[0] === ']') depth--
    else if (/^as$/i.test(m[0]) && depth === 0) {
      const rest = statement
        .slice(m.index + 2)
        .trim()
        .replace(/;\s*$/, '')
      if (/^(\(|select|with|from|table|values)/i.test(rest)) return rest
    }
  }
  return null
}

// useModel reads a version, and what DESCRIBE says of it: {m, about, features: [[name, type]], classes, target, error}.
export function useModel(name, version) {
  const [state, put] = useState({})
  const [n, again] = useState(0)
  useEffect(() => {
    const abort = new AbortController()
    const read = async () => {
      const versions = records(
        await run(own("SELECT * FROM ml.model_versions WHERE schema || '.' || name = $1 ORDER BY version"), [name], { signal: abort.signal }),
      )
      const m = versions.find(v => v.version === version) ?? versions.find(v => v.is_default === 't') ?? versions[versions.length - 1]
      if (!m) return { versions }
      for (const v of versions) Object.assign(v, { metrics: json(v.metrics), options: json(v.options), snapshot: json(v.snapshot, null), features: array(v.features) })
      const rows = records(
        await run(own(`SELECT property, value FROM ml.describe_model(${literal(sqlName(m))}, ${m.version})`), null, { signal: abort.signal }),
      )
      const about = Object.fromEntries(rows.map(r => [r.property, r.value]))
      const typed = list => m => [
        m,
        (new RegExp(`(?:^|, )"?${m.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}"? ((?:[^,(]|\\([^)]*\\))+)`).exec(list ?? '') ?? [])[1] ?? 'text',
      ]
      const targets = (m.target ?? '').split(', ').filter(Boolean)
      return {
        versions,
        m,
        about,
        features: m.features.map(typed(about.features)),
        target: targets[0],
        targets,
        targetType: targets[0] && typed(about.target)(targets[0])[1],
        classes: about.classes?.split(', ') ?? [],
        query: trainingQuery(m.statement),
      }
    }
    read().then(
      s => put({ ...s, ready: true }),
      error => abort.signal.aborted || put({ error, ready: true }),
    )
    return () => abort.abort()
  }, [name, version, n])
  return { ...state, again: () => again(n => n + 1) }
}

export const metricNames = { roc_auc: 'ROC AUC', r2_score: 'R²', f1_score: 'F1', log_loss: 'log loss' }
export const metric = k => metricNames[k] ?? k.replaceAll('_', ' ')
export const smallerIsBetter = k => /loss|error|inertia|distance|index$/.test(k) && !/concordance/.test(k)
