// What changes while one looks: one stream of server-sent events for all topics that components on the page want, shared between them.
import { signal, useEffect, useState } from '../vendor/vendor.js'
import { records, session, whoAmI } from './api.js'

export const connected = signal(true)

const topics = new Map() // name or name:arg → {wanted, answer}
let source = null,
  opened = '',
  timer = 0,
  attempts = 0

const topic = key => topics.get(key) ?? topics.set(key, { wanted: 0, answer: signal(null) }).get(key)

function refresh() {
  clearTimeout(timer)
  timer = setTimeout(open, 30)
}

function open() {
  const keys = [...topics]
    .filter(([, t]) => t.wanted > 0)
    .map(([k]) => k)
    .sort()
  const address = session.value && keys.length ? '/api/live?' + keys.map(k => 'topic=' + encodeURIComponent(k)).join('&') : ''
  if (address === opened && source?.readyState !== EventSource.CLOSED) return
  source?.close()
  source = null
  opened = address
  if (!address) return
  const s = (source = new EventSource(address))
  s.onopen = () => {
    attempts = 0
    connected.value = true
  }
  for (const k of keys) {
    s.addEventListener(k, e => {
      const m = JSON.parse(e.data)
      topic(k).answer.value = m.error ? { error: m.error, rows: topic(k).answer.value?.rows } : { rows: records(m) }
    })
  }
  // The browser's own retries have no growing pauses, and none after an answer that is not a stream.
  s.onerror = () => {
    if (source !== s) return
    s.close()
    source = null
    opened = ''
    connected.value = attempts < 1
    clearTimeout(timer)
    timer = setTimeout(
      async () => {
        if (attempts > 1) await whoAmI().catch(() => {})
        open()
      },
      Math.min(15000, 500 * 2 ** attempts++) * (0.8 + 0.4 * Math.random()),
    )
  }
}

document.addEventListener('visibilitychange', () => {
  if (!document.hidden && !source) open()
})

// useLive is the last answer of a topic, {rows} of objects or {error}, and null before the first.
export function useLive(name, arg) {
  const key = arg === undefined ? name : `${name}:${arg}`
  const [, again] = useState(0)
  useEffect(() => {
    const t = topic(key)
    t.wanted++
    refresh()
    const stop = t.answer.subscribe(() => again(n => n + 1))
    return () => {
      stop()
      t.wanted--
      refresh()
    }
  }, [key])
  return topic(key).answer.value
}

session.subscribe(() => refresh())
