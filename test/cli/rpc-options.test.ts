import { describe, expect, it } from 'vitest';
import { modelSelection } from '../../src/protocols/rpc/sessions/model-selection.ts';
import { isRpcMode } from '../../src/cli/rpc/is-rpc-mode.ts';
import { readRpcOptions } from '../../src/cli/rpc/options.ts';

describe('the command line of RPC mode', () => {
  it.each([
    ['--mode rpc', true],
    ['--provider x --mode rpc', true],
    ['--mode=rpc', true],
    ['--mode json', false],
    ['run --mode rpc', false],
    ['', false],
  ])('is recognised: %s', (line, expected) => {
    expect(isRpcMode(line.split(' '))).toBe(expected);
  });

  it('accepts texts that begin with a dash, and values after an equals sign', () => {
    const options = readRpcOptions([
      '--append-system-prompt',
      '- be brief',
      '--append-system-prompt=Be kind.',
      '--tools=read, bash',
      '-e',
      'a.js',
      '-e',
      'b.js',
    ]);
    expect(options).toMatchObject({
      appendSystemPrompts: ['- be brief', 'Be kind.'],
      tools: { only: ['read', 'bash'] },
      extensions: ['a.js', 'b.js'],
    });
  });

  it.each([
    [[], { tools: 'all', hasContextFiles: true, isOffline: false }],
    [['--resume', 'abc'], { resume: 'abc', isContinued: false }],
    [['-r', '--no-color'], { isContinued: true }],
    [['-r'], { isContinued: true }],
    [['-c'], { isContinued: true }],
    [['--no-tools'], { tools: 'none' }],
    [['-nt'], { tools: 'none' }],
    [['--no-builtin-tools'], { tools: 'not-built-in' }],
    [['-nbt'], { tools: 'not-built-in' }],
    [['-nbt', '-nt'], { tools: 'none' }],
    [['-t', 'read,ls'], { tools: { only: ['read', 'ls'] } }],
    [['-nt', '-t', 'read'], { tools: { only: ['read'] } }],
    [['-nc'], { hasContextFiles: false }],
    [['--no-context-files'], { hasContextFiles: false }],
    [['--offline'], { isOffline: true }],
    [['-ne', '-e', 'x.js'], { extensions: ['x.js'] }],
    [['--rpc-errors=echo'], { echoErrors: true }],
    [['--thinking', 'much'], { notices: [expect.stringContaining('--thinking cannot be "much"')] }],
    [['--provider-session-id', 'x'], { notices: [expect.stringContaining('--provider-session-id')] }],
  ])('%j', (argv, options) => {
    expect(readRpcOptions(argv)).toMatchObject(options);
  });

  it.each([
    [['--new-thing', 'word'], 'unknown option --new-thing'],
    [['-x'], 'unknown option -x'],
    [['--no-builtin-tool'], 'unknown option --no-builtin-tool; did you mean --no-builtin-tools?'],
    [['--model'], '--model needs a value'],
    [['--ask=yes'], '--ask takes no value'],
    [['--rpc-errors=loud'], '--rpc-errors cannot be "loud"'],
    [
      ['--prompt-template', 'x'],
      '--prompt-template cannot be used: put the file into .polypod/commands of the project',
    ],
    [['--print'], '--print cannot be used'],
    [['message'], '"message" is not an option'],
    [['@file'], '@file arguments are not supported in RPC mode'],
  ])('refuses %j', (argv, message) => {
    expect(() => readRpcOptions(argv)).toThrow(message);
  });
});

describe('the selected model', () => {
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
  ])('%j', (options, expected) => {
    expect(modelSelection(options)).toEqual(expected);
  });
});
