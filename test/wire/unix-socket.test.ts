import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectUnix, listenUnix } from '../../src/wire/index.ts';

function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'polypod-wire-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

async function listening(path: string): Promise<void> {
  const server = await listenUnix(path, (socket) => socket.end('hello'));
  onTestFinished(() => {
    server.close();
  });
}

describe('a Unix socket', () => {
  it('in use is not replaced', async () => {
    const path = join(scratch(), 'a.sock');
    await listening(path);
    await expect(listenUnix(path, () => {})).rejects.toThrow(
      `another process listens on ${path}: end it first`,
    );
    // The first server still accepts connections.
    const socket = await connectUnix(path);
    expect(socket).toBeDefined();
    socket?.destroy();
  });

  it('does not replace another kind of file', async () => {
    const path = join(scratch(), 'file.sock');
    writeFileSync(path, 'mine');
    await expect(listenUnix(path, () => {})).rejects.toThrow('is not a socket');
    expect(existsSync(path)).toBe(true);
  });

  it('is rejected if its path is too long in bytes', async () => {
    const path = join(scratch(), `${'あ'.repeat(40)}.sock`);
    await expect(listenUnix(path, () => {})).rejects.toThrow(
      /is too long for a socket: \d+ bytes, of which the system allows 10[37]/,
    );
  });

  it('is rejected in a directory that others can access', async () => {
    const directory = scratch();
    chmodSync(directory, 0o755);
    await expect(listenUnix(join(directory, 'a.sock'), () => {})).rejects.toThrow('run chmod 700');
  });

  it('that does not exist has no listener', async () => {
    expect(await connectUnix(join(scratch(), 'none.sock'))).toBeUndefined();
  });
});
