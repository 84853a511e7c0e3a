// The editor of SQL, with completion from the grammar and from the catalog as the role sees it.
import {
  html,
  useEffect,
  useRef,
  EditorState,
  EditorView,
  Compartment,
  Prec,
  keymap,
  lineNumbers,
  highlightActiveLine,
  highlightActiveLineGutter,
  drawSelection,
  placeholder as hint,
  defaultKeymap,
  history,
  historyKeymap,
  autocompletion,
  completionKeymap,
  closeBrackets,
  closeBracketsKeymap,
  acceptCompletion,
  search,
  searchKeymap,
  highlightSelectionMatches,
  sql,
  PostgreSQL,
  SQLDialect,
  bracketMatching,
  indentOnInput,
  syntaxHighlighting,
  HighlightStyle,
  tags,
} from '../vendor/vendor.js'
import { own, select } from './api.js'

const look = EditorView.theme({
  '&': { color: 'var(--ink)', backgroundColor: 'var(--surface)', fontSize: '13px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.5' },
  '.cm-content': { caretColor: 'var(--ink)', padding: '8px 0' },
  '.cm-gutters': { backgroundColor: 'var(--surface)', color: 'var(--soft)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--sunk) 70%, transparent)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 24%, transparent)',
  },
  '.cm-tooltip': {
    backgroundColor: 'var(--raised)',
    color: 'var(--ink)',
    border: '1px solid var(--line-strong)',
    borderRadius: '6px',
    overflow: 'hidden',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--accent-weak)', color: 'var(--accent)' },
  '.cm-completionDetail': { color: 'var(--soft)', fontStyle: 'normal', marginLeft: '10px' },
  '.cm-tooltip.cm-completionInfo': { maxWidth: '360px', padding: '6px 10px', fontFamily: 'var(--sans)' },
  '.cm-placeholder': { color: 'var(--soft)' },
  '.cm-panels': { backgroundColor: 'var(--sunk)', color: 'var(--ink)' },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--accent-weak)' },
  '.cm-selectionMatch': { backgroundColor: 'var(--warn-weak)' },
})
const colours = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--sql-word)', fontWeight: '550' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--sql-text)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--sql-number)' },
  { tag: tags.comment, color: 'var(--sql-note)', fontStyle: 'italic' },
  { tag: [tags.typeName, tags.standard(tags.name)], color: 'var(--sql-word)' },
])

// The statements of models are no part of PostgreSQL's dialect.
const ours = SQLDialect.define({
  ...PostgreSQL.spec,
  keywords: `${PostgreSQL.spec?.keywords ?? ''} train model models predict transform options retrain resume training describe`,
})

let catalog = null // the catalog's promise, once for all editors
export const forgetCatalog = () => {
  catalog = null
}
const tables = `SELECT n.nspname AS schema, c.relname AS name, c.relkind AS kind, array_to_string(array_agg(a.attname::text ORDER BY a.attnum), ',') AS columns
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relkind IN ('r', 'v', 'm', 'p') AND a.attnum > 0 AND NOT a.attisdropped AND n.nspname <> 'information_schema' GROUP BY 1, 2, 3 ORDER BY 1, 2`
async function read() {
  const [relations, functions, models, algorithms, options] = await Promise.all([
    select(own(tables)),
    select(
      own("SELECT DISTINCT proname AS name FROM pg_proc WHERE proname !~ '(in|out|send|recv|typmodin|typmodout|sel|_support)$' ORDER BY 1"),
    ).catch(() => []),
    select(own('SELECT name, schema FROM ml.models')).catch(() => []),
    select(own('SELECT algorithm, description FROM ml.algorithms')).catch(() => []),
    select(
      own('SELECT option, min(default_value) AS default_value, min(description) AS description FROM ml.options WHERE supported GROUP BY 1'),
    ).catch(() => []),
  ])
  const schema = {}
  for (const r of relations) {
    const columns = r.columns.split(',')
    ;(schema[r.schema] ??= {})[r.name] = columns
    if (r.schema === 'public') schema[r.name] = columns
  }
  return {
    schema,
    functions: functions.map(f => ({ label: f.name, type: 'function', boost: -20 })),
    training: [
      ...algorithms.map(a => ({ label: a.algorithm, type: 'class', detail: 'algorithm', info: a.description })),
      ...options.map(o => ({
        label: o.option,
        apply: o.option + ' = ',
        type: 'property',
        detail: 'option',
        info: o.description + (o.default_value ? ` Default: ${o.default_value}.` : ''),
        boost: -10,
      })),
    ],
    models: models.map(m => ({ label: m.schema === 'public' ? m.name : `${m.schema}.${m.name}`, type: 'class', detail: 'model' })),
  }
}

const more = c => context => {
  const w = context.matchBefore(/'[\w.]*|\w+$/)
  if (!w || (w.from === w.to && !context.explicit)) return null
  if (w.text[0] === "'") return c.models.length ? { from: w.from + 1, options: c.models, validFor: /^[\w.]*$/ } : null
  return {
    from: w.from,
    options: [
      ...c.functions,
      ...c.models,
      ...(/\btrain\b|\bmodel\b/i.test(context.state.sliceDoc(Math.max(0, w.from - 4000), w.from)) ? c.training : []),
    ],
    validFor: /^\w*$/,
  }
}

// Editor: value is the text at first; handle.current gets {text(), selected(), set(), focus()}.
export function Editor({ value = '', onChange, onRun, handle, label = 'SQL', placeholder = '', lines = 8, most = 24 }) {
  const box = useRef(),
    latest = useRef({})
  latest.current = { onChange, onRun }
  useEffect(() => {
    const language = new Compartment()
    const view = new EditorView({
      parent: box.current,
      state: EditorState.create({
        doc: value,
        extensions: [
          EditorView.cspNonce.of(document.querySelector('meta[name="csp-nonce"]')?.content ?? ''),
          Prec.highest(
            keymap.of([
              { key: 'Mod-Enter', run: () => (latest.current.onRun?.(), true) },
              { key: 'Tab', run: acceptCompletion },
            ]),
          ),
          lineNumbers(),
          highlightActiveLine(),
          highlightActiveLineGutter(),
          drawSelection(),
          history(),
          indentOnInput(),
          bracketMatching(),
          closeBrackets(),
          autocompletion({ icons: false, maxRenderedOptions: 60 }),
          search({ top: true }),
          highlightSelectionMatches(),
          hint(placeholder),
          EditorView.lineWrapping,
          language.of(sql({ dialect: ours, upperCaseKeywords: true })),
          syntaxHighlighting(colours),
          look,
          EditorView.theme({
            '.cm-scroller': { minHeight: 1 + lines * 1.5 * 13 + 'px', maxHeight: most * 1.5 * 13 + 'px', overflow: 'auto' },
            '.cm-content, .cm-gutter': { minHeight: lines * 1.5 * 13 + 'px' },
          }),
          EditorView.contentAttributes.of({ 'aria-label': label }),
          keymap.of([
            ...closeBracketsKeymap,
            ...defaultKeymap.filter(k => k.key !== 'Mod-Enter'),
            ...searchKeymap,
            ...historyKeymap,
            ...completionKeymap,
          ]),
          EditorView.updateListener.of(u => u.docChanged && latest.current.onChange?.(u.state.doc.toString())),
        ],
      }),
    })
    let here = true
    catalog ??= read()
    catalog.then(
      c =>
        here &&
        view.dispatch({
          effects: language.reconfigure([
            sql({ dialect: ours, upperCaseKeywords: true, schema: c.schema, defaultSchema: 'public' }),
            ours.language.data.of({ autocomplete: more(c) }),
          ]),
        }),
      () => {
        catalog = null
      },
    )
    if (handle) {
      handle.current = {
        text: () => view.state.doc.toString(),
        selected: () => view.state.sliceDoc(view.state.selection.main.from, view.state.selection.main.to),
        start: () => view.state.selection.main.from,
        set: text => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
        select: (from, to) => {
          view.dispatch({ selection: { anchor: from, head: to }, scrollIntoView: true })
          view.focus()
        },
        focus: () => view.focus(),
      }
    }
    return () => {
      here = false
      view.destroy()
    }
  }, [])
  return html`<div class="editor" ref=${box} />`
}
