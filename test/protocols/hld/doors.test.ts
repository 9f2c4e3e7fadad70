import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isObject, type JsonObject, parseObject, objectOf, stringOf } from '../../../src/base/index.ts';
import { dataPathsFrom } from '../../../src/setup/index.ts';
import { call, textAnswer, type CliFixture, cliFixture } from '../../cli/daemon.ts';
import { start } from '../../cli/polypod.ts';
import { Client, type Launched, statusOf } from './fixture.ts';

async function hldClients({
  home,
}: CliFixture): Promise<{ readonly client: Client; readonly subscriber: Client }> {
  const path = join(home, '.humanlayer/daemon.sock');
  const [client, subscriber] = [await Client.open(path), await Client.open(path)];
  subscriber.send({ jsonrpc: '2.0', method: 'Subscribe', params: {}, id: 1 });
  await subscriber.line(0);
  return { client, subscriber };
}

/** `polypod --mode rpc`, which the daemon serves. */
function rpcClient({ env }: CliFixture, ...args: readonly string[]) {
  const running = start(['--mode', 'rpc', ...args], env);
  return {
    send: (message: JsonObject) => void running.child.stdin.write(`${JSON.stringify(message)}\n`),
    waitFor: async (type: string): Promise<JsonObject> => {
      await running.waitForOutput(`"type":"${type}"`);
      const lines = running.output().stdout.split('\n').map(parseObject);
      return lines.find((line) => isObject(line) && line.type === type) ?? {};
    },
  };
}

it('a session is launched over HLD, watched over the Pod Protocol and approved over RPC', async () => {
  const fixture = await cliFixture([call('bash', { command: 'node -e 1' }), textAnswer('done')]);
  await fixture.serve();
  const { client, subscriber } = await hldClients(fixture);
  const { session_id } = (await client.call('launchSession', {
    query: 'hi',
    working_dir: fixture.project,
  })) as Launched;
  await subscriber.waitForStatus(session_id, 'waiting_input');

  const { runtimeDirectory } = dataPathsFrom(fixture.env);
  const watcher = await Client.open(join(runtimeDirectory, 'pods', `${session_id}.sock`));
  watcher.send({ method: 'subscribe' });
  const rpc = rpcClient(fixture, '--session', session_id);
  const { id } = await rpc.waitFor('extension_ui_request');
  rpc.send({ type: 'extension_ui_response', id, value: 'Allow once' });

  const { data } = await subscriber.waitFor(({ type }) => type === 'approval_resolved');
  expect(data).toMatchObject({ session_id, approved: true });
  await subscriber.waitForStatus(session_id, 'completed');
  expect(await statusOf(client, session_id)).toBe('completed');
  const line = await watcher.until(() => watcher.lines.find((line) => line.includes('"approval_resolved"')));
  expect(objectOf(objectOf(JSON.parse(line)).data)).toMatchObject({
    status: 'approved',
    by: 'ada',
    door: 'rpc',
  });
});

it('an RPC session is listed and continued over HLD', async () => {
  const fixture = await cliFixture([textAnswer('one'), textAnswer('two')]);
  await fixture.serve();
  const { client, subscriber } = await hldClients(fixture);
  const rpc = rpcClient(fixture);
  rpc.send({ type: 'prompt', message: 'from RPC' });
  const { data } = await subscriber.waitFor(({ data: received }) => received.new_status === 'completed');
  expect(await client.call('listSessions')).toMatchObject({
    sessions: [{ id: data.session_id, status: 'completed', query: 'from RPC', result: { result: 'one' } }],
  });
  const child = objectOf(
    await client.call('continueSession', { session_id: data.session_id, query: 'from here' }),
  );
  await subscriber.waitForStatus(stringOf(child.session_id), 'completed');
  const { events } = (await client.call('getConversation', { session_id: child.session_id })) as {
    events: readonly { readonly content: string }[];
  };
  expect(events.map(({ content }) => content)).toEqual(['from RPC', 'one', 'from here', 'two']);
});
