// All that has to hold before a change may land: checks, build, tests. The last line counts them.
import { spawnSync } from 'node:child_process';
import { countTests, report } from './run-tests.mjs';

const CHECKS = ['check:format', 'check:lint', 'build', 'check:types', 'check:dead'];

const checks = { passed: 0, failed: 0 };
for (const name of CHECKS) {
  console.log(`\n# ${name}`);
  const { status } = spawnSync('npm', ['run', '--silent', name], { stdio: 'inherit' });
  checks[status === 0 ? 'passed' : 'failed'] += 1;
}
console.log('\n# tests');
const tests = countTests([]);
report({
  passed: checks.passed + tests.passed,
  failed: checks.failed + tests.failed,
  skipped: tests.skipped,
});
