import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/base/index.ts';
import { clientKeyFile, writeAgent } from '../../../src/daemon/index.ts';
import { dataPathsFrom } from '../../../src/setup/index.ts';
import { generatedText, type Script } from '../../../src/sim/index.ts';
import { cuttingProxy } from '../../client/tasks/cutting-proxy.ts';
import { selfSigned } from '../../protocols/tasks/certificate.ts';
import { textAnswer, STALLS, type TasksFixture, tasksFixture } from '../../protocols/tasks/fixture.ts';
import { type Finished, polypod, type Running, start, temporaryDirectory } from '../polypod.ts';

interface Agent extends TasksFixture {
  readonly env: Readonly<Record<string, string>>;
  readonly task: (...words: readonly string[]) => Promise<Finished>;
  readonly startTask: (...words: readonly string[]) => Running;
}

/** An agent over real HTTP, and the built program as its client. */
async function agent(script: Script, options: Parameters<typeof tasksFixture>[1] = {}): Promise<Agent> {
  const fixture = await tasksFixture(script, options);
  const env = { POLYPOD_URL: fixture.door().url, POLYPOD_API_KEY: fixture.key() };
  return {
    ...fixture,
    env,
    task: (...words) => polypod(['task', ...words], { env }),
    startTask: (...words) => start(['task', ...words], env),
  };
}

const FULL = { agent: { mode: 'full-access' }, tasks: { mode: 'full-access' } } as const;
const json = (text: string): JsonObject => JSON.parse(text) as JsonObject;
const lines = (text: string): readonly JsonObject[] => text.trimEnd().split('\n').map(json);

describe('polypod task submit', () => {
  it('prints the id, and how to continue', async () => {
    const { task } = await agent([textAnswer('Hello.')]);
    const { code, stdout, stderr } = await task('submit', '--type', 'chat', '--session', 's1', 'Say hello.');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^task_\S+\n$/);
    expect(stderr).toContain(`polypod task watch ${stdout.trim()}`);
  });

  it('--wait prints the result and nothing else on stdout', async () => {
    const { task } = await agent([textAnswer('Hello.')]);
    const { code, stdout } = await task('submit', '-t', 'chat', '--wait', 'Say hello.');
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Hello.\n' });
  });

  it('--watch prints the answer once, as it arrives', async () => {
    const text = generatedText(300);
    const { task } = await agent([{ parts: [{ text }], pace: { chunkSize: 3 } }]);
    const { code, stdout } = await task('submit', '-t', 'chat', '--watch', 'Say hello.');
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${text}\n` });
  });

  it('reads the prompt from stdin for -', async () => {
    const { env, sim } = await agent([textAnswer('Fine.')]);
    const { code } = await polypod(['task', 'submit', '-t', 'chat', '--wait', 'Review:', '-'], {
      env,
      input: 'the diff',
    });
    expect(code).toBe(0);
    expect(JSON.stringify(sim.requests[0]?.body)).toContain('Review: the diff');
  });

  it('--json prints one value without following, and with --wait', async () => {
    const { task } = await agent([textAnswer('One.'), textAnswer('Two.')]);
    const submitted = json((await task('submit', '-t', 'chat', '-s', 's1', '--json', 'x')).stdout);
    expect(submitted).toMatchObject({ status: 'accepted', sessionId: 's1' });
    const waited = json((await task('submit', '-t', 'chat', '-s', 's1', '--json', '--wait', 'x')).stdout);
    expect(waited).toMatchObject({ status: 'completed', state: 'succeeded', result: { text: 'Two.' } });
  });

  it('--json --watch prints the submission, every event, and the status last', async () => {
    const { task } = await agent([textAnswer('One.')]);
    const all = lines((await task('submit', '-t', 'chat', '--json', '--watch', 'x')).stdout);
    expect(all[0]).toMatchObject({ status: 'accepted' });
    const events = all.slice(1, -1);
    expect(events[0]).toMatchObject({ event: 'run_start' });
    expect(events.at(-1)).toMatchObject({ event: 'run_end' });
    expect(events.every(({ id, seq }) => typeof id === 'string' && typeof seq === 'number')).toBe(true);
    expect(all.at(-1)).toMatchObject({ status: 'completed', result: { text: 'One.' } });
  });

  it('submits one task per idempotency key', async () => {
    const { task } = await agent([textAnswer('One.')]);
    const submit = () => task('submit', '-t', 'chat', '-s', 's1', '--idempotency-key', 'k', 'x');
    const [first, second] = [await submit(), await submit()];
    expect(second.stdout).toBe(first.stdout);
    const other = await task('submit', '-t', 'chat', '-s', 's1', '--idempotency-key', 'k', 'y');
    expect(other.code).toBe(2);
    expect(other.stderr).toContain('--idempotency-key');
  });

  it('passes on the output of a command, and fails if it fails', async () => {
    const { task } = await agent([], FULL);
    const command = ['submit', '-t', 'command_execution', '--wait'];
    const good = await task(...command, 'echo out');
    expect(good).toMatchObject({ code: 0, stdout: expect.stringContaining('out\n') as string });
    const bad = await task(...command, 'exit 3');
    expect(bad.code).toBe(1);
    expect(bad.stderr).toContain('the command ended with code 3');
  });

  it('prints why a task was rejected, and exits with 3', async () => {
    const { task } = await agent([], { withoutCommands: true });
    const result = await task('submit', '-t', 'command_execution', '--wait', 'ls');
    expect(result).toMatchObject({ code: 3, stdout: '' });
    expect(result.stderr).toContain('the task was rejected: this agent does not execute commands');
    const jsonResult = await task('submit', '-t', 'command_execution', '--json', 'ls');
    expect(jsonResult.code).toBe(3);
    expect(json(jsonResult.stdout)).toMatchObject({
      status: 'rejected',
      message: 'this agent does not execute commands',
    });
  });

  it.each([
    [['--mode', 'full-access'], '--mode'],
    [['--cwd', '/'], '--cwd'],
    [['--model', 'nothing'], '--model'],
    [['--session', 'x'.repeat(300)], '--session'],
    [['--allow-path', '/etc'], '--allow-path'],
  ])('%j that the agent refuses names the option', async (words, option) => {
    const { task } = await agent([]);
    const result = await task('submit', ...words, 'x');
    expect(result.code).toBe(2);
    expect(result.stderr).toContain(option);
    const jsonResult = await task('submit', '--json', ...words, 'x');
    expect(json(jsonResult.stdout)).toHaveProperty('error.details.field');
  });
});

describe('polypod task', () => {
  it('shows the status of a task, and lists tasks', async () => {
    const { task } = await agent([textAnswer('Hello.')]);
    const id = (await task('submit', '-t', 'chat', '-s', 's1', 'x')).stdout.trim();
    await task('watch', id);
    const result = await task('status', id);
    expect(result.code).toBe(0);
    expect(result.stdout).toContain('completed (succeeded)');
    expect(result.stdout).toContain('100 %');
    expect(result.stdout).toContain('Hello.\n');
    expect(json((await task('status', id, '--json')).stdout)).toMatchObject({ taskId: id });
    const list = (await task('list')).stdout;
    expect(list).toMatch(/^task +session +state +age(?: +about)?\n[0-9a-f]{8} +s1 +succeeded +\d+ s\b.*\n$/);
    const short = list.split('\n')[1]?.split(' ')[0] ?? '';
    expect(json((await task('status', short, '--json')).stdout)).toMatchObject({ taskId: id });
    expect(json((await task('list', '--session', 's1', '--json')).stdout)).toMatchObject([{ taskId: id }]);
    const none = await task('list', '--status', 'failed');
    expect(none).toMatchObject({ code: 0, stdout: '' });
  });

  it('cancels a task; a watching client is notified and exits with 1', async () => {
    const { task, startTask } = await agent([STALLS]);
    const id = (await task('submit', '-t', 'chat', 'x')).stdout.trim();
    const watching = startTask('watch', id);
    await watching.waitForOutput('I begin');
    const cancelled = await task('cancel', id, '--json');
    expect(cancelled.code).toBe(0);
    expect(json(cancelled.stdout)).toMatchObject({ taskId: id });
    const { code, stderr } = await watching.finished;
    expect(code).toBe(1);
    expect(stderr).toContain('the task was cancelled');
    expect((await task('status', id)).code).toBe(1);
    const again = await task('cancel', id);
    expect(again.code).toBe(2);
    expect(again.stderr).toContain('has already ended: it is cancelled; polypod task status');
  });

  it.each(['--watch', '--wait', '--poll'])(
    '%s shows what waits for an approval, and how to decide',
    async (how) => {
      const { task, startTask } = await agent([]);
      const words = ['-t', 'command_execution', '-s', 's1', 'node -e 1 > made'];
      const watching = startTask('submit', how === '--poll' ? '--watch' : how, how, ...words);
      await watching.waitForOutput('polypod task approve');
      const { stderr } = watching.output();
      expect(stderr).toContain('waiting for an approval: bash: node -e 1 > made');
      const [, approval = ''] = /polypod task approve (\S+)/.exec(stderr) ?? [];
      expect(stderr).toContain(`polypod task deny ${approval} --comment`);
      const listed = json((await task('list', '--json')).stdout) as unknown as readonly { taskId: string }[];
      const status = await task('status', listed[0]?.taskId ?? '', '--json');
      expect(json(status.stdout)).toMatchObject({
        state: 'waiting_approval',
        approvals: [{ approvalId: approval, tool: 'bash' }],
      });
      expect((await task('deny', approval)).stderr).toContain('deny needs --comment');
      expect((await task('approve', approval)).code).toBe(0);
      expect((await watching.finished).code).toBe(0);
    },
  );

  it('resumes without gaps or duplicates after every lost connection', async () => {
    const text = generatedText(2_000);
    const { door, env, startTask } = await agent([{ parts: [{ text }], pace: { chunkSize: 10 } }]);
    const proxy = await cuttingProxy(() => door().port);
    proxy.cutAfter([400, 900, 700, 3, 2_000, 650]);
    const words = ['submit', '-t', 'chat', '--watch', '--url', proxy.url, 'x'];
    const { code, stdout, stderr } = await startTask(...words).finished;
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${text}\n` });
    expect(stderr).toContain('retrying');
    expect(stderr).toContain('reconnected');
    expect(stderr + stdout).not.toContain(env.POLYPOD_API_KEY);
  });

  it('waits for an agent that is killed and restarts', async () => {
    const { door, startTask, restart } = await agent([STALLS]);
    const proxy = await cuttingProxy(() => door().port);
    const watching = startTask('submit', '-t', 'chat', '--watch', '--url', proxy.url, 'x');
    await watching.waitForOutput('I begin');
    await restart('kill');
    proxy.cut();
    const { code, stderr } = await watching.finished;
    expect(code).toBe(1);
    expect(stderr).toContain('the task was interrupted');
  });

  it('gives up on an agent that stays unreachable, and exits with 3', async () => {
    const { door, startTask } = await agent([STALLS]);
    const watching = startTask('submit', '-t', 'chat', '--watch', '--retry-for', '0', 'x');
    await watching.waitForOutput('I begin');
    await door().close();
    const { code, stderr } = await watching.finished;
    expect(code).toBe(3);
    expect(stderr).toContain('given up');
  });

  it('leaves the task running when it is interrupted', async () => {
    const { startTask, client } = await agent([STALLS]);
    const watching = startTask('submit', '-t', 'chat', '-s', 's1', '--watch', 'x');
    await watching.waitForOutput('I begin');
    watching.child.kill('SIGINT');
    const { code, stderr } = await watching.finished;
    expect(code).toBe(130);
    expect(stderr).toContain('the task continues');
    expect((await client().get('/sessions/s1')).body).toMatchObject({ state: 'running' });
  });

  it('polls the status if streaming is not available', async () => {
    const rows = [{ status: 'pending' }, { status: 'in_progress', progress: 40 }];
    const server = createServer((request, response) => {
      const isSubmit = request.method === 'POST';
      const isStatus = request.url === '/tasks/t/status';
      const row = isSubmit
        ? { status: 'accepted' }
        : (rows.shift() ?? { status: 'completed', result: { text: 'Done.' } });
      response.writeHead(isSubmit || isStatus ? 200 : 404, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isSubmit || isStatus ? { taskId: 't', ...row } : {}));
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    onTestFinished(() => void server.close());
    const address = server.address();
    const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
    const { code, stdout, stderr } = await polypod(['task', 'submit', '--watch', '--url', url, 'x']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Done.\n' });
    expect(stderr).toContain('the server has no streams: polling the status');
    expect(stderr).toContain('40 % in progress');
  });
});

describe('polypod task and the connection to the agent', () => {
  it('uses TLS with a certificate that --ca names, and no other', async () => {
    const tls = selfSigned();
    const { task, env } = await agent([textAnswer('Hello.')], { tasks: { tls } });
    const ca = join(temporaryDirectory(), 'ca.pem');
    writeFileSync(ca, tls.cert);
    const trusted = await task('submit', '-t', 'chat', '--watch', '--ca', ca, 'x');
    expect(trusted).toMatchObject({ code: 0, stdout: 'Hello.\n' });
    const byEnv = await polypod(['task', 'list', '--json'], { env: { ...env, POLYPOD_CA: ca } });
    expect(byEnv.code).toBe(0);
    const refused = await task('list');
    expect(refused.code).toBe(3);
    expect(refused.stderr).toContain('--ca');
  });

  it('explains https:// with a server that does not use TLS', async () => {
    const { env } = await agent([]);
    const url = (env.POLYPOD_URL ?? '').replace('http:', 'https:');
    const { code, stderr } = await polypod(['task', 'list', '--url', url], { env });
    expect(code).toBe(3);
    expect(stderr).toMatch(
      /^polypod task: cannot reach \S+: TLS failed: [\w ]+; the server does not use TLS: write http:\/\/ in --url\n$/,
    );
  });

  it('reads the key from a file, and rejects an invalid one', async () => {
    const { env, key } = await agent([]);
    const file = join(temporaryDirectory(), 'key');
    writeFileSync(file, `${key()}\n`);
    const url = { POLYPOD_URL: env.POLYPOD_URL ?? '' };
    expect((await polypod(['task', 'list', '--key-file', file], { env: url })).code).toBe(0);
    const byEnv = { ...url, POLYPOD_API_KEY_FILE: file };
    expect((await polypod(['task', 'list'], { env: byEnv })).code).toBe(0);
    writeFileSync(file, 'two words');
    const bad = await polypod(['task', 'list', '--key-file', file], { env: url });
    expect(bad.code).toBe(2);
    expect(bad.stderr).toContain(`there is no key in ${file}`);
  });

  it('finds the agent on this machine, alone or by name, with its certificate and key', async () => {
    const tls = selfSigned();
    const { door, key } = await agent([], { tasks: { tls, address: '127.0.0.2' } });
    const home = temporaryDirectory();
    const dataPaths = dataPathsFrom({ HOME: home });
    const cert = join(home, 'cert.pem');
    writeFileSync(cert, tls.cert);
    const record = {
      version: 1,
      pid: 1,
      startedAt: '2026-01-01T00:00:00Z',
      process: 'own',
      url: door().url,
      cert,
    } as const;
    await writeAgent(dataPaths, { ...record, name: 'review' });
    const left = clientKeyFile(dataPaths);
    mkdirSync(dirname(left), { recursive: true });
    writeFileSync(left, key(), { mode: 0o600 });
    const env = { HOME: home };
    expect(await polypod(['task', 'list', '--json'], { env })).toMatchObject({ code: 0, stdout: '[]\n' });
    expect((await polypod(['task', 'list', '--agent', 'review'], { env })).code).toBe(0);
    const other = await polypod(['task', 'list', '--agent', 'other'], { env });
    expect(other.code).toBe(2);
    expect(other.stderr).toContain('polypod agent start other');
  });

  it('explains what to do without a key, or with a wrong one', async () => {
    const { env } = await agent([]);
    const url = { POLYPOD_URL: env.POLYPOD_URL ?? '' };
    const wrong = 'ppk_000000000000_0000000000000000000000';
    for (const more of [{}, { POLYPOD_API_KEY: wrong }]) {
      const result = await polypod(['task', 'submit', '--json', 'x'], { env: { ...url, ...more } });
      expect(result.code).toBe(2);
      expect(result.stderr).toContain('POLYPOD_API_KEY');
      expect(result.stderr + result.stdout).not.toContain(wrong);
      expect(json(result.stdout)).toMatchObject({ error: { code: 'unauthorized' } });
    }
  });

  it('names the missing scope of a key', async () => {
    const { env, key } = await agent([]);
    const reading = { ...env, POLYPOD_API_KEY: key({ scopes: ['read'] }) };
    const result = await polypod(['task', 'submit', 'x'], { env: reading });
    expect(result.code).toBe(2);
    expect(result.stderr).toContain('it needs the permission submit');
  });

  it('exits with 3 at once if nothing listens', async () => {
    const { env, door } = await agent([]);
    await door().close();
    const result = await polypod(['task', 'submit', '--watch', '--json', 'x'], { env });
    expect(result.code).toBe(3);
    expect(result.stderr).toContain('nothing listens there: start an agent with polypod agent start');
    expect(json(result.stdout)).toMatchObject({ error: { code: 'unreachable' } });
  });

  it.each([
    [['list', '--url', 'http://192.0.2.1:8000'], 'use https://, or pass --insecure'],
    [['list', '--url', 'https://user:pass@127.0.0.1:1'], '--url must not contain a key'],
    [['list', '--url', 'ftp://127.0.0.1'], 'is not an address'],
    [['list', '--ca', '/nowhere/ca.pem'], 'cannot read the certificate'],
    [['list', '--key-file', '/nowhere/key'], 'check the path after --key-file, or in POLYPOD_API_KEY_FILE\n'],
    [['list', 'x'], 'list takes no argument'],
    [['list', '--limit', '0'], '--limit takes a number from 1'],
    [['lst'], 'did you mean list?'],
    [[], 'the action is missing'],
    [['status'], 'status takes the id of one task'],
    [['status', 'one', 'two'], 'status takes the id of one task'],
    [['status', 'x', '--type', 'chat'], 'task status takes no --type; task submit does'],
    [['submit', '--type', 'chats', 'x'], '--type cannot be "chats"'],
    [['submit', '--wait', '--watch', 'x'], '--wait and --watch exclude each other'],
    [['submit', ''], 'the prompt is empty'],
    [['submit', '--api-key', 'x'], 'unknown option --api-key'],
    [['approve'], 'approve needs the id of an approval'],
  ])('%j is rejected before a request is sent', async (words, problem) => {
    const env = { POLYPOD_URL: 'http://127.0.0.1:9', POLYPOD_API_KEY: 'k' };
    const { code, stderr, stdout } = await polypod(['task', ...words], { env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(problem);
  });

  it('names the invalid option, not a header that the user did not type', async () => {
    const { task } = await agent([textAnswer('Hello.')]);
    const id = (await task('submit', '-t', 'chat', 'x')).stdout.trim();
    const result = await task('watch', id, '--after', 'abc');
    expect(result).toMatchObject({
      code: 2,
      stderr: 'polypod task: --after must be a number of an event, such as 12 or 12.1\n',
    });
  });

  it('approve and deny accept the end of the id of an approval', async () => {
    const { task, startTask } = await agent([]);
    const waiting = startTask('submit', '--wait', '-t', 'command_execution', 'node -e 1 > made');
    await waiting.waitForOutput('polypod task approve');
    const [, approval = ''] = /polypod task approve (\S+)/.exec(waiting.output().stderr) ?? [];
    const decided = await task('approve', '--json', approval.slice(-8));
    expect(JSON.parse(decided.stdout)).toEqual([{ approvalId: approval, decision: 'approve' }]);
    expect((await waiting.finished).code).toBe(0);
  });

  it('--wait --json prints pending approvals on stderr; a late decision is explained', async () => {
    const { task, startTask } = await agent([]);
    const waiting = startTask('submit', '--wait', '--json', '-t', 'command_execution', 'node -e 1 > made');
    await waiting.waitForOutput('polypod task approve');
    const { stdout, stderr } = waiting.output();
    expect(stdout).toBe('');
    expect(stderr).toContain('waiting for an approval: bash: node -e 1 > made');
    const [, approval = ''] = /polypod task approve (\S+)/.exec(stderr) ?? [];
    expect((await task('approve', approval)).code).toBe(0);
    const done = await waiting.finished;
    expect(done.code).toBe(0);
    expect(json(done.stdout)).toMatchObject({ status: 'completed' });
    const late = await task('deny', approval, '--comment', 'no');
    expect(late.code).toBe(2);
    expect(late.stderr).toContain('is already approved');
    expect(late.stderr).not.toContain('--idempotency-key');
  });

  it('rejects an unknown task', async () => {
    const { task } = await agent([]);
    for (const action of ['status', 'watch', 'cancel']) {
      const result = await task(action, 'task_x');
      expect(result.code).toBe(2);
      expect(result.stderr).toContain('there is no task task_x; polypod task list');
    }
  });
});
