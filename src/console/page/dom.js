/**
 * Elements made in code. Text is always set as text and never as markup, so nothing that the service sent (a rejected row,
 * an error) can become part of the page.
 */

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {Record<string, string | number | boolean | null | undefined | ((event: Event) => void)>} Attributes */

const SVG = 'http://www.w3.org/2000/svg'

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function el(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children)
}

/**
 * @param {string} name
 * @param {Attributes} [attributes]
 * @param {...Child} children
 */
export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children)
}

/**
 * @template {Element} Made
 * @param {Made} element
 * @param {Attributes} attributes
 * @param {Child[]} children
 */
function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value)
    else if (value === true) element.setAttribute(name, '')
    else if (value !== false && value != null) element.setAttribute(name, String(value))
  }
  for (const child of children) if (child != null && child !== false) element.append(textOr(child))
  return element
}

/** @param {Node | string | number} child */
const textOr = (child) => (typeof child === 'number' ? String(child) : child)

/**
 * Replaces what a place holds. Where the focus was, and what was unfolded, stays so; the focus of what is gone goes to the
 * view's title, or keys would begin at the page's top again.
 * @param {HTMLElement} place
 * @param {...Child} children
 */
export function fill(place, ...children) {
  const focused = place.contains(document.activeElement) ? counterpart(place, document.activeElement) : null
  const open = [...place.querySelectorAll('details[open][id]')].map(({ id }) => id)
  place.replaceChildren(...children.filter((child) => child != null && child !== false).map(textOr))
  for (const id of open) document.getElementById(id)?.setAttribute('open', '')
  if (focused !== null) (focused() ?? document.getElementById('title'))?.focus({ preventScroll: true })
}

/**
 * Finds what will have come into an element's place: by its id, else as the one that says the same.
 * @param {HTMLElement} place
 * @param {Element | null} element
 * @returns {() => HTMLElement | null | undefined}
 */
function counterpart(place, element) {
  if (element === null || element.id) return () => document.getElementById(element?.id ?? '')
  const told = toldBy(element)
  const alike = () => [...place.querySelectorAll(element.localName)].filter((each) => toldBy(each) === told)
  const position = alike().indexOf(element)
  return () => /** @type {HTMLElement | undefined} */ (alike()[position])
}

/** @param {Element} element */
const toldBy = (element) =>
  [element.getAttribute('href'), element.getAttribute('aria-label'), element.textContent].join('\n')

/** Whether somebody has marked text in a place, to copy it: drawn anew, it would be gone. @param {HTMLElement} place */
export function hasMarked(place) {
  const marked = getSelection()
  return marked !== null && !marked.isCollapsed && place.contains(marked.anchorNode)
}

/** @param {string} id */
export function byId(id) {
  const found = document.getElementById(id)
  if (found === null) throw new TypeError(`the page has no #${id}`)
  return found
}
