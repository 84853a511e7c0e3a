// Text of notebooks: the commonest marks of Markdown, made into elements and never into HTML.
import { html } from '../vendor/vendor.js'

function inline(text) {
  const out = []
  let last = 0
  for (const m of text.matchAll(/`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\[([^\]]+)\]\(((?:https?:\/\/|\/)[^)\s]+)\)/g)) {
    if (m.index > last) out.push(text.slice(last, m.index))
    out.push(
      m[1]
        ? html`<code>${m[1]}</code>`
        : m[2]
          ? html`<strong>${m[2]}</strong>`
          : m[3]
            ? html`<em>${m[3]}</em>`
            : html`<a href=${m[5]} rel="noreferrer">${m[4]}</a>`,
    )
    last = m.index + m[0].length
  }
  out.push(text.slice(last))
  return out
}

export function Text({ text }) {
  const blocks = []
  for (const part of text.split(/(```[\s\S]*?(?:```|$))/)) {
    if (part.startsWith('```')) {
      blocks.push(html`<pre tabindex="0"><code>${part.replace(/^```\w*\n?|\n?```$/g, '')}</code></pre>`)
      continue
    }
    for (const p of part.split(/\n\s*\n/)) {
      const lines = p.trim().split('\n')
      if (!lines[0]) continue
      const head = /^(#{1,3}) (.*)/.exec(lines[0])
      if (head)
        blocks.push(
          html`<h2 class=${'level-' + head[1].length}>${inline(head[2])}</h2>`,
          lines.length > 1 && html`<p>${inline(lines.slice(1).join(' '))}</p>`,
        )
      else if (lines.every(l => /^[-*] /.test(l))) blocks.push(html`<ul>${lines.map(l => html`<li>${inline(l.slice(2))}</li>`)}</ul>`)
      else if (lines.every(l => /^\d+\. /.test(l))) blocks.push(html`<ol>${lines.map(l => html`<li>${inline(l.replace(/^\d+\. /, ''))}</li>`)}</ol>`)
      else blocks.push(html`<p>${inline(lines.join(' '))}</p>`)
    }
  }
  return html`<div class="text">${blocks}</div>`
}
