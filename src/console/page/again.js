/**
 * Opens the page again where a part of it did not come: the worker restarts, or refuses for a minute. Nothing else of the
 * page may be there by then, so this file needs none of it, not even the page's clock: the browser counts the seconds.
 */
{
  const AGAIN_SECONDS = 5
  const tell = () => {
    const title = document.createElement('h1')
    title.textContent = 'A part of this page did not come'
    const text = document.createElement('p')
    text.textContent =
      'The worker may be starting, or was asked for too much in this minute. The page opens again by itself.'
    document.getElementById('main')?.replaceChildren(title, text)
    const refresh = document.createElement('meta')
    refresh.httpEquiv = 'refresh'
    refresh.content = String(AGAIN_SECONDS)
    document.head.append(refresh)
  }
  // An element tells nobody above it that its file did not come; it is met on the way down.
  const stop = new AbortController()
  addEventListener(
    'error',
    ({ target }) => {
      if (!(target instanceof HTMLElement)) return
      stop.abort()
      // The page's text follows behind the elements of its head.
      if (document.readyState === 'loading') addEventListener('DOMContentLoaded', tell)
      else tell()
    },
    { capture: true, signal: stop.signal },
  )
}
