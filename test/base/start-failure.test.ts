import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { explainStartFailure, unreadablePathNote } from '../../src/base/index.ts';
import { canBecomeOrdinaryUser, giveTo, homeOf, ORDINARY_USER, polypodAs } from '../ordinary-user.ts';

/** A directory with a script whose interpreter is missing, a file that is not executable, and a subdirectory. */
function directory(): string {
  const path = mkdtempSync(join(tmpdir(), 'polypod-start-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  writeFileSync(join(path, 'orphan'), '#!/no/such/interpreter -x\n', { mode: 0o755 });
  writeFileSync(join(path, 'text'), 'hello\n', { mode: 0o644 });
  mkdirSync(join(path, 'folder'));
  return path;
}

/** Tries to start a program and explains the system's error. */
function explained(program: string, cwd: string, path: string) {
  const env = { PATH: path };
  const { error } = spawnSync(program, [], { cwd, env });
  const { problem, step, isPermanent } = explainStartFailure({ program, cwd, env }, error);
  return { text: `${problem}: ${step}`, isPermanent };
}

describe('explainStartFailure', () => {
  test('names the program, the reason and the next step', () => {
    const occupied = directory();
    const text = (program: string, cwd = occupied) => {
      const { isPermanent, ...rest } = explained(program, cwd, `${occupied}:/no/such/entry:/usr/bin`);
      expect(isPermanent).toBe(true);
      return rest.text;
    };
    expect(text('no-such-program')).toBe(
      '"no-such-program" was not found on PATH: install it, or correct its name or PATH',
    );
    expect(text('./nowhere')).toBe('"./nowhere" does not exist: correct the path, or install it');
    expect(text('./folder')).toBe('"./folder" is a directory: name the program in it');
    const denied = `permission to execute "${occupied}/text" is denied: make it executable (chmod +x), or choose another program`;
    expect(text('text')).toBe(denied);
    expect(text(`${occupied}/text`)).toBe(denied);
    expect(text('orphan')).toBe(
      `"${occupied}/orphan" needs /no/such/interpreter, which does not exist: install it, or correct the first line of the program`,
    );
    expect(text('true', `${occupied}/gone`)).toBe(
      `the working directory ${occupied}/gone does not exist: create it, or correct the working directory (cwd)`,
    );
    expect(text('true', `${occupied}/text`)).toBe(
      `the working directory ${occupied}/text is not a directory: correct the working directory (cwd)`,
    );
  });

  test('reports exhausted process limits as temporary', () => {
    const thrown = Object.assign(new Error('spawn node EAGAIN'), { code: 'EAGAIN' });
    expect(explainStartFailure({ program: 'node', cwd: '/', env: {} }, thrown)).toEqual({
      problem: '"node" could not be started (spawn node EAGAIN)',
      step: 'end other processes of this user, or raise its limit of processes (ulimit -u)',
      isPermanent: false,
    });
  });

  test('unreadablePathNote omits PATH entries that are readable or do not exist', () => {
    expect(unreadablePathNote(`${directory()}:/no/such/entry:relative:`)).toBe('');
  });
});

const isRoot = process.getuid?.() === 0;

// Permissions do not stop root.
describe.skipIf(isRoot && !canBecomeOrdinaryUser)('for an ordinary user', () => {
  const identity = isRoot ? ORDINARY_USER : {};

  test('an MCP server that is not on PATH fails with the PATH entry that cannot be read', async () => {
    const home = homeOf(identity);
    const closed = join(home, 'closed');
    mkdirSync(join(closed, 'bin'), { recursive: true });
    const config = join(home, 'config.yaml');
    writeFileSync(config, 'version: 1\nmcp_servers: { broken: { command: no-such-program } }\n');
    giveTo(identity, home);
    chmodSync(closed, 0);
    onTestFinished(() => chmodSync(closed, 0o700));
    const env = { HOME: home, POLYPOD_CONFIG: config, PATH: `${closed}/bin:/usr/bin:/bin` };
    const { stdout } = await polypodAs(identity, ['mcp', 'status'], env);
    expect(stdout).toContain(
      `"no-such-program" was not found on PATH, and permission to read ${closed}/bin on PATH is denied: install it, correct its name, or allow reading that directory or remove it from PATH`,
    );
  });
});
