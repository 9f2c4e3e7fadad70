import { describe, expect, it } from 'vitest';
import type { SimAnswer } from '../../src/sim/index.ts';
import { cliFixture, textAnswer } from './daemon.ts';
import { polypod } from './polypod.ts';

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
});
