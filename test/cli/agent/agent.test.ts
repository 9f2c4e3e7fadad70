import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { agentFixture, endLater } from '../../protocols/tasks/binary.ts';
import { textAnswer } from '../daemon.ts';
import { polypod, start } from '../polypod.ts';

interface Started {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  readonly process: string;
  readonly keyFile: string;
  readonly task?: { readonly taskId: string };
}

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe('polypod agent', () => {
  it('starts in its own process, answers, is listed, and stops', async () => {
    const fixture = await agentFixture([textAnswer('Hello.')]);
    const config = join(fixture.home, 'agent-config.yaml');
    writeFileSync(config, 'name: helper\nport: 0\ndirectory: project\nmode: read-only\n');
    const begun = await fixture.polypod('agent', 'start', '--config', config, '--json');
    expect(begun).toMatchObject({ code: 0, stderr: '' });
    const started = JSON.parse(begun.stdout) as Started;
    endLater(started.pid);
    expect(started).toMatchObject({ name: 'helper', process: 'own', keyFile: fixture.keyFile });
    expect(modeOf(fixture.keyFile)).toBe('600');
    expect(modeOf(join(fixture.keyFile, '..'))).toBe('700');
    // The process list contains no secrets.
    const key = readFileSync(fixture.keyFile, 'utf8').trim();
    expect(readFileSync(`/proc/${started.pid}/cmdline`, 'utf8')).not.toMatch(/ppk_|sk-test/);

    const headers = { authorization: `Bearer ${key}` };
    const health = await fetch(`${started.url}/health`, { headers });
    expect([health.status, await health.json()]).toEqual([200, { status: 'ok' }]);
    const list = await fixture.polypod('agent', 'list');
    expect(list.stdout).toMatch(
      /^name +state +process +up +address\nhelper +idle +\d+ +\d+ s +http:\/\/127\.0/,
    );
    const status = await fixture.polypod('agent', 'status', 'helper');
    expect(status.code).toBe(0);
    expect(status.stdout).toContain(`agent    helper, idle, process ${started.pid}\n`);
    expect(status.stdout).toContain('tasks    0 running, 0 waiting\n');
    const seen = JSON.parse((await fixture.polypod('agent', 'status', 'helper', '--json')).stdout) as object;
    expect(seen).toMatchObject({ up: true, name: 'helper', status: { agentName: 'helper', status: 'idle' } });

    const doors = (await fixture.polypod('status')).stdout;
    expect(doors).toContain('tasks:helper open');
    expect(doors).not.toContain('tasks off');

    const again = await fixture.polypod('agent', 'start', '--config', config);
    expect(again.code).toBe(2);
    expect(again.stderr).toContain(`the agent helper is up already at ${started.url}`);
    expect(await fixture.polypod('agent', 'stop', 'helper')).toMatchObject({
      code: 0,
      stderr: 'polypod agent: helper has stopped\n',
    });
    await expect(fetch(`${started.url}/health`, { headers })).rejects.toThrow();
    expect((await fixture.polypod('status')).code).toBe(3);
    expect(await fixture.polypod('agent', 'status', 'helper')).toMatchObject({
      code: 3,
      stdout: '',
      stderr: expect.stringContaining('; polypod agent start helper starts it\n'),
    });
    expect(JSON.parse((await fixture.polypod('agent', 'list', '--json')).stdout)).toEqual([]);
    expect((await fixture.polypod('agent', 'stop', 'helper')).stderr).toContain('no agent helper is up');
  });

  it('uses the running daemon beside other agents, and does not stop it', async () => {
    const fixture = await agentFixture([textAnswer('Hello.')]);
    const daemon = await fixture.serve();
    expect((await fixture.polypod('status')).stdout).toContain('tasks off');
    for (const name of ['one', 'two']) {
      const { code, stdout } = await fixture.polypod('agent', 'start', name, '--port', '0', '--json');
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ name, process: 'daemon', pid: daemon.child.pid });
    }
    const { stdout } = await fixture.polypod('status');
    expect(stdout).toMatch(/tasks:one open, tasks:two open/);
    const rows = JSON.parse((await fixture.polypod('agent', 'list', '--json')).stdout) as Started[];
    expect(rows.map(({ name }) => name)).toEqual(['one', 'two']);
    expect(rows[0]?.url).not.toBe(rows[1]?.url);
    const stop = await fixture.polypod('agent', 'stop', 'one');
    expect(stop.stderr).toContain('one is closed; the daemon keeps running');
    expect((await fixture.polypod('agent', 'status', 'one')).code).toBe(3);
    expect((await fixture.polypod('agent', 'status', 'two')).code).toBe(0);
    expect((await fixture.polypod('status')).code).toBe(0);
  });

  it('stays in the foreground with a running daemon, which continues without it', async () => {
    const fixture = await agentFixture();
    const daemon = await fixture.serve();
    const command = ['agent', 'start', 'fg', '--foreground', '--port', '0', '--json'];
    const staying = start(command, fixture.env);
    await staying.waitForOutput('"name":"fg"');
    expect(JSON.parse(staying.output().stdout)).toMatchObject({ process: 'daemon', pid: daemon.child.pid });
    expect((await fixture.polypod('agent', 'status', 'fg')).code).toBe(0);
    staying.child.kill('SIGINT');
    expect((await staying.finished).code).toBe(0);
    expect((await fixture.polypod('agent', 'status', 'fg')).code).toBe(3);
    expect((await fixture.polypod('status')).code).toBe(0);

    const other = start(command, fixture.env);
    await other.waitForOutput('"name":"fg"');
    await fixture.polypod('agent', 'stop', 'fg');
    expect(await other.finished).toMatchObject({
      code: 0,
      stderr: 'polypod agent: fg was closed by another client\n',
    });
    const left = start(command, fixture.env);
    await left.waitForOutput('"name":"fg"');
    daemon.child.kill('SIGKILL');
    expect(await left.finished).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('fg has ended with its daemon'),
    });
  });

  it('receives its first task, and reads its settings from the environment', async () => {
    const fixture = await agentFixture([textAnswer('Ready.')]);
    const env = { ...fixture.env, POLYPOD_AGENT_PORT: '0' };
    const run = (...args: readonly string[]) => polypod(args, { env });
    const { stdout, code } = await run('agent', 'start', '--prompt', 'Get ready.', '--json');
    expect(code).toBe(0);
    const started = JSON.parse(stdout) as Started;
    endLater(started.pid);
    expect(await fixture.client().done(started.task?.taskId ?? '')).toMatchObject({
      result: { text: 'Ready.' },
    });
    expect((await run('agent', 'stop')).code).toBe(0);
    const wrong = await polypod(['agent', 'start'], { env: { ...env, POLYPOD_AGENT_PORT: 'x' } });
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('POLYPOD_AGENT_PORT is "x"') });
  });

  it('that was killed is reported as such, and can be started again with the same key', async () => {
    const fixture = await agentFixture();
    const killed = await fixture.agent();
    const key = readFileSync(fixture.keyFile, 'utf8');
    killed.child.kill('SIGKILL');
    await killed.finished;
    // The list shows no uptime.
    expect((await fixture.polypod('agent', 'list')).stdout).toMatch(/polypod +gone +\d+ +http:/);
    expect(await fixture.polypod('agent', 'status')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('; polypod agent start starts it\n'),
    });
    expect((await fixture.polypod('agent', 'stop')).stderr).toContain('had already ended');
    expect((await fixture.polypod('agent', 'list')).stdout).toBe('');
    const running = await fixture.agent();
    expect(JSON.parse(running.output().stdout)).toMatchObject({
      pid: running.child.pid,
      agent: { name: 'polypod', url: fixture.record().url, process: 'own' },
    });
    expect(readFileSync(fixture.keyFile, 'utf8')).toBe(key);
    running.child.kill('SIGTERM');
    expect((await running.finished).code).toBe(0);
    expect((await fixture.polypod('agent', 'list')).stdout).toBe('');
  });

  it.each([
    ['', undefined],
    [', also where no program such as ps is found', '/nowhere'],
  ])('may be a custom program, which is awaited and stopped%s', async (_, path) => {
    const fixture = await agentFixture();
    const env = { ...fixture.env, ...(path && { PATH: path }) };
    const { port, free } = await freePort();
    await free();
    const program = join(fixture.home, 'agent.mjs');
    // Starts slowly, like a real program.
    writeFileSync(
      program,
      `import { createServer } from 'node:http';
       setTimeout(() => createServer((_, response) => response.writeHead(404).end()).listen(${port}, '127.0.0.1'), 300);`,
    );
    const config = join(fixture.home, 'agent-config.yaml');
    const command = JSON.stringify([process.execPath, program]);
    writeFileSync(config, `name: mine\nstart: { command: ${command}, url: "http://127.0.0.1:${port}" }\n`);
    const { code, stdout } = await polypod(['agent', 'start', '--config', config, '--json'], { env });
    expect(code).toBe(0);
    const { pid } = JSON.parse(stdout) as Started;
    endLater(pid);
    expect((await fixture.polypod('agent', 'list')).stdout).toMatch(/mine +up/);
    expect((await fixture.polypod('agent', 'start', '--config', config)).stderr).toContain('answers at');
    expect((await polypod(['agent', 'stop', 'mine'], { env })).code).toBe(0);
    // The process id stays in use until init has reaped the process.
    await expect.poll(() => processExists(pid), { timeout: 20_000 }).toBe(false);
    writeFileSync(program, 'process.exit(7);');
    const failed = await fixture.polypod('agent', 'start', '--config', config);
    expect(failed).toMatchObject({ code: 3, stderr: expect.stringContaining('it ended with 7') });
  });
});

describe('polypod agent start rejects', () => {
  it.each([
    [['--address', '0.0.0.0'], '0.0.0.0 can be reached by others: configure a certificate and its key'],
    [['--address', '0.0.0.0', '--no-auth', '--behind-proxy'], 'only a loopback address is permitted'],
    [['--tls-cert', 'cert.pem'], 'give both --tls-cert and --tls-key'],
    [['--tls-cert', 'no.pem', '--tls-key', 'no.pem'], 'the file of tasks.tls.cert cannot be read'],
    [['--config', 'nowhere.yaml'], "cannot read the agent's configuration"],
    [['a/b'], 'an agent cannot be called "a/b"'],
    [['--port', '70000'], '--port takes a number from 0 to 65535'],
    [['--cwd', 'nowhere'], 'cannot work in'],
  ])('%j with an error, and starts no agent', async (args, message) => {
    const fixture = await agentFixture();
    const { code, stderr } = await fixture.polypod('agent', 'start', ...args);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
    expect((await fixture.polypod('status')).code).toBe(3);
    expect((await fixture.polypod('agent', 'list')).stdout).toBe('');
  });

  it('an invalid configuration, with its line', async () => {
    const fixture = await agentFixture();
    const config = join(fixture.home, 'agent-config.yaml');
    writeFileSync(
      config,
      [
        'prot: 8000',
        'port: 80000',
        'mode: all',
        'tls: { cert: a.pem }',
        'keys: [{ env: HOME, owner: ci, scopes: [submit, write] }]',
        'webhooks: [{ url: "ftp://example.org" }]',
        'origins: ["https://ui.example/app"]',
        'limits: { pending: 0 }',
        '',
      ].join('\n'),
    );
    const { code, stderr } = await fixture.polypod('agent', 'start', '--config', config);
    expect(code).toBe(2);
    for (const mistake of [
      '1:1: prot is not a key: did you mean "port"?',
      '2:7: port must be a port from 0 to 65535',
      '3:7: mode must be one of read-only, workspace-write, full-access, not "all"',
      '4:1: tls.key is missing',
      '5:15: keys.0.env must be the name of an environment variable that ends in _KEY or _TOKEN',
      'keys.0.scopes.1 must be one of submit, read, approve, admin, not "write"',
      '6:19: webhooks.0.url must be an http or https address',
      '7:11: origins.0 must be an origin such as https://ui.example',
      '8:20: limits.pending must be a whole number from 1 on',
    ])
      expect(stderr).toContain(mistake);
  });

  it('a missing or too short secret', async () => {
    const fixture = await agentFixture();
    const config = join(fixture.home, 'agent-config.yaml');
    writeFileSync(config, 'port: 0\nkeys: [{ env: CI_KEY, owner: ci, scopes: [submit] }]\n');
    const run = (env: Readonly<Record<string, string>>) =>
      polypod(['agent', 'start', '--config', config], { env: { ...fixture.env, ...env } });
    expect((await run({})).stderr).toContain('tasks.keys names CI_KEY, which is not set');
    expect((await run({ CI_KEY: 'short' })).stderr).toContain('CI_KEY is shorter than 16 characters');
  });

  it('a port in use', async () => {
    const { port } = await freePort();
    const fixture = await agentFixture();
    const { code, stderr } = await fixture.polypod('agent', 'start', '--port', String(port));
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining(`port ${port}: it is in use: choose another port`),
    });
  });

  it('an unknown action', async () => {
    const fixture = await agentFixture();
    expect((await fixture.polypod('agent', 'begin')).stderr).toContain(
      'unknown action "begin": use start, stop, status, list',
    );
    expect((await fixture.polypod('agent', 'list', 'x')).stderr).toContain('agent list takes no name');
  });
});

describe('polypod serve and the tasks door', () => {
  it('opens it at the configured address, with keys from the environment', async () => {
    const fixture = await agentFixture([textAnswer('Hello.')]);
    fixture.configure(
      'tasks: { name: served, port: 0, keys: [{ env: CI_KEY, owner: ci, scopes: [submit, read] }] }\n',
    );
    const env = { ...fixture.env, CI_KEY: 'a-secret-of-the-environment' };
    const run = (...args: readonly string[]) => polypod(args, { env });
    const detached = await run('serve', '--detach', '--json');
    endLater((JSON.parse(detached.stdout) as Started).pid);
    expect((await run('status')).stdout).toContain('tasks:served open');
    const { url } = fixture.record('served');
    const headers = { 'x-api-key': env.CI_KEY, 'content-type': 'application/json' };
    const body = JSON.stringify({ sessionId: 's1', userPrompt: 'Hi', taskType: 'chat' });
    const submitted = await fetch(`${url}/submit_task`, { method: 'POST', headers, body });
    expect(await submitted.json()).toMatchObject({ status: 'accepted' });
    expect((await run('agent', 'stop', 'served')).code).toBe(0);
    expect(readFileSync(join(fixture.dataDirectory, 'logs/audit.jsonl'), 'utf8')).toContain('"by":"ci"');
    expect((await run('status')).stdout).toContain('tasks:served off');
    expect((await run('stop')).code).toBe(0);
    expect(readFileSync(join(fixture.dataDirectory, 'logs/polypod.log'), 'utf8')).not.toContain(env.CI_KEY);
  });

  it('does not open it unless it is configured', async () => {
    const { port } = await freePort();
    const fixture = await agentFixture();
    fixture.configure(`doors: { tasks: false }\ntasks: { port: ${port} }\n`);
    await fixture.serve();
    expect((await fixture.polypod('status')).stdout).toContain('tasks off');
    expect(existsSync(fixture.keyFile)).toBe(false);
    fixture.configure(`tasks: { port: ${port} }\n`);
    const other = join(fixture.home, 'other');
    await fixture.serve('--data-dir', other);
    const { stdout } = await fixture.polypod('status', '--data-dir', other);
    expect(stdout).toContain('pod open');
    expect(stdout).toContain(`tasks unavailable (cannot listen on 127.0.0.1 port ${port}: it is in use`);
  });

  it('reports configuration errors with their line', async () => {
    const fixture = await agentFixture();
    fixture.configure('tasks:\n  port: 8000\n  adress: 0.0.0.0\n');
    const { code, stderr } = await fixture.polypod('serve');
    expect(code).toBe(2);
    expect(stderr).toContain('config.yaml:3:3: tasks.adress is not a key: did you mean "address"?');
  });
});

/** A port that is in use until it is released. */
async function freePort(): Promise<{ readonly port: number; readonly free: () => Promise<void> }> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const free = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
    });
  onTestFinished(free);
  return { port: (server.address() as AddressInfo).port, free };
}

function processExists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
