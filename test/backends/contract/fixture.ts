import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { objectOf, parseObject } from '../../../src/base/index.ts';
import { contentText } from '../../../src/llm/index.ts';
import type { PodCommand, PodEvent, PodEventOf } from '../../../src/pod/index.ts';
import type { PodHandle } from '../../../src/control/index.ts';
import type { SimAnswer, SimRequest } from '../../../src/sim/index.ts';
import { findProcess } from '../../../src/tools/index.ts';
import { type CliFixture, cliFixture } from '../../cli/daemon.ts';
import type { Running } from '../../cli/polypod.ts';
import type { TestedAgent } from './agents.ts';

/** Answers the requests of the agent's main loop. Others, such as for a title, get a word. */
export type Answers = (request: SimRequest) => SimAnswer;

export const text = (words: string): SimAnswer => ({ parts: [{ text: words }] });
export const STALLS: SimAnswer = {
  parts: [{ text: 'I begin with a long answer' }],
  fault: { kind: 'stall', after: 1 },
};

/** Answers in order; the last one is repeated. */
export function inOrder(...answers: readonly SimAnswer[]): Answers {
  let next = 0;
  return () => answers[Math.min(next++, answers.length - 1)] ?? text('nothing');
}

export interface HostedAgent {
  readonly fixture: CliFixture;
  /** The requests of the agent's main loop so far. */
  readonly requests: readonly SimRequest[];
  readonly project: string;
  readonly session: Session;
  readonly serve: () => Promise<Running>;
  readonly daemon: () => Running;
  /** The process ids of the agent's programs that are recorded. */
  readonly programs: () => readonly number[];
}

/** A daemon, and a session whose work is done by the agent. */
export async function hosted(
  agent: TestedAgent,
  answers: Answers,
  wrap: (command: readonly string[]) => readonly string[] = (command) => command,
): Promise<HostedAgent> {
  const requests: SimRequest[] = [];
  const fixture = await cliFixture((request) => {
    if (request.tools.length === 0) return text('word');
    requests.push(request);
    return answers(request);
  });
  const env = agent.prepare(fixture.home, fixture.sim.url);
  const configured =
    agent.command === undefined
      ? {}
      : { backend: agent.name, backends: { [agent.name]: { command: wrap(agent.command), env } } };
  // JSON is YAML.
  fixture.configure(JSON.stringify({ version: 1, titles: 'off', ...configured }));
  let daemon = await fixture.serve();
  // A daemon that is killed leaves the agent behind, which would still write to the directory that is removed.
  onTestFinished(async () => {
    daemon.child.kill('SIGTERM');
    await daemon.finished;
  });
  const { id } = await (await fixture.link()).call('new', { cwd: fixture.project });
  const session = new Session(fixture, String(id));
  await session.open();
  return {
    fixture,
    requests,
    project: fixture.project,
    session,
    daemon: () => daemon,
    serve: async () => {
      daemon = await fixture.serve();
      await session.open();
      return daemon;
    },
    programs: () => recordedPrograms(join(fixture.dataDirectory, 'commands')),
  };
}

function recordedPrograms(directory: string): readonly number[] {
  const names = existsSync(directory) ? readdirSync(directory) : [];
  return names.flatMap((name) => {
    const { callId, root } = parseObject(readFileSync(join(directory, name), 'utf8')) ?? {};
    const { pid } = objectOf(root);
    return callId === 'agent' && typeof pid === 'number' ? [pid] : [];
  });
}

export function isRunning(pid: number): boolean {
  return findProcess(pid) !== undefined;
}

/** A session in the daemon, with all its events so far. */
export class Session {
  readonly id: string;
  events: PodEvent[] = [];
  readonly #fixture: Pick<CliFixture, 'pod'>;
  #pod: PodHandle | undefined;
  #wake: (() => void)[] = [];
  #seen = 0;

  constructor(fixture: Pick<CliFixture, 'pod'>, id: string) {
    this.#fixture = fixture;
    this.id = id;
  }

  /** Watches the session from its first event on. */
  async open(): Promise<void> {
    this.#pod = await this.#fixture.pod(this.id);
    const leave = new AbortController();
    onTestFinished(() => leave.abort());
    const events: PodEvent[] = [];
    this.events = events;
    const watch = async (pod: PodHandle): Promise<void> => {
      for await (const item of pod.watch({ after: 0, signal: leave.signal })) {
        if (item.type !== 'events') continue;
        events.push(...item.batch.events);
        for (const wake of this.#wake.splice(0)) wake();
      }
    };
    watch(this.#pod).catch(() => {});
  }

  async handle(command: PodCommand): Promise<void> {
    await this.#pod?.handle(command, { by: 'ada', door: 'control' });
  }

  async prompt(words: string): Promise<void> {
    this.#seen = this.events.at(-1)?.seq ?? 0;
    await this.handle({ type: 'prompt', content: [{ type: 'text', text: words }] });
  }

  async decide(approvalId: string, decision: 'approve' | 'deny', comment?: string): Promise<void> {
    await this.handle({ type: 'decide', approvalId, decision, ...(comment !== undefined && { comment }) });
  }

  /** The first matching event since the last prompt. */
  async next<T extends PodEvent['type']>(
    type: T,
    matches: (event: PodEventOf<T>) => boolean = () => true,
  ): Promise<PodEventOf<T>> {
    for (;;) {
      const found = this.events.find(
        (event): event is PodEventOf<T> =>
          event.seq > this.#seen && event.type === type && matches(event as PodEventOf<T>),
      );
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  /** The pending approvals, when there are this many. */
  async approvals(count: number): Promise<readonly PodEventOf<'approval-request'>['approval'][]> {
    for (;;) {
      const settled = new Set(
        this.events.flatMap((event) => (event.type === 'approval-response' ? [event.approvalId] : [])),
      );
      const pending = this.events.flatMap((event) =>
        event.type === 'approval-request' && !settled.has(event.approval.approvalId) ? [event.approval] : [],
      );
      if (pending.length >= count) return pending;
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  /** The end of the run that the last prompt started. */
  async ended(): Promise<PodEventOf<'run-end'>> {
    const end = await this.next('run-end');
    await this.next('state', ({ state, seq }) => state === 'idle' && seq > end.seq);
    return end;
  }

  /** Prompts and waits for the end. */
  async run(words: string): Promise<PodEventOf<'run-end'>> {
    await this.prompt(words);
    return this.ended();
  }

  /** The model's texts since the last prompt. */
  answer(): string {
    const items = this.events.flatMap((event) =>
      event.type === 'llm-end' && event.seq > this.#seen ? event.items : [],
    );
    return items.map((item) => (item.type === 'message' ? contentText(item.content) : '')).join('');
  }
}

/** Checks that the events of a session are in the order that every door expects. */
export function expectBalanced(events: readonly PodEvent[]): void {
  const open = new Set<string>();
  for (const event of events) {
    if (event.type === 'run-start') open.add('run');
    if (event.type === 'turn-start') expect(open.has('turn'), `turn-start at ${event.seq}`).toBe(false);
    if (event.type === 'turn-start') open.add('turn');
    if (event.type === 'turn-end') open.delete('turn');
    if (event.type === 'tool-start') open.add(event.call.callId);
    if (event.type === 'tool-end') expect(open.delete(event.callId), `tool-end at ${event.seq}`).toBe(true);
    if (event.type === 'run-end') open.delete('run');
  }
  expect([...open]).toEqual([]);
  const numbers = events.map(({ seq }) => seq);
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  expect(new Set(numbers).size).toBe(numbers.length);
}
