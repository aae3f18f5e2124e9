/** Sets light or dark colours before the first paint: the user's choice, or else the system's. */
{
  const chosen = localStorage.getItem('theme')
  const prefersDark = matchMedia('(prefers-color-scheme: dark)').matches
  document.documentElement.dataset['theme'] = chosen ?? (prefersDark ? 'dark' : 'light')
}
