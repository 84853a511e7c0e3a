// How numbers, sizes and times are written.
const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

export function bytes(n) {
  if (n === null || n === undefined || n === '') return ''
  n = +n
  let i = 0
  while (Math.abs(n) >= 1024 && i < units.length - 1) {
    n /= 1024
    i++
  }
  return `${i === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[i]}`
}

const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })
export const count = n => (n === null || n === undefined || n === '' ? '' : grouped.format(n))

// short is a count in three figures: 12.3k, 4.56M.
export function short(n) {
  if (n === null || n === undefined || n === '') return ''
  n = +n
  const a = Math.abs(n)
  for (const [limit, unit] of [
    [1e12, 'T'],
    [1e9, 'G'],
    [1e6, 'M'],
    [1e3, 'k'],
  ])
    if (a >= limit) return trim((n / limit).toPrecision(3)) + unit
  return number(n, 3)
}

const trim = s => (s.includes('.') && !s.includes('e') ? s.replace(/\.?0+$/, '') : s)

// number is a float in so many significant figures.
export function number(n, figures = 5) {
  if (n === null || n === undefined || n === '') return ''
  n = +n
  if (!Number.isFinite(n)) return String(n)
  if (n === 0) return '0'
  const a = Math.abs(n)
  if (Number.isInteger(n) && a < 1e9) return String(n)
  return a >= 1e9 || a < 1e-4 ? n.toExponential(Math.max(1, figures - 2)) : trim(n.toPrecision(figures))
}

export const percent = (x, digits = 0) => (x === null || x === undefined || x === '' ? '' : `${(100 * x).toFixed(digits)} %`)

// duration of seconds.
export function duration(s) {
  if (s === null || s === undefined || s === '') return ''
  s = +s
  if (s < 0.001) return `${Math.round(s * 1e6)} µs`
  if (s < 1) return `${trim((s * 1000).toPrecision(3))} ms`
  if (s < 60) return `${s.toFixed(s < 10 ? 2 : 1)} s`
  if (s < 3600) return `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`
}

// date of PostgreSQL's text of a timestamp.
export function date(text) {
  if (!text) return null
  const m = /^(\d{4,})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d(?:\.\d+)?)(Z|[+-]\d\d(?::?\d\d)?)?/.exec(text)
  if (!m) return null
  const zone = !m[7] || m[7] === 'Z' ? 0 : (m[7][0] === '-' ? -1 : 1) * (60 * +m[7].slice(1, 3) + +(m[7].slice(3).replace(':', '') || 0))
  return new Date(Date.UTC(+m[1], +m[2] - 1, +m[3], +m[4], +m[5]) + 1000 * +m[6] - 60000 * zone)
}

const two = n => String(n).padStart(2, '0')
export const clock = d => (d ? `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}` : '')

// when is a clock time for today, a date before.
export function when(text) {
  const d = text instanceof Date ? text : date(text)
  if (!d) return ''
  const now = new Date()
  if (d.toDateString() === now.toDateString()) return clock(d)
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}`
}

export const since = text => {
  const d = date(text)
  return d ? Math.max(0, (Date.now() - d) / 1000) : null
}
export const ago = text => {
  const s = since(text)
  return s === null ? '' : s < 5 ? 'now' : `${duration(Math.round(s)).replace(/\.\d+ s/, ' s')} ago`
}

// seconds of PostgreSQL's text of an interval: '1 day 00:00:02.5'.
export function interval(text) {
  if (!text) return null
  const m = /(?:(-?\d+) days? ?)?(-?)(?:(\d+):(\d\d):(\d\d(?:\.\d+)?))?/.exec(text)
  return m ? 86400 * +(m[1] || 0) + (m[2] ? -1 : 1) * (3600 * +(m[3] || 0) + 60 * +(m[4] || 0) + +(m[5] || 0)) : null
}

export const plural = (n, one, many = one + 's') => `${count(n)} ${+n === 1 ? one : many}`

const numeric = new Set([
  'smallint',
  'integer',
  'bigint',
  'real',
  'double precision',
  'numeric',
  'int2',
  'int4',
  'int8',
  'float4',
  'float8',
  'oid',
  'money',
])
export const isNumber = type => numeric.has(type?.replace(/\(.*/, ''))
export const isTime = type => /^(timestamp|date)/.test(type ?? '')
