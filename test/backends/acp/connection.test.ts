import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { acpProgram } from '../../../src/backends/acp/index.ts';
import { probeOpencode } from '../../../src/backends/acp/settings.ts';
import type { SimAnswer } from '../../../src/sim/index.ts';
import {
  AGENTS,
  bodies,
  connect,
  type Connected,
  inOrder,
  isInstalled,
  projectFor,
  programOf,
  PromptAnswers,
  startAgent,
} from './fixture.ts';

const DONE: SimAnswer = { parts: [{ text: 'All done.' }] };
/** Long enough that a test can act before it ends. */
const LONG: SimAnswer = {
  parts: Array.from({ length: 2_000 }, (_, index) => ({ text: `Line ${index} of many. ` })),
  pace: { delayMs: 20 },
};

describe.each(AGENTS)('$name', (agent) => {
  const it = test.skipIf(!isInstalled(agent));

  /** One process for the tests whose turns do not depend on each other. */
  describe('in one session', () => {
    const answers = new PromptAnswers();
    const atEnd: (() => Promise<void>)[] = [];
    let running: Connected;

    beforeAll(async () => {
      if (isInstalled(agent))
        running = await startAgent(agent, answers.script, { atEnd: (work) => atEnd.push(work) });
    });
    afterAll(async () => {
      for (const work of atEnd.toReversed()) await work();
    });
    beforeEach(() => isInstalled(agent) && running.collected.clear());

    it('answers a prompt, and reports thinking, usage and the end of the turn', async () => {
      const { connection, collected } = running;
      answers.set('Say hello', {
        parts: [{ thinking: 'Which one?' }, { text: 'Hello.' }],
        usage: { inputTokens: 120, outputTokens: 7 },
      });
      connection.prompt([{ type: 'text', text: 'Say hello' }]);
      expect(await collected.nth('turn-end')).toEqual({ type: 'turn-end', outcome: { status: 'finished' } });
      expect(collected.text).toBe('Hello.');
      expect(
        collected
          .all('thinking')
          .map(({ text }) => text)
          .join(''),
      ).toContain('Which one?');
      expect(collected.all('usage')[0]?.usage).toMatchObject({ inputTokens: 120 });
      expect(connection.capabilities).toMatchObject({
        images: true,
        model: true,
        resume: agent.name === 'opencode',
      });
    });

    it('runs a call that is allowed', async () => {
      const { connection, collected, cwd } = running;
      const command = 'touch allowed && echo hi';
      answers.set('Do it', { parts: [{ text: 'I will.' }, { toolCall: agent.bash(command) }] }, DONE);
      connection.prompt([{ type: 'text', text: 'Do it' }]);
      const { request } = await collected.nth('permission');
      expect(request.call).toMatchObject({
        name: agent.bash('').name,
        title: command,
        tool: 'bash',
        access: [{ type: 'command', command, cwd }],
      });
      expect(JSON.parse(request.call.arguments)).toMatchObject({ command });
      expect(existsSync(join(cwd, 'allowed'))).toBe(false);
      connection.answer(request.requestId, { decision: 'allow' });
      await collected.nth('turn-end');
      expect(existsSync(join(cwd, 'allowed'))).toBe(true);
      const [end] = collected.all('call-end');
      expect(end).toMatchObject({ callId: request.call.callId, status: 'done', output: { isError: false } });
      expect(collected.text).toBe('I will.All done.');
    });

    it('does not run a call that is denied, and goes on', async () => {
      const { connection, collected, cwd, sim } = running;
      answers.set('Do not', { parts: [{ toolCall: agent.bash('touch denied') }] }, DONE);
      connection.prompt([{ type: 'text', text: 'Do not' }]);
      const { request } = await collected.nth('permission');
      connection.answer(request.requestId, { decision: 'deny', reason: 'Not today.' });
      expect((await collected.nth('turn-end')).outcome).toEqual({ status: 'finished' });
      expect(existsSync(join(cwd, 'denied'))).toBe(false);
      expect(collected.all('call-end')).toEqual([
        {
          type: 'call-end',
          callId: request.call.callId,
          status: 'denied',
          output: expect.objectContaining({ isError: true, content: [{ type: 'text', text: 'Not today.' }] }),
        },
      ]);
      expect(collected.text).toBe('All done.');
      // The model learns that the call was rejected, not why.
      expect(bodies(sim).join()).toMatch(/rejected permission|canceled by the user/);
    });

    it('asks for a command that the agent itself considers safe', async () => {
      const { connection, collected } = running;
      answers.set('Where', { parts: [{ toolCall: agent.bash('pwd') }] }, DONE);
      connection.prompt([{ type: 'text', text: 'Where' }]);
      const { request } = await collected.nth('permission');
      expect(request.call.title).toBe('pwd');
      connection.answer(request.requestId, { decision: 'allow' });
      await collected.nth('turn-end');
    });

    it('asks before it reads and edits a file, and reports the diff', async () => {
      const { connection, collected, cwd } = running;
      const path = join(cwd, 'a.txt');
      await writeFile(path, 'one\ntwo\nthree\n');
      answers.set(
        'Change it',
        { parts: [{ toolCall: agent.read(path) }] },
        { parts: [{ toolCall: agent.edit(path, 'two', 'TWO') }] },
        DONE,
      );
      connection.prompt([{ type: 'text', text: 'Change it' }]);
      const { request: reading } = await collected.nth('permission');
      expect(reading.call).toMatchObject({
        title: 'read a.txt',
        tool: 'read',
        access: [{ type: 'read', path }],
      });
      connection.answer(reading.requestId, { decision: 'allow' });
      const { request } = await collected.nth('permission', 1);
      expect(request.call).toMatchObject({
        title: 'edit a.txt',
        tool: 'edit',
        access: [{ type: 'write', path }],
      });
      const [access] = request.call.access;
      expect(access?.type === 'write' && access.after?.('one\ntwo\nthree\n')).toBe('one\nTWO\nthree\n');
      expect(JSON.parse(request.call.arguments)).toMatchObject({ path: 'a.txt' });
      connection.answer(request.requestId, { decision: 'allow' });
      await collected.nth('turn-end');
      expect(await readFile(path, 'utf8')).toBe('one\nTWO\nthree\n');
      expect(collected.all('call-end')[1]?.output.details).toEqual({
        diff: '--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n',
        added: 1,
        removed: 1,
      });
    });

    it('creates a file after approval', async () => {
      const { connection, collected, cwd } = running;
      const path = join(cwd, 'new.txt');
      answers.set('Create it', { parts: [{ toolCall: agent.write(path, 'new\n') }] }, DONE);
      connection.prompt([{ type: 'text', text: 'Create it' }]);
      const { request } = await collected.nth('permission');
      expect(request.call).toMatchObject({
        title: 'write new.txt',
        tool: 'write',
        access: [{ type: 'write', path }],
      });
      connection.answer(request.requestId, { decision: 'allow' });
      await collected.nth('turn-end');
      expect(await readFile(path, 'utf8')).toBe('new\n');
    });

    it('runs two calls of one answer', async () => {
      const { connection, collected, cwd } = running;
      const both = [{ toolCall: agent.bash('touch one') }, { toolCall: agent.bash('touch two') }];
      answers.set('Both', { parts: both }, DONE);
      connection.prompt([{ type: 'text', text: 'Both' }]);
      for (const index of [0, 1]) {
        const { request } = await collected.nth('permission', index);
        connection.answer(request.requestId, { decision: 'allow' });
      }
      await collected.nth('turn-end');
      expect(['one', 'two'].map((name) => existsSync(join(cwd, name)))).toEqual([true, true]);
      expect(collected.all('call-end').map(({ status }) => status)).toEqual(['done', 'done']);
    });

    it('reports a call that fails', async () => {
      const { connection, collected, cwd } = running;
      answers.set('Try', { parts: [{ toolCall: agent.edit(join(cwd, 'missing.txt'), 'a', 'b') }] }, DONE);
      connection.prompt([{ type: 'text', text: 'Try' }]);
      await collected.until(() => {
        const [asked] = collected.all('permission');
        if (asked !== undefined) connection.answer(asked.request.requestId, { decision: 'allow' });
        return collected.all('turn-end')[0];
      });
      expect(collected.all('call-end')[0]).toMatchObject({ status: 'failed', output: { isError: true } });
      expect(existsSync(join(cwd, 'missing.txt'))).toBe(false);
    });

    it('stops an answer when the turn is cancelled, and answers the next prompt', async () => {
      const { connection, collected } = running;
      answers.set('Talk', LONG);
      connection.prompt([{ type: 'text', text: 'Talk' }]);
      await collected.nth('text');
      connection.cancel();
      expect((await collected.nth('turn-end')).outcome).toEqual({ status: 'cancelled' });
      answers.set('Once more', DONE);
      connection.prompt([{ type: 'text', text: 'Once more' }]);
      expect((await collected.nth('turn-end', 1)).outcome).toEqual({ status: 'finished' });
      expect(collected.text).toContain('All done.');
    });

    it('ends a turn that is cancelled while a permission request is open', async () => {
      const { connection, collected, cwd } = running;
      answers.set('Too late', { parts: [{ toolCall: agent.bash('touch late') }] }, DONE);
      connection.prompt([{ type: 'text', text: 'Too late' }]);
      const { request } = await collected.nth('permission');
      connection.cancel();
      expect((await collected.nth('turn-end')).outcome).toEqual({ status: 'cancelled' });
      connection.answer(request.requestId, { decision: 'allow' });
      answers.set('Afterwards', DONE);
      connection.prompt([{ type: 'text', text: 'Afterwards' }]);
      await collected.nth('turn-end', 1);
      expect(existsSync(join(cwd, 'late'))).toBe(false);
    });

    it('sends images', async () => {
      const { connection, collected, sim } = running;
      answers.set('Look', DONE);
      connection.prompt([
        { type: 'text', text: 'Look' },
        { type: 'image', mediaType: 'image/png', data: PNG },
      ]);
      await collected.nth('turn-end');
      expect(bodies(sim).some((body) => body.includes(PNG))).toBe(true);
    });

    it('reports an error of the model', async () => {
      const { connection, collected } = running;
      answers.set('Fail', { parts: [{ text: 'x' }], fault: { kind: '401', times: 99 } });
      connection.prompt([{ type: 'text', text: 'Fail' }]);
      const { outcome } = await collected.nth('turn-end');
      expect(outcome).toMatchObject({ status: 'failed', failure: { kind: 'auth' } });
    });

    /** The last one: it ends the agent. */
    it('ends a running command when the turn is cancelled, and leaves no process', async () => {
      const { connection, collected, cwd, pids } = running;
      answers.set(
        'Wait',
        { parts: [{ toolCall: agent.bash('echo $$ > started && exec sleep 1000') }] },
        DONE,
      );
      connection.prompt([{ type: 'text', text: 'Wait' }]);
      const { request } = await collected.nth('permission');
      connection.answer(request.requestId, { decision: 'allow' });
      await expect.poll(() => readFile(join(cwd, 'started'), 'utf8').catch(() => '')).toMatch(/\d+\n/);
      const pid = Number(await readFile(join(cwd, 'started'), 'utf8'));
      connection.cancel();
      expect((await collected.nth('turn-end')).outcome).toEqual({ status: 'cancelled' });
      expect(collected.all('call-end').map(({ status }) => status)).toEqual(['interrupted']);
      await connection.close();
      // A process that has ended exists until its parent has noticed.
      await expect.poll(() => [pid, ...pids].filter(isAlive)).toEqual([]);
    });
  });

  it('reports that it was killed in the middle of a turn', async () => {
    const { connection, collected, pids } = await startAgent(agent, inOrder(LONG));
    connection.prompt([{ type: 'text', text: 'Talk' }]);
    await collected.nth('text');
    process.kill(pids[0] ?? 0, 'SIGKILL');
    await expect.poll(() => collected.end?.message).toBe('it was ended by SIGKILL');
    expect(collected.all('turn-end')).toEqual([]);
  });

  it('passes the probe, which leaves no files', async () => {
    const { launch } = await projectFor(agent, inOrder(DONE));
    const { probe } = programOf(agent.name);
    expect(await probe?.({ ...launch, signal: new AbortController().signal })).toEqual({ status: 'asks' });
    expect((await readdir(launch.directory)).filter((name) => name.startsWith('probe'))).toEqual([]);
    expect(await readdir(join(launch.env.HOME ?? '', '.gemini')).catch(() => [])).toEqual([]);
  });

  it('describes its version', async () => {
    const { launch } = await projectFor(agent, inOrder(DONE));
    const described = await programOf(agent.name).describe({
      ...launch,
      signal: new AbortController().signal,
    });
    expect(described).toEqual({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      signedIn: agent.name === 'gemini' ? 'yes' : 'unknown',
    });
  });
});

const [gemini, opencode] = AGENTS as [(typeof AGENTS)[number], (typeof AGENTS)[number]];

describe('opencode', () => {
  const it = test.skipIf(!isInstalled(opencode));

  it('continues a session in another process after it was killed, and as a new session', async () => {
    const first = await startAgent(opencode, inOrder({ parts: [{ text: 'The word is heron.' }] }, DONE));
    first.connection.prompt([{ type: 'text', text: 'Remember the word' }]);
    await first.collected.nth('turn-end');
    const sessionId = first.collected.all('session')[0]?.sessionId ?? '';
    process.kill(first.pids[0] ?? 0, 'SIGKILL');
    await expect.poll(() => first.collected.end).toBeDefined();

    const second = await connect(programOf('opencode'), first, { start: { type: 'resume', sessionId } });
    // The history is not repeated.
    expect(second.collected.events).toEqual([expect.objectContaining({ type: 'session', sessionId })]);
    second.connection.prompt([{ type: 'text', text: 'Which word?' }]);
    await second.collected.nth('turn-end');
    expect(bodies(first.sim).join()).toMatch(/Remember the word.*The word is heron\..*Which word\?/);
    await second.connection.close();

    const fork = await connect(programOf('opencode'), first, { start: { type: 'fork', sessionId } });
    fork.connection.prompt([{ type: 'text', text: 'Are you sure?' }]);
    await fork.collected.nth('turn-end');
    expect(fork.collected.all('session')[0]?.sessionId).not.toBe(sessionId);
    expect(bodies(first.sim).join()).toMatch(/The word is heron\..*Are you sure\?/);
  });

  it('reports exit codes, output and the context, and uses the model and the MCP servers of the pod', async () => {
    const place = await projectFor(
      opencode,
      inOrder(
        { parts: [{ toolCall: opencode.bash('echo out; exit 3') }] },
        { parts: [{ text: 'All done.' }], usage: { inputTokens: 1_000, outputTokens: 30 } },
      ),
    );
    const { sim, cwd } = place;
    const { connection, collected } = await connect(programOf('opencode'), place, {
      settings: { mode: 'workspace-write', paths: [], model: 'sim/other' },
      mcpServers: [
        {
          transport: 'stdio',
          name: 'pod',
          command: 'touch',
          args: ['mcp-started'],
          env: {},
          passEnv: [],
          cwd,
        },
      ],
    });
    connection.prompt([{ type: 'text', text: 'Try' }]);
    connection.answer((await collected.nth('permission')).request.requestId, { decision: 'allow' });
    await collected.nth('turn-end');
    expect(collected.all('call-end')[0]).toMatchObject({
      status: 'failed',
      output: {
        summary: 'echo out; exit 3: exit code 3',
        content: [{ text: 'out\n' }],
        details: { exitCode: 3 },
      },
    });
    expect(collected.all('context').at(-1)).toMatchObject({ tokens: 1_000, window: 100_000 });
    expect(collected.all('total-cost').at(-1)?.usd).toBeGreaterThan(0);
    expect(sim.requests.map(({ body }) => (body as { model?: unknown }).model)).toContain('other');
    await expect.poll(() => existsSync(join(cwd, 'mcp-started'))).toBe(true);
    const none = { mode: 'workspace-write', paths: [], model: 'sim/none' } as const;
    await expect(connection.configure(none)).rejects.toThrow(/none/);
    expect(bodies(sim).join()).toContain('"name":"bash"');
    // Their requests for permission would never arrive.
    expect(bodies(sim).join()).not.toContain('"name":"task"');
  });
});

test.skipIf(!isInstalled(opencode))('the probe finds an agent that runs commands unasked', async () => {
  const { launch } = await projectFor(opencode, inOrder(DONE));
  const { name, title, command, install, signIn, env } = programOf('opencode');
  // As opencode starts by default.
  const careless = acpProgram({
    name,
    title,
    command,
    install,
    signIn,
    env,
    args: ['acp'],
    probeModel: probeOpencode,
  });
  expect(await careless.probe?.({ ...launch, signal: new AbortController().signal })).toMatchObject({
    status: 'runs-unasked',
  });
});

describe('gemini', () => {
  const it = test.skipIf(!isInstalled(gemini));

  it('says how to sign in if there is no key', async () => {
    const { launch, cwd, pids } = await projectFor(gemini, inOrder(DONE));
    const { GEMINI_API_KEY: _, GOOGLE_GEMINI_BASE_URL: __, ...env } = launch.env;
    const place = { cwd, pids, launch: { ...launch, env } };
    await expect(connect(programOf('gemini'), place)).rejects.toThrow(/not signed in .*set GEMINI_API_KEY/s);
    const signal = new AbortController().signal;
    expect(await programOf('gemini').describe({ ...place.launch, signal })).toMatchObject({
      version: expect.stringMatching(/^\d/),
      signedIn: 'no',
      problem: expect.stringContaining('GEMINI_API_KEY'),
    });
  });

  it('describes the directory of a command, and changes the model', async () => {
    const call = { name: 'run_shell_command', arguments: { command: 'ls', dir_path: 'sub' } };
    const { connection, collected, cwd, sim } = await startAgent(
      gemini,
      inOrder({ parts: [{ toolCall: call }] }, DONE),
      {
        arrange: (place) => mkdir(join(place.cwd, 'sub')),
      },
    );
    await connection.configure({ mode: 'workspace-write', paths: [], model: 'gemini-2.5-pro' });
    connection.prompt([{ type: 'text', text: 'List' }]);
    const { request } = await collected.nth('permission');
    expect(request.call.access).toEqual([{ type: 'command', command: 'ls', cwd: join(cwd, 'sub') }]);
    connection.cancel();
    await collected.nth('turn-end');
    expect(sim.requests.map(({ path }) => path).join()).toContain('gemini-2.5-pro');
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
