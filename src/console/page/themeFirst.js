/** Chooses light or dark before anything is painted: what was chosen here once, else what the system prefers. */
{
  const chosen = localStorage.getItem('theme')
  const prefersDark = matchMedia('(prefers-color-scheme: dark)').matches
  document.documentElement.dataset['theme'] = chosen ?? (prefersDark ? 'dark' : 'light')
}
