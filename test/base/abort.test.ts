import { expect, it, onTestFinished } from 'vitest';
import { onAbort } from '../../src/base/index.ts';

it('any number may listen to one signal without a warning, and each can leave', async () => {
  const warnings: Error[] = [];
  const hear = (warning: Error) => warnings.push(warning);
  process.on('warning', hear);
  onTestFinished(() => void process.off('warning', hear));
  const controller = new AbortController();
  let called = 0;
  const leave = Array.from({ length: 50 }, () => onAbort(controller.signal, () => (called += 1)));
  for (const one of leave.slice(0, 20)) one();
  controller.abort();
  await new Promise((resolve) => setImmediate(resolve));
  expect([called, warnings]).toEqual([30, []]);
});
