// Light or dark: as the system has it, or as chosen here.
import { signal } from '../vendor/vendor.js'

const dark = window.matchMedia('(prefers-color-scheme: dark)')
export const choice = signal(localStorage.getItem('data-theme') ?? 'system')
export const scheme = signal('light') // what is shown

function apply() {
  const root = document.documentElement
  scheme.value = choice.value === 'system' ? (dark.matches ? 'dark' : 'light') : choice.value
  root.dataset.theme = scheme.value
}

export function choose(value) {
  choice.value = value
  value === 'system' ? localStorage.removeItem('data-theme') : localStorage.setItem('data-theme', value)
  apply()
}

dark.addEventListener('change', apply)
apply()

export const colour = name =>
  getComputedStyle(document.documentElement)
    .getPropertyValue('--' + name)
    .trim()
// series are told apart by colours of about equal weight.
export const series = n => colour('series-' + (1 + (n % 8)))
