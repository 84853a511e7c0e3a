// The console: a frame with the rooms' names around the room that the address names.
import { html, render, useEffect, useState } from './vendor/vendor.js'
import { session, whoAmI, logout } from './core/api.js'
import { connected, useLive } from './core/live.js'
import { location } from './core/router.js'
import { choice, choose } from './core/theme.js'
import { help, keys, rooms } from './core/keys.js'
import { Button, Dialog, ErrorBox, Icon, Loading, Question, Toasts } from './core/ui.js'

const names = ['overview', 'sql', 'notebooks', 'data', 'models', 'trainings', 'statements', 'tasks', 'logs', 'settings']
const nameOf = path => (path === '/' ? 'overview' : path.slice(1))

// A room's file is read when it is first entered.
const loaded = new Map()
function Room({ name }) {
  const [room, put] = useState(loaded.get(name))
  useEffect(() => {
    if (loaded.has(name)) return put(loaded.get(name))
    let here = true
    import(`./rooms/${name}.js`).then(
      m => {
        loaded.set(name, { show: m.default })
        if (here) put(loaded.get(name))
      },
      error => here && put({ error: { message: `This room could not be loaded: ${error.message}` } }),
    )
    return () => {
      here = false
    }
  }, [name])
  if (room?.error) return html`<${ErrorBox} error=${room.error} />`
  return room?.show ? html`<${room.show} />` : html`<${Loading} />`
}

const themes = [
  ['system', 'As the system'],
  ['light', 'Light'],
  ['dark', 'Dark'],
]
const ThemeChoice = () => html`<label class="select theme"><${Icon} name="theme" /><span class="sr">Theme</span>
  <select aria-label="Theme" value=${choice.value} onChange=${e => choose(e.target.value)}>${themes.map(([k, t]) => html`<option value=${k}>${t}</option>`)}</select></label>`

const Link = ({ room, here }) =>
  html`<a href=${room.path} aria-current=${here ? 'page' : null} title=${`g ${room.key}`}><${Icon} name=${nameOf(room.path)} /><span>${room.name}</span></a>`

const Who = () => html`<div class="who">
  <${ThemeChoice} />
  <div class="row"><span class="user" title=${'Logged in as ' + session.value.user}>${session.value.user}</span>
    <${Button} kind="quiet" label="Keys (?)" onClick=${() => {
      help.value = true
    }}>?</><${Button} kind="quiet" icon="out" label="Log out" onClick=${logout} /></div>
</div>`

const phone = ['/', '/sql', '/data', '/models']

function Frame() {
  const here = location.value.parts[0] ?? ''
  const [more, open] = useState(false)
  const name = here === '' ? 'overview' : here
  const current = r => r.path === '/' + here
  useEffect(() => open(false), [location.value.path])
  return html`
    <a class="skip" href="#main">Skip to the room</a>
    <nav class="side" aria-label="Rooms">
      <a class="brand" href="/"><svg viewBox="0 0 32 32" aria-hidden="true"><path d="M8 5c0 9 8 6 8 15v7M24 5c0 9-8 6-8 15" /></svg><span>Tributary</span></a>
      <div class="rooms">${rooms.map(r => html`<${Link} room=${r} here=${current(r)} />`)}</div>
      <a class="manual" href="/docs/" target="_blank" rel="noopener"><${Icon} name="manual" /><span>Manual</span></a>
      <${Who} />
    </nav>
    <main id="main" tabindex="-1">
      ${!connected.value && html`<div class="banner" role="status">The connection to this node is lost. Trying again…</div>`}
      ${names.includes(name) ? html`<${Room} name=${name} key=${name} />` : html`<h1>There is no such page</h1><p><a href="/">Go to the overview</a></p>`}
    </main>
    <nav class="bottom" aria-label="Rooms, small">
      ${rooms.filter(r => phone.includes(r.path)).map(r => html`<${Link} room=${r} here=${current(r)} />`)}
      <button type="button" aria-haspopup="dialog" onClick=${() => open(true)}><${Icon} name="more" /><span>More</span></button>
    </nav>
    ${more && html`<${Dialog} title="Rooms" onClose=${() => open(false)}><nav class="all" aria-label="All rooms">${rooms.map(r => html`<${Link} room=${r} here=${current(r)} />`)}<a href="/docs/" target="_blank" rel="noopener"><${Icon} name="manual" /><span>Manual</span></a></nav><${Who} /></>`}
    ${help.value && html`<${Keys} />`}<${Warned} />`
}

const Keys = () => html`<${Dialog} title="Keys" onClose=${() => {
  help.value = false
}}>
  <dl class="keys">
    ${rooms.map(r => html`<div><dt><kbd>g</kbd> <kbd>${r.key}</kbd></dt><dd>${r.name}</dd></div>`)}
    <div><dt><kbd>/</kbd></dt><dd>Search</dd></div><div><dt><kbd>↑</kbd> <kbd>↓</kbd></dt><dd>From row to row</dd></div>
    <div><dt><kbd>Ctrl</kbd> <kbd>Enter</kbd></dt><dd>Run the statements, or the selected ones</dd></div><div><dt><kbd>Esc</kbd></dt><dd>Close</dd></div>
    ${keys.value.map(k => html`<div><dt><kbd>${k.key}</kbd></dt><dd>${k.text}</dd></div>`)}
  </dl></>`

// The title and the icon tell of warnings also when the page is not in front.
function Warned() {
  const w = useLive('warnings')
  const worst = w?.rows?.some(r => /error|critical|bad/i.test(r.severity)) ? 2 : w?.rows?.length ? 1 : 0
  useEffect(() => {
    const room = rooms.find(r => r.path === '/' + (location.value.parts[0] ?? ''))?.name ?? 'Tributary'
    const what = location.value.parts.slice(1).join('.')
    document.title = `${worst ? `(${w.rows.length}) ` : ''}${what ? what + ' · ' : ''}${room} · Tributary`
    const icon = document.getElementById('favicon')
    icon.href = icon.href.replace(/fill='%23[0-9a-f]{6}'/, `fill='%23${['0b6a94', 'b26a00', 'b3261e'][worst]}'`)
  }, [worst, w?.rows?.length, location.value.path])
  return null
}

function App() {
  const who = session.value
  useEffect(() => {
    whoAmI().catch(() => {
      connected.value = false
      session.value = null
    })
  }, [])
  if (who === undefined) return html`<div class="boot">Tributary</div>`
  return html`${who ? html`<${Frame} />` : html`<main id="main" class="alone"><${Room} name="login" key="login" /></main>`}<${Toasts} /><${Question} />`
}

render(html`<${App} />`, document.getElementById('app'))
