import { describe, expect, it, onTestFinished } from 'vitest';
import { shape } from '../../../src/base/index.ts';
import { textContent } from '../../../src/llm/index.ts';
import { Host, type HostOptions, type Pod } from '../../../src/pod/index.ts';
import { startSim, type SimRequest } from '../../../src/sim/index.ts';
import type { Files, OpenFile } from '../../../src/store/index.ts';
import { defineTool, textOutput } from '../../../src/tools/index.ts';
import { type Fault, FaultyFiles } from '../../store/faulty-files.ts';
import { logAfter, idleSnapshot } from './pod-reader.ts';
import { filesOf } from './power-cut.ts';
import { SessionText } from './session-text.ts';
import { ADA, agentsOn, Listener, promptCommand, scratch } from '../fixture.ts';

const FAULTS = [
  ['ENOSPC', 'overloaded', 'the disk is full'],
  ['EIO', 'overloaded', 'input/output error'],
  ['EROFS', 'denied', 'read-only'],
] as const;

type Operation = 'append' | 'sync' | 'truncate';

/** A disk on which selected operations on selected files fail, until it is repaired. */
class FailingDisk {
  readonly disk = new FaultyFiles();
  readonly files: Files;
  /** How many bytes an append writes before it fails. */
  freeBytes = 0;
  #failing:
    | { readonly fault: Fault; readonly operations: readonly Operation[]; readonly path: RegExp }
    | undefined;

  constructor() {
    const working = filesOf(this.disk, new Set());
    const opened = (path: string, file: OpenFile): OpenFile => ({
      ...file,
      append: (bytes) => {
        if (this.#fails('append', path) && this.freeBytes > 0) {
          const part = bytes.subarray(0, Math.min(this.freeBytes, bytes.length - 1));
          this.freeBytes = 0;
          return file.append(part);
        }
        this.#assert('append', path);
        return file.append(bytes);
      },
      truncate: (size) => {
        this.#assert('truncate', path);
        file.truncate(size);
      },
      sync: async () => {
        if (this.#fails('sync', path)) this.disk.syncFault = this.#failing?.fault;
        // As on Linux: after a failed sync, unwritten pages count as written.
        await file.sync().finally(() => {
          this.disk.syncFault = undefined;
        });
      },
    });
    this.files = {
      ...working,
      openToAppend: (path) => opened(path, working.openToAppend(path)),
      openToUpdate: (path) => opened(path, working.openToUpdate(path)),
      create: (path) => opened(path, working.create(path)),
    };
  }

  fail(fault: Fault, operations: readonly Operation[], path: RegExp): void {
    this.#failing = { fault, operations, path };
  }

  heal(): void {
    this.#failing = undefined;
    this.freeBytes = 0;
  }

  #fails(operation: Operation, path: string): boolean {
    return this.#failing?.operations.includes(operation) === true && this.#failing.path.test(path);
  }

  #assert(operation: Operation, path: string): void {
    if (this.#fails(operation, path))
      throw Object.assign(new Error(`${this.#failing?.fault}: planted`), { code: this.#failing?.fault });
  }
}

interface Scenario {
  readonly disk: FailingDisk;
  readonly host: Host;
  readonly pod: Pod;
  readonly other: Pod;
  /** Failures that no command was waiting for. */
  readonly failures: string[];
  readonly called: string[];
  /** Lets the tool `wait` finish. */
  readonly release: () => void;
  readonly open: (options?: Partial<HostOptions>) => Promise<Host>;
}

/** Two pods of one host, each with a message. */
async function scenario(): Promise<Scenario> {
  const script = ({ messages }: SimRequest) =>
    messages.at(-1)?.text === 'use the tool'
      ? { parts: [{ toolCall: { id: 'toolu_1', name: 'wait', arguments: {} } }] }
      : { parts: [{ text: 'Fine.' }] };
  const sim = await startSim({ script });
  onTestFinished(() => sim.close());
  const called: string[] = [];
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const wait = defineTool({
    name: 'wait',
    description: 'Waits.',
    input: shape.fields({}, {}),
    parallel: false,
    access: () => [],
    title: () => 'wait',
    run: async (_, { callId }) => {
      called.push(callId);
      await released;
      return textOutput('waited', 'waited');
    },
  });
  const disk = new FailingDisk();
  const failures: string[] = [];
  const open = async (options: Partial<HostOptions> = {}): Promise<Host> => {
    const opened = await Host.open({
      directory: '/data',
      agents: agentsOn(sim, { tools: [wait], rules: [{ tool: 'wait', action: 'auto' }] }),
      files: disk.files,
      onFailure: ({ message }) => failures.push(message),
      ...options,
    });
    onTestFinished(() => opened.shutdown().catch(() => {}));
    return opened;
  };
  const host = await open();
  const pods = await Promise.all([host.create({ cwd: scratch() }), host.create({ cwd: scratch() })]);
  for (const pod of pods) {
    await pod.handle(promptCommand('hello'), ADA);
    await idleSnapshot(pod);
  }
  return { disk, host, pod: pods[0], other: pods[1], failures, called, release, open };
}

/** A prompt and its answer. */
async function promptAndExpectAnswer(pod: Pod, text: string): Promise<void> {
  await pod.handle(promptCommand(text), ADA);
  const { items, lastRun } = await idleSnapshot(pod);
  expect(lastRun?.outcome.status).toBe('finished');
  expect(items).toContainEqual({ type: 'message', role: 'user', content: textContent(text) });
}

const FAILURES = [
  ['append to its session', ['append'], 'sessions/ID'],
  ['append to its feed', ['append'], 'feeds/ID'],
  ['append to its session half, and take it back', ['append', 'truncate'], 'sessions/ID'],
  ['sync its session', ['sync'], 'sessions/ID'],
  ['do anything', ['append', 'truncate', 'sync'], 'ID'],
] as const;

describe.each(FAULTS)('a disk that fails with %s', (fault, code, words) => {
  it.each(FAILURES)(
    'when a pod tries to %s: it reports the error, other pods continue, and it continues later',
    async (_, operations, pathPattern) => {
      const { disk, pod, other, failures, host } = await scenario();
      const before = await pod.snapshot();
      const listener = new Listener(pod);
      await listener.joined();
      disk.freeBytes = 40;
      disk.fail(fault, operations, new RegExp(pathPattern.replace('ID', pod.id)));
      const command = { type: 'set-todos', items: [{ content: 'survive', status: 'pending' }] } as const;
      const keyed = { ...ADA, key: 'todos' };
      await expect(pod.handle(command, keyed)).rejects.toMatchObject({
        code,
        message: expect.stringContaining(words),
      });
      expect(await listener.ended).toMatchObject({ code, message: expect.stringContaining(words) });
      await expect.poll(() => failures.join()).toContain(words);
      // Still failing: every command is rejected, and nothing hangs.
      await expect(pod.handle(command, keyed)).rejects.toThrow(words);
      await promptAndExpectAnswer(other, 'and you?');

      disk.heal();
      await pod.handle(command, keyed);
      const after = await pod.snapshot();
      expect(after.todos).toEqual(command.items);
      expect(after.items).toEqual(before.items);
      expect(after.seq).toBeGreaterThan(before.seq);
      await promptAndExpectAnswer(pod, 'again');
      const { events } = await logAfter(pod, 0, (await pod.snapshot()).seq);
      const numbers = events.map(({ seq }) => seq);
      expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
      expect(events.filter(({ type }) => type === 'todos')).toHaveLength(1);
      expect(host.usage.runs).toBe(0);
    },
  );

  it('during a run: the run ends, its call is not repeated, the next run works', async () => {
    const { disk, pod, other, called, release } = await scenario();
    const listener = new Listener(pod);
    await pod.handle(promptCommand('use the tool'), ADA);
    await listener.waitForType('tool-start');
    disk.fail(fault, ['append'], new RegExp(pod.id));
    release();
    expect(await listener.ended).toMatchObject({ code, message: expect.stringContaining(words) });
    await expect(pod.snapshot()).rejects.toThrow(words);
    await promptAndExpectAnswer(other, 'and you?');

    disk.heal();
    const { items, lastRun } = await idleSnapshot(pod);
    expect(lastRun?.outcome.status).toBe('interrupted');
    expect(items.filter(({ type }) => type === 'tool-result')).toHaveLength(1);
    expect(called).toEqual(['toolu_1']);
    await promptAndExpectAnswer(pod, 'again');
    expect(called).toEqual(['toolu_1']);
  });

  it('at a sync, before a power cut: commands accepted afterwards are not lost', async () => {
    const { disk, pod, open } = await scenario();
    disk.fail(fault, ['sync'], new RegExp(`sessions/${pod.id}`));
    const keyed = { ...ADA, key: 'once' };
    const command = { type: 'follow-up', content: textContent('remember me') } as const;
    await expect(pod.handle(command, keyed)).rejects.toThrow(words);
    disk.heal();
    const receipt = await pod.handle(command, keyed);
    await promptAndExpectAnswer(pod, 'again');
    const after = disk.disk.afterPowerCut({ torn: 0, zeros: false, names: false });
    const host = await open({ files: filesOf(after, new Set()) });
    const text = new SessionText(after.contentOf(`/data/sessions/${pod.id}.jsonl`).toString());
    expect(text.problems).toEqual([]);
    expect(await host.pod(pod.id).handle(command, keyed)).toEqual(receipt);
    expect(text.countUserMessages('remember me')).toBe(1);
  });

  it('for new pods and forks: they are rejected and leave no files', async () => {
    const { disk, host, pod } = await scenario();
    const names = () => disk.files.list('/data/sessions').toSorted();
    const [before, rows] = [names(), await host.sessions.list()];
    disk.fail(fault, ['append'], /sessions|feeds/);
    await expect(host.create({ cwd: scratch() })).rejects.toMatchObject({ code });
    await expect(host.fork(pod.id)).rejects.toMatchObject({ code });
    disk.heal();
    expect(await host.sessions.list()).toEqual(rows);
    expect(names()).toEqual(before);
    await promptAndExpectAnswer(pod, 'again');
    const fork = await host.fork(pod.id);
    expect((await fork.snapshot()).items).toEqual((await pod.snapshot()).items);
  });

  it('for the catalogue only: pods keep working', async () => {
    const { disk, host, pod, failures } = await scenario();
    disk.fail(fault, ['append', 'sync', 'truncate'], /catalogue/);
    await pod.handle({ type: 'configure', set: { name: 'unlisted' } }, ADA);
    await promptAndExpectAnswer(pod, 'again');
    expect(failures.join()).toContain('cannot write catalogue.jsonl');
    expect(host.sessions.byName('unlisted').map(({ id }) => id)).toEqual([pod.id]);
  });
});
