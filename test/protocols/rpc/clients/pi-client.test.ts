import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { RpcClient } from '@mariozechner/pi-coding-agent';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MAIN, temporaryDirectory } from '../../../cli/polypod.ts';

/** The methods of the client that the tests have called. */
const called = new Set<string>();

function noted(pi: RpcClient): RpcClient {
  return new Proxy(pi, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      called.add(String(name));
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

async function client(args: string[] = ['--model', 'sim/offline']) {
  const home = temporaryDirectory();
  const pi = noted(
    new RpcClient({
      cliPath: MAIN,
      cwd: home,
      env: { HOME: home, XDG_DATA_HOME: join(home, 'data'), XDG_CONFIG_HOME: join(home, 'config') },
      args,
    }),
  );
  await pi.start();
  onTestFinished(() => pi.stop());
  return { pi, home };
}

describe("pi's own client", () => {
  it('prompts, and receives pi’s events', async () => {
    const { pi } = await client();
    const events = await pi.promptAndWait('hi [[sim text=Hello]]');
    const types = events.map(({ type }) => type);
    // `ready` is included only if pi listens before it arrives.
    expect(types.filter((type) => !['ready', 'message_update'].includes(type))).toEqual([
      'agent_start',
      'turn_start',
      'message_start',
      'message_end',
      'message_start',
      'message_end',
      'turn_end',
      'agent_end',
    ]);
    expect(await pi.getLastAssistantText()).toBe('Hello');
    expect((await pi.getMessages()).map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(await pi.getState()).toMatchObject({
      isStreaming: false,
      messageCount: 2,
      pendingMessageCount: 0,
    });
    expect(await pi.getSessionStats()).toMatchObject({ userMessages: 1, assistantMessages: 1, toolCalls: 0 });
  });

  it('steers, follows up and aborts', async () => {
    const { pi } = await client();
    const ended = pi.collectEvents();
    await pi.prompt('go [[sim deltas=2000 delay=5]]');
    await pi.steer('left');
    await pi.followUp('later');
    expect(await pi.getState()).toMatchObject({ isStreaming: true, pendingMessageCount: 2 });
    await pi.abort();
    expect((await ended).at(-1)).toMatchObject({ type: 'agent_end' });
    expect(await pi.getState()).toMatchObject({ isStreaming: false });
  });

  it('changes all settings', async () => {
    const { pi } = await client();
    const [model] = await pi.getAvailableModels();
    expect(model).toMatchObject({ provider: 'sim', id: 'offline' });
    expect(await pi.setModel('sim', 'offline')).toMatchObject({ id: 'offline' });
    await expect(pi.setModel('sim', 'nothing')).rejects.toThrow('Model not found: sim/nothing');
    expect(await pi.cycleModel()).toBeNull();
    await pi.setThinkingLevel('high');
    expect(await pi.cycleThinkingLevel()).toBeNull();
    await pi.setSteeringMode('all');
    await pi.setFollowUpMode('all');
    await pi.setAutoCompaction(false);
    await pi.setAutoRetry(false);
    await pi.abortRetry();
    await pi.setSessionName('named');
    await expect(pi.setSessionName('  ').then(() => pi.getState())).resolves.toMatchObject({
      sessionName: 'named',
    });
    expect(await pi.getState()).toMatchObject({
      steeringMode: 'all',
      followUpMode: 'all',
      autoCompactionEnabled: false,
      sessionName: 'named',
    });
    expect(await pi.getCommands()).toEqual([]);
  });

  it('runs commands', async () => {
    const { pi } = await client();
    expect(await pi.bash('echo hi; exit 2')).toMatchObject({ output: 'hi\n', exitCode: 2, cancelled: false });
    const long = pi.bash('sleep 60');
    await pi.abortBash();
    expect(await long).toMatchObject({ cancelled: true });
  });

  it('moves between sessions', async () => {
    const { pi, home } = await client();
    await pi.promptAndWait('one [[sim text=first]]');
    await pi.promptAndWait('two [[sim text=second]]');
    const { sessionFile = '', sessionId } = await pi.getState();
    const [, second] = await pi.getForkMessages();
    expect(await pi.fork(second?.entryId ?? '')).toEqual({
      text: 'two [[sim text=second]]',
      cancelled: false,
    });
    expect(await pi.getState()).toMatchObject({ messageCount: 2 });
    expect(await pi.switchSession(sessionFile)).toEqual({ cancelled: false });
    expect(await pi.getState()).toMatchObject({ sessionId, messageCount: 4 });
    expect(await pi.clone()).toEqual({ cancelled: false });
    expect(await pi.newSession(sessionFile)).toEqual({ cancelled: false });
    expect(await pi.getState()).toMatchObject({ messageCount: 0 });
    expect(await pi.getLastAssistantText()).toBeUndefined();
    await expect(pi.compact()).rejects.toThrow('Nothing to compact (session too small)');
    const { path } = await pi.exportHtml(join(home, 'page.html'));
    expect(existsSync(path)).toBe(true);
  });

  it('receives events, waits, and compacts a conversation', async () => {
    const { pi } = await client();
    const types: string[] = [];
    const forget = pi.onEvent(({ type }) => void types.push(type));
    const idle = pi.waitForIdle();
    await pi.prompt(`remember ${'y'.repeat(120_000)} [[sim text=ok]]`);
    await idle;
    forget();
    expect(types).toContain('agent_end');
    const receivedCount = types.length;
    expect(await pi.compact('be short [[sim text=summary]]')).toMatchObject({
      summary: expect.any(String) as unknown,
      firstKeptEntryId: expect.any(String) as unknown,
      tokensBefore: expect.any(Number) as unknown,
    });
    expect(types).toHaveLength(receivedCount);
    expect(pi.getStderr()).toBe('');
    await pi.stop();
  });

  it('has no method that was not tested', () => {
    const inner = ['constructor', 'handleLine', 'send', 'getData'];
    const methods = Object.getOwnPropertyNames(RpcClient.prototype).filter((name) => !inner.includes(name));
    expect(methods.filter((name) => !called.has(name))).toEqual([]);
  });
});
