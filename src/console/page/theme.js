/** Light or dark colours. The browser stores the user's choice. */
import { reload } from './state.js'

const root = document.documentElement

export const isDark = () => root.dataset['theme'] === 'dark'

export function switchTheme() {
  root.dataset['theme'] = isDark() ? 'light' : 'dark'
  localStorage.setItem('theme', root.dataset['theme'])
  reload()
}
