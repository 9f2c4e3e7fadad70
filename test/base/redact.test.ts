import { expect, it } from 'vitest';
import { redactor } from '../../src/base/index.ts';

it.each([
  ['an Anthropic key', 'sk-ant-0123456789abcdefghij'],
  ['a key of Google', `AIza${'x'.repeat(35)}`],
  ['an access token of Google Cloud', `ya29.${'a0-_'.repeat(10)}`],
  ['a Tavily key', 'tvly-dev-0123456789abcdefghij'],
])('%s is replaced although it is not configured', (_, key) => {
  expect(redactor([])(`rejected ${key}, sorry`)).toBe('rejected [redacted], sorry');
});
