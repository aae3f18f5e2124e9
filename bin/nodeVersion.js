/** The version of Node that Tidemark needs. Plain JavaScript, because every Node must be able to read this file. */

/** The first version of Node that runs TypeScript files without a warning. */
const NODE_MIN = [24, 12]
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

export const NODE_NEEDED = NODE_MIN.join('.')
export const isOldNode = major < NODE_MIN[0] || (major === NODE_MIN[0] && minor < NODE_MIN[1])
