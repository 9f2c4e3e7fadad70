/** Variables that programs need, or that only change how they print. All others are removed. */
const ALLOWED = new Set(
  'CI COLUMNS FORCE_COLOR LANG LANGUAGE LINES LOGNAME NO_COLOR SHELL TERM TMPDIR TZ USER'.split(' '),
);

/**
 * Returns the environment for commands without approval: without variables that make programs load or run code,
 * add options or read files, and without a home directory, in which programs look for such settings. A deny
 * list would never be complete, so this is an allow list.
 */
export function cleanEnvironment(
  env: Readonly<Record<string, string>>,
  searchPath: readonly string[],
): Readonly<Record<string, string>> {
  const allowed = Object.entries(env).filter(([name]) => ALLOWED.has(name) || /^LC_[A-Z]+$/.test(name));
  return { ...Object.fromEntries(allowed), PATH: searchPath.join(':'), HOME: '/nonexistent' };
}
