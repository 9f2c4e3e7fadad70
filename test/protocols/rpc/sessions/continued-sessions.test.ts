import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startSim } from '../../../../src/sim/index.ts';
import { start, temporaryDirectory } from '../../../cli/polypod.ts';
import { Program } from '../program.ts';

interface HomeFixture {
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  readonly client: (...args: readonly string[]) => Program;
}

/** A home directory whose configuration has an account with two reasoning models, the first of which is the default. */
async function homeFixture(way: 'in process' | 'in a daemon' = 'in process'): Promise<HomeFixture> {
  const sim = await startSim({ script: () => ({ parts: [{ text: 'ok' }] }) });
  onTestFinished(() => sim.close());
  const home = temporaryDirectory();
  const directory = join(home, '.config/polypod');
  mkdirSync(directory, { recursive: true });
  const accounts = { work: { wire: 'anthropic', base_url: sim.url, key: 'any' } };
  writeFileSync(join(directory, 'config.yaml'), JSON.stringify({ model: 'work/first', accounts }), {
    mode: 0o600,
  });
  const model = { account: 'work', name: 'M', reasoning: true, contextWindow: 100_000 };
  const models = ['first', 'second'].map((id) => ({ ...model, id }));
  writeFileSync(join(directory, 'models.json'), JSON.stringify(models));
  const env = { HOME: home };
  if (way === 'in a daemon') await start(['serve', '--json'], env).waitForOutput('{"pid":');
  return { home, env, client: (...args) => new Program(args, env) };
}

const MODES = {
  steeringMode: 'all',
  followUpMode: 'all',
  interruptMode: 'immediate',
  autoCompactionEnabled: false,
};

describe.each(['in process', 'in a daemon'] as const)('a continued session %s', (way) => {
  it('keeps its model, thinking level and modes, unless options override them', async () => {
    const { client } = await homeFixture(way);
    const first = client('--model', 'work/second:high');
    await first.ask('set_steering_mode', { mode: 'all' });
    await first.ask('set_follow_up_mode', { mode: 'all' });
    await first.ask('set_interrupt_mode', { mode: 'immediate' });
    await first.ask('set_auto_compaction', { enabled: false });
    await first.run('hi');
    const { sessionId, sessionFile } = await first.get('get_state');
    await first.end();
    for (const [args, model, thinkingLevel] of [
      [['--continue'], 'second', 'high'],
      [['--session', String(sessionId)], 'second', 'high'],
      [['--session', String(sessionFile)], 'second', 'high'],
      [['--fork', String(sessionId)], 'second', 'high'],
      [['--fork', String(sessionId), '--thinking', 'minimal'], 'second', 'minimal'],
      [['--session', String(sessionId), '--model', 'work/first', '--thinking', 'low'], 'first', 'low'],
    ] as const) {
      const next = client(...args);
      expect(await next.get('get_state')).toMatchObject({
        model: { provider: 'work', id: model },
        thinkingLevel,
        messageCount: 2,
        ...MODES,
      });
      await next.end();
    }
  });
});

describe('a continued session', () => {
  it('keeps its original model when the default changes', async () => {
    const { client, env } = await homeFixture();
    const first = client();
    await first.ask('set_session_name', { name: 'named' });
    await first.run('hi');
    await first.end();
    const next = new Program(['--continue'], { ...env, POLYPOD_MODEL: 'work/second' });
    expect(await next.get('get_state')).toMatchObject({ model: { id: 'first' }, sessionName: 'named' });
    await next.get('new_session');
    expect(await next.get('get_state')).toMatchObject({ model: { id: 'first' }, messageCount: 0 });
    const other = new Program([], { ...env, POLYPOD_MODEL: 'work/second' });
    expect(await other.get('get_state')).toMatchObject({ model: { id: 'second' }, messageCount: 0 });
  });

  it('shows all properties of a model that no list contains', async () => {
    const { client } = await homeFixture();
    const first = client('--model', 'work/brand-new');
    await first.run('hi');
    const { model } = await first.get('get_state');
    expect(model).toMatchObject({ provider: 'work', baseUrl: expect.stringContaining('http') as unknown });
    await first.end();
    const next = client('--continue');
    expect(await next.get('get_state')).toMatchObject({ model, messageCount: 2 });
  });

  it('of pi keeps its model and thinking level', async () => {
    const { home, client } = await homeFixture();
    const file = writePiSession(home, { provider: 'work', modelId: 'second' });
    const switched = client();
    await switched.get('switch_session', { sessionPath: file });
    const expected = { model: { provider: 'work', id: 'second' }, thinkingLevel: 'high', messageCount: 2 };
    expect(await switched.get('get_state')).toMatchObject(expected);
    await switched.run('more');
    expect(await switched.get('get_state')).toMatchObject({ ...expected, messageCount: 4 });
    await switched.end();
    const again = client('--session', file);
    expect(await again.get('get_state')).toMatchObject({ ...expected, messageCount: 4 });
  });

  it('whose provider is not configured can be read, branched and left, and reports what to configure', async () => {
    const { home, client } = await homeFixture();
    const file = writePiSession(home, { provider: 'acme', modelId: 'm1' });
    const program = client('--session', file);
    const state = await program.get('get_state');
    expect(state).toMatchObject({ model: { provider: 'acme', id: 'm1' }, thinkingLevel: 'high' });
    expect((await program.get('get_messages')).messages).toHaveLength(2);
    expect(await program.get('get_last_assistant_text')).toEqual({ text: 'yo' });
    expect(await program.get('get_session_stats')).toMatchObject({ totalMessages: 2 });
    const before = readFileSync(file, 'utf8');
    program.send({ id: 'p', type: 'prompt', message: 'hello' });
    expect(await program.waitFor(({ id, success }) => id === 'p' && success === false)).toMatchObject({
      command: 'prompt',
      error: expect.stringMatching(/no account is called "acme".* Add it under accounts in/) as unknown,
    });
    expect(await program.ask('compact')).toMatchObject({ command: 'compact', success: false });
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect(await program.get('branch', { entryId: 'aaaa0003' })).toEqual({ text: 'hi', cancelled: false });
    expect(await program.get('get_state')).toMatchObject({ model: { provider: 'acme' }, messageCount: 0 });
    await program.get('switch_session', { sessionPath: file });
    expect(await program.get('clone')).toEqual({ cancelled: false });
    expect(await program.get('get_state')).toMatchObject({ model: { provider: 'acme' }, messageCount: 2 });
    await program.get('new_session');
    expect(await program.get('get_state')).toMatchObject({ model: { id: 'first' }, messageCount: 0 });
    await program.run('and now');
    await program.get('switch_session', { sessionPath: file });
    await program.get('switch_session', { sessionPath: join(home, 'other.jsonl') });
    expect(await program.get('get_state')).toMatchObject({ model: { id: 'first' }, messageCount: 0 });
    await program.get('switch_session', { sessionPath: file });
    await program.get('set_model', { provider: 'work', modelId: 'second' });
    await program.run('and here');
    expect(await program.get('get_state')).toMatchObject({ model: { id: 'second' }, messageCount: 4 });
  });
});

/** As pi writes it: a model, a level, a prompt and its answer. */
function writePiSession(cwd: string, model: { readonly provider: string; readonly modelId: string }): string {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost };
  const timestamp = '2026-01-01T00:00:00.000Z';
  const answer = {
    role: 'assistant',
    content: [{ type: 'text', text: 'yo' }],
    api: 'anthropic-messages',
    provider: model.provider,
    model: model.modelId,
    usage,
    stopReason: 'stop',
    timestamp: 2,
  };
  const entries = [
    { type: 'model_change', ...model },
    { type: 'thinking_level_change', thinkingLevel: 'high' },
    { type: 'message', message: { role: 'user', content: 'hi', timestamp: 1 } },
    { type: 'message', message: answer },
  ].map((entry, at) => ({
    ...entry,
    id: `aaaa000${at + 1}`,
    parentId: at === 0 ? null : `aaaa000${at}`,
    timestamp,
  }));
  const lines = [{ type: 'session', version: 3, id: 'pi-session', timestamp, cwd }, ...entries];
  const file = join(cwd, 'pi.jsonl');
  writeFileSync(file, `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`);
  return file;
}
