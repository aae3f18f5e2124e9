/** How the tests install what they need on a machine that has Debian's packages. */

/** A machine's own updates hold Debian's lock for a while after its start. */
const LOCK_WAIT_S_MAX = 300

/** A shell command that installs the packages and waits for others that install just then. */
export const installing = (...packages: readonly string[]): string =>
  `apt-get update && apt-get -o DPkg::Lock::Timeout=${LOCK_WAIT_S_MAX} install -y --no-install-recommends ${packages.join(' ')}`
