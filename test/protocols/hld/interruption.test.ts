import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ADA, promptCommand } from '../../pod/fixture.ts';
import { textAnswer, type CliFixture, cliFixture } from '../../cli/daemon.ts';
import type { Running } from '../../cli/polypod.ts';
import { Client, hldFixture, launch, type Launched, STALLS } from './fixture.ts';

async function clients({
  home,
}: CliFixture): Promise<{ readonly client: Client; readonly subscriber: Client }> {
  const path = join(home, '.humanlayer/daemon.sock');
  const [client, subscriber] = [await Client.open(path), await Client.open(path)];
  subscriber.send({ jsonrpc: '2.0', method: 'Subscribe', params: {}, id: 1 });
  await subscriber.line(0);
  return { client, subscriber };
}

/** The rows of a conversation, as `role: content`. */
async function rows(client: Client, session_id: string): Promise<readonly string[]> {
  const { events } = (await client.call('getConversation', { session_id })) as {
    events: { role?: string; content?: string }[];
  };
  return events.map(({ role, content }) => `${role}: ${content}`);
}

/** The messages of the last request to the model, as `role: text`. */
function sent({ sim }: CliFixture): readonly string[] {
  const body = sim.requests.at(-1)?.body as
    | { messages: { role: string; content: { text: string }[] }[] }
    | undefined;
  return (body?.messages ?? []).map(
    ({ role, content }) => `${role}: ${content.map(({ text }) => text).join('|')}`,
  );
}

/** Waits until the answer has started. */
async function begun(fixture: CliFixture, id: string): Promise<void> {
  for await (const watched of (await fixture.pod(id)).watch({ after: 0 }))
    if (watched.type === 'events' && watched.batch.events.some(({ type }) => type === 'block-delta')) return;
}

const INTERRUPTED = ['user: Wait', 'assistant: I begin', 'user: [Request interrupted by user]'];

describe('an answer that is interrupted while it streams', () => {
  it.each<[string, (fixture: CliFixture, client: Client, id: string, daemon: Running) => Promise<unknown>]>([
    ['here', (_, client, session_id) => client.call('interruptSession', { session_id })],
    ['at another door', async (fixture, _, id) => (await fixture.pod(id)).handle({ type: 'cancel' }, ADA)],
    [
      'by the end of the daemon',
      async (fixture, _, __, daemon) => {
        daemon.child.kill('SIGTERM');
        await daemon.finished;
        await fixture.serve();
      },
    ],
  ])('stays in the conversation, and the model receives it: %s', async (_, interrupt) => {
    const fixture = await cliFixture([STALLS, textAnswer('Hello again.')]);
    fixture.configure('shutdown_grace: 10ms\n');
    const daemon = await fixture.serve();
    const first = await clients(fixture);
    const { session_id } = (await first.client.call('launchSession', { query: 'Wait' })) as Launched;
    await begun(fixture, session_id);
    await interrupt(fixture, first.client, session_id, daemon);
    const { client, subscriber } = await clients(fixture);
    await expect.poll(() => rows(client, session_id), { timeout: 20_000 }).toEqual(INTERRUPTED);
    const child = (await client.call('continueSession', { session_id, query: 'Hello' })) as Launched;
    await subscriber.waitForStatus(child.session_id, 'completed');
    expect(sent(fixture)).toEqual([
      'user: Wait',
      'assistant: I begin',
      'user: [Request interrupted by user]\n\nHello',
    ]);
    expect(await rows(client, child.session_id)).toEqual([
      ...INTERRUPTED,
      'user: Hello',
      'assistant: Hello again.',
    ]);
  });

  it('is sent to subscribers as it is listed, and is the result of the session', async () => {
    const fixture = await hldFixture([STALLS]);
    const { session_id, client, subscribe: subscriber } = await launch(fixture, { query: 'Wait' }, 'running');
    const watching = fixture.host.pod(session_id).watch({ after: 0 });
    for await (const watched of watching)
      if (watched.type === 'events' && watched.batch.events.some(({ type }) => type === 'block-delta')) break;
    await client.call('interruptSession', { session_id });
    await subscriber.waitForStatus(session_id, 'interrupted');
    const received = subscriber.events.flatMap(({ type, data }) =>
      type === 'conversation_updated' ? [`${data.role}: ${data.content}`] : [],
    );
    // The client that launched the session already has its first prompt.
    expect(received).toEqual(INTERRUPTED.slice(1));
    expect(await rows(client, session_id)).toEqual(INTERRUPTED);
    expect(await client.call('listSessions')).toMatchObject({
      sessions: [{ result: { result: 'I begin', is_error: false } }],
    });
  });
});

it('an answer that fails while it streams is shown up to that point', async () => {
  const fixture = await hldFixture([{ parts: [{ text: 'I begin' }], fault: { kind: 'cut', after: 1 } }]);
  const [client, subscriber] = [await fixture.client(), await fixture.subscribe()];
  const { id } = await fixture.host.create({ cwd: fixture.cwd, settings: { autoRetry: false } });
  await fixture.host.pod(id).handle(promptCommand('Go'), ADA);
  await subscriber.waitForStatus(id, 'failed');
  const received = subscriber.events.flatMap(({ type, data }) =>
    type === 'conversation_updated' ? [`${data.role}: ${data.content}`] : [],
  );
  expect(received).toEqual(['assistant: I begin']);
  expect(await rows(client, id)).toEqual(['user: Go', ...received]);
});
