import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type SimAnswer, generatedText } from '../../../src/sim/index.ts';
import { type AgentFixture, agentFixture } from '../../protocols/tasks/binary.ts';
import { selfSigned } from '../../protocols/tasks/certificate.ts';
import type { ReceivedEvent } from '../../protocols/tasks/fixture.ts';
import { task } from '../../protocols/tasks/fixture.ts';
import { type WsMessage, WsClient } from '../../protocols/tasks/ws-client.ts';
import { textAnswer } from '../daemon.ts';

/** An answer in many chunks. */
const LONG: SimAnswer = { parts: [{ text: generatedText(320) }], pace: { chunkSize: 4, delayMs: 20 } };
/** An answer that does not end. */
const UNFINISHED: SimAnswer = { ...LONG, fault: { kind: 'stall', after: 60 } };

describe('streams of an agent that is killed meanwhile', () => {
  it('add up to the log for every client, wherever the connection broke', async () => {
    const fixture = await agentFixture([UNFINISHED, LONG, textAnswer('After.')]);
    let running = await fixture.agent();
    const port = new URL(fixture.record().url).port;
    const ada = fixture.client();
    const taskId = await ada.submit();
    await ada.submit();
    const isLast = ({ event, text }: Line): boolean => event === 'text_done' && text === 'After.';
    const clients = [3, 17, 40].map((pieces) => new SsePieces(fixture, pieces));
    const sockets = [5, 29].map((pieces) => new WsPieces(fixture, pieces));
    const joined = Promise.all([...clients, ...sockets].map((client) => client.until(isLast)));

    // Kill the process in the middle of an answer.
    await clients[0]?.has(30);
    running.child.kill('SIGKILL');
    await running.finished;
    running = await fixture.agent('--port', port);
    expect(running.child.pid).toBeGreaterThan(0);
    expect((await ada.get(`/tasks/${taskId}/status`)).body).toMatchObject({ state: 'interrupted' });
    // The queued task runs now. One more task follows, whose end shows each client that it has received everything.
    await ada.submit();

    const lines = await joined;
    const allEvents = await ada.events('/sessions/s1/events?after=0');
    await allEvents.waitFor(({ event, line }) => isLast(lineOf(event, line)));
    const log = allEvents.received
      .filter(({ id }) => id !== undefined)
      .map(({ event, line, id }) => lineOf(event, line, id));
    const last = log.findIndex(isLast);
    expect(last).toBeGreaterThan(60);
    for (const received of lines) expect(received).toEqual(log.slice(0, last + 1));
  });
});

describe('many clients of one session', () => {
  it('all receive the same events', async () => {
    const fixture = await agentFixture([textAnswer('First.'), LONG]);
    fixture.configure('tasks: { limits: { requests_per_minute: 60000, burst: 1000 } }\n');
    await fixture.agent();
    const ada = fixture.client();
    await ada.done(await ada.submit());
    const readers = await Promise.all(Array.from({ length: 200 }, () => ada.events('/sessions/s1/events')));
    await Promise.all(readers.map((reader) => reader.waitFor('snapshot')));
    expect(JSON.parse((await fixture.polypod('status', '--json')).stdout)).toMatchObject({
      doors: expect.arrayContaining([
        expect.objectContaining({ name: 'tasks', details: expect.objectContaining({ streams: 200 }) }),
      ]),
    });
    await ada.submit();
    const ends = await Promise.all(readers.map((reader) => reader.waitFor('run_end')));
    const ids = readers.map((reader, at) => {
      const end = reader.received.findIndex((event) => event === ends[at]);
      return reader.received.slice(0, end + 1).map(({ id }) => id);
    });
    expect(ids[0]?.length).toBeGreaterThan(20);
    for (const each of ids) expect(each).toEqual(ids[0]);
  });
});

describe('an agent with its own certificate', () => {
  it('is used over TLS from submission to the last event, by HTTP and WebSocket, and is found by the commands', async () => {
    const fixture = await agentFixture([textAnswer('Hello.')]);
    const { cert, key } = selfSigned();
    writeFileSync(join(fixture.home, 'cert.pem'), cert);
    writeFileSync(join(fixture.home, 'key.pem'), key, { mode: 0o600 });
    const config = join(fixture.home, 'agent-config.yaml');
    writeFileSync(config, 'address: 0.0.0.0\ntls: { cert: cert.pem, key: key.pem }\n');
    await fixture.agent('--config', config);
    const { url } = fixture.record();
    expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    const secret = readFileSync(fixture.keyFile, 'utf8').trim();
    const ask = (path: string, body?: object) => askTls(`${url}${path}`, secret, cert, body);

    const { taskId } = JSON.parse(await ask('/submit_task', task())) as { taskId: string };
    // Ends with the task.
    expect(await ask(`/tasks/${taskId}/events`)).toContain('event: run_end');
    expect(JSON.parse(await ask(`/tasks/${taskId}/status`))).toMatchObject({ status: 'completed' });
    const socket = new WsClient(url, ['polypod', `bearer.${secret}`], { ca: cert });
    await socket.opened;
    expect((await socket.ask('status', { taskId })).data).toMatchObject({ status: 'completed' });
    expect((await fixture.polypod('agent', 'status')).stdout).toContain('agent    polypod, idle');

    await expect(askTls(`${url}/health`, secret, undefined)).rejects.toThrow('self-signed certificate');
    const plain = await fetch(url.replace('https', 'http'));
    expect(plain.status).toBe(400);
    expect(await plain.text()).toContain('https://');
    // A different certificate at the same address is rejected.
    writeFileSync(join(fixture.home, 'cert.pem'), selfSigned().cert);
    expect((await fixture.polypod('agent', 'list')).stdout).toMatch(/polypod +gone/);
  });
});

interface Line {
  readonly id: string | undefined;
  readonly event: string;
  readonly text: unknown;
  readonly seq: number | undefined;
}

function lineOf(event: string, { data, seq }: Pick<WsMessage, 'data' | 'seq'>, id?: string): Line {
  return { id, event, text: data.text ?? data.state ?? data.result, seq };
}

const pause = (): Promise<void> => sleep(20);

/** A client that is disconnected repeatedly and resumes after its last event. */
abstract class Pieces {
  protected readonly fixture: AgentFixture;
  readonly #pieces: number;
  readonly #received: Line[] = [];
  #isOver = false;

  constructor(fixture: AgentFixture, pieces: number) {
    this.fixture = fixture;
    this.#pieces = pieces;
    onTestFinished(() => void (this.#isOver = true));
  }

  /** Connects after an id, reads until `enough` returns true or the connection ends, and disconnects. */
  protected abstract waitFor(
    after: string,
    enough: (lines: readonly Line[]) => boolean,
  ): Promise<readonly Line[]>;

  async until(isLast: (line: Line) => boolean): Promise<readonly Line[]> {
    for (let round = 0; !this.#received.some(isLast); round += 1) {
      const after = this.#received.at(-1)?.id ?? '0';
      // Different lengths, so that the connection breaks at every kind of position.
      const most = this.#pieces + (round % 7);
      const lines = await this.waitFor(after, (some) => some.length >= most || some.some(isLast)).catch(
        () => [],
      );
      this.#received.push(...lines);
      // The agent is down: retry, as clients do.
      if (lines.length === 0) await pause();
      if (this.#isOver) return [];
    }
    return this.#received.slice(0, this.#received.findIndex(isLast) + 1);
  }

  async has(count: number): Promise<void> {
    while (this.#received.length < count) await pause();
  }
}

class SsePieces extends Pieces {
  protected async waitFor(
    after: string,
    enough: (lines: readonly Line[]) => boolean,
  ): Promise<readonly Line[]> {
    const reader = await this.fixture.client().events('/sessions/s1/events', { 'last-event-id': after });
    const lines = (): readonly Line[] => reader.received.flatMap(numberedLines);
    await reader.waitFor(() => enough(lines())).catch(() => {});
    reader.cut();
    return lines();
  }
}

function numberedLines({ id, event, line }: ReceivedEvent): readonly Line[] {
  return id === undefined ? [] : [lineOf(event, line, id)];
}

class WsPieces extends Pieces {
  protected async waitFor(
    after: string,
    enough: (lines: readonly Line[]) => boolean,
  ): Promise<readonly Line[]> {
    const { url } = this.fixture.record();
    const socket = new WsClient(url, ['polypod', `bearer.${this.fixture.client().key}`]);
    await socket.opened;
    await socket.ask('subscribe', { sessionId: 's1', after });
    const lines = (): readonly Line[] =>
      socket.received.flatMap((line) => (line.id === undefined ? [] : [lineOf(line.event, line, line.id)]));
    await socket.waitFor(() => enough(lines())).catch(() => {});
    socket.socket.terminate();
    return lines();
  }
}

function askTls(url: string, key: string, ca: string | undefined, body?: object): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      {
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        ...(ca !== undefined && { ca }),
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        response.on('end', () => resolve(text));
      },
    );
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
