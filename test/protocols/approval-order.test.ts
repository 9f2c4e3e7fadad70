import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { arrayOf, objectOf, stringOf } from '../../src/base/index.ts';
import { dataPathsFrom } from '../../src/setup/index.ts';
import type { SimAnswer } from '../../src/sim/index.ts';
import { agentFixture } from './tasks/binary.ts';
import { Program } from './rpc/program.ts';

/** Its paths are resolved one by one, so that it takes longer to evaluate than the calls after it. */
const SLOW = `node -e 1 ${Array.from({ length: 200 }, (_, at) => `sub/${at}/../${at}`).join(' ')}`;
const COMMANDS = [SLOW, 'node -e 2', 'node -e 3'];
const TURN: SimAnswer = {
  parts: COMMANDS.map((command) => ({ toolCall: { name: 'bash', arguments: { command } } })),
};

/** A socket that sends and receives lines of JSON. */
class Lines {
  readonly received: Record<string, unknown>[] = [];
  readonly #socket: Socket;
  #rest = '';

  constructor(path: string) {
    this.#socket = createConnection(path);
    this.#socket.setEncoding('utf8').on('data', (text: string) => {
      const lines = `${this.#rest}${text}`.split('\n');
      this.#rest = lines.pop() ?? '';
      for (const line of lines) if (line !== '') this.received.push(objectOf(JSON.parse(line)));
    });
    onTestFinished(() => void this.#socket.destroy());
  }

  send(line: object): void {
    this.#socket.write(`${JSON.stringify(line)}\n`);
  }

  async until<T>(check: () => T | undefined): Promise<T> {
    for (;;) {
      const found = check();
      if (found !== undefined) return found;
      await sleep(20);
    }
  }
}

const three = <T>(list: readonly T[]): readonly T[] | undefined => (list.length >= 3 ? list : undefined);

describe('approvals of parallel calls', () => {
  it('are requested in call order on every door of one daemon', async () => {
    const fixture = await agentFixture([TURN, TURN, TURN, TURN]);
    await fixture.agent();
    const { runtimeDirectory } = dataPathsFrom(fixture.env);

    // Pod Protocol.
    const made = await fixture.polypod('new', '--json', '--cwd', fixture.project);
    const { id } = JSON.parse(made.stdout) as { id: string };
    const pod = new Lines(join(runtimeDirectory, 'pods', `${id}.sock`));
    pod.send({ method: 'subscribe' });
    pod.send({ method: 'run', params: { input: 'go' } });
    const onPod = await pod.until(() =>
      three(pod.received.filter(({ event }) => event === 'approval_request')),
    );
    expect(onPod.map(({ data }) => JSON.parse(stringOf(objectOf(data).arguments)) as unknown)).toEqual(
      COMMANDS.map((command) => ({ command })),
    );

    // The same through `polypod approvals`.
    const listed = JSON.parse((await fixture.polypod('approvals', '--json')).stdout) as {
      arguments: string;
    }[];
    expect(listed.map(({ arguments: args }) => JSON.parse(args) as unknown)).toEqual(
      COMMANDS.map((command) => ({ command })),
    );

    // RPC, where the host shows the person all arguments of a call.
    const rpc = new Program(['--ask'], fixture.env);
    rpc.send({ type: 'prompt', message: 'go' });
    await rpc.waitFor(() => rpc.lines.filter(({ type }) => type === 'extension_ui_request').length >= 3);
    const titles = rpc.lines
      .filter(({ type }) => type === 'extension_ui_request')
      .map(({ title, message }) => `${stringOf(title)}${stringOf(message)}`);
    for (const [at, command] of COMMANDS.entries()) expect(titles[at]).toContain(command);

    // HLD.
    const hld = new Lines(join(fixture.home, '.humanlayer/daemon.sock'));
    hld.send({
      jsonrpc: '2.0',
      id: 1,
      method: 'launchSession',
      params: { query: 'go', working_dir: fixture.project },
    });
    const launched = await hld.until(() => hld.received.find((line) => line.id === 1));
    const session = stringOf(objectOf(launched.result).session_id);
    const asked = async () => {
      const from = hld.received.length;
      hld.send({ jsonrpc: '2.0', id: 2, method: 'fetchApprovals', params: { session_id: session } });
      const answer = await hld.until(() => hld.received.slice(from).find((line) => line.id === 2));
      return arrayOf(objectOf(answer.result).approvals).map((approval) => objectOf(approval).tool_input);
    };
    await expect.poll(asked).toEqual(COMMANDS.map((command) => ({ command })));

    // Tasks.
    const client = fixture.client();
    await client.submit({ taskType: 'complex_task', userPrompt: 'go' });
    const waiting = async () => {
      const { body } = await client.get<{ approvals: readonly { arguments: unknown }[] }>('/approvals');
      return body.approvals.map(({ arguments: args }) => JSON.parse(stringOf(args)) as unknown);
    };
    // The door limits the requests of a key: faster polling ends in 429 on a busy machine.
    await expect.poll(waiting, { interval: 250 }).toEqual(COMMANDS.map((command) => ({ command })));
  });
});
