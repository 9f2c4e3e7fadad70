import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { acpProgram, type AcpDescription } from '../../../src/backends/acp/index.ts';
import type { AgentServices, ServiceCommand } from '../../../src/backends/index.ts';
import { PolypodError } from '../../../src/base/index.ts';
import { type Collected, connect, testProject } from './fixture.ts';

const SDK_AGENT = fileURLToPath(new URL('./sdk-agent.mjs', import.meta.url));

const description: AcpDescription = {
  name: 'configured',
  title: 'Configured agent',
  command: [process.execPath, SDK_AGENT],
  install: 'install it',
  signIn: 'sign in',
  env: [],
  clientAccess: true,
};

/** Runs a turn and returns the text of the answer. */
async function turn(
  prompt: string,
  act?: (collected: Collected, started: Started) => Promise<void>,
  services?: Partial<AgentServices>,
  changes: Partial<AcpDescription> = {},
) {
  const place = await testProject(description.command);
  const started = await connect(acpProgram({ ...description, ...changes }), place, {
    ...(services && { services: { ...REFUSED, ...services } }),
  });
  started.connection.prompt([{ type: 'text', text: prompt }]);
  await act?.(started.collected, started);
  const { outcome } = await started.collected.nth('turn-end');
  return { ...started, outcome, text: started.collected.text };
}

type Started = Awaited<ReturnType<typeof connect>>;

const refuse = (): Promise<never> => Promise.reject(new PolypodError('denied', 'not allowed'));
const REFUSED: AgentServices = { readTextFile: refuse, writeTextFile: refuse, runCommand: refuse };

describe('an agent on the official SDK, from a description', () => {
  it('reads and writes files through our policy', async () => {
    const written: string[][] = [];
    const { text } = await turn('files', undefined, {
      readTextFile: (path) =>
        path === '/p/a'
          ? Promise.resolve('one\ntwo\nthree\n')
          : Promise.reject(new PolypodError('not-found', `${path} does not exist`)),
      writeTextFile: (path, content) => Promise.resolve(void written.push([path, content])),
    });
    expect(JSON.parse(text)).toEqual({ content: 'two\n', missing: -32002 });
    expect(written).toEqual([['/p/b', 'written']]);
  });

  it('runs commands through our policy', async () => {
    const commands: ServiceCommand[] = [];
    const { text } = await turn('terminal', undefined, {
      runCommand: (request) => {
        commands.push(request);
        request.onOutput('hi');
        return Promise.resolve({ output: 'hi\n', exitCode: 0 });
      },
    });
    expect(commands.map(({ command, cwd }) => ({ command, cwd }))).toEqual([
      { command: "export A='b c'; echo hi", cwd: '/p' },
    ]);
    expect(JSON.parse(text)).toMatchObject({
      exit: { exitCode: 0 },
      printed: { output: 'hi\n', truncated: false },
      gone: -32002,
    });
  });

  it('reports a command that is denied as one that cannot be run', async () => {
    const { text } = await turn('terminal', undefined, {});
    expect(JSON.parse(text)).toMatchObject({ exit: { exitCode: 126 }, printed: { output: 'not allowed\n' } });
  });

  it('aborts a command that the agent kills', async () => {
    const { text } = await turn('kill', undefined, {
      runCommand: (_, signal) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve({ output: '', exitCode: null }));
        }),
    });
    expect(JSON.parse(text)).toMatchObject({ signal: 'SIGKILL' });
  });

  it('refuses requests for files and terminals that were not declared', async () => {
    const { outcome } = await turn('files', undefined, {}, { clientAccess: false });
    expect(outcome).toMatchObject({ status: 'failed' });
    const { text } = await turn('declared', undefined, {}, { clientAccess: false });
    expect(JSON.parse(text)).toMatchObject({
      fs: { readTextFile: false, writeTextFile: false },
      terminal: false,
    });
  });

  it('shows forms to the user', async () => {
    const { text } = await turn('question', async (collected, { connection }) => {
      const { requestId, question } = await collected.nth('question');
      expect(question).toMatchObject({ message: 'Which color?', schema: { required: ['color'] } });
      connection.reply(requestId, { action: 'accept', content: { color: 'red' } });
    });
    expect(JSON.parse(text)).toMatchObject({ action: 'accept', content: { color: 'red' } });
  });

  it('reports plans as todos', async () => {
    const { collected } = await turn('plan');
    expect(collected.all('todos')).toEqual([
      {
        type: 'todos',
        items: [
          { content: 'Look', status: 'completed' },
          { content: 'Write', status: 'in_progress' },
        ],
      },
    ]);
  });

  it('never selects an option that allows more than one call', async () => {
    const { text, collected } = await turn('always', async (seen, { connection }) => {
      const { request } = await seen.nth('permission');
      // The command is unknown: a title may be shortened.
      expect(request.call.access).toEqual([{ type: 'foreign', readOnly: false }]);
      connection.answer(request.requestId, { decision: 'allow' });
    });
    expect(JSON.parse(text)).toMatchObject({ outcome: { outcome: 'cancelled' } });
    expect(collected.all('call-end')[0]).toMatchObject({ status: 'denied' });
  });

  it('answers unknown requests with an error', async () => {
    expect((await turn('unknown')).text).toBe('-32601');
  });

  it('maps the reasons for the end of a turn', async () => {
    expect((await turn('limit')).outcome).toMatchObject({ status: 'limited', limit: 'max-turns' });
    const { outcome, collected } = await turn('long');
    expect(outcome).toEqual({ status: 'finished' });
    expect(collected.all('answer-end')).toEqual([{ type: 'answer-end', stopReason: 'max-tokens' }]);
  });

  it('sends the system prompt with the first prompt, and a note for an image that the agent does not accept', async () => {
    const place = await testProject(description.command);
    const { connection, collected } = await connect(acpProgram(description), place, {
      settings: { mode: 'workspace-write', paths: [], appendSystem: 'Be brief.' },
    });
    expect(connection.capabilities).toEqual({ resume: false, fork: false, images: false, model: false });
    connection.prompt([{ type: 'image', mediaType: 'image/png', data: 'AAAA' }]);
    await collected.nth('turn-end');
    expect(JSON.parse(collected.text)).toEqual([
      { type: 'text', text: 'Be brief.' },
      { type: 'text', text: expect.stringContaining('image/png') },
    ]);
    collected.clear();
    connection.prompt([{ type: 'text', text: 'again' }]);
    await collected.nth('turn-end');
    expect(JSON.parse(collected.text)).toEqual([{ type: 'text', text: 'again' }]);
  });

  it('rejects a model and a session that the agent cannot use', async () => {
    const place = await testProject(description.command);
    const withModel = { settings: { mode: 'workspace-write', paths: [], model: 'big' } } as const;
    await expect(connect(acpProgram(description), place, withModel)).rejects.toThrow(
      /cannot change its model/,
    );
    const resumed = { start: { type: 'resume', sessionId: 'x' } } as const;
    await expect(connect(acpProgram(description), place, resumed)).rejects.toThrow(
      /cannot continue a session/,
    );
  });

  it('is described by its version', async () => {
    const { launch } = await testProject(description.command);
    const options = { ...launch, signal: new AbortController().signal };
    expect(await acpProgram(description).describe(options)).toEqual({
      version: '1.2.3',
      signedIn: 'unknown',
    });
    const missing = { ...options, command: ['/none/agent'] } as const;
    expect(await acpProgram(description).describe(missing)).toMatchObject({
      version: undefined,
      problem: expect.stringContaining('install it'),
    });
  });
});

describe('a program that breaks the protocol', () => {
  const started = async (script: string) =>
    connect(acpProgram(description), await testProject([process.execPath, '-e', script]));

  it('is refused if it uses another version', async () => {
    const script = `process.stdin.once('data', () => console.log(JSON.stringify({ jsonrpc: '2.0', id: 0, result: { protocolVersion: 2 } })))`;
    await expect(started(script)).rejects.toThrow(/version 2 of the Agent Client Protocol/);
  });

  it('is reported with its standard error if it ends before the session is open', async () => {
    await expect(started(`console.error('no licence'); process.exit(3)`)).rejects.toThrow(
      /exit code 3\nno licence/,
    );
  });

  it('may write other lines, but not more than a thousand', async () => {
    const answers = `
      const send = (m) => console.log(JSON.stringify({ jsonrpc: '2.0', ...m }));
      let rest = '';
      process.stdin.on('data', (data) => {
        rest += data;
        for (const line of rest.split('\\n').slice(0, -1)) {
          const { id, method } = JSON.parse(line);
          if (method === 'initialize') send({ id, result: { protocolVersion: 1 } });
          if (method === 'session/new') send({ id, result: { sessionId: 's' } });
          if (method === 'session/prompt') console.log('noise\\n'.repeat(1001));
        }
        rest = rest.slice(rest.lastIndexOf('\\n') + 1);
      });`;
    const { connection, collected } = await started(`console.log('Welcome!');${answers}`);
    connection.prompt([{ type: 'text', text: 'x' }]);
    await expect.poll(() => collected.end?.message).toContain('more than 1000 lines');
  });
});
