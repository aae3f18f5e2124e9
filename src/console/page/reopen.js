/** Reloads the page if one of its files could not be loaded. Has no imports, because any other file can be missing. */
{
  const REOPEN_SECONDS = 5
  const reopen = () => {
    const title = document.createElement('h1')
    title.textContent = 'A part of this page could not be loaded'
    const text = document.createElement('p')
    text.textContent =
      'The worker may be starting, or has received too many requests in this minute. The page reopens by itself.'
    document.getElementById('main')?.replaceChildren(title, text)
    const refresh = document.createElement('meta')
    refresh.httpEquiv = 'refresh'
    refresh.content = String(REOPEN_SECONDS)
    document.head.append(refresh)
  }
  const stop = new AbortController()
  // Uses the capture phase, because the error event of an element does not bubble to the window.
  addEventListener(
    'error',
    ({ target }) => {
      if (!(target instanceof HTMLElement)) return
      stop.abort()
      // Waits for the document if the page is still loading: the element for the message may not exist yet.
      if (document.readyState === 'loading') addEventListener('DOMContentLoaded', reopen)
      else reopen()
    },
    { capture: true, signal: stop.signal },
  )
}
