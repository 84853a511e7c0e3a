import { html, useState } from '../vendor/vendor.js'
import { login, passwordless } from '../core/api.js'
import { Button, ErrorBox } from '../core/ui.js'

export default function Login() {
  const [user, name] = useState(localStorage.getItem('user') ?? 'tributary')
  const [password, secret] = useState('')
  const [error, fail] = useState(null)
  const [busy, wait] = useState(false)
  const submit = async e => {
    e.preventDefault()
    wait(true)
    fail(null)
    try {
      await login(user, password)
      localStorage.setItem('user', user)
    } catch (e) {
      fail(e)
    }
    wait(false)
  }
  return html`<div class="login">
    <h1 class="brand"><svg viewBox="0 0 32 32" aria-hidden="true"><path d="M8 5c0 9 8 6 8 15v7M24 5c0 9-8 6-8 15" /></svg><span>Tributary</span></h1>
    <form class="panel" onSubmit=${submit}>
      <label class="field"><span>Role</span><input name="user" autocomplete="username" required autofocus value=${user} onInput=${e => name(e.target.value)} /></label>
      <label class="field"><span>Password</span><input name="password" type="password" autocomplete="current-password" value=${password} onInput=${e => secret(e.target.value)} /></label>
      ${passwordless.value && html`<small>On this address a role that has no password logs in without one.</small>`}
      <${ErrorBox} error=${error} />
      <${Button} kind="primary" type="submit" disabled=${busy}>Log in</>
    </form>
  </div>`
}
