// What open pages of the console cost a node: node viewers.mjs URL PID [SECONDS]. Viewers are sockets that log in and listen as the page does;
// the node should be idle otherwise, and let its bootstrap role in without a password.
import { readFileSync } from 'node:fs'

const [base, pid, seconds = 60] = process.argv.slice(2)
const rooms = { overview: ['warnings', 'nodes', 'history', 'events'], table: ['warnings'] }
const sleep = s => new Promise(done => setTimeout(done, 1000 * s))
const ticks = () => readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ').slice(13, 15).reduce((a, b) => a + +b, 0)

async function view(topics, stop) {
  const login = await fetch(base + '/api/login', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"user":"","password":""}' })
  if (!login.ok) throw new Error(await login.text())
  const cookie = login.headers.getSetCookie().map(c => c.split(';')[0]).join('; ')
  const live = await fetch(base + '/api/live?' + topics.map(t => 'topic=' + t).join('&'), { headers: { cookie }, signal: stop })
  if (!live.ok) throw new Error(await live.text())
  for await (const _ of live.body);
}

for (const [room, n] of [['nobody', 0], ['overview', 1], ['overview', 10], ['table', 10]]) {
  const stop = new AbortController()
  for (let i = 0; i < n; i++)
    view(rooms[room], stop.signal).catch(e => {
      if (!stop.signal.aborted) throw e
    })
  await sleep(5)
  const from = ticks()
  await sleep(+seconds)
  console.log(`${n} viewers, ${room}: ${((ticks() - from) / seconds).toFixed(2)} % of a core`)
  stop.abort()
}
