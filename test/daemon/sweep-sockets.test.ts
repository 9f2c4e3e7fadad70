import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { sweepSockets } from '../../src/daemon/sockets/sweep-sockets.ts';
import { cliFixture } from '../cli/daemon.ts';
import { temporaryDirectory } from '../cli/polypod.ts';

/** A socket of a process that was killed. */
function leaveSocket(path: string): void {
  const program = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
  spawnSync(process.execPath, ['-e', program]);
  expect(lstatSync(path).isSocket()).toBe(true);
}

it('removes stale sockets and links to them, and nothing else', async () => {
  const directory = temporaryDirectory();
  const at = (name: string): string => join(directory, name);
  leaveSocket(at('dead.sock'));
  symlinkSync('dead.sock', at('by name.sock'));
  const server = createServer().listen(at('live.sock'));
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => void server.close());
  symlinkSync('live.sock', at('living.sock'));
  writeFileSync(at('file.sock'), 'a file');
  leaveSocket(at('other'));
  expect(await sweepSockets(directory)).toBe(2);
  expect(readdirSync(directory).toSorted()).toEqual(['file.sock', 'live.sock', 'living.sock', 'other']);
  expect(await sweepSockets(at('not there'))).toBe(0);
  expect(existsSync(at('not there'))).toBe(false);
});

it('serve removes them when it starts and when it stops', async () => {
  const { serve, polypod, dataDirectory } = await cliFixture();
  const pods = join(dataDirectory, 'run', 'pods');
  const killed = await serve();
  expect((await polypod('new', '--name', 'demo')).code).toBe(0);
  await expect.poll(() => readdirSync(pods)).toContain('demo.sock');
  killed.child.kill('SIGKILL');
  await killed.finished;
  expect((await polypod('doctor')).stdout).toContain('polypod serve removes them');
  leaveSocket(join(pods, 'dead.sock'));
  await serve();
  // A named pod gets its socket again.
  expect(readdirSync(pods)).toEqual([expect.stringMatching(/^[0-9a-f-]{36}\.sock$/), 'demo.sock']);
  leaveSocket(join(pods, 'dead.sock'));
  expect((await polypod('stop')).code).toBe(0);
  expect(readdirSync(pods)).toEqual([]);
});
