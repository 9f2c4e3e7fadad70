import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { viewFromSnapshot } from '../../../src/cli/chat/view/joined-view.ts';
import type { Print } from '../../../src/cli/chat/view/print.ts';
import { step } from '../../../src/cli/chat/view/step.ts';
import { reconnectingWatch } from '../../../src/cli/hosting/reconnecting-watch.ts';
import type { View } from '../../../src/cli/chat/view/view.ts';
import { asPolypodError } from '../../../src/base/index.ts';
import {
  hostMethods,
  listenForControl,
  openControlLink,
  type PodHandle,
  remotePod,
} from '../../../src/control/index.ts';
import type { SimAnswer } from '../../../src/sim/index.ts';
import { BOB, promptCommand, hostFixture } from '../../pod/fixture.ts';

const ME = { by: 'ada', door: 'cli' };
const silence = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Watches a pod, and stores the view and the output. */
class Watcher {
  readonly prints: Print[] = [];
  view: View | undefined;
  readonly #leave = new AbortController();
  #wake = (): void => {};

  constructor(pod: PodHandle) {
    void this.#watch(pod);
    onTestFinished(() => this.#leave.abort());
  }

  async until(matches: (view: View) => boolean): Promise<View> {
    for (;;) {
      if (this.view !== undefined && matches(this.view)) return this.view;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async #watch(pod: PodHandle): Promise<void> {
    const watching = reconnectingWatch(pod, {
      signal: this.#leave.signal,
      isUp: async () => true,
      ifLost: { giveUpAfterMs: Number.POSITIVE_INFINITY, ending: () => '' },
      onConnection: () => {},
    });
    for await (const watched of watching) {
      const steps =
        watched.type === 'snapshot'
          ? [viewFromSnapshot(watched.snapshot, ME, 0)]
          : watched.batch.events.map((event) => this.#step(event));
      for (const { view, prints } of steps) {
        this.view = view;
        this.prints.push(...prints);
      }
      this.#wake();
    }
  }

  #step(event: Parameters<typeof step>[1]) {
    if (this.view === undefined) throw new Error('an event came before the snapshot');
    const stepped = step(this.view, event, 0);
    this.view = stepped.view;
    return stepped;
  }
}

/** Joins texts, because batches of events may split them differently. */
function gist(prints: readonly Print[]): readonly unknown[] {
  const output: unknown[] = [];
  let text = '';
  for (const print of prints) {
    if (print.type === 'text') text += print.text;
    else {
      if (text !== '') output.push(text);
      text = '';
      if (print.type !== 'text-end') output.push(print);
    }
  }
  return output;
}

const call = (command: string): SimAnswer => ({
  parts: [{ thinking: 'I must run it' }, { toolCall: { name: 'bash', arguments: { command } } }],
});

async function published(script: readonly SimAnswer[]) {
  const { host, cwd, directory } = await hostFixture(script);
  const path = join(directory, 'run', 'control.sock');
  const models = {
    choose: () => Promise.reject(new Error('no model is chosen here')),
    list: () => Promise.resolve([]),
  };
  const server = await listenForControl({
    path,
    serves: 'host',
    version: '0',
    methods: await hostMethods({ host, models: () => models, version: '0' }),
    takeOvers: {},
    log: silence,
    caught: () => {},
  });
  onTestFinished(() => server.close());
  const pod = await host.create({ cwd });
  await pod.snapshot();
  const link = await openControlLink(path, 'host');
  if (link === undefined) throw new Error('nobody listens');
  onTestFinished(() => link.close());
  const { handle, ...rest } = await remotePod(pod.id, link);
  const remote: PodHandle = { ...rest, handle: (command) => handle(command, { ...ME, door: 'control' }) };
  return { server, host, pod, remote };
}

describe('the same pod, watched in process and through a control socket', () => {
  it('looks the same: messages, thinking, calls, approvals, queue, settings, shell, the end', async () => {
    const { pod, remote } = await published([
      call('node -e 0'),
      { parts: [{ text: 'Done: **two** 日本' }] },
      { parts: [{ text: 'later' }] },
    ]);
    const [localWatcher, remoteWatcher] = [new Watcher(pod), new Watcher(remote)];
    await localWatcher.until(() => true);
    await remoteWatcher.until(() => true);
    await pod.handle(promptCommand('go'), BOB);
    const { approvals } = await remoteWatcher.until(({ approvals }) => approvals.length > 0);
    await remote.handle({ type: 'prompt', content: [{ type: 'text', text: 'then' }], whenBusy: 'follow-up' });
    await remoteWatcher.until(({ queue }) => queue.length === 1);
    await remote.handle({ type: 'configure', set: { name: 'both', mode: 'read-only' } });
    await remote.handle({ type: 'decide', approvalId: approvals[0]?.approvalId ?? '', decision: 'approve' });
    await remoteWatcher.until(({ lastRun, queue }) => lastRun !== undefined && queue.length === 0);
    const { shellId } = await pod.handle({ type: 'shell', command: 'echo hi', private: true }, BOB);
    const seen = await remoteWatcher.until(
      ({ lastShell, state }) => lastShell === shellId && state === 'idle',
    );
    const own = await localWatcher.until(({ lastShell, state }) => lastShell === shellId && state === 'idle');
    expect(gist(remoteWatcher.prints)).toEqual(gist(localWatcher.prints));
    expect(gist(localWatcher.prints)).toContainEqual({
      type: 'message',
      text: 'go',
      from: 'bob through other',
      images: 0,
    });
    expect(gist(localWatcher.prints)).toContain('Done: **two** 日本');
    const known = ({ settings, state, queue, approvals: open, contextTokens, model, lastRun }: View) => ({
      name: settings.name,
      mode: settings.mode,
      state,
      queue,
      open,
      contextTokens,
      model,
      lastRun,
    });
    expect(known(seen)).toEqual(known(own));
  });

  it('looks the same to a client that joins in the middle', async () => {
    const { pod, remote } = await published([
      { parts: [{ text: 'first' }] },
      call('node -e 0'),
      { parts: [{ text: 'end' }] },
    ]);
    const first = new Watcher(pod);
    await first.until(() => true);
    await pod.handle(promptCommand('one'), BOB);
    await first.until(({ lastRun, state }) => lastRun !== undefined && state === 'idle');
    await pod.handle(promptCommand('two'), BOB);
    await first.until(({ approvals }) => approvals.length > 0);
    const [localWatcher, remoteWatcher] = [new Watcher(pod), new Watcher(remote)];
    await localWatcher.until(({ approvals }) => approvals.length > 0);
    await remoteWatcher.until(({ approvals }) => approvals.length > 0);
    expect(gist(remoteWatcher.prints)).toEqual(gist(localWatcher.prints));
    // The approval prompt shows the call, so it has no card.
    expect(gist(localWatcher.prints)).not.toContainEqual(expect.objectContaining({ status: 'waiting' }));
  });

  it('a rejected command is rejected remotely, too', async () => {
    const { remote } = await published([]);
    const refusal = await remote
      .handle({ type: 'cancel' })
      .catch((thrown: unknown) => asPolypodError(thrown));
    expect(refusal).toMatchObject({ code: 'conflict' });
  });

  it('a process that stops serving ends the watch as unreachable, so that a chat reconnects', async () => {
    const { server, remote } = await published([]);
    const watching = remote.watch();
    expect((await watching.next()).value).toMatchObject({ type: 'snapshot' });
    await server.close();
    await expect(watching.next()).rejects.toMatchObject({ code: 'unreachable' });
  });
});
