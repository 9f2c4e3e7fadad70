import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BROWSER } from '../../browser.ts';
import { agentFixture } from '../../protocols/tasks/binary.ts';
import { textAnswer } from '../daemon.ts';
import { temporaryDirectory } from '../polypod.ts';

describe('a page in a browser', () => {
  it.skipIf(BROWSER === undefined)(
    'follows a task and its session by EventSource with tickets, which no log has',
    { timeout: 60_000 },
    async () => {
      const fixture = await agentFixture([textAnswer('One.'), textAnswer('Two.')]);
      const page = await pageServer();
      fixture.configure(`tasks: { origins: ["${page.url}"] }\n`);
      await fixture.agentWith({ POLYPOD_LOG_LEVEL: 'debug' });
      const key = await fixture.newKey('--owner', 'ada', '--scope', 'submit,read');
      browse(`${page.url}/#${encodeURIComponent(JSON.stringify({ agent: fixture.record().url, key }))}`);
      const result = await page.result;
      expect(result.task).toEqual(expect.arrayContaining(['run_start', 'text_done', 'run_end']));
      expect(result.task.at(-1)).toBe('run_end');
      // A used ticket is rejected: the browser gives up instead of retrying forever.
      expect(result.afterwards).toBe('closed');
      expect(result.session).toEqual(['snapshot', 'run_end']);
      expect(result.tickets).toHaveLength(2);
      const logs = ['polypod.log', 'audit.jsonl'].map((name) =>
        readFileSync(join(fixture.dataDirectory, 'logs', name), 'utf8'),
      );
      for (const secret of [...result.tickets, key]) expect(logs.join('\n')).not.toContain(secret);
      expect(logs[0]).toMatch(/GET \/tasks\/task_[^"?]*\/events"/);
    },
  );
});

interface Result {
  readonly task: readonly string[];
  readonly afterwards: string;
  readonly session: readonly string[];
  readonly tickets: readonly string[];
}

/** Serves the page, and waits for its report. */
async function pageServer(): Promise<{ readonly url: string; readonly result: Promise<Result> }> {
  let report = (_: Result): void => {};
  let fail = (_: Error): void => {};
  const result = new Promise<Result>((resolve, reject) => {
    [report, fail] = [resolve, reject];
  });
  const server = createServer((request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE);
      return;
    }
    let text = '';
    request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    request.on('end', () => {
      response.end();
      const body = JSON.parse(text) as Result | { readonly error: string };
      if ('error' in body) fail(new Error(body.error));
      else report(body);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, result };
}

const PAGE = `<!doctype html><script type="module">
const { agent, key } = JSON.parse(decodeURIComponent(location.hash.slice(1)));
const post = async (path, body) => {
  const headers = { authorization: 'Bearer ' + key, 'content-type': 'application/json' };
  return (await fetch(agent + path, { method: 'POST', headers, body: JSON.stringify(body) })).json();
};
const submit = (userPrompt) => post('/submit_task', { sessionId: 's1', userPrompt, taskType: 'chat' });
const tickets = [];
/** The names of the events up to the one that ends the wait. */
const follow = async (target, names, until) => {
  const { url, ticket } = await post('/stream_tickets', target);
  tickets.push(ticket);
  const source = new EventSource(agent + url);
  const received = [];
  await new Promise((resolve, reject) => {
    for (const name of names)
      source.addEventListener(name, (event) => {
        if (name === 'snapshot') submit('again');
        received.push(JSON.parse(event.data).event);
        if (name === until) resolve();
      });
    source.addEventListener('error', () => source.readyState === EventSource.CLOSED && reject(new Error('closed early')));
  });
  return { received, source };
};
const report = (body) => fetch('/', { method: 'POST', body: JSON.stringify(body) });
try {
  const { taskId } = await submit('first');
  const task = await follow({ taskId }, ['run_start', 'text_done', 'run_end'], 'run_end');
  const afterwards = await new Promise((resolve) => {
    task.source.onerror = () => task.source.readyState === EventSource.CLOSED && resolve('closed');
  });
  const session = await follow({ sessionId: 's1' }, ['snapshot', 'run_end'], 'run_end');
  session.source.close();
  await report({ task: task.received, afterwards, session: session.received, tickets });
} catch (error) {
  await report({ error: String(error) });
}
</script>`;

function browse(url: string): void {
  const home = temporaryDirectory();
  const options = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    '--no-first-run',
  ];
  const child = spawn(
    BROWSER ?? '',
    [...options, `--user-data-dir=${home}`, '--remote-debugging-port=0', url],
    {
      env: { PATH: process.env.PATH, HOME: home },
      stdio: 'ignore',
    },
  );
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await new Promise((resolve) => {
      child.on('close', resolve);
    });
  });
}
