import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { textAnswer, cliFixture, type CliFixture } from '../cli/daemon.ts';

interface Line {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly request_id?: unknown;
}

/** A client of the pod "demo": sends lines, and waits for lines. */
async function clientOf({ dataDirectory }: CliFixture) {
  const socket = connect(join(dataDirectory, 'run', 'pods', 'demo.sock'));
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  const waitFor = async (matches: (line: Line) => boolean): Promise<Line> => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) throw new Error('the connection was closed');
      const line = JSON.parse(value) as Line;
      if (matches(line)) return line;
    }
  };
  const send = (line: object): void => void socket.write(`${JSON.stringify(line)}\n`);
  return { send, waitFor };
}

const isError = ({ event }: Line): boolean => event === 'error';
const isIdle = ({ event, data }: Line): boolean => event === 'status' && data.state === 'idle';

async function pod(): Promise<CliFixture> {
  const fixture = await cliFixture([textAnswer('Hello.'), textAnswer('Hello again.')]);
  fixture.configure('model: anthropic/x\n');
  await fixture.serve();
  expect((await fixture.polypod('new', '--name', 'demo', '--cwd', fixture.project)).code).toBe(0);
  return fixture;
}

describe('a pod of the daemon', () => {
  it('rejects an idempotency key with other input as a conflict, and ignores unknown keys in params', async () => {
    const fixture = await pod();
    const { send, waitFor } = await clientOf(fixture);
    const run = (input: string, more = {}) => ({
      method: 'run',
      params: { input, unknown: { key: [1] }, ...more },
      idempotency_key: 'k1',
    });
    const message = 'the idempotency key "k1" was used for another command: use a new key for each command';
    send(run('Hello?'));
    // Also during the run, when another run would be rejected anyway.
    send(run('Goodbye?'));
    expect(await waitFor(isError)).toEqual({ event: 'error', data: { code: 'conflict', message } });
    await waitFor(isIdle);
    send(run('Hello?', { other: true }));
    send({ ...run(''), method: 'cancel' });
    expect(await waitFor(({ event }) => event !== 'status')).toMatchObject({ data: { code: 'conflict' } });
    expect(fixture.sim.requests).toHaveLength(1);
    // The same over the daemon's own socket.
    const link = await fixture.link();
    const command = { pod: 'demo', by: 'ada', key: 'k2' };
    const named = (name: string) => ({ ...command, command: { type: 'configure', set: { name } } });
    await link.call('command', named('demo'));
    await expect(link.call('command', named('other'))).rejects.toMatchObject({ code: 'conflict' });
  });

  it('notifies all clients if no run starts because the tools cannot be loaded', async () => {
    const fixture = await pod();
    const [ada, bob] = [await clientOf(fixture), await clientOf(fixture)];
    for (const client of [ada, bob]) {
      client.send({ method: 'get_status', request_id: 1 });
      await client.waitFor(({ request_id: id }) => id === 1);
    }
    const outputs = join(fixture.home, '.cache/polypod/outputs');
    rmSync(outputs, { recursive: true });
    writeFileSync(outputs, 'no directory');
    ada.send({ method: 'run', params: { input: 'Hello?' } });
    const message = expect.stringMatching(/^the tools cannot be loaded: .*(?:ENOTDIR|EEXIST)/);
    for (const client of [ada, bob])
      expect(await client.waitFor(isError)).toEqual({
        event: 'error',
        data: { code: 'tool_error', message },
      });
    rmSync(outputs);
    ada.send({ method: 'run', params: { input: 'Hello?' } });
    await bob.waitFor(isIdle);
  });
});
