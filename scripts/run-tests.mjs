// Runs vitest and counts the tests: node scripts/run-tests.mjs [vitest arguments]. The last line is `N passed, N failed`.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

const VITEST = resolve(fileURLToPath(import.meta.url), '../../node_modules/vitest/vitest.mjs');

/** Prints the failed tests and the number of skipped ones, then the summary, which is the last line of every test program. */
export function report({ passed, failed, skipped, failures = [] }) {
  for (const failure of failures) console.log(`\nfailed: ${failure}`);
  if (skipped > 0) console.log(`\n${skipped} skipped`);
  console.log(`\n${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}

/** Counts passed, failed and skipped tests. A failure of vitest itself counts as one failed test. */
export function countTests(args) {
  // Vitest would silently skip a file that was renamed.
  const missing = args.filter((name) => name.startsWith('test/') && !existsSync(name));
  if (missing.length > 0) console.log(`There is no ${missing.join(', ')}: correct the list of tests.`);
  const { status, result } = runVitest(args, { stdio: 'inherit' });
  // A file that cannot be loaded has no tests to fail, and an unhandled error fails none of them.
  const broken = result.testResults.filter(
    (tested) => tested.status === 'failed' && tested.assertionResults.length === 0,
  );
  const failed = result.numFailedTests + broken.length;
  const failures = result.testResults.flatMap(failuresOf);
  if (status !== 0 && failed === 0)
    failures.push('vitest itself, after all tests passed: its "Unhandled Errors" are above');
  return {
    failures: [...missing.map((name) => `${name}: there is no such file`), ...failures],
    passed: result.numPassedTests,
    failed: (status !== 0 && failed === 0 ? 1 : failed) + missing.length,
    skipped: result.numPendingTests + result.numTodoTests,
  };
}

/** Runs vitest; returns its exit code and its JSON report. */
export function runVitest(args, options) {
  const scratch = mkdtempSync(join(tmpdir(), 'polypod-test-'));
  const file = join(scratch, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const { status } = spawnSync(process.execPath, [VITEST, 'run', ...reporters, ...args], options);
  const result = readReport(file);
  rmSync(scratch, { recursive: true, force: true });
  return { status, result };
}

/** One line for each failed test of a file, or for a file that could not be loaded, with the first line of the reason. */
function failuresOf({ name, status, message, assertionResults }) {
  const file = relative('.', name);
  const failed = assertionResults.filter((test) => test.status === 'failed');
  if (failed.length === 0) return status === 'failed' ? [`${file}: ${firstLine(message)}`] : [];
  return failed.map((test) => `${file} > ${test.fullName}: ${firstLine(test.failureMessages[0])}`);
}

/** The first line of an error message, without colours. */
export function firstLine(text = '') {
  return stripVTControlCharacters(text).split('\n')[0].slice(0, 500);
}

function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { numPassedTests: 0, numFailedTests: 1, numPendingTests: 0, numTodoTests: 0, testResults: [] };
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) report(countTests(process.argv.slice(2)));
