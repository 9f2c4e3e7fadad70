import { describe, expect, it } from 'vitest';
import { modelScope, scopeNotices } from '../../../../src/protocols/rpc/sessions/model-scope.ts';

const model = (reference: string, name = '') => {
  const [provider = '', ...id] = reference.split('/');
  return { provider, id: id.join('/'), name };
};

const MODELS = [
  model('anthropic/claude-opus-5-5'),
  model('anthropic/claude-sonnet-4-5'),
  model('anthropic/claude-sonnet-4-5-20250929'),
  model('openai/gpt-6', 'GPT Six'),
  model('openai/gpt-6-mini'),
  model('openrouter/anthropic/claude-sonnet-4-5'),
  model('ollama/qwen3:8b'),
];

const scoped = (...patterns: readonly string[]) =>
  modelScope(MODELS, patterns).models.map(
    ({ model: { provider, id }, thinking }) =>
      `${provider}/${id}${thinking === undefined ? '' : ` ${thinking}`}`,
  );

describe('the models in --models', () => {
  it.each([
    [['openai/gpt-6'], ['openai/gpt-6']],
    [['GPT-6'], ['openai/gpt-6']],
    [
      ['openai/gpt-6:high', 'ollama/qwen3:8b'],
      ['openai/gpt-6 high', 'ollama/qwen3:8b'],
    ],
    [['openai/*'], ['openai/gpt-6', 'openai/gpt-6-mini']],
    [['openai/*:low'], ['openai/gpt-6 low', 'openai/gpt-6-mini low']],
    [['*OPUS*'], ['anthropic/claude-opus-5-5']],
    [['gpt-?'], ['openai/gpt-6']],
    [['gpt-[67]-mini'], ['openai/gpt-6-mini']],
    [['gpt-[!6]'], []],
    [['qwen3:*'], ['ollama/qwen3:8b']],
    [['openrouter/*'], ['openrouter/anthropic/claude-sonnet-4-5']],
    [['{openai,ollama}/{gpt-6,qwen3:*}'], ['openai/gpt-6', 'ollama/qwen3:8b']],
    [['anthropic/claude-sonnet'], ['anthropic/claude-sonnet-4-5']],
    [['gpt six'], ['openai/gpt-6']],
    [
      ['*mini', 'openai/*'],
      ['openai/gpt-6-mini', 'openai/gpt-6'],
    ],
    [['claude-sonnet-4-5.*', '[', '[z-a]', '(', 'none'], []],
  ])('%j', (patterns, models) => {
    expect(scoped(...patterns)).toEqual(models);
  });

  it('are reported for a pattern that matches nothing', () => {
    expect(scopeNotices(modelScope(MODELS, ['gpt-6', 'x*']))).toEqual(['no model matches "x*" in --models']);
    expect(scopeNotices(modelScope(MODELS, ['x*']))).toEqual([
      'no model matches "x*" in --models',
      '--models has no effect: cycle_model cycles through all models',
    ]);
    expect(scopeNotices(modelScope(MODELS, []))).toEqual([]);
  });
});
