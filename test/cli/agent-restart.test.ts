import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/base/index.ts';
import { type AgentSite, agentSite } from '../protocols/tasks/binary.ts';
import { Client } from '../protocols/tasks/fixture.ts';
import { textAnswer } from './daemon.ts';
import { start } from './polypod.ts';

interface Listed {
  readonly name: string;
  readonly up: boolean;
  readonly url: string;
}

const list = async (here: AgentSite): Promise<readonly Listed[]> =>
  JSON.parse((await here.polypod('agent', 'list', '--json')).stdout) as Listed[];

const namesUp = async (here: AgentSite): Promise<readonly string[]> =>
  (await list(here)).filter(({ up }) => up).map(({ name }) => name);

const begin = (here: AgentSite, name: string, ...args: readonly string[]) =>
  here.polypod('agent', 'start', name, '--port', '0', '--cwd', here.project, ...args);

const asks = (sessionId: string): JsonObject => ({
  sessionId,
  taskType: 'command_execution',
  userPrompt: 'rm -r build',
});

describe('agents that were started in a daemon', () => {
  it('restart with it at the same address, after a kill and after a stop, until they are stopped; earlier tasks stay theirs', {
    timeout: 90_000,
  }, async () => {
    const here = await agentSite([textAnswer('Hello.')]);
    let daemon = await here.serve();
    const config = join(here.home, 'agent-config.yaml');
    writeFileSync(config, 'name: two\nport: 0\ndirectory: project\n');
    expect((await begin(here, 'one')).code).toBe(0);
    expect((await here.polypod('agent', 'start', '--config', config)).code).toBe(0);
    const before = await list(here);
    expect(before.map(({ name }) => name)).toEqual(['one', 'two']);
    const key = readFileSync(here.keyFile, 'utf8').trim();
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
      daemon = await here.serve();
      expect((await list(here)).map(({ name, up, url }) => ({ name, up, url }))).toEqual(
        before.map(({ name, url }) => ({ name, up: true, url })),
      );
      expect(await seen()).toEqual(expected);
      expect((await two.get('/status')).body).toMatchObject({ status: 'idle', running: 0, pending: 0 });
    }

    // One that is stopped stays away, also when it is stopped while there is no daemon.
    expect((await here.polypod('agent', 'stop', 'two')).code).toBe(0);
    daemon.child.kill('SIGTERM');
    await daemon.finished;
    expect((await here.polypod('agent', 'status', 'one')).stderr).toContain(
      'the daemon restarts it: polypod serve',
    );
    daemon = await here.serve();
    expect(await namesUp(here)).toEqual(['one']);
    daemon.child.kill('SIGTERM');
    await daemon.finished;
    expect(await here.polypod('agent', 'stop', 'one')).toMatchObject({
      code: 0,
      stderr: 'polypod agent: one was not up, and the daemon no longer restarts it\n',
    });
    await here.serve();
    expect(await list(here)).toEqual([]);
  });

  it('are reported if they cannot restart, use another port if any is allowed, and end with their terminal', {
    timeout: 90_000,
  }, async () => {
    const here = await agentSite();
    let daemon = await here.serve();
    const config = join(here.home, 'agent-config.yaml');
    writeFileSync(config, 'port: 0\n');
    expect((await begin(here, 'moved')).code).toBe(0);
    expect((await begin(here, 'lost', '--config', config)).code).toBe(0);
    const staying = start(['agent', 'start', 'fg', '--foreground', '--port', '0', '--json'], here.env);
    await staying.waitForOutput('"name":"fg"');
    const { url } = here.record('moved');
    daemon.child.kill('SIGKILL');
    await Promise.all([daemon.finished, staying.finished]);
    await takePort(Number(new URL(url).port));
    rmSync(config);
    daemon = await here.serve();
    expect(await namesUp(here)).toEqual(['moved']);
    expect(here.record('moved').url).not.toBe(url);
    const { stdout } = await here.polypod('status');
    expect(stdout).toContain('tasks:moved open');
    expect(stdout).toContain("tasks:lost unavailable (cannot read the agent's configuration");
    expect(stdout).not.toContain('tasks:fg');
    expect((await here.polypod('agent', 'stop', 'lost')).code).toBe(0);
    expect(existsSync(join(here.dataDirectory, 'tasks/kept/lost.json'))).toBe(false);
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
