import { html } from '../vendor/vendor.js'
import { location } from '../core/router.js'
import { List } from './models/list.js'
import { Page } from './models/page.js'

export default function Models() {
  const name = location.value.parts[1]
  return name ? html`<${Page} name=${name.includes('.') ? name : 'public.' + name} key=${name} />` : html`<${List} />`
}
