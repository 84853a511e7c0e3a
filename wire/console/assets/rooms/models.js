import { html } from '../vendor/vendor.js'
import { Head } from '../core/ui.js'

export default () => html`<${Head} title="Models" />`
