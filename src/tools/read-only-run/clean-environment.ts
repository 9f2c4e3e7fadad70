/** Variables that programs need, or that change only how they print. Every other one is left out. */
const KEPT = new Set(
  'CI COLUMNS FORCE_COLOR LANG LANGUAGE LINES LOGNAME NO_COLOR SHELL TERM TMPDIR TZ USER'.split(' '),
);

/**
 * The environment of commands that nobody approved: without variables that make programs load or run code, add options
 * or read files, and without a home directory, in which programs look for such settings. A list of what is dangerous
 * would never be complete, so this one says what is kept.
 */
export function cleanEnvironment(
  env: Readonly<Record<string, string>>,
  searchPath: readonly string[],
): Readonly<Record<string, string>> {
  const kept = Object.entries(env).filter(([name]) => KEPT.has(name) || /^LC_[A-Z]+$/.test(name));
  return { ...Object.fromEntries(kept), PATH: searchPath.join(':'), HOME: '/nonexistent' };
}
