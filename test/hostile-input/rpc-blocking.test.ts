import { execFileSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { objectOf } from '../../src/base/index.ts';
import { LineClient } from './line-client.ts';
import { startTarget, type Target } from './target.ts';

/** One client that correlates answers by id. */
class RpcClient {
  readonly #lines: LineClient;
  #ids = 0;

  static async open(target: Target): Promise<RpcClient> {
    const lines = await LineClient.unix(target.rpc);
    onTestFinished(() => lines.close());
    lines.send(`${JSON.stringify({ cwd: target.project, by: 'ada' })}\n`);
    await lines.waitFor(({ type }) => type === 'ready');
    return new RpcClient(lines);
  }

  constructor(lines: LineClient) {
    this.#lines = lines;
  }

  send(type: string, fields: object = {}): string {
    const id = `${type}-${(this.#ids += 1)}`;
    this.#lines.send(`${JSON.stringify({ id, type, ...fields })}\n`);
    return id;
  }

  answer(id: string): Promise<{ readonly [key: string]: unknown }> {
    return this.#lines.waitFor((line) => line.type === 'response' && line.id === id);
  }

  ask(type: string, fields: object = {}): Promise<{ readonly [key: string]: unknown }> {
    return this.answer(this.send(type, fields));
  }

  close(): void {
    this.#lines.close();
  }
}

async function control(target: Target, method: string, params: object): Promise<void> {
  const lines = await LineClient.unix(target.control);
  try {
    lines.send(`${JSON.stringify({ method, params })}\n`);
    await lines.waitFor(() => true);
  } finally {
    lines.close();
  }
}

describe('no command of an rpc client blocks its connection or another one', () => {
  let target: Target;
  beforeAll(async () => {
    target = await startTarget({ unlimited: true });
  }, 300_000);
  afterAll(() => target.close());

  test('switch_session to a pipe or a device is rejected, and other clients are served', async () => {
    execFileSync('mkfifo', [join(target.project, 'pipe')]);
    symlinkSync(join(target.project, 'pipe'), join(target.project, 'to-pipe'));
    symlinkSync('/dev/zero', join(target.project, 'to-device'));
    const [client, other] = [await RpcClient.open(target), await RpcClient.open(target)];
    for (const sessionPath of ['pipe', 'to-pipe', 'to-device']) {
      const refused = client.send('switch_session', { sessionPath });
      expect(await other.ask('get_state')).toMatchObject({ success: true });
      expect(await client.answer(refused)).toMatchObject({
        success: false,
        error: expect.stringContaining(`${sessionPath} is not a regular file: choose another path`),
      });
    }
    expect(await client.ask('get_state')).toMatchObject({ success: true });
  });

  test('an abort that overtakes a switch to another session is answered', { timeout: 120_000 }, async () => {
    const client = await RpcClient.open(target);
    await client.ask('set_session_name', { name: 'first' });
    const { sessionId: pod, sessionFile } = objectOf((await client.ask('get_state')).data);
    // Another client keeps the session writing, so that reading it takes a moment.
    const over = new AbortController();
    const writing = (async () => {
      for (let count = 0; !over.signal.aborted; count += 1)
        await control(target, 'command', {
          pod,
          by: 'bob',
          command: { type: 'configure', set: { annotations: { count } } },
        });
    })();
    try {
      for (let round = 0; round < 40; round += 1) {
        expect(await client.ask('switch_session', { sessionPath: sessionFile })).toMatchObject({
          success: true,
        });
        const switched = client.send('switch_session', { sessionPath: `new-${round}.jsonl` });
        const aborts: string[] = [];
        for (let turn = 0; turn < 6; turn += 1) {
          aborts.push(client.send('abort'));
          // The next one hits another step of the switch.
          await new Promise((resolve) => setTimeout(resolve, turn % 3));
        }
        for (const id of [switched, ...aborts])
          expect(await client.answer(id)).toMatchObject({ success: true });
      }
    } finally {
      over.abort();
      await writing;
    }
  });
});

test('an rpc client beyond the pod limit is rejected; the daemon continues, and serves it later', {
  timeout: 300_000,
}, async () => {
  const target = await startTarget({ config: 'version: 1\nlimits: { pods: 2 }\n' });
  onTestFinished(() => target.close());
  const first = await RpcClient.open(target);
  const second = await RpcClient.open(target);
  for (const client of [first, second])
    expect(await client.ask('get_state')).toMatchObject({ success: true });
  const third = await RpcClient.open(target);
  expect(await third.ask('get_state')).toMatchObject({
    success: false,
    error: expect.stringContaining('2 pods are in use, which is the limit'),
  });
  expect(await second.ask('get_state')).toMatchObject({ success: true });
  first.close();
  // The daemon learns of it asynchronously. The result of a command is an event: the link follows its session
  // again.
  let ran = await third.ask('bash', { command: 'echo room' });
  while (ran.success !== true) ran = await third.ask('bash', { command: 'echo room' });
  expect(ran.data).toMatchObject({ output: expect.stringContaining('room'), exitCode: 0 });
});
