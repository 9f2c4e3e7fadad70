import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { logTo, objectOf, redactor, stringOf } from '../../../src/base/index.ts';
import { openPodDoor } from '../../../src/protocols/pod/index.ts';
import { scratch } from '../../pod/stage.ts';
import { stage as rpcStage } from '../rpc/stage.ts';
import { asks, Client, hldStage, launch, says, statusOf } from './stage.ts';

it('a session is launched here, watched with Pod Protocol and approved over RPC', async () => {
  const stage = await hldStage([asks(), says('done')]);
  const { host } = stage;
  const directory = scratch();
  const log = logTo({ sinks: [], level: () => 'error', redact: () => redactor([]) });
  const door = await openPodDoor({ host, directory, version: '0.1.0', log });
  onTestFinished(() => door.close());

  const { session_id, client, ear } = await launch(stage, { query: 'hi' }, 'waiting_input');
  const watcher = await Client.open(join(directory, 'pods', `${session_id}.sock`));
  watcher.send({ method: 'subscribe' });
  const { client: rpc } = await rpcStage([], { parts: { host, first: async () => host.pod(session_id) } });
  const asked = await rpc.hear(({ type }) => type === 'extension_ui_request');
  rpc.send({ type: 'extension_ui_response', id: asked.id, value: 'Allow once' });

  const { data } = await ear.hear(({ type }) => type === 'approval_resolved');
  expect(data).toMatchObject({ session_id, approved: true });
  await ear.hearStatus(session_id, 'completed');
  expect(await statusOf(client, session_id)).toBe('completed');
  const said = await watcher.until(() => watcher.lines.find((line) => line.includes('"approval_resolved"')));
  expect(objectOf(objectOf(JSON.parse(said)).data)).toMatchObject({
    status: 'approved',
    by: 'ada',
    door: 'rpc',
  });
  await rpc.hear(({ type }) => type === 'agent_settled');
});

it('a session of RPC is continued here', async () => {
  const stage = await hldStage([says('one'), says('two')]);
  const { host, cwd } = stage;
  const ear = await stage.subscriber();
  const { client: rpc } = await rpcStage([], {
    parts: { host, sessions: { cwd, inMemory: false }, first: () => host.create({ cwd, lazy: true }) },
  });
  await rpc.run('from RPC');
  const client = await stage.client();
  const { sessions } = (await client.call('listSessions')) as {
    sessions: readonly { readonly id: string }[];
  };
  expect(sessions).toMatchObject([{ status: 'completed', query: 'from RPC', result: { result: 'one' } }]);
  const parent = sessions[0]?.id ?? '';
  const child = objectOf(await client.call('continueSession', { session_id: parent, query: 'from here' }));
  await ear.hearStatus(stringOf(child.session_id), 'completed');
  const { events } = (await client.call('getConversation', child)) as {
    events: readonly { readonly content: string }[];
  };
  expect(events.map(({ content }) => content)).toEqual(['from here', 'two']);
});
