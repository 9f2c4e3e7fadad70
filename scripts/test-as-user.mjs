// Runs a sample of the tests as an ordinary user, in a copy of the checkout that belongs to this user, with a PATH entry that
// it cannot read: node scripts/test-as-user.mjs [files]. Only root can; another user has run `npm test` as one. The checkout
// must be built.
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Files whose outcome depends on the user: programs on PATH, permissions of files, sockets and processes. */
const SAMPLE = [
  'test/base',
  'test/mcp/faults.test.ts',
  'test/mcp/processes.test.ts',
  'test/store/lock.test.ts',
  'test/store/disk-failure.test.ts',
  'test/tools/bash.test.ts',
  'test/tools/isolation.test.ts',
  'test/tools/write.test.ts',
  'test/daemon',
  'test/setup',
  'test/wire/unix-socket.test.ts',
  'test/protocols/pod/sockets.test.ts',
  'test/cli/current-user.test.ts',
  'test/cli/safety/orphans.test.ts',
  'test/cli/run.test.ts',
  'test/cli/daemon/unsafe-files.test.ts',
  'test/ordinary-user.test.ts',
];
const USER = { uid: 1234, gid: 1234 };

const given = process.argv.slice(2);
if (process.getuid?.() !== 0 || !canStartNode()) {
  console.log('Not run as an ordinary user: this needs root, and a Node that other users can read.');
  console.log('0 passed, 0 failed');
} else {
  process.exitCode = runAsUser(given.length > 0 ? given : SAMPLE);
}

function canStartNode() {
  return spawnSync(process.execPath, ['--version'], { ...USER, cwd: '/' }).status === 0;
}

/** Whether hard links to the files are possible: only root can change the files, and the directories belong to the user. */
function canLinkTo(directory) {
  const link = join(directory, 'link');
  const isMade = spawnSync('ln', ['package.json', link], { stdio: 'ignore' }).status === 0;
  rmSync(link, { force: true });
  return isMade;
}

function runAsUser(files) {
  const directory = mkdtempSync(join(tmpdir(), 'polypod-user-'));
  try {
    chmodSync(directory, 0o755);
    const [checkout, home, closed] = ['checkout', 'home', 'closed'].map((name) => join(directory, name));
    for (const made of [checkout, home, closed]) mkdirSync(made);
    // No test of the sample needs the agents, which are large.
    const names = readdirSync('.').filter((name) => name !== '.git' && name !== '.agents');
    execFileSync('cp', [canLinkTo(checkout) ? '-al' : '-a', ...names, checkout]);
    const owner = `${USER.uid}:${USER.gid}`;
    execFileSync('find', [checkout, home, '-type', 'd', '-exec', 'chown', owner, '{}', '+']);
    chmodSync(home, 0o700);
    chmodSync(closed, 0o700);
    const PATH = [join(closed, 'bin'), closed, process.env.PATH].join(':');
    const { status } = spawnSync(process.execPath, ['scripts/run-tests.mjs', ...files], {
      ...USER,
      cwd: checkout,
      env: { PATH, HOME: home, USER: 'polypod-test', LANG: process.env.LANG ?? 'C.UTF-8' },
      stdio: 'inherit',
    });
    return status === 0 ? 0 : 1;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
