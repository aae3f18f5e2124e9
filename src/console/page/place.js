/** The address of a view: `#/runs/ID?state=failed`. */

/** @typedef {{ view: string, name: string, query: URLSearchParams }} Place */

/** @returns {Place} */
export function placeNow() {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?')
  const [view = '', name = ''] = path.split('/')
  return { view, name: decoded(name), query: new URLSearchParams(query) }
}

/** Returns the name as it is if its encoding is broken: an address may be cut off when it is copied. @param {string} name */
function decoded(name) {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
