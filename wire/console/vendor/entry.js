// Everything that the console takes from others; what is not named here is not in the bundle.
import { h } from 'preact'
import htm from 'htm'
import 'uplot/dist/uPlot.min.css'

export { h, render, Fragment } from 'preact'
export { useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback } from 'preact/hooks'
export { signal, computed, effect, batch, useSignal, useComputed } from '@preact/signals'
export { default as uPlot } from 'uplot'
export { EditorState, Compartment, Prec } from '@codemirror/state'
export {
  EditorView, keymap, lineNumbers, highlightActiveLine, highlightActiveLineGutter, drawSelection, placeholder,
} from '@codemirror/view'
export { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
export { autocompletion, completionKeymap, closeBrackets, closeBracketsKeymap, acceptCompletion } from '@codemirror/autocomplete'
export { search, searchKeymap, highlightSelectionMatches } from '@codemirror/search'
export { sql, PostgreSQL, SQLDialect } from '@codemirror/lang-sql'
export { bracketMatching, indentOnInput, syntaxHighlighting, HighlightStyle } from '@codemirror/language'
export { tags } from '@lezer/highlight'

export const html = htm.bind(h)
