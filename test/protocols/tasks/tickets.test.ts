import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/base/index.ts';
import { revokeKey } from '../../../src/protocols/tasks/index.ts';
import { startTasks } from '../../../src/protocols/tasks/listener.ts';
import { Client, textAnswer, STALLS, tasksFixture } from './fixture.ts';

interface Ticket extends JsonObject {
  readonly ticket: string;
  readonly url: string;
  readonly expiresAt: string;
}

const ticketFor = async (client: Client, target: JsonObject): Promise<Ticket> => {
  const { status, body } = await client.post<Ticket>('/stream_tickets', target);
  expect(status).toBe(200);
  return body;
};

describe('a stream ticket', () => {
  it('opens the stream of its task once, without any header', async () => {
    const { client, bare } = await tasksFixture([textAnswer('One.'), textAnswer('Two.')]);
    const ada = client();
    const taskId = await ada.submit();
    const { ticket, url, expiresAt } = await ticketFor(ada, { taskId });
    expect(ticket).toMatch(/^ppt_[\w-]{43}$/);
    expect(url).toBe(`/tasks/${taskId}/events?ticket=${ticket}`);
    const life = Date.parse(expiresAt) - Date.now();
    expect(life).toBeGreaterThan(0);
    expect(life).toBeLessThanOrEqual(60_000);
    const page = bare();
    const reader = await page.events(url);
    await reader.ended;
    expect(reader.names.at(-1)).toBe('run_end');
    const again = await page.get(url);
    expect(again).toMatchObject({ status: 401, body: { error: { code: 'unauthorized' } } });
    expect(JSON.stringify(again.body)).toContain('it was used, has expired, or its key was revoked');
    // Another ticket resumes where the stream broke.
    const next = await ticketFor(ada, { taskId });
    const numbered = reader.received.filter(({ id }) => id !== undefined);
    const rest = await page.events(`${next.url}&after=${numbered[1]?.id}`);
    await rest.ended;
    expect(rest.received.filter(({ id }) => id !== undefined)).toEqual(numbered.slice(2));
    const last = await ticketFor(ada, { taskId });
    expect((await page.get(last.url, { 'last-event-id': reader.lastId })).status).toBe(204);
  });

  it("opens the stream of its session under its owner's name for it", async () => {
    const { client, bare } = await tasksFixture([textAnswer('One.')]);
    const ada = client();
    await ada.done(await ada.submit({ sessionId: 'a/b c?&#é' }));
    const { url } = await ticketFor(ada, { sessionId: 'a/b c?&#é' });
    const reader = await bare().events(url);
    expect((await reader.waitFor('snapshot')).line.data).toMatchObject({ state: 'idle' });
  });

  it('opens nothing else, and is not consumed by the attempt', async () => {
    const { client, bare } = await tasksFixture([textAnswer('One.'), textAnswer('Two.')]);
    const ada = client();
    const [one, two] = [await ada.submit(), await ada.submit({ sessionId: 's2' })];
    const { url, ticket } = await ticketFor(ada, { taskId: one });
    const page = bare();
    for (const path of [
      `/tasks/${two}/events`,
      '/sessions/s1/events',
      '/sessions',
      '/status',
      `/tasks/${one}/status`,
    ])
      expect(await page.get(`${path}?ticket=${ticket}`)).toMatchObject({
        status: 401,
        body: {
          error: { message: 'the ticket is for another stream: use the URL that was returned with it' },
        },
      });
    expect((await page.post(`/tasks/${one}/cancel?ticket=${ticket}`)).status).toBe(401);
    expect((await page.get(`${url}x`)).status).toBe(401);
    expect((await page.get(`/tasks/${one}/events?ticket=`)).status).toBe(401);
    const both = await ada.get(url);
    expect(both).toMatchObject({ status: 400, body: { error: { code: 'conflicting_keys' } } });
    expect((await fetch(`${page.url}${url}`, { method: 'HEAD' })).status).toBe(401);
    const reader = await page.events(url);
    await reader.ended;
    expect(reader.names.at(-1)).toBe('run_end');
  });

  it('is issued only for streams that the key may read, and belongs to the agent that issued it', async () => {
    const fixture = await tasksFixture([textAnswer('One.')]);
    const ada = fixture.client();
    const taskId = await ada.submit();
    const bob = fixture.client({ owner: 'bob' });
    expect((await bob.post('/stream_tickets', { taskId })).status).toBe(404);
    expect((await bob.post('/stream_tickets', { sessionId: 's1' })).status).toBe(404);
    const writer = fixture.client({ scopes: ['submit'] });
    expect((await writer.post('/stream_tickets', { taskId })).status).toBe(403);
    const other = await startTasks({ ...fixture.settings(), name: 'other' });
    onTestFinished(() => other.close());
    const { url } = await ticketFor(ada, { taskId });
    expect((await new Client(() => other.url, undefined).get(url)).status).toBe(401);
    await fixture.restart();
    expect((await fixture.bare().get(url)).status).toBe(401);
  });

  it('expires, and becomes invalid with its key', async () => {
    const fixture = await tasksFixture([STALLS, STALLS], { tasks: { limits: { ticketMs: 300 } } });
    const key = fixture.key();
    const [ada, page] = [fixture.bare(key), fixture.bare()];
    const taskId = await ada.submit();
    const late = await ticketFor(ada, { taskId });
    while (Date.now() <= Date.parse(late.expiresAt)) await new Promise((resolve) => setTimeout(resolve, 20));
    expect((await page.get(late.url)).status).toBe(401);
    const used = await ticketFor(ada, { taskId });
    const reader = await page.events(used.url);
    await reader.waitFor('run_start');
    const unused = await ticketFor(ada, { taskId });
    revokeKey(fixture.keyFile, key.split('_')[1] ?? '');
    expect((await page.get(unused.url)).status).toBe(401);
    await reader.ended;
    expect(reader.received.at(-1)?.line).toEqual({
      event: 'error',
      data: { code: 'ended', message: 'the key was revoked' },
    });
  });

  it('counts as a request and a stream of its key, and as a wrong key if it is invalid', async () => {
    const fixture = await tasksFixture([STALLS], {
      tasks: { limits: { streams: 1, wrongKeys: { perMinute: 60, burst: 2 } } },
    });
    const [ada, page] = [fixture.client(), fixture.bare()];
    const taskId = await ada.submit();
    const [first, second] = [await ticketFor(ada, { taskId }), await ticketFor(ada, { taskId })];
    const reader = await page.events(first.url);
    await reader.waitFor('run_start');
    expect((await page.get(second.url)).status).toBe(429);
    for (const status of [401, 401, 429]) expect((await page.get(first.url)).status).toBe(status);
  });

  it('is in no log', async () => {
    const fixture = await tasksFixture([textAnswer('One.')]);
    const ada = fixture.client();
    const taskId = await ada.submit();
    const { url, ticket } = await ticketFor(ada, { taskId });
    await (await fixture.bare().events(url)).ended;
    await fixture.bare().get(url);
    await fixture.bare().get(`/nothing/${ticket}`);
    const audited = JSON.stringify(await fixture.audited());
    expect(audited).toContain('POST /stream_tickets');
    expect(fixture.logged.join('\n')).toContain(`/tasks/${taskId}/events`);
    expect(`${audited}${fixture.logged.join('\n')}`).not.toContain(ticket);
  });
});
