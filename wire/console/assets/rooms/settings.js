// Settings of the cluster, and roles with what they may: read by all, changed by who may.
import { html, useState } from '../vendor/vendor.js'
import { ident, literal, qualified, run, session } from '../core/api.js'
import { location, set } from '../core/router.js'
import {
  Act,
  Answer,
  Badge,
  Button,
  Dialog,
  Empty,
  ErrorBox,
  Head,
  Panel,
  Search,
  Statement,
  Table,
  Tabs,
  ask,
  matches,
  tab,
  toast,
  useQuery,
} from '../core/ui.js'
import { bytes, duration } from '../core/format.js'

const kB = { kB: 1024, '8kB': 8192, MB: 1 << 20, B: 1 },
  seconds = { ms: 0.001, s: 1, min: 60 }
const shown = r =>
  r.setting === null || r.setting === ''
    ? html`<span class="soft">(empty)</span>`
    : kB[r.unit] && +r.setting > 0
      ? html`${bytes(r.setting * kB[r.unit])}`
      : seconds[r.unit] && +r.setting > 0
        ? duration(r.setting * seconds[r.unit])
        : html`${r.setting}${r.unit && +r.setting !== 0 ? ` ${r.unit}` : ''}`

function Change({ r, done, onClose }) {
  const [value, put] = useState(r.setting ?? ''),
    [error, fail] = useState(null)
  const choices = r.vartype === 'bool' ? ['on', 'off'] : r.enumvals ? r.enumvals.replace(/[{}"]/g, '').split(',') : null
  const text = /\s/.test(value) || !/^-?[\w.]+$/.test(value) ? literal(value) : value
  const sql = `ALTER SYSTEM SET ${r.name} = ${text}`
  const go = async sql => {
    try {
      await run(sql)
      toast(`${r.name} is set for the cluster`)
      done()
      onClose()
    } catch (e) {
      fail(e)
    }
  }
  return html`<${Dialog} title=${r.name} onClose=${onClose}><form onSubmit=${e => {
    e.preventDefault()
    go(sql)
  }}><p>${r.short_desc}</p>
    <label class="field"><span>Value${r.unit ? ` in ${r.unit}, or with a unit` : ''}${r.min_val !== null && r.max_val !== null && r.vartype !== 'string' ? `, ${r.min_val} to ${r.max_val}` : ''}</span>
      ${choices ? html`<select value=${value} onChange=${e => put(e.target.value)}>${choices.map(c => html`<option value=${c}>${c}</option>`)}</select>` : html`<input value=${value} autofocus onInput=${e => put(e.target.value)} />`}</label>
    <p></p><${Statement} sql=${sql} /><p class="soft">For all nodes, and sessions to come.</p><${ErrorBox} error=${error} />
    <footer><${Button} onClick=${() => go(`ALTER SYSTEM RESET ${r.name}`)}>Reset to the default</><${Button} kind="primary" type="submit">Set</></footer></form></>`
}

function Settings() {
  const t = useQuery(
      'SELECT name, setting, unit, category, context, vartype, source, short_desc, boot_val, min_val, max_val, enumvals::text AS enumvals FROM pg_settings ORDER BY name',
    ),
    q = location.value.query
  const [changing, change] = useState(null)
  return html`<${Answer} of=${t}>${rows => html`<p><label class="check"><input type="checkbox" checked=${q.all === '1'} onChange=${e => set({ all: e.target.checked ? '1' : null })} /> Also those that have no effect here</label></p>
    <${Panel} class="flush"><${Table} id="settings" label="Settings" most=${400} rows=${rows.filter(r => (q.all === '1' || !/^Known as PostgreSQL/.test(r.short_desc)) && matches(q.q, [r.name, r.short_desc ?? '', r.setting ?? '']))} columns=${[
      { key: 'name', name: 'Setting', cell: r => html`<span class="mono">${r.name}</span>` },
      {
        key: 'setting',
        name: 'Value',
        cell: r =>
          html`<span class="clip value" title=${r.setting}>${shown(r)}</span>${r.setting !== r.boot_val && r.source !== 'default' ? html` <${Badge}>${r.source}</>` : ''}`,
      },
      { key: 'short_desc', name: 'Meaning', wide: true },
      {
        key: '',
        name: '',
        cell: r =>
          session.value.super && !['internal', 'postmaster', 'backend'].includes(r.context)
            ? html`<${Button} kind="quiet" onClick=${() => change(r)}>Change</>`
            : '',
      },
    ]} /></>${changing && html`<${Change} r=${changing} done=${t.again} onClose=${() => change(null)} />`}`}</>`
}

// ── Roles ──────────────────────────────────────────────────────────────────────────────────────────────────────

const roles = `SELECT r.rolname AS name, r.rolsuper AS super, r.rolcanlogin AS login, r.rolcreaterole AS createrole, r.rolconnlimit AS most, r.rolvaliduntil AS until,
  (SELECT array_to_string(array_agg(g.rolname::text ORDER BY g.rolname), ', ') FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid WHERE m.member = r.oid) AS groups FROM pg_roles r WHERE r.rolname !~ '^pg_' ORDER BY 1`

function NewRole({ done, onClose }) {
  const [name, put] = useState(''),
    [password, secret] = useState(''),
    [error, fail] = useState(null)
  const submit = async e => {
    e.preventDefault()
    try {
      await run(`CREATE ROLE ${ident(name)} LOGIN${password ? ` PASSWORD ${literal(password)}` : ''}`)
      toast('Made')
      done()
      onClose()
    } catch (e) {
      fail(e)
    }
  }
  return html`<${Dialog} title="New role" onClose=${onClose}><form onSubmit=${submit}><div class="fields"><label class="field"><span>Name</span><input required autofocus value=${name} onInput=${e => put(e.target.value)} /></label>
    <label class="field"><span>Password</span><input type="password" autocomplete="new-password" value=${password} onInput=${e => secret(e.target.value)} /></label></div><${ErrorBox} error=${error} /><footer><${Button} onClick=${onClose}>Close</><${Button} kind="primary" type="submit">Make</></footer></form></>`
}

function Grant({ role, done }) {
  const t = useQuery(
      "SELECT schemaname AS schema, tablename AS name FROM pg_tables WHERE schemaname !~ '^(pg_|information_schema$|cluster$|ml$)' UNION ALL SELECT schemaname, viewname FROM pg_views WHERE schemaname !~ '^(pg_|information_schema$|cluster$|ml$)' ORDER BY 1, 2",
    ),
    m = useQuery('SELECT schema, name FROM ml.models ORDER BY 1, 2')
  const [kind, choose] = useState('SELECT'),
    [object, put] = useState('')
  const objects = kind === 'USAGE ON MODEL' ? (m.rows ?? []) : (t.rows ?? [])
  const o = objects.find(x => `${x.schema}.${x.name}` === object) ?? objects[0]
  if (!o) return null
  const sql = `GRANT ${kind === 'USAGE ON MODEL' ? kind : `${kind} ON`} ${qualified(o.schema, o.name)} TO ${ident(role)}`
  return html`<div class="tools grant"><label class="select"><span class="sr">Privilege</span><select aria-label="Privilege" value=${kind} onChange=${e => choose(e.target.value)}>${[
    ['SELECT', 'read'],
    ['INSERT', 'insert into'],
    ['UPDATE', 'update'],
    ['DELETE', 'delete from'],
    ['ALL', 'everything with'],
    ['USAGE ON MODEL', 'predict with the model'],
  ].map(([k, n]) => html`<option value=${k}>${n}</option>`)}</select></label>
    <label class="select"><span class="sr">Object</span><select aria-label="Object" value=${`${o.schema}.${o.name}`} onChange=${e => put(e.target.value)}>${objects.map(x => html`<option value=${`${x.schema}.${x.name}`}>${x.schema === 'public' ? x.name : `${x.schema}.${x.name}`}</option>`)}</select></label>
    <${Act} sql=${sql} title=${`Grant it to ${role}?`} icon="plus" done=${done}>Grant</></div>`
}

function Role({ r, again }) {
  const t = useQuery(
    "SELECT table_schema AS schema, table_name AS name, array_to_string(array_agg(privilege_type::text ORDER BY privilege_type), ', ') AS privileges FROM information_schema.role_table_grants WHERE grantee = $1 GROUP BY 1, 2 ORDER BY 1, 2",
    [r.name],
  )
  const drop = async () =>
    (await ask({ title: `Drop the role ${r.name}?`, sql: `DROP ROLE ${ident(r.name)}`, action: 'Drop', danger: true })) &&
    run(`DROP ROLE ${ident(r.name)}`).then(
      () => {
        toast('Dropped')
        set({ role: null })
        again()
      },
      e => toast(`${e.message}${e.detail ? '. ' + e.detail : ''}`, 'bad'),
    )
  return html`<${Panel} class="flush" title=${`What ${r.name} may`} tools=${html`<${Button} kind="danger quiet" icon="trash" onClick=${drop}>Drop the role</>`}>
    <div class="pad"><${Grant} role=${r.name} done=${t.again} /></div>
    <${Answer} of=${t} empty=${html`<${Empty}>${r.super === 't' ? 'A superuser may everything.' : 'No privilege on a table was granted to it by name.'}</>`}>${rows =>
      html`<${Table} label="Privileges" rows=${rows} columns=${[
        { key: 'name', name: 'Relation', cell: x => (x.schema === 'public' ? x.name : `${x.schema}.${x.name}`) },
        { key: 'privileges', name: 'May', wide: true },
        {
          key: '',
          name: '',
          cell: x =>
            html`<${Act} sql=${`REVOKE ALL ON ${qualified(x.schema, x.name)} FROM ${ident(r.name)}`} title=${`Take from ${r.name} all it may with ${x.name}?`} danger done=${t.again}>Revoke</>`,
        },
      ]} />`}</></>`
}

function Roles() {
  const t = useQuery(roles),
    q = location.value.query,
    [making, make] = useState(false)
  return html`<${Answer} of=${t}>${rows =>
    html`<${Panel} class="flush" title="Roles" tools=${html`<${Button} icon="plus" onClick=${() => make(true)}>New role</>`}><${Table} id="roles" label="Roles" rows=${rows.filter(r => matches(q.q, [r.name, r.groups ?? '']))} rowClass=${r => (r.name === q.role ? 'chosen' : '')} columns=${[
      {
        key: 'name',
        name: 'Role',
        cell: r =>
          html`<button type="button" class="as-link" aria-expanded=${r.name === q.role} onClick=${() => set({ role: r.name === q.role ? null : r.name })}>${r.name}</button>`,
      },
      {
        key: 'super',
        name: 'Is',
        cell: r =>
          html`${r.super === 't' ? html`<${Badge} kind="warn">superuser</> ` : ''}${r.createrole === 't' && r.super !== 't' ? html`<${Badge}>makes roles</> ` : ''}${r.login === 't' ? html`<${Badge}>logs in</>` : html`<${Badge}>group</>`}`,
      },
      { key: 'groups', name: 'Member of', wide: true },
      { key: 'most', name: 'Connections', number: true, cell: r => (r.most === '-1' ? 'any number' : r.most) },
      { key: 'until', name: 'Valid until' },
    ]} /></>${rows.some(r => r.name === q.role) ? html`<${Role} r=${rows.find(r => r.name === q.role)} again=${t.again} key=${q.role} />` : html`<p class="soft">Choose a role to see and change what it may.</p>`}${making && html`<${NewRole} done=${t.again} onClose=${() => make(false)} />`}`}</>`
}

const tabs = [
  ['settings', 'Settings'],
  ['roles', 'Roles'],
]
export default function Room() {
  const here = tab(tabs)
  return html`<${Head} title="Settings and roles"><${Search} /></><${Tabs} tabs=${tabs} label="Settings and roles" /><div role="tabpanel" aria-label=${here}>${here === 'roles' ? html`<${Roles} />` : html`<${Settings} />`}</div>`
}
