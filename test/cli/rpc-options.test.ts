import { describe, expect, it } from 'vitest';
import { modelWish } from '../../src/protocols/rpc/model-wish.ts';
import { isRpcMode, readRpcOptions } from '../../src/cli/rpc-options.ts';

describe('the command line of RPC mode', () => {
  it.each([
    ['--mode rpc', true],
    ['--provider x --mode rpc', true],
    ['--mode=rpc', true],
    ['--mode json', false],
    ['run --mode rpc', false],
    ['', false],
  ])('is recognised: %s', (line, isMeant) => {
    expect(isRpcMode(line.split(' '))).toBe(isMeant);
  });

  it('passes over what it does not know', () => {
    expect(readRpcOptions(['--mode', 'rpc', '--new-thing', 'word', '-x', '--model', 'a/b'])).toMatchObject({
      model: 'a/b',
    });
  });

  it('takes texts that begin with a dash, and joined values', () => {
    const options = readRpcOptions([
      '--append-system-prompt',
      '- be brief',
      '--tools=read, bash',
      '-e',
      'a.js',
      '-e',
      'b.js',
    ]);
    expect(options).toMatchObject({
      appendSystem: '- be brief',
      tools: ['read', 'bash'],
      extensions: ['a.js', 'b.js'],
    });
  });

  it.each([
    [['--resume', 'abc'], { resume: 'abc', isContinued: false }],
    [['-r', '--no-color'], { isContinued: true }],
    [['-r'], { isContinued: true }],
    [['-c'], { isContinued: true }],
    [['--no-tools'], { tools: [] }],
    [['--no-extensions', '-e', 'x.js'], { extensions: [] }],
    [['--rpc-errors=echo'], { echoErrors: true }],
  ])('%j', (argv, options) => {
    expect(readRpcOptions(argv)).toMatchObject(options);
  });

  it('refuses files', () => {
    expect(() => readRpcOptions(['--mode', 'rpc', '@file'])).toThrow(
      '@file arguments are not supported in RPC mode',
    );
  });
});

describe('the model that is asked for', () => {
  it.each([
    [{}, {}],
    [{ model: 'gpt-6' }, { reference: 'gpt-6' }],
    [{ provider: 'openai' }, { reference: 'openai' }],
    [{ provider: 'openai', model: 'gpt-6' }, { reference: 'openai/gpt-6' }],
    [{ provider: 'openai', model: 'openai/gpt-6' }, { reference: 'openai/gpt-6' }],
    [{ model: 'openai/gpt-6:high' }, { reference: 'openai/gpt-6', thinking: 'high' }],
    [
      { model: 'openai/gpt-6:high', thinking: 'low' },
      { reference: 'openai/gpt-6', thinking: 'low' },
    ],
    [{ model: 'ollama/qwen3:8b' }, { reference: 'ollama/qwen3:8b' }],
  ])('%j', (options, wish) => {
    expect(modelWish(options)).toEqual(wish);
  });
});
