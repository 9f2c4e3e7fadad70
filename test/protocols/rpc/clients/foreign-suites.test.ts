import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RpcClient } from '@mariozechner/pi-coding-agent';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { arrayOf, objectOf, stringOf, type JsonObject } from '../../../../src/base/index.ts';
import { type Sim, startSim } from '../../../../src/sim/index.ts';
import { MAIN } from '../../../cli/polypod.ts';

/** Everything that pi's and xcsh's own tests of their RPC mode check, with pi's client and the built program. */
describe("the checks of pi's and xcsh's own RPC tests", () => {
  let sim: Sim;
  let home: string;
  let agentDirectory: string;
  let pi: RpcClient;

  beforeAll(async () => {
    // Repeats the output of the last command, else the requested text.
    sim = await startSim({ script: ({ body }) => ({ parts: [{ text: answerTo(JSON.stringify(body)) }] }) });
    home = mkdtempSync(join(tmpdir(), 'polypod-foreign-'));
    agentDirectory = join(home, 'agent');
    const configFile = join(home, 'config.yaml');
    const accounts = { mine: { wire: 'anthropic', base_url: sim.url, key: 'any' } };
    writeFileSync(configFile, JSON.stringify({ accounts }), { mode: 0o600 });
    const models = [{ account: 'mine', id: 'thinker', name: 'Thinker', reasoning: true }];
    pi = new RpcClient({
      cliPath: MAIN,
      cwd: home,
      env: { HOME: home, POLYPOD_CONFIG: configFile, PI_CODING_AGENT_DIR: agentDirectory },
      provider: 'mine',
      model: 'thinker',
    });
    writeFileSync(join(home, 'models.json'), JSON.stringify(models));
    await pi.start();
  }, 60_000);

  afterAll(async () => {
    await pi.stop();
    await sim.close();
    rmSync(home, { recursive: true, force: true });
  });

  /** The entries of the only session file, in the directory where pi and xcsh look for it. */
  function entries(): readonly JsonObject[] {
    const sessions = join(agentDirectory, 'sessions');
    const [directory = ''] = readdirSync(sessions);
    const files = readdirSync(join(sessions, directory)).filter((name) => name.endsWith('.jsonl'));
    expect(files).toHaveLength(1);
    return readFileSync(join(sessions, directory, files[0] ?? ''), 'utf8')
      .trim()
      .split('\n')
      .map((line) => objectOf(JSON.parse(line)));
  }

  const rolesIn = (list: readonly JsonObject[]): readonly string[] =>
    list.filter(({ type }) => type === 'message').map(({ message }) => stringOf(objectOf(message).role));

  it('pass before the first prompt: state, models, thinking and no answer', async () => {
    expect(await pi.getState()).toMatchObject({
      model: { provider: 'mine', id: 'thinker' },
      isStreaming: false,
      messageCount: 0,
    });
    expect((await pi.getState()).sessionName).toBeUndefined();
    const models = await pi.getAvailableModels();
    expect(models.length).toBeGreaterThan(0);
    for (const model of models) {
      expect(model).toMatchObject({ provider: expect.any(String), id: expect.any(String) });
      expect(model.contextWindow).toBeGreaterThan(0);
      expect(typeof model.reasoning).toBe('boolean');
    }
    const { thinkingLevel: before } = await pi.getState();
    const cycled = await pi.cycleThinkingLevel();
    expect(cycled?.level).not.toBe(before);
    expect((await pi.getState()).thinkingLevel).toBe(cycled?.level);
    await pi.setThinkingLevel('high');
    expect((await pi.getState()).thinkingLevel).toBe('high');
    expect((await pi.getLastAssistantText()) ?? undefined).toBeUndefined();
  });

  it('pass for bash commands: their result, and that the model receives them', async () => {
    const result = await pi.bash('echo unique-4711');
    expect(result).toMatchObject({ exitCode: 0, cancelled: false });
    expect(result.output.trim()).toBe('unique-4711');
    const events = await pi.promptAndWait('What did the command print?');
    const ends = events
      .filter(({ type }) => type === 'message_end')
      .map((event) => objectOf(objectOf(event).message));
    expect(ends.map(({ role }) => role)).toEqual(['user', 'assistant']);
    const [text] = arrayOf(ends[1]?.content);
    expect(objectOf(text).text).toContain('unique-4711');
    expect(await pi.getLastAssistantText()).toContain('unique-4711');
  });

  it('pass for the session file: its path, header, messages and name', async () => {
    const written = entries();
    expect(written[0]?.type).toBe('session');
    expect(rolesIn(written)).toEqual(['bashExecution', 'user', 'assistant']);
    expect(JSON.stringify(written)).toContain('unique-4711');
    await pi.setSessionName('my-test-session');
    expect((await pi.getState()).sessionName).toBe('my-test-session');
    const names = entries().filter(({ type }) => type === 'session_info');
    expect(names).toMatchObject([{ name: 'my-test-session' }]);
    expect(await pi.getSessionStats()).toMatchObject({
      sessionFile: expect.stringContaining(join(agentDirectory, 'sessions')) as unknown,
      sessionId: expect.any(String) as unknown,
      userMessages: 1,
      assistantMessages: 1,
    });
  });

  it('pass for an exported page with a given name', async () => {
    const { path } = await pi.exportHtml();
    expect(path).toMatch(/\.html$/);
    expect(existsSync(path) || existsSync(join(home, path))).toBe(true);
  });

  it('pass for a compaction after one exchange', async () => {
    const result = await pi.compact();
    expect(result.summary).toEqual(expect.any(String));
    expect(result.tokensBefore).toBeGreaterThan(0);
    expect(entries().filter(({ type }) => type === 'compaction')).toMatchObject([
      { summary: result.summary },
    ]);
  });

  it('pass for a new session, and when everything is removed while the program exits', async () => {
    expect((await pi.getState()).messageCount).toBeGreaterThan(0);
    await pi.newSession();
    expect((await pi.getState()).messageCount).toBe(0);
    await pi.promptAndWait('once more');
    // Its start is over when the socket of the new session is open: from then on, nothing creates a directory.
    const { sessionId } = await pi.getState();
    const socket = join(agentDirectory, 'polypod/run/pods', `${sessionId}.sock`);
    await expect.poll(() => existsSync(socket), { timeout: 20_000 }).toBe(true);
    // xcsh's tests do not wait until the program has exited.
    const stopped = pi.stop();
    rmSync(agentDirectory, { recursive: true, maxRetries: 20, retryDelay: 50 });
    await stopped;
    expect(existsSync(agentDirectory)).toBe(false);
  });
});

function answerTo(body: string): string {
  return /unique-\d+/.exec(body)?.[0] ?? 'test123';
}
