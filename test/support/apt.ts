/** Installs what the tests need on a machine with Debian's packages. */

/** After its start, a machine may use Debian's lock for a while. */
const LOCK_WAIT_S_MAX = 300

/** Returns a shell command that installs the packages. */
export const installing = (...packages: readonly string[]): string =>
  `apt-get update && apt-get -o DPkg::Lock::Timeout=${LOCK_WAIT_S_MAX} install -y --no-install-recommends ${packages.join(' ')}`
