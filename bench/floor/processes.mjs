import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const PROVIDER = new URL('provider.mjs', import.meta.url);
const HOSTS = { floor: new URL('host.mjs', import.meta.url), pod: new URL('pod-host.mjs', import.meta.url) };

/** A temporary directory that is removed when the process exits. */
export function scratch() {
  const directory = mkdtempSync(join(tmpdir(), 'polypod-bench-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Starts a module that prints a line when it is ready; it ends with this process. */
export async function start(module, args = [], { flags = [] } = {}) {
  const child = spawn(process.execPath, [...flags, fileURLToPath(module), ...args.map(String)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { value, done } = await lines.next();
  if (done) throw new Error(`${fileURLToPath(module)} ended before it was ready`);
  return { pid: child.pid, output: JSON.parse(value), lines };
}

export async function startProvider() {
  const { output } = await start(PROVIDER);
  return output.url;
}

/** Starts a host of this kind and its provider, each in its own process; resolves with the socket path. */
export async function startHost(kind, options) {
  const directory = scratch();
  const path = join(directory, 'host.sock');
  const { pid } = await start(HOSTS[kind], [path, await startProvider(), directory], options);
  return { path, pid };
}
