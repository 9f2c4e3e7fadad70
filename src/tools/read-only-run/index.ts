/** How commands run that nobody approved because they only read: with git in a shadow repository and a clean environment. */
export { prepareReadOnlyRun } from './prepare-read-only-run.ts';
