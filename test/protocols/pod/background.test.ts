import { expect, it } from 'vitest';
import { survivorsOf, token } from '../../tools/survivors.ts';
import { podFixture } from './fixture.ts';

it('a background command is a call with events of its own, in the snapshot, and can be ended', async () => {
  const mark = token();
  const fixture = await podFixture([
    {
      parts: [
        {
          toolCall: { id: 'call_1', name: 'bash', arguments: { command: `sleep ${mark}`, background: true } },
        },
      ],
    },
    { parts: [{ text: 'Started.' }] },
    { parts: [{ text: 'I see.' }] },
  ]);
  const client = await fixture.socketClient();
  await client.sendRequest('subscribe', { name: 'ada' });
  await client.sendRequest('configure', { set: { mode: 'full-access' } });
  await client.sendRequest('run', { input: 'Start it.' });
  const started = await client.waitFor(({ event }) => event === 'background_start');
  expect(started.data).toMatchObject({ command: `sleep ${mark}`, call_id: 'call_1' });
  await client.waitFor(({ event }) => event === 'run_end');

  const late = await fixture.socketClient();
  await late.sendRequest('subscribe', { name: 'bob' });
  const { data } = await late.waitFor(({ event }) => event === 'snapshot');
  expect(data).toMatchObject({ background: [started.data] });

  const { id } = started.data as { id: string };
  await late.sendRequest('end_background', { id: 'b0' });
  expect((await late.waitFor(({ event }) => event === 'error')).data).toMatchObject({ code: 'not_found' });
  await late.sendRequest('end_background', { id });
  expect((await client.waitFor(({ event }) => event === 'background_end')).data).toMatchObject({
    id,
    status: 'ended',
    message: expect.stringContaining('ended by the user') as string,
  });
  expect(survivorsOf(mark)).toEqual([]);
  await client.sendRequest('run', { input: 'And now?' });
  const notice = await client.waitFor(
    ({ event, data: about }) =>
      event === 'user_message' && (about as { origin?: string }).origin === 'notice',
  );
  expect(notice.data).toMatchObject({ text: expect.stringContaining(`background command ${id}`) as string });
});
