import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { arrayOf, type JsonObject, objectOf, stringOf } from '../../src/base/index.ts';
import { type CliFixture, cliFixture, textAnswer } from '../cli/daemon.ts';
import { type Finished, polypod, start } from '../cli/polypod.ts';
import { connectLines, type JsonLine, LineLink } from '../doors/lines.ts';
import { fakeAgent, withBackends } from './fake-agent.ts';

const KEY = 'a-key-of-the-tasks-door';
const PROMPT = 'Say hello.';
const UNKNOWN = 'there is no back end "nope"';

type Hosting = 'with a daemon' | 'without a daemon';
const HOSTINGS: readonly Hosting[] = ['with a daemon', 'without a daemon'];

interface Doors extends CliFixture {
  readonly hosting: Hosting;
  readonly run: (args: readonly string[]) => Promise<Finished>;
  /** The back end of each session, the oldest first. */
  readonly backends: () => Promise<readonly string[]>;
}

/** A home directory in which the fake agent is configured. Without `keys`, there is no account of our own. */
async function doors(
  hosting: Hosting,
  { backend, keys = true }: { backend?: string; keys?: boolean } = {},
): Promise<Doors> {
  const fixture = await cliFixture(() => textAnswer('from our own worker'));
  const { ANTHROPIC_API_KEY: _, ANTHROPIC_BASE_URL: _url, ...without } = fixture.env;
  const env = { ...(keys ? fixture.env : without), DOOR_KEY: KEY };
  const tasks = {
    port: 0,
    directory: fixture.project,
    keys: [{ env: 'DOOR_KEY', owner: 'ada', scopes: ['admin'] }],
  };
  fixture.configure(
    withBackends({ fake: fakeAgent() }, { tasks, ...(backend !== undefined && { backend }) }),
  );
  if (hosting === 'with a daemon') {
    const daemon = start(['serve', '--json'], env);
    await daemon.waitForOutput('{"pid":');
    onTestFinished(async () => {
      daemon.child.kill('SIGTERM');
      await daemon.finished;
    });
  }
  return {
    ...fixture,
    env,
    hosting,
    run: (args) => polypod(args, { env }),
    backends: async () => {
      const { stdout } = await polypod(['ls', '--json'], { env });
      const rows = (JSON.parse(stdout) as JsonObject[]).toSorted((one, other) =>
        stringOf(one.id) < stringOf(other.id) ? -1 : 1,
      );
      return rows.map(({ backend: name }) => stringOf(name) || 'polypod');
    },
  };
}

describe.each(HOSTINGS)('the command line, %s', (hosting) => {
  it('runs and resumes a session of another agent, without an account of our own', async () => {
    const { run, project } = await doors(hosting, { keys: false });
    const first = await run(['run', '-q', '--backend', 'fake', '-n', 'one', '-C', project, PROMPT]);
    expect(first).toMatchObject({ code: 0, stdout: `fake: ${PROMPT}\n` });
    const second = await run(['run', '-q', '--resume', 'one', 'Again.']);
    expect(second).toMatchObject({ code: 0 });
    expect(second.stdout).toContain('Again.');
  });

  it('shows the back end of a session', async () => {
    const { run, backends } = await doors(hosting);
    expect((await run(['new', '-b', 'fake', '-n', 'one'])).code).toBe(0);
    expect(await backends()).toEqual(['fake']);
    expect((await run(['sessions', 'show', 'one'])).stdout).toContain('back end  fake\n');
  });

  it('rejects an unknown back end, and creates no session', async () => {
    const { run, backends } = await doors(hosting);
    for (const command of [
      ['run', '--backend', 'nope', PROMPT],
      ['chat', '--backend', 'nope', PROMPT],
      ['new', '--backend', 'nope'],
    ]) {
      const { code, stderr } = await run(command);
      expect([command[0], code]).toEqual([command[0], 2]);
      expect(stderr).toContain(UNKNOWN);
      expect(stderr).toContain('polypod backends');
    }
    expect(await backends()).toEqual([]);
  });

  it('rejects options that contradict --backend', async () => {
    const { run } = await doors(hosting);
    const resumed = await run(['run', '--backend', 'fake', '--resume', 'one', PROMPT]);
    expect(resumed.code).toBe(2);
    expect(resumed.stderr).toContain('a session keeps its back end: leave out --backend or --resume');
    const continued = await run(['chat', '--backend', 'fake', '--continue', PROMPT]);
    expect(continued.code).toBe(2);
    expect(continued.stderr).toContain('leave out --backend or --continue');
    const offline = await run(['run', '--backend', 'fake', '--offline', PROMPT]);
    expect(offline.code).toBe(2);
    expect(offline.stderr).toContain('--offline and --backend exclude each other');
  });

  it('uses the configured back end, unless the options name another', async () => {
    const { run, backends } = await doors(hosting, { backend: 'fake' });
    expect((await run(['run', '-q', PROMPT])).stdout).toBe(`fake: ${PROMPT}\n`);
    expect((await run(['run', '-q', '--backend', 'polypod', PROMPT])).stdout).toBe('from our own worker\n');
    expect((await run(['run', '-q', '--offline', PROMPT])).stdout).not.toContain('fake:');
    expect((await run(['new'])).code).toBe(0);
    expect((await run(['new', '-b', 'polypod'])).code).toBe(0);
    expect(await backends()).toEqual(['fake', 'polypod', 'polypod', 'fake', 'polypod']);
  });
});

describe.each(HOSTINGS)('RPC mode, %s', (hosting) => {
  const rpc = (fixture: Doors, ...args: readonly string[]) => linesOf(fixture, '--mode', 'rpc', ...args);
  const answer = async (link: LineLink): Promise<string> => {
    link.send({ id: 'p', type: 'prompt', message: PROMPT });
    await link.next(({ type }) => type === 'agent_end');
    link.send({ id: 't', type: 'get_last_assistant_text' });
    return stringOf(objectOf((await link.next(({ id }) => id === 't')).data).text);
  };

  it('uses the back end that is named', async () => {
    const fixture = await doors(hosting, { keys: false });
    expect(await answer(rpc(fixture, '--backend', 'fake'))).toBe(`fake: ${PROMPT}`);
    expect(await fixture.backends()).toEqual(['fake']);
  });

  it('rejects an unknown back end', async () => {
    const { run } = await doors(hosting);
    const { code, stderr } = await run(['--mode', 'rpc', '--backend', 'nope']);
    expect(code).not.toBe(0);
    expect(stderr).toContain(UNKNOWN);
  });

  it('uses the configured back end, unless the options name another', async () => {
    const fixture = await doors(hosting, { backend: 'fake' });
    expect(await answer(rpc(fixture))).toBe(`fake: ${PROMPT}`);
    expect(await answer(rpc(fixture, '--backend', 'polypod'))).toBe('from our own worker');
    expect(await fixture.backends()).toEqual(['fake', 'polypod']);
  });

  it('uses no other agent with --offline', async () => {
    const fixture = await doors(hosting, { backend: 'fake' });
    expect(await answer(rpc(fixture, '--offline'))).not.toContain('fake:');
    const { code, stderr } = await fixture.run(['--mode', 'rpc', '--offline', '--backend', 'fake']);
    expect(code).not.toBe(0);
    expect(stderr).toContain('--offline and --backend exclude each other');
  });

  it('resumes a session of our own worker although another back end is configured', async () => {
    const fixture = await doors(hosting, { backend: 'fake' });
    const { code } = await fixture.run(['run', '-q', '--backend', 'polypod', '-n', 'own', PROMPT]);
    expect(code).toBe(0);
    expect(await answer(rpc(fixture, '--session', 'own'))).toBe('from our own worker');
  });

  it('rejects a back end for a session that exists', async () => {
    const fixture = await doors(hosting);
    await fixture.run(['run', '-q', '-n', 'own', PROMPT]);
    const { code, stderr } = await fixture.run(['--mode', 'rpc', '--backend', 'fake', '--session', 'own']);
    expect(code).not.toBe(0);
    expect(stderr).toContain('back end');
  });
});

describe.each(HOSTINGS)('polypod acp, %s', (hosting) => {
  /** Opens a session; resolves with the answer to `session/new`. */
  const opened = async (
    fixture: Doors,
    { args = [], meta }: { readonly args?: readonly string[]; readonly meta?: JsonObject } = {},
  ): Promise<{ readonly link: LineLink; readonly answer: JsonLine }> => {
    const link = linesOf(fixture, 'acp', ...args);
    link.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 1 } });
    await link.next(({ id }) => id === 1);
    const params = { cwd: fixture.project, mcpServers: [], ...(meta && { _meta: { polypod: meta } }) };
    link.send({ jsonrpc: '2.0', id: 2, method: 'session/new', params });
    return { link, answer: await link.next(({ id }) => id === 2) };
  };
  const texts = async (...options: Parameters<typeof opened>): Promise<string> => {
    const { link, answer } = await opened(...options);
    const { sessionId } = objectOf(answer.result);
    const prompt = [{ type: 'text', text: PROMPT }];
    link.send({ jsonrpc: '2.0', id: 3, method: 'session/prompt', params: { sessionId, prompt } });
    const { error } = await link.next(({ id }) => id === 3);
    expect(error).toBeUndefined();
    return link.received
      .map(({ params }) => objectOf(objectOf(params).update))
      .filter(({ sessionUpdate }) => sessionUpdate === 'agent_message_chunk')
      .map(({ content }) => stringOf(objectOf(content).text))
      .join('');
  };

  it('uses the back end of the request, of the option, or of the configuration, in this order', async () => {
    const fixture = await doors(hosting, { backend: 'fake' });
    const args = ['--backend', 'polypod'];
    expect(await texts(fixture)).toBe(`fake: ${PROMPT}`);
    expect(await texts(fixture, { args })).toBe('from our own worker');
    expect(await texts(fixture, { args, meta: { backend: 'fake' } })).toBe(`fake: ${PROMPT}`);
    expect(await texts(fixture, { meta: { backend: 'polypod' } })).toBe('from our own worker');
    expect(await fixture.backends()).toEqual(['fake', 'polypod', 'fake', 'polypod']);
  });

  it('uses no other agent with --offline', async () => {
    const fixture = await doors(hosting, { backend: 'fake' });
    expect(await texts(fixture, { args: ['--offline'] })).not.toContain('fake:');
    const { code, stderr } = await fixture.run(['acp', '--offline', '--backend', 'fake']);
    expect(code).toBe(2);
    expect(stderr).toContain('--offline and --backend exclude each other');
  });

  it('needs no account of our own', async () => {
    const fixture = await doors(hosting, { keys: false });
    expect(await texts(fixture, { args: ['--backend', 'fake'] })).toBe(`fake: ${PROMPT}`);
    expect(await texts(fixture, { meta: { backend: 'fake' } })).toBe(`fake: ${PROMPT}`);
  });

  it('rejects an unknown back end, and a name that is not text', async () => {
    const fixture = await doors(hosting);
    for (const options of [{ args: ['--backend', 'nope'] }, { meta: { backend: 'nope' } }]) {
      const { answer } = await opened(fixture, options);
      expect(JSON.stringify(answer.error)).toContain(UNKNOWN.replaceAll('"', String.raw`\"`));
    }
    const { answer } = await opened(fixture, { meta: { backend: 1 } });
    expect(objectOf(answer.error).code).toBe(-32_602);
    expect(await fixture.backends()).toEqual([]);
  });
});

describe('launchSession of the HLD door', () => {
  const launched = async (fixture: Doors, params: JsonObject): Promise<JsonLine> => {
    const link = await connectLines(join(fixture.home, '.humanlayer/daemon.sock'));
    onTestFinished(() => link.close());
    const all = { query: PROMPT, working_dir: fixture.project, ...params };
    link.send({ jsonrpc: '2.0', id: 1, method: 'launchSession', params: all });
    return link.next(({ id }) => id === 1);
  };

  it('uses the back end of the request, or of the configuration', async () => {
    const fixture = await doors('with a daemon', { backend: 'fake' });
    for (const params of [{}, { backend: 'polypod' }, { backend: 'fake', model: 'large' }])
      expect((await launched(fixture, params)).error).toBeUndefined();
    expect(await fixture.backends()).toEqual(['fake', 'polypod', 'fake']);
    expect((await fixture.run(['ls', '--json'])).stdout).toContain('"fake/large"');
  });

  it('rejects an unknown back end, and creates no session', async () => {
    const fixture = await doors('with a daemon');
    const { error } = await launched(fixture, { backend: 'nope' });
    expect(stringOf(objectOf(error).message)).toContain(UNKNOWN);
    expect(await fixture.backends()).toEqual([]);
  });
});

describe('the tasks door', () => {
  const submitted = async (fixture: Doors, sessionId: string, context?: JsonObject) => {
    const { doors: open } = await (await fixture.link()).call('status', {});
    const door = arrayOf(open)
      .map(objectOf)
      .find(({ name }) => name === 'tasks');
    const response = await fetch(`${stringOf(objectOf(door?.details).url)}/submit_task`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ sessionId, userPrompt: PROMPT, taskType: 'chat', ...(context && { context }) }),
    });
    return { status: response.status, body: (await response.json()) as JsonObject };
  };

  it('uses the back end of the first task, or of the configuration', async () => {
    const fixture = await doors('with a daemon', { backend: 'fake' });
    expect((await submitted(fixture, 'one')).body).toMatchObject({ status: 'accepted' });
    expect((await submitted(fixture, 'two', { backend: 'polypod' })).body).toMatchObject({
      status: 'accepted',
    });
    expect((await submitted(fixture, 'three', { backend: 'fake' })).body).toMatchObject({
      status: 'accepted',
    });
    expect(await fixture.backends()).toEqual(['fake', 'polypod', 'fake']);
  });

  it('refuses another back end for a session, and accepts the same', async () => {
    const fixture = await doors('with a daemon');
    await submitted(fixture, 'one', { backend: 'fake' });
    expect(await submitted(fixture, 'one', { backend: 'polypod' })).toMatchObject({
      status: 409,
      body: { error: { code: 'other_backend' } },
    });
    expect((await submitted(fixture, 'one', { backend: 'fake' })).body).toMatchObject({ status: 'accepted' });
    expect((await submitted(fixture, 'one')).body).toMatchObject({ status: 'accepted' });
  });

  it('rejects an unknown back end, and creates no session', async () => {
    const fixture = await doors('with a daemon');
    const { status, body } = await submitted(fixture, 'one', { backend: 'nope' });
    expect(status).toBe(400);
    expect(body).toMatchObject({
      error: { code: 'invalid_request', details: { field: 'context.backend' } },
    });
    expect(await fixture.backends()).toEqual([]);
  });
});

describe('an agent', () => {
  it('that runs calls without approval is not used', async () => {
    const fixture = await cliFixture();
    fixture.configure(withBackends({ gemini: fakeAgent('unasked') }));
    const { code, stdout, stderr } = await fixture.polypod(
      ...['run', '--backend', 'gemini', '-C', fixture.project, 'touch made'],
    );
    expect([code === 0, stdout]).toEqual([false, '']);
    expect(stderr).toContain('Gemini CLI is not used because it ran a call without approval');
    expect(existsSync(join(fixture.project, 'made'))).toBe(false);
  });

  it('receives the variables that are configured for it, and no keys of providers', async () => {
    const fixture = await cliFixture();
    const env = { ...fixture.env, FAKE_KEY: 'its own key', OTHER_API_KEY: 'another key' };
    const fake = { command: fakeAgent(), pass_env: ['FAKE_KEY'] };
    fixture.configure(JSON.stringify({ titles: 'off', backends: { fake } }));
    const printed = async (variable: string): Promise<string> =>
      (await polypod(['run', '-q', '--backend', 'fake', `print ${variable}`], { env })).stdout;
    expect(await printed('FAKE_KEY')).toBe('its own key\n');
    expect(await printed('ANTHROPIC_API_KEY')).toBe('not set\n');
    expect(await printed('OTHER_API_KEY')).toBe('not set\n');
  });

  it('does not run a call that nobody can approve', async () => {
    const fixture = await doors('without a daemon');
    const run = ['run', '-q', '--headless', '--backend', 'fake', '-C', fixture.project, 'touch made'];
    expect((await fixture.run(run)).code).toBe(2);
    expect(existsSync(join(fixture.project, 'made'))).toBe(false);
  });
});

/** The built program as a server on its standard streams. */
function linesOf({ env }: Doors, ...args: readonly string[]): LineLink {
  const { child } = start(args, env);
  const link = new LineLink(child.stdout, child.stdin, () => child.kill());
  onTestFinished(() => link.close());
  return link;
}
