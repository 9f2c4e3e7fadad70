// Everything that must pass before a change lands: checks, build, tests. The last line counts the tests.
import { spawnSync } from 'node:child_process';
import { countTests, report } from './run-tests.mjs';

const CHECKS = ['check:format', 'check:lint', 'build', 'check:types', 'check:dead'];

const failures = [];
for (const name of CHECKS) {
  console.log(`\n# ${name}`);
  const { status } = spawnSync('npm', ['run', '--silent', name], { stdio: 'inherit' });
  if (status !== 0) failures.push(`npm run ${name}: exit status ${status}`);
}
console.log('\n# tests');
const tests = countTests([]);
report({
  passed: CHECKS.length - failures.length + tests.passed,
  failed: failures.length + tests.failed,
  skipped: tests.skipped,
  failures: [...failures, ...tests.failures],
});
