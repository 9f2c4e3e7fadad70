import { describe, expect, it } from 'vitest';
import { CommandOrder } from '../../../../src/protocols/rpc/link/command-order.ts';

/** A promise that the test resolves. */
function gate(): { readonly open: () => void; readonly opened: Promise<void> } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** A CommandOrder without a grace period, and a record of what ran. */
function fixture(graceMs = 0) {
  const order = new CommandOrder(graceMs);
  const done: string[] = [];
  const note = (name: string) => () => void done.push(name);
  const long = (name: string) => {
    const { open, opened } = gate();
    const finished = order.inOrder(async () => {
      await order.longWait(opened);
      done.push(name);
    });
    return { open, finished };
  };
  return { order, done, note, long };
}

describe('CommandOrder', () => {
  it('runs commands in the order of their arrival', async () => {
    const { order, done, note } = fixture();
    void order.inOrder(note('a'));
    void order.overtaking(note('b'));
    void order.inOrder(note('c'));
    await order.idle();
    expect(done).toEqual(['a', 'b', 'c']);
  });

  it('lets only overtaking commands pass a long wait', async () => {
    const { order, done, note, long } = fixture();
    const bash = long('bash');
    const prompt = order.inOrder(note('prompt'));
    await order.overtaking(note('state'));
    await order.overtaking(note('steer'));
    expect(done).toEqual(['state', 'steer']);
    bash.open();
    await prompt;
    expect(done).toEqual(['state', 'steer', 'bash', 'prompt']);
  });

  it('lets nothing pass a waiting barrier', async () => {
    const { order, done, note, long } = fixture();
    const bash = long('bash');
    void order.inOrder(note('leave'), true);
    const name = order.overtaking(note('name'));
    await new Promise((resolve) => setTimeout(resolve, 5));
    bash.open();
    await name;
    expect(done).toEqual(['bash', 'leave', 'name']);
  });

  it('keeps the order if the wait ends within the grace period', async () => {
    const { order, done, note, long } = fixture(60_000);
    const bash = long('bash');
    const state = order.overtaking(note('state'));
    bash.open();
    await state;
    expect(done).toEqual(['bash', 'state']);
  });

  it('starts no ordered command while an overtaking one is running', async () => {
    const { order, done, note, long } = fixture();
    const bash = long('bash');
    const leave = order.inOrder(note('leave'));
    const { open, opened } = gate();
    const reading = gate();
    const state = order.overtaking(async () => {
      reading.open();
      await opened;
      done.push('state');
    });
    await reading.opened;
    bash.open();
    await bash.finished;
    open();
    await Promise.all([state, leave]);
    expect(done).toEqual(['bash', 'state', 'leave']);
  });

  it('starts nothing before added work is done', async () => {
    const { order, done, note, long } = fixture();
    const bash = long('bash');
    const abort = gate();
    order.add(abort.opened.then(note('abort')));
    const state = order.overtaking(note('state'));
    abort.open();
    await state;
    expect(done).toEqual(['abort', 'state']);
    bash.open();
    await order.idle();
  });
});
