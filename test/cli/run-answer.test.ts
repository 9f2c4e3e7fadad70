import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generatedText, type SimAnswer } from '../../src/sim/index.ts';
import { call, cliFixture, textAnswer } from './daemon.ts';
import { killAndWait, polypod, start } from './polypod.ts';

const MODEL = ['-m', 'anthropic/x'];

const stopped = (text: string, stop: SimAnswer['stop']): SimAnswer => ({
  parts: text === '' ? [] : [{ text }],
  stop,
});

describe('a model that does not complete its answer', () => {
  it.each([
    ['a refusal', stopped('I would rather not.', 'refusal'), 'the model declined to answer; rephrase'],
    ['a content filter', stopped('', 'content-filter'), "the provider's filter withheld the answer"],
    ['the token limit', stopped('The first ha', 'max-tokens'), 'reached the token limit and is incomplete'],
    ['a full context', stopped('The first ha', 'context-full'), "the model's context is full"],
    ['an empty answer', stopped('', 'end-turn'), 'the answer of the model contains no text; rephrase'],
  ] as const)('%s is reported, and run and ask exit with 4', async (name, answer, sentence) => {
    // Anthropic has one stop reason for refusals and filters; OpenAI has one for filters.
    const isFilter = name === 'a content filter';
    const { polypod: run, env, sim, project } = await cliFixture([answer, answer]);
    const openai = { ...env, OPENAI_BASE_URL: `${sim.url}/v1`, OPENAI_API_KEY: 'sk-test-0123456789abcdef' };
    const command = (...args: readonly string[]) =>
      isFilter
        ? polypod([...args, '-m', 'openai/gpt-x', 'Go'], { env: openai })
        : run(...args, ...MODEL, 'Go');
    const [text] = answer.parts.map((part) => ('text' in part ? `${part.text}\n` : ''));
    for (const args of [['run', '-C', project], ['ask']]) {
      const { code, stdout, stderr } = await command(...args);
      expect({ code, stdout }).toEqual({ code: 4, stdout: text ?? '' });
      expect(stderr).toContain(sentence);
    }
  });

  it('a conversation that is too long for the model also exits with 4', async () => {
    const long: SimAnswer = { parts: [{ text: 'x' }], fault: { kind: 'context-too-long' } };
    const { polypod: run, project } = await cliFixture([long, long, long]);
    const { code, stdout, stderr } = await run('run', '-C', project, ...MODEL, 'Go');
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
    expect(stderr).toContain('use a model with a larger context');
  });

  it('the token limit is reported with the command that continues the session, and the daemon reports it too', async () => {
    const answer = stopped('The first ha', 'max-tokens');
    const { polypod: run, project, serve } = await cliFixture([answer, textAnswer('lf.')]);
    await serve();
    const { code, stderr } = await run('run', '-q', '-C', project, ...MODEL, 'Go');
    expect(code).toBe(4);
    const [, id = ''] = /continue it with polypod run --resume ([0-9a-f-]+) "Go on"/.exec(stderr) ?? [];
    expect(await run('run', '-q', '--resume', id, 'Go on')).toMatchObject({ code: 0, stdout: 'lf.\n' });
  });

  it('an empty answer is one without text in its last turn', async () => {
    const { polypod: run, project } = await cliFixture([
      { parts: [{ text: 'I look.' }, { toolCall: { name: 'ls', arguments: {} } }] },
      stopped('', 'end-turn'),
    ]);
    expect(await run('run', '-C', project, ...MODEL, 'Go')).toMatchObject({ code: 4, stdout: '' });
  });
});

describe('a pipe', () => {
  it('receives only the final answer; text before tool calls is a step', async () => {
    const { polypod: run, project } = await cliFixture([
      { parts: [{ text: 'I look first.' }, { toolCall: { name: 'ls', arguments: {} } }] },
      textAnswer('Empty.'),
    ]);
    const { code, stdout, stderr } = await run('run', '-C', project, ...MODEL, 'Look');
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Empty.\n' });
    expect(stderr).toMatch(/I look first\.\n● ls/);
  });

  it('receives no text of an attempt that was cut, and the answer once', async () => {
    const cut = { kind: 'cut', after: 2, times: 1 } as const;
    const {
      polypod: run,
      project,
      sim,
    } = await cliFixture([{ parts: [{ text: 'One two three four five six seven eight.' }], fault: cut }]);
    const { code, stdout, stderr } = await run('run', '-C', project, ...MODEL, 'Count');
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'One two three four five six seven eight.\n' });
    expect(stderr).toContain('retrying in');
    expect(sim.requests).toHaveLength(2);
  });

  it('receives the kept part of a cut answer followed by its continuation', async () => {
    const first: SimAnswer = {
      parts: [{ text: 'Part one. ' }, { thinking: 'x'.repeat(400) }],
      fault: { kind: 'cut', after: 4 },
    };
    const { polypod: run, project, sim } = await cliFixture([first, textAnswer('Part two.')]);
    const { code, stdout } = await run('run', '-C', project, ...MODEL, 'Go');
    expect(sim.requests).toHaveLength(2);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Part one. Part two.\n' });
  });

  it('receives nothing if the run fails or is interrupted', async () => {
    const cut: SimAnswer = {
      parts: [{ text: 'One two three four five six seven.' }],
      fault: { kind: 'error-in-stream' },
    };
    const { polypod: run, project } = await cliFixture([cut, cut, cut, cut, cut]);
    expect(await run('run', '-C', project, ...MODEL, 'Count')).toMatchObject({ code: 3, stdout: '' });
    const waiting = await cliFixture([
      { parts: [{ text: 'I wait.' }, ...call('bash', { command: 'sleep 300' }).parts] },
    ]);
    const running = start(
      ['run', '-C', waiting.project, ...MODEL, '--mode', 'full-access', 'Go'],
      waiting.env,
    );
    await running.waitForOutput('sleep 300');
    running.child.kill('SIGINT');
    expect(await running.finished).toMatchObject({ code: 130, stdout: '' });
  });

  it('receives the answer although the events at the end of the run are no longer available', async () => {
    const text = generatedText(2_000_000);
    const {
      dataDirectory,
      env,
      polypod: run,
      project,
      serve,
      sim,
    } = await cliFixture([
      { parts: [{ text: 'I look.' }, { toolCall: { name: 'ls', arguments: {} } }] },
      { parts: [{ text }], pace: { chunkSize: 20_000, delayMs: 5 } },
    ]);
    const daemon = await serve();
    const running = start(['run', '-C', project, ...MODEL, 'Go'], env);
    await expect.poll(() => sim.requests.length).toBe(2);
    // While it is stopped, its connection takes only the beginning of the answer.
    running.child.kill('SIGSTOP');
    const isIdle = async () => (await run('ls', '--json')).stdout.includes('"idle"');
    await expect.poll(isIdle, { interval: 200 }).toBe(true);
    await killAndWait(daemon.child);
    rmSync(join(dataDirectory, 'feeds'), { recursive: true });
    await serve();
    running.child.kill('SIGCONT');
    const { code, stdout, stderr } = await running.finished;
    expect(stderr).toContain('some events are no longer available');
    expect(code).toBe(0);
    expect(stdout === `${text}\n`).toBe(true);
  });
});

describe('background commands that run at the end of a run', () => {
  it('are reported: they end with the process, and continue in a daemon', async () => {
    const begin = call('bash', { command: 'sleep 600', background: true });
    const answers = [begin, textAnswer('Started.'), begin, textAnswer('Started.')];
    const { polypod: run, project, serve } = await cliFixture(answers);
    const go = () => run('run', '-C', project, ...MODEL, 'Go');
    expect((await go()).stderr).toContain('polypod: 1 background command ends with this process; a daemon');
    await serve();
    const { stderr } = await go();
    const [, id] = /^polypod: session (\S+)$/m.exec(stderr) ?? [];
    expect(stderr).toContain(
      `polypod: 1 background command continues: /commands in polypod attach ${id} lists and ends them`,
    );
  });
});
