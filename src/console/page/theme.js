/** The switch between light and dark. Charts draw themselves anew when it is thrown. */
const root = document.documentElement

export const isDark = () => root.dataset['theme'] === 'dark'

/** @param {HTMLElement} button @param {() => void} onChange */
export function themeSwitch(button, onChange) {
  const say = () => {
    button.textContent = isDark() ? 'Light' : 'Dark'
    button.setAttribute('aria-label', `Switch to ${isDark() ? 'light' : 'dark'} colours`)
  }
  button.addEventListener('click', () => {
    root.dataset['theme'] = isDark() ? 'light' : 'dark'
    localStorage.setItem('theme', root.dataset['theme'])
    say()
    onChange()
  })
  say()
}
