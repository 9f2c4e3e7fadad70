/** Runs commands without approval because they only read: in a shadow git repository and a clean environment. */
export { prepareReadOnlyRun } from './prepare-read-only-run.ts';
