/** Sets light or dark colours before the first paint. Default: the setting of the operating system. */
{
  const chosen = localStorage.getItem('theme')
  const prefersDark = matchMedia('(prefers-color-scheme: dark)').matches
  document.documentElement.dataset['theme'] = chosen ?? (prefersDark ? 'dark' : 'light')
}
