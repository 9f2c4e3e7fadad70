import { expect, it, onTestFinished } from 'vitest';
import { onAbort } from '../../src/base/index.ts';

it('onAbort adds any number of listeners without a warning, and each can be removed', async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on('warning', onWarning);
  onTestFinished(() => void process.off('warning', onWarning));
  const controller = new AbortController();
  let called = 0;
  const removers = Array.from({ length: 50 }, () => onAbort(controller.signal, () => (called += 1)));
  for (const remove of removers.slice(0, 20)) remove();
  controller.abort();
  await new Promise((resolve) => setImmediate(resolve));
  expect([called, warnings]).toEqual([30, []]);
});
