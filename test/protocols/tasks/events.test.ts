import { execFileSync } from 'node:child_process';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { generatedText } from '../../../src/sim/index.ts';
import { podLines } from '../../../src/protocols/index.ts';
import { type Client, type ReceivedEvent, textAnswer, STALLS, tasksFixture } from './fixture.ts';

const LONG = { parts: [{ text: generatedText(40) }], pace: { chunkSize: 1 } };

/** The lines of a session from its first event on, as far as they are in the log. */
async function allEvents(client: Client, path: string): Promise<readonly ReceivedEvent[]> {
  const reader = await client.events(path);
  await reader.ended;
  return reader.received.filter(({ id }) => id !== undefined);
}

describe('the events of a task', () => {
  it('are sent from its first to its last, and then the stream ends', async () => {
    const { client } = await tasksFixture([textAnswer('One.'), textAnswer('Two.')]);
    const ada = client();
    await ada.done(await ada.submit());
    const reader = await ada.events(`/tasks/${await ada.submit()}/events`);
    expect(reader.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    await reader.ended;
    const numbered = reader.received.filter(({ id }) => id !== undefined);
    expect(numbered[0]?.event).toBe('run_start');
    expect(numbered.at(-1)?.event).toBe('run_end');
    expect(numbered.filter(({ event }) => event === 'text_done').map(({ line }) => line.data.text)).toEqual([
      'Two.',
    ]);
    expect(numbered.every(({ id, line }) => id?.startsWith(`${line.seq}.`))).toBe(true);
  });

  it('of a pending task do not include those of the task before it', async () => {
    const { client } = await tasksFixture(({ messages }) =>
      messages.at(-1)?.text === 'wait' ? STALLS : textAnswer('mine'),
    );
    const ada = client();
    const first = await ada.submit({ userPrompt: 'wait' });
    const second = await ada.submit({ userPrompt: 'go' });
    const reader = await ada.events(`/tasks/${second}/events`);
    await reader.waitFor('queued');
    await ada.post(`/tasks/${first}/cancel`);
    await reader.ended;
    expect(reader.names.filter((name) => name === 'run_start' || name === 'run_end')).toEqual([
      'run_start',
      'run_end',
    ]);
    expect((await reader.waitFor('run_start')).line.data.task_id).toBe(second);
  });

  it('end when a task is removed from the queue', async () => {
    const { client } = await tasksFixture([STALLS]);
    const ada = client();
    await ada.submit();
    const waiting = await ada.submit();
    const reader = await ada.events(`/tasks/${waiting}/events`);
    await reader.waitFor('queued');
    await ada.post(`/tasks/${waiting}/cancel`);
    await reader.ended;
    expect(reader.names.at(-1)).toBe('unqueued');
  });

  it('return 204 when all were received, so that a browser stops reconnecting', async () => {
    const { client } = await tasksFixture([textAnswer('One.')]);
    const ada = client();
    const path = `/tasks/${await ada.submit()}/events`;
    const reader = await ada.events(path);
    await reader.ended;
    expect((await ada.get(path, { 'last-event-id': reader.lastId })).status).toBe(204);
  });

  it('are complete wherever the connection breaks', async () => {
    const { client, restart } = await tasksFixture([LONG]);
    const ada = client();
    const path = `/tasks/${await ada.submit()}/events`;
    const all = await allEvents(ada, path);
    expect(all.length).toBeGreaterThan(40);
    for (const cut of [0, 1, 2, 3, Math.floor(all.length / 2), all.length - 3, all.length - 2]) {
      const rest = await ada.events(path, { 'last-event-id': all[cut]?.id ?? '' });
      await rest.ended;
      expect(rest.received.filter(({ id }) => id !== undefined)).toEqual(all.slice(cut + 1));
    }
    await restart('kill');
    expect(await allEvents(ada, path)).toEqual(all);
    const rest = await ada.events(`${path}?after=${all[5]?.id}`);
    await rest.ended;
    expect(rest.received.filter(({ id }) => id !== undefined)).toEqual(all.slice(6));
  });
});

describe('clients that connect and disconnect while the task runs', () => {
  it('receive everything, wherever they are cut off and although the process is killed', async () => {
    const slow = { parts: [{ text: generatedText(60) }], pace: { chunkSize: 2, delayMs: 1 } };
    const { client, restart } = await tasksFixture([slow, slow]);
    const ada = client();
    const taskIds = [await ada.submit(), await ada.submit()];
    const path = `/tasks/${taskIds[0]}/events`;
    const joined = await Promise.all([1, 2, 3].map((many) => inPieces(ada, path, many)));
    const all = await allEvents(ada, path);
    for (const lines of joined) expect(lines).toEqual(all);
    await ada.done(taskIds[1] ?? '');
    await restart('kill');
    const after = await inPieces(ada, `/tasks/${taskIds[1]}/events`, 7);
    expect(after).toEqual(await allEvents(ada, `/tasks/${taskIds[1]}/events`));
    expect(after.at(-1)?.event).toBe('run_end');
  });

  it('delay no one if they do not read, and receive the position to resume at', async () => {
    const flood = { parts: [], pace: { chunkSize: 8_000, deltas: 2_000 } };
    const { client } = await tasksFixture([textAnswer('Hello.'), flood], {
      tasks: { project: await podLines(200), limits: { unreadBytes: 100_000 } },
    });
    const ada = client();
    await ada.done(await ada.submit());
    const lazy = connect(Number(new URL(ada.url).port), '127.0.0.1');
    lazy.write(`GET /sessions/s1/events HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${ada.key}\r\n\r\n`);
    await new Promise((resolve) => {
      lazy.once('readable', resolve);
    });
    await ada.done(await ada.submit());
    let tail = '';
    lazy.setEncoding('utf8');
    for await (const text of lazy) {
      tail = `${tail}${String(text)}`.slice(-1_000);
      if (tail.includes('event: error')) break;
    }
    expect(tail).toMatch(/"code":"overloaded","message":"more than 200 events .*: subscribe after \d+"/);
  });
});

/** Everything received by a client that reads a limited number of events per connection and then reconnects. */
async function inPieces(client: Client, path: string, many: number): Promise<readonly ReceivedEvent[]> {
  const received: ReceivedEvent[] = [];
  for (;;) {
    const id = received.at(-1)?.id;
    const reader = await client.events(path, id === undefined ? {} : { 'last-event-id': id });
    if (reader.status === 204) return received;
    let count = 0;
    await reader.waitFor(({ id: eventId }) => eventId !== undefined && (count += 1) >= many).catch(() => {});
    received.push(...reader.received.filter(({ id: eventId }) => eventId !== undefined).slice(0, many));
    reader.cut();
  }
}

/** As `polypod keys revoke` does: another process replaces the file. */
function revokeElsewhere(keyFile: string, id: string): void {
  const script = `
    const { readFileSync, renameSync, writeFileSync } = require('node:fs');
    const [file, id] = process.argv.slice(1);
    const { keys, ...rest } = JSON.parse(readFileSync(file, 'utf8'));
    for (const key of keys) if (key.id === id) key.revokedAt = new Date().toISOString();
    writeFileSync(file + '.new', JSON.stringify({ ...rest, keys }));
    renameSync(file + '.new', file);`;
  execFileSync(process.execPath, ['-e', script, keyFile, id]);
}

describe('the events of a session', () => {
  it('start with a snapshot, and continue live for every client', async () => {
    const { client } = await tasksFixture([textAnswer('One.'), textAnswer('Two.')]);
    const ada = client();
    await ada.done(await ada.submit());
    const readers = await Promise.all([1, 2, 3].map(() => ada.events('/sessions/s1/events')));
    for (const reader of readers) {
      const { line } = await reader.waitFor('snapshot');
      expect(line.data).toMatchObject({ reason: 'joined', state: 'idle' });
    }
    await ada.submit();
    const received = await Promise.all(
      readers.map(async (reader) => {
        const { line } = await reader.waitFor('run_end');
        return reader.received.filter(({ line: { seq = 0 } }) => seq <= (line.seq ?? 0));
      }),
    );
    expect(received[1]).toEqual(received[0]);
    expect(received[2]).toEqual(received[0]);
  });

  it('continue after a number, and report a gap if that is not possible', async () => {
    const { client } = await tasksFixture([textAnswer('One.')]);
    const ada = client();
    await ada.done(await ada.submit());
    const from = await ada.events('/sessions/s1/events?after=1');
    await from.waitFor('run_end');
    expect(from.names).not.toContain('snapshot');
    const beyond = await ada.events('/sessions/s1/events?after=99999');
    expect((await beyond.waitFor('snapshot')).line.data).toMatchObject({ reason: 'gap' });
  });

  it('are refused with an invalid position', async () => {
    const { client } = await tasksFixture([textAnswer('One.')]);
    const ada = client();
    await ada.done(await ada.submit());
    for (const after of ['x', '-1', '1.', '1.2.3', '']) {
      const { status, body } = await ada.get(`/sessions/s1/events?after=${after}`);
      expect({ status, body }).toMatchObject({
        status: 400,
        body: { error: { details: { field: 'after' } } },
      });
    }
    expect((await ada.get('/sessions/none/events')).status).toBe(404);
  });

  it('include keep-alive comments while nothing happens', async () => {
    const { client } = await tasksFixture([textAnswer('One.')], { tasks: { limits: { keepAliveMs: 5 } } });
    const ada = client();
    await ada.done(await ada.submit());
    const reader = await ada.events('/sessions/s1/events');
    await reader.waitFor('snapshot');
    while (reader.comments.length < 2)
      await new Promise((resolve) => {
        setTimeout(resolve, 5);
      });
    expect(reader.comments[0]).toBe(': keep-alive');
  });

  it('end when their key is revoked', async () => {
    const { client, bare, key, keyFile } = await tasksFixture([textAnswer('One.')]);
    const ada = client();
    await ada.done(await ada.submit());
    const other = key();
    const [reader, kept] = await Promise.all([
      bare(other).events('/sessions/s1/events'),
      ada.events('/sessions/s1/events'),
    ]);
    await Promise.all([reader.waitFor('snapshot'), kept.waitFor('snapshot')]);
    revokeElsewhere(keyFile, other.split('_')[1] ?? '');
    // No request is sent meanwhile.
    await reader.ended;
    expect(reader.received.at(-1)?.line.data).toMatchObject({ message: 'the key was revoked' });
    expect((await bare(other).get('/tasks')).status).toBe(401);
    await ada.submit();
    await kept.waitFor('run_start');
  });

  it('are limited to a number of streams per key', async () => {
    const { client } = await tasksFixture([textAnswer('One.')], { tasks: { limits: { streams: 1 } } });
    const ada = client();
    await ada.done(await ada.submit());
    const first = await ada.events('/sessions/s1/events');
    await first.waitFor('snapshot');
    expect((await ada.get('/sessions/s1/events')).status).toBe(429);
  });
});
