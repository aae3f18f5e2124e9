/** The address of a view. Example: `#/runs/ID?state=failed`. */

/** @typedef {{ view: string, name: string, query: URLSearchParams }} Place */

/** @returns {Place} */
export function placeNow() {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?')
  const [view = '', name = ''] = path.split('/')
  return { view, name: decoded(name), query: new URLSearchParams(query) }
}

/** Decodes a name, but returns an invalid name such as `%E2` unchanged. @param {string} name */
function decoded(name) {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
