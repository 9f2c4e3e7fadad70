import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/base/index.ts';
import { type AgentFixture, agentFixture } from '../../protocols/tasks/binary.ts';
import { Client } from '../../protocols/tasks/fixture.ts';
import { textAnswer } from '../daemon.ts';
import { start } from '../polypod.ts';

interface Listed {
  readonly name: string;
  readonly up: boolean;
  readonly url: string;
}

const list = async (fixture: AgentFixture): Promise<readonly Listed[]> =>
  JSON.parse((await fixture.polypod('agent', 'list', '--json')).stdout) as Listed[];

const namesUp = async (fixture: AgentFixture): Promise<readonly string[]> =>
  (await list(fixture)).filter(({ up }) => up).map(({ name }) => name);

const begin = (fixture: AgentFixture, name: string, ...args: readonly string[]) =>
  fixture.polypod('agent', 'start', name, '--port', '0', '--cwd', fixture.project, ...args);

const asks = (sessionId: string): JsonObject => ({
  sessionId,
  taskType: 'command_execution',
  userPrompt: 'rm -r build',
});

describe('agents that were started in a daemon', () => {
  it('restart with it at the same address, after a kill and after a stop, until they are stopped; earlier tasks stay theirs', {
    timeout: 90_000,
  }, async () => {
    const fixture = await agentFixture([textAnswer('Hello.')]);
    let daemon = await fixture.serve();
    const config = join(fixture.home, 'agent-config.yaml');
    writeFileSync(config, 'name: two\nport: 0\ndirectory: project\n');
    expect((await begin(fixture, 'one')).code).toBe(0);
    expect((await fixture.polypod('agent', 'start', '--config', config)).code).toBe(0);
    const before = await list(fixture);
    expect(before.map(({ name }) => name)).toEqual(['one', 'two']);
    const key = readFileSync(fixture.keyFile, 'utf8').trim();
    const [one, two] = [
      new Client(() => before[0]?.url ?? '', key),
      new Client(() => before[1]?.url ?? '', key),
    ];
    const taskId = await one.submit(asks('s1'));
    await one.until(taskId, 'waiting_approval');
    const waiting = await one.submit({ sessionId: 's1', userPrompt: 'Say hello.\n\nTwice.' });
    const done = await two.submit({ sessionId: 's2', userPrompt: 'Say hello.' });
    await two.done(done);

    const seen = async (): Promise<unknown> => ({
      one: (await one.get('/status')).body,
      two: (await two.get('/status')).body,
      tasks: (await one.get<{ tasks: readonly JsonObject[] }>('/tasks')).body.tasks.map(
        ({ taskId: id, agentName, userPrompt, state }) => [id, agentName, userPrompt, state],
      ),
    });
    const expected = {
      one: expect.objectContaining({
        agentName: 'one',
        status: 'busy',
        running: 1,
        pending: 1,
        currentTask: taskId,
      }),
      two: expect.not.objectContaining({ currentTask: taskId }),
      tasks: expect.arrayContaining([
        [taskId, 'one', 'rm -r build', 'waiting_approval'],
        [waiting, 'one', 'Say hello.\n\nTwice.', 'pending'],
        [done, 'two', 'Say hello.', 'succeeded'],
      ]),
    };
    expect(await seen()).toEqual(expected);
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      daemon.child.kill(signal);
      await daemon.finished;
      daemon = await fixture.serve();
      expect((await list(fixture)).map(({ name, up, url }) => ({ name, up, url }))).toEqual(
        before.map(({ name, url }) => ({ name, up: true, url })),
      );
      expect(await seen()).toEqual(expected);
      expect((await two.get('/status')).body).toMatchObject({ status: 'idle', running: 0, pending: 0 });
    }

    // A stopped agent is not restarted, also if it was stopped while no daemon was running.
    expect((await fixture.polypod('agent', 'stop', 'two')).code).toBe(0);
    daemon.child.kill('SIGTERM');
    await daemon.finished;
    expect((await fixture.polypod('agent', 'status', 'one')).stderr).toContain(
      'the daemon restarts it: polypod serve',
    );
    daemon = await fixture.serve();
    expect(await namesUp(fixture)).toEqual(['one']);
    daemon.child.kill('SIGTERM');
    await daemon.finished;
    expect(await fixture.polypod('agent', 'stop', 'one')).toMatchObject({
      code: 0,
      stderr: 'polypod agent: one was not up, and the daemon no longer restarts it\n',
    });
    await fixture.serve();
    expect(await list(fixture)).toEqual([]);
  });

  it('are reported if they cannot restart, use another port if any is allowed, and end with their terminal', {
    timeout: 90_000,
  }, async () => {
    const fixture = await agentFixture();
    let daemon = await fixture.serve();
    const config = join(fixture.home, 'agent-config.yaml');
    writeFileSync(config, 'port: 0\n');
    expect((await begin(fixture, 'moved')).code).toBe(0);
    expect((await begin(fixture, 'lost', '--config', config)).code).toBe(0);
    const staying = start(['agent', 'start', 'fg', '--foreground', '--port', '0', '--json'], fixture.env);
    await staying.waitForOutput('"name":"fg"');
    const { url } = fixture.record('moved');
    daemon.child.kill('SIGKILL');
    await Promise.all([daemon.finished, staying.finished]);
    await takePort(Number(new URL(url).port));
    rmSync(config);
    daemon = await fixture.serve();
    expect(await namesUp(fixture)).toEqual(['moved']);
    expect(fixture.record('moved').url).not.toBe(url);
    const { stdout } = await fixture.polypod('status');
    expect(stdout).toContain('tasks:moved open');
    expect(stdout).toContain("tasks:lost unavailable (cannot read the agent's configuration");
    expect(stdout).not.toContain('tasks:fg');
    expect((await fixture.polypod('agent', 'stop', 'lost')).code).toBe(0);
    expect(existsSync(join(fixture.dataDirectory, 'tasks/kept/lost.json'))).toBe(false);
    daemon.child.kill('SIGTERM');
    expect((await daemon.finished).code).toBe(0);
  });
});

async function takePort(port: number): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  onTestFinished(() => void server.close());
}
