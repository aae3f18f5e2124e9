/** Sets light or dark colours before the first paint: the earlier choice, or else the preference of the system. */
{
  const chosen = localStorage.getItem('theme')
  const prefersDark = matchMedia('(prefers-color-scheme: dark)').matches
  document.documentElement.dataset['theme'] = chosen ?? (prefersDark ? 'dark' : 'light')
}
