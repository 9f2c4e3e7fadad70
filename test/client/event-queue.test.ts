import { expect, it } from 'vitest';
import { EventQueue } from '../../src/client/event-queue.ts';

it('delivers an item that is pushed at any moment of a read', async () => {
  for (let microtasks = 0; microtasks < 20; microtasks += 1) {
    const queue = new EventQueue<number>(10);
    const reader = queue.read();
    queue.push(1);
    expect(await reader.next()).toEqual({ done: false, value: 1 });
    let second: unknown;
    void reader.next().then((next) => {
      second = next;
    });
    for (let passed = 0; passed < microtasks; passed += 1) await Promise.resolve();
    queue.push(2);
    await new Promise(setImmediate);
    expect(second).toEqual({ done: false, value: 2 });
  }
});

it('has room again when its items are read, or when it ends', async () => {
  const queue = new EventQueue<number>(2);
  await queue.room();
  queue.push(1);
  queue.push(2);
  let hasRoom = false;
  void queue.room().then(() => {
    hasRoom = true;
  });
  const reader = queue.read();
  await reader.next();
  await reader.next();
  expect(hasRoom).toBe(false);
  void reader.next();
  await new Promise(setImmediate);
  expect(hasRoom).toBe(true);
  for (const item of [3, 4, 5]) queue.push(item);
  const full = queue.room();
  queue.end(undefined);
  await full;
});
