import { describe, expect, it } from 'vitest';
import { agentFixture } from '../../protocols/tasks/binary.ts';
import type { EventReader } from '../../protocols/tasks/fixture.ts';
import { WsClient } from '../../protocols/tasks/ws-client.ts';

/** A command that waits for an approval: its task and its session send no further events. */
const ASKS = { taskType: 'command_execution', userPrompt: 'rm -r build' };

const lastOf = (reader: EventReader): object | undefined => reader.received.at(-1)?.line;
const ended = (message: string): object => ({ event: 'error', data: { code: 'ended', message } });

describe('the streams of an agent that stops', () => {
  it('end with the documented ended event, over HTTP and WebSocket, whether the process or the door stops', async () => {
    const fixture = await agentFixture();
    const daemon = await fixture.serve();
    const start = ['agent', 'start', '--cwd', fixture.project, '--port', '0', '--json'];
    expect((await fixture.polypod(...start)).code).toBe(0);
    const taskId = await fixture.client().submit(ASKS);
    await fixture.client().until(taskId, 'waiting_approval');

    const paths = [`/tasks/${taskId}/events`, '/sessions/s1/events'];
    const open = async (): Promise<readonly EventReader[]> => {
      const readers = await Promise.all(paths.map((path) => fixture.client().events(path)));
      await Promise.all(readers.map((reader) => reader.waitFor(({ id }) => id !== undefined)));
      return readers;
    };
    const ofDoor = await open();
    expect((await fixture.polypod('agent', 'stop')).code).toBe(0);
    await Promise.all(ofDoor.map((reader) => reader.ended));
    expect(ofDoor.map(lastOf)).toEqual(paths.map(() => ended('the agent is stopping')));

    expect((await fixture.polypod(...start)).code).toBe(0);
    const ofProcess = await open();
    const socket = new WsClient(fixture.record().url, ['polypod', `bearer.${fixture.client().key}`]);
    await socket.opened;
    await socket.ask('subscribe', { sessionId: 's1' });
    daemon.child.kill('SIGTERM');
    await Promise.all(ofProcess.map((reader) => reader.ended));
    expect(ofProcess.map(lastOf)).toEqual(paths.map(() => ended('the agent is stopping')));
    expect(await socket.closed).toBe(4000);
    expect(socket.received.at(-1)).toEqual({ ...ended('the agent is stopping'), session_id: 's1' });
    expect((await daemon.finished).code).toBe(0);
  });

  it('end with the same event when their session is removed', async () => {
    const fixture = await agentFixture();
    await fixture.agent();
    const taskId = await fixture.client().submit(ASKS);
    await fixture.client().until(taskId, 'waiting_approval');
    const reader = await fixture.client().events('/sessions/s1/events');
    await reader.waitFor('snapshot');
    const { body } = await fixture.client().get('/sessions/s1');
    expect(await fixture.polypod('rm', '--yes', String(body.podId))).toMatchObject({ code: 0 });
    await reader.ended;
    expect(lastOf(reader)).toEqual(ended('the session was closed'));
    expect((await fixture.client().get('/sessions/s1/events')).status).toBe(404);
  });
});
