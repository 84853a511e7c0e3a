// The page's address is its state: the path names the room and what it shows, the query what is selected and filtered.
import { signal } from '../vendor/vendor.js'

const read = () => ({
  path: window.location.pathname,
  parts: window.location.pathname.split('/').filter(Boolean).map(decodeURIComponent),
  query: Object.fromEntries(new URLSearchParams(window.location.search)),
})

export const location = signal(read())

window.addEventListener('popstate', () => {
  location.value = read()
})

export function go(address, replace = false) {
  if (address === window.location.pathname + window.location.search) return
  window.history[replace ? 'replaceState' : 'pushState'](null, '', address)
  const before = location.value.path
  location.value = read()
  if (location.value.path !== before) document.querySelector('main')?.scrollTo(0, 0)
}

// set changes parameters of the address; null or '' removes one. It makes no entry in the browser's history unless told.
export function set(changes, push = false) {
  const q = new URLSearchParams(window.location.search)
  for (const [k, v] of Object.entries(changes)) v === null || v === undefined || v === '' ? q.delete(k) : q.set(k, v)
  const text = q.toString()
  go(window.location.pathname + (text ? '?' + text : ''), !push)
}

export const address = (...parts) => '/' + parts.map(encodeURIComponent).join('/')

// Links within the page do not load it again.
document.addEventListener('click', e => {
  const a = e.target.closest?.('a[href^="/"]')
  if (!a || a.target || a.hasAttribute('download') || e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey) return
  if (/^\/(assets|api|metrics|debug|docs|healthz|readyz)(\/|$)/.test(a.pathname)) return
  e.preventDefault()
  go(a.getAttribute('href'))
})
