/** Sets light or dark colours before the first paint. If the user has not chosen, the operating system decides. */
{
  const chosen = localStorage.getItem('theme')
  const prefersDark = matchMedia('(prefers-color-scheme: dark)').matches
  document.documentElement.dataset['theme'] = chosen ?? (prefersDark ? 'dark' : 'light')
}
