// All that has to hold before a change may land: checks, build, tests. The last line counts them.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const CHECKS = ['check:format', 'check:lint', 'build', 'check:types', 'check:dead'];

const count = { passed: 0, failed: 0, skipped: 0 };
for (const name of CHECKS) {
  console.log(`\n# ${name}`);
  count[run('npm', ['run', '--silent', name]) === 0 ? 'passed' : 'failed'] += 1;
}
console.log('\n# tests');
runTests();
console.log(
  `\n${count.passed} passed, ${count.failed} failed${count.skipped ? `, ${count.skipped} skipped` : ''}`,
);
process.exitCode = count.failed > 0 ? 1 : 0;

function runTests() {
  const scratch = mkdtempSync(join(tmpdir(), 'polypod-test-'));
  const report = join(scratch, 'report.json');
  const args = ['vitest', 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const status = run('npx', ['--no-install', ...args]);
  const result = readReport(report);
  rmSync(scratch, { recursive: true, force: true });
  count.passed += result.numPassedTests;
  count.skipped += result.numPendingTests + result.numTodoTests;
  // A file that cannot even be loaded has no tests to fail, and an unhandled error fails none of them.
  const broken = result.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.length === 0,
  );
  count.failed += result.numFailedTests + broken.length;
  if (status !== 0 && result.numFailedTests + broken.length === 0) count.failed += 1;
}

function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { numPassedTests: 0, numFailedTests: 1, numPendingTests: 0, numTodoTests: 0, testResults: [] };
  }
}

function run(command, args) {
  return spawnSync(command, args, { stdio: 'inherit' }).status;
}
