// Keys that work in every room. A room adds its own while it is shown, and they stand in the list that ? opens.
import { signal, useEffect } from '../vendor/vendor.js'
import { go } from './router.js'

export const help = signal(false)
const own = signal([]) // [{keys, text, run}]
export const keys = own

export const rooms = [
  { path: '/', key: 'o', name: 'Overview' },
  { path: '/sql', key: 's', name: 'SQL' },
  { path: '/notebooks', key: 'n', name: 'Notebooks' },
  { path: '/data', key: 'd', name: 'Data' },
  { path: '/models', key: 'm', name: 'Models' },
  { path: '/trainings', key: 't', name: 'Trainings' },
  { path: '/statements', key: 'q', name: 'Statements' },
  { path: '/tasks', key: 'k', name: 'Tasks' },
  { path: '/logs', key: 'l', name: 'Logs' },
  { path: '/settings', key: ',', name: 'Settings' },
]

// useKeys adds keys of a room: {r: ['refresh', fn]}.
export function useKeys(map) {
  useEffect(() => {
    const list = Object.entries(map).map(([key, [text, run]]) => ({ key, text, run }))
    own.value = [...own.value, ...list]
    return () => {
      own.value = own.value.filter(k => !list.includes(k))
    }
  }, [])
}

let first = '' // the g of a sequence
const typing = t => t.closest?.('input, textarea, select, [contenteditable="true"], .cm-editor')

document.addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented) return
  if (typing(e.target)) {
    if (e.key === 'Escape' && e.target.matches?.('input[type="search"]')) e.target.blur()
    return
  }
  if (document.querySelector('dialog[open]')) return
  if (first === 'g') {
    first = ''
    const room = rooms.find(r => r.key === e.key)
    if (room) {
      e.preventDefault()
      go(room.path)
    }
    return
  }
  if (e.key === 'g') {
    first = 'g'
    setTimeout(() => {
      first = ''
    }, 1200)
  } else if (e.key === '?') help.value = true
  else if (e.key === '/') {
    const box = document.querySelector('main input[type="search"]')
    if (!box) return
    e.preventDefault()
    box.focus()
    box.select()
  } else {
    const k = own.value.find(k => k.key === e.key)
    if (!k) return
    e.preventDefault()
    k.run()
  }
})
