import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { textContent } from '../../../src/llm/index.ts';
import { type SimAnswer, generatedText } from '../../../src/sim/index.ts';
import { call, waitForEvent, isType, textAnswer, cliFixture, type CliFixture } from '../daemon.ts';
import { polypod, temporaryDirectory } from '../polypod.ts';

const ADA = { by: 'ada', door: 'test' };
const prompt = (text: string) => ({ type: 'prompt' as const, content: textContent(text) });
const slow = (words: number, delayMs: number): SimAnswer => ({
  parts: [{ text: generatedText(words) }],
  pace: { delayMs, chunkSize: 8 },
});
const logOf = (dataDirectory: string) => readFileSync(join(dataDirectory, 'logs/polypod.log'), 'utf8');

describe('polypod serve', () => {
  it('starts, appears in status, and stop waits for its end', async () => {
    const { serve, polypod: run, dataDirectory } = await cliFixture();
    const daemon = await serve();
    const { pid, socket } = JSON.parse(daemon.output().stdout) as { pid: number; socket: string };
    const status = await run('status');
    expect(status.code).toBe(0);
    expect(status.stdout).toContain(`daemon  ready, process ${pid}, up `);
    expect(status.stdout).toContain('doors   pod open');
    expect((statSync(socket).mode & 0o777).toString(8)).toBe('600');
    expect((statSync(join(socket, '..')).mode & 0o777).toString(8)).toBe('700');
    expect((statSync(join(dataDirectory, 'logs/polypod.log')).mode & 0o777).toString(8)).toBe('600');
    const stop = await run('stop');
    expect(stop).toMatchObject({ code: 0, stderr: 'polypod: the daemon has stopped\n' });
    expect((await daemon.finished).code).toBe(0);
    expect(existsSync(socket)).toBe(false);
    expect(existsSync(join(dataDirectory, 'daemon.lock'))).toBe(false);
    expect(await run('status')).toMatchObject({ code: 3, stdout: '' });
    expect(JSON.parse((await run('status', '--json')).stdout)).toEqual({ up: false, dataDirectory });
    expect(await run('stop')).toMatchObject({ code: 0, stderr: expect.stringContaining('no daemon is up') });
  });

  it('fails on a data directory in use, and names the other process', async () => {
    const { serve, polypod: run, dataDirectory } = await cliFixture();
    const first = await serve();
    const second = await run('serve');
    expect(second.code).toBe(2);
    expect(second.stderr).toBe(
      `polypod serve: a daemon is up already on ${dataDirectory}: process ${first.child.pid}. Use it, end it with polypod stop, or start this one with another --data-dir.\n`,
    );
    const detached = await run('serve', '--detach');
    expect({ code: detached.code, stderr: detached.stderr }).toEqual({ code: 2, stderr: second.stderr });
    // The first daemon is not affected.
    expect((await run('status')).code).toBe(0);
  });

  it('runs in the background with --detach, and returns when it is ready', async () => {
    const { polypod: run, home } = await cliFixture();
    const other = join(home, 'other');
    const detached = await run('serve', '--detach', '--json', '--data-dir', other);
    const { pid } = JSON.parse(detached.stdout) as { pid: number };
    onTestFinished(() => {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has exited, as expected.
      }
    });
    expect(detached.code).toBe(0);
    const { stdout } = await run('status', '--json', '--data-dir', other);
    expect(JSON.parse(stdout)).toMatchObject({ up: true, pid, state: 'ready', dataDirectory: other });
    expect((await run('stop', '--data-dir', other)).code).toBe(0);
    expect((await run('status', '--data-dir', other)).code).toBe(3);
  });

  it('replaces a killed daemon: takes over its lock and socket', async () => {
    const { serve, polypod: run } = await cliFixture();
    const killed = await serve();
    killed.child.kill('SIGKILL');
    await killed.finished;
    const doctor = await run('doctor');
    expect(doctor.stdout).toContain('was left by a daemon that has ended');
    expect(doctor.stdout).toContain('next: polypod serve removes it');
    expect((await run('status')).code).toBe(3);
    await serve();
    expect((await run('status')).code).toBe(0);
  });

  it('reports configuration errors with their line, and does not start', async () => {
    const { configure, polypod: run, dataDirectory } = await cliFixture();
    configure(
      'version: 1\ndoors:\n  pdo: true\nlimits: { runs: 0 }\nshutdown_grace: soon\nlog: { level: wran }\ndurability: ful\n',
    );
    const { code, stderr } = await run('serve');
    expect(code).toBe(2);
    expect(stderr.replaceAll(/\S*config\.yaml/g, 'config.yaml').split('\n')).toEqual([
      expect.stringContaining('config.yaml:3:3: doors.pdo is not a key: did you mean "pod"?'),
      expect.stringContaining('config.yaml:4:17: limits.runs must be a whole number from 1 on'),
      expect.stringContaining('config.yaml:5:17: shutdown_grace must be a time'),
      expect.stringContaining(
        'config.yaml:6:15: log.level must be one of debug, info, warn, error, not "wran"',
      ),
      expect.stringContaining('config.yaml:7:13: durability must be one of full, relaxed, none, not "ful"'),
      '',
    ]);
    expect(existsSync(dataDirectory)).toBe(false);
  });

  it('rejects an unknown log level', async () => {
    const { env } = await cliFixture();
    const wrong = await polypod(['serve'], { env: { ...env, POLYPOD_LOG_LEVEL: 'loud' } });
    expect(wrong).toMatchObject({
      code: 2,
      stderr: 'polypod serve: POLYPOD_LOG_LEVEL is "loud": it can be debug, info, warn, error\n',
    });
  });

  it('fails if the data directory is a file', async () => {
    const { polypod: run, home } = await cliFixture();
    const file = join(home, 'file');
    writeFileSync(file, '');
    const { code, stderr } = await run('serve', '--data-dir', join(file, 'inside'));
    expect(code).toBe(2);
    expect(stderr).toContain(
      'cannot be used: a part of the path is a file. Put that right, or name another with --data-dir.',
    );
  });

  it.skipIf(process.getuid?.() === 0)('fails if the data directory is read-only', async () => {
    const { polypod: run, home } = await cliFixture();
    const directory = join(home, 'locked');
    mkdirSync(directory, { mode: 0o500 });
    const { code, stderr } = await run('serve', '--data-dir', join(directory, 'data'));
    expect(code).toBe(2);
    expect(stderr).toContain('cannot be used: permission is denied');
  });

  it('reports a socket path that is too long', async () => {
    const deep = join(temporaryDirectory(), 'x'.repeat(100));
    const { code, stderr } = await polypod(['serve', '--data-dir', deep], {});
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^polypod serve: \S+ is too long for a socket: [^\n]+ set POLYPOD_RUNTIME_DIR [^\n]+\n$/,
    );
    // No lock is left that would block the next daemon.
    expect(existsSync(join(deep, 'daemon.lock'))).toBe(false);
  });

  it('reports pods whose socket paths are too long, and serves them without sockets', async () => {
    const fixture = await cliFixture([textAnswer('Hello!')]);
    const deep = join(fixture.home, 'x'.repeat(80 - fixture.home.length));
    const daemon = await fixture.serve('--data-dir', deep);
    expect(daemon.output().stderr).toContain('pods have no sockets of their own here');
    const { code, stdout } = await fixture.polypod('run', '--data-dir', deep, '-m', 'anthropic/x', 'Hi');
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Hello!\n' });
    expect((await fixture.polypod('doctor', '--data-dir', deep)).stdout).toContain(
      'next: set POLYPOD_RUNTIME_DIR',
    );
  });

  it('does not open a door that the configuration disables', async () => {
    const { configure, serve, polypod: run, link } = await cliFixture();
    configure('doors: { pod: false }\n');
    await serve();
    expect((await run('status')).stdout).toContain('pod off');
    const id = (await run('new')).stdout.trim();
    await expect((await link()).call('attach', { pod: id })).rejects.toThrow('the door "pod" is closed');
  });

  it('writes no secret to its log', async () => {
    const { serve, dataDirectory, env, link } = await cliFixture();
    const daemon = await serve('--log-level', 'debug');
    const control = await link();
    await expect(control.call(env.ANTHROPIC_API_KEY ?? '')).rejects.toThrow('there is no method');
    await control.call('status');
    daemon.child.kill('SIGTERM');
    const { stderr } = await daemon.finished;
    const log = logOf(dataDirectory);
    expect(log).toContain('"method":"[redacted]"');
    expect(log + stderr).not.toContain(env.ANTHROPIC_API_KEY);
    expect(stderr).toMatch(/^\d\d:\d\d:\d\d info {2}ready pid=/);
    for (const line of log.trimEnd().split('\n'))
      expect(JSON.parse(line)).toMatchObject({ time: expect.any(String), level: expect.any(String) });
  });
});

describe('the metrics of a daemon', () => {
  it('count runs, and rejected requests by door', async () => {
    const fixture = await cliFixture([call('ls', {}), textAnswer('Done.')]);
    await fixture.serve();
    const id = await newPod(fixture);
    const agent = await fixture.pod(id);
    await agent.handle(prompt('Look'), ADA);
    await waitForEvent(agent, isType('run-end'));
    const socket = connect(join(fixture.home, '.local/share/polypod/run/pods', `${id}.sock`));
    socket.end('nonsense\n');
    // The request is answered, and so counted, before the connection closes.
    for await (const _ of socket);
    const { stdout } = await fixture.polypod('status', '--metrics');
    for (const line of [
      'polypod_runs_started_total 1',
      'polypod_runs_ended_total{outcome="finished"} 1',
      'polypod_turns_total 2',
      'polypod_tool_calls_total 1',
      'polypod_approvals_asked_total 0',
      'polypod_door_refused_total{door="pod"} 1',
      'polypod_door_refused_total{door="hld"} 0',
    ])
      expect(stdout.split('\n')).toContain(line);
    expect(stdout).toMatch(/^polypod_tokens_total\{kind="input"\} [1-9]\d*$/m);
    expect(stdout).toMatch(/^polypod_events_total [1-9]\d*$/m);
  });
});

describe('a stopping daemon', () => {
  it('waits for a run that ends in time', async () => {
    const fixture = await cliFixture([slow(20, 20)]);
    const daemon = await fixture.serve();
    const id = await writing(fixture);
    daemon.child.kill('SIGTERM');
    expect((await daemon.finished).code).toBe(0);
    expect(await lastRun(fixture, id)).toBe('finished');
  });

  it('interrupts a run that does not', async () => {
    const fixture = await cliFixture([slow(5000, 50)]);
    fixture.configure('shutdown_grace: 300ms\n');
    const daemon = await fixture.serve();
    const id = await writing(fixture);
    daemon.child.kill('SIGTERM');
    expect((await daemon.finished).code).toBe(0);
    expect(await lastRun(fixture, id)).toBe('cancelled');
  });

  it('keeps a run that waits for approval, and continues it after a restart', async () => {
    const fixture = await cliFixture([call('bash', { command: 'touch made' }), textAnswer('Made.')]);
    const { serve, pod, project } = fixture;
    const daemon = await serve();
    const id = await newPod(fixture, '--name', 'waiter');
    const agent = await pod(id);
    await agent.handle(prompt('Make it'), ADA);
    await waitForEvent(agent, isType('approval-request'));
    daemon.child.kill('SIGTERM');
    expect((await daemon.finished).code).toBe(0);
    const row = await listed(fixture, id);
    expect(row?.state).toBe('waiting');
    await serve();
    const again = await pod('waiter');
    const { approvalId = '' } = row?.approvals[0] ?? {};
    await again.handle({ type: 'decide', approvalId, decision: 'approve' }, ADA);
    await waitForEvent(again, (event) => event.type === 'run-end' && event.outcome.status === 'finished');
    expect(existsSync(join(project, 'made'))).toBe(true);
  });

  it('answers requests while it stops, and rejects new work', async () => {
    const fixture = await cliFixture([slow(5000, 50)]);
    // The daemon waits until the test ends the run.
    fixture.configure('shutdown_grace: 10m\n');
    const daemon = await fixture.serve();
    const other = await newPod(fixture);
    const idle = await fixture.pod(other);
    const busy = await fixture.pod(await writing(fixture));
    daemon.child.kill('SIGTERM');
    await daemon.waitForOutput('stopping');
    await expect(idle.handle(prompt('More'), ADA)).rejects.toThrow('shutting down');
    expect((await fixture.polypod('status')).stdout).toContain('daemon  draining');
    await busy.handle({ type: 'cancel' }, ADA);
    expect((await daemon.finished).code).toBe(0);
    expect(await lastRun(fixture, other)).toBe(undefined);
  });
});

describe('a killed daemon', () => {
  it('marks its interrupted run after a restart', async () => {
    const fixture = await cliFixture([slow(5000, 50)]);
    const daemon = await fixture.serve();
    const id = await writing(fixture);
    daemon.child.kill('SIGKILL');
    await daemon.finished;
    expect(await listed(fixture, id)).toMatchObject({ state: 'interrupted' });
    const back = await fixture.serve();
    await back.waitForOutput('sessions were left unfinished');
    expect(await listed(fixture, id)).toMatchObject({ state: 'idle', lastRun: { status: 'interrupted' } });
  });
});

describe('SIGHUP', () => {
  it('makes the daemon reload its configuration for the next run of a loaded pod', async () => {
    const touch = call('bash', { command: 'touch made' });
    const fixture = await cliFixture([touch, textAnswer('No.'), touch, textAnswer('Yes.')]);
    const { configure, serve, pod, project } = fixture;
    const daemon = await serve();
    const agent = await pod(await newPod(fixture));
    await agent.handle(prompt('Make it'), ADA);
    const approvalRequest = await waitForEvent(agent, isType('approval-request'));
    if (approvalRequest.type !== 'approval-request') throw new Error('not asked');
    await agent.handle(
      { type: 'decide', approvalId: approvalRequest.approval.approvalId, decision: 'deny' },
      ADA,
    );
    const first = await waitForEvent(agent, isType('run-end'));
    expect(existsSync(join(project, 'made'))).toBe(false);

    configure('permissions: { rules: [{ command: touch made, action: auto }] }\n');
    daemon.child.kill('SIGHUP');
    await daemon.waitForOutput('configuration reloaded');
    await agent.handle(prompt('Again'), ADA);
    await waitForEvent(agent, (event) => event.type === 'run-end' && event.seq > first.seq);
    expect(existsSync(join(project, 'made'))).toBe(true);
  });

  it('reports what needs a restart, and an invalid file changes nothing', async () => {
    const { configure, serve, dataDirectory, link } = await cliFixture();
    const daemon = await serve();
    configure(
      'permissions: { mode: read-only }\nlimits: { runs: 7 }\nmcp_servers: { x: { command: "true" } }\n',
    );
    daemon.child.kill('SIGHUP');
    await daemon.waitForOutput('configuration reloaded');
    expect(logOf(dataDirectory)).toContain(
      '"applied":["permissions"],"forNewPods":["mcp_servers"],"afterRestart":["limits"]',
    );
    configure('limits: [7]\n');
    daemon.child.kill('SIGHUP');
    await daemon.waitForOutput('the configuration was not reloaded');
    expect(logOf(dataDirectory)).toContain('config.yaml:1:9: limits must be a map, not a list');
    await expect((await link()).call('reload')).rejects.toThrow('limits must be a map');
    expect(await (await link()).call('status')).toMatchObject({ state: 'ready' });
  });
});

describe('the control socket', () => {
  it.each([
    ['no JSON', 'nonsense\n', 'bad-request'],
    ['no method', '{"params":{}}\n', 'bad-request'],
    ['a method there is not', '{"method":"fly"}\n', 'unknown-method'],
    ['a name of Object’s own', '{"method":"constructor"}\n', 'unknown-method'],
    ['params that are none', '{"method":"status","params":7}\n', 'bad-request'],
    ['a param too many', '{"method":"status","params":{"x":1}}\n', 'bad-request'],
    ['a pod there is not', '{"method":"watch","params":{"pod":"nobody"}}\n', 'not-found'],
    ['bytes that are no text', '\u00ff\u00fe{"method"\n', 'bad-request'],
  ])('answers %s with an error, and processes the next line', async (_title, line, code) => {
    const { serve, home } = await cliFixture();
    await serve();
    const socket = connect(join(home, '.local/share/polypod/run/daemon.sock'));
    socket.end(`${line}\n\n{"method":"status"}\n`, 'latin1');
    let text = '';
    for await (const piece of socket) text += String(piece);
    const [error, status] = text
      .trimEnd()
      .split('\n')
      .map((answer) => JSON.parse(answer) as object);
    expect(error).toMatchObject({ error: { code, message: expect.any(String) } });
    expect(status).toMatchObject({ result: { state: 'ready' } });
  });

  it('hands a connection to the pod door if its first line names a pod, also one that is not loaded', async () => {
    const fixture = await cliFixture([textAnswer('Hello!')]);
    const { home } = fixture;
    const id = await newPod(fixture, '--name', 'sleeper');
    await fixture.serve();
    const socket = connect(join(home, '.local/share/polypod/run/daemon.sock'));
    onTestFinished(() => void socket.destroy());
    socket.write(
      '{"method":"attach","params":{"pod":"sleeper"}}\n{"method":"run","params":{"input":"Hi"}}\n',
    );
    let text = '';
    for await (const piece of socket) {
      text += String(piece);
      if (text.includes('"idle"')) break;
    }
    expect(text).toContain('"event":"text_done","data":{"text":"Hello!"');
    // A loaded pod has its own socket, by id and by name.
    expect(existsSync(join(home, '.local/share/polypod/run/pods', `${id}.sock`))).toBe(true);
    expect(existsSync(join(home, '.local/share/polypod/run/pods/sleeper.sock'))).toBe(true);
  });
});

/** A pod on the scripted model. */
async function newPod({ polypod: run, project }: CliFixture, ...args: readonly string[]): Promise<string> {
  return (await run('new', '-C', project, '-m', 'anthropic/x', ...args)).stdout.trim();
}

/** A pod that is streaming its answer. */
async function writing(fixture: CliFixture): Promise<string> {
  const id = await newPod(fixture);
  const agent = await fixture.pod(id);
  await agent.handle(prompt('Write'), ADA);
  await waitForEvent(agent, isType('block-delta'));
  return id;
}

interface Listed {
  readonly id: string;
  readonly state: string;
  readonly lastRun?: { readonly status: string };
  readonly approvals: readonly { readonly approvalId: string }[];
}

async function listed({ polypod: run }: CliFixture, id: string): Promise<Listed | undefined> {
  const rows = JSON.parse((await run('ls', '--json')).stdout) as readonly Listed[];
  return rows.find((row) => row.id === id);
}

async function lastRun(fixture: CliFixture, id: string): Promise<string | undefined> {
  return (await listed(fixture, id))?.lastRun?.status;
}
