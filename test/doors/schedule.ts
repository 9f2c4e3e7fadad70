import { setTimeout as sleep } from 'node:timers/promises';
import type { DoorClient, Outcome, Prompt } from './clients/client.ts';
import { HldClient } from './clients/hld.ts';
import { newClient } from './clients/open-client.ts';
import type { Daemon } from './daemon.ts';
import type { Plan, Step } from './plan.ts';

/** A prompt or message that was sent, and the door's response. */
export interface Sent {
  readonly mark: string;
  readonly kind: 'prompt' | 'steer';
  outcome: Outcome;
  /** Whether its client has cancelled it, so that it may be removed from the queue. */
  readonly hasCancelled?: () => boolean;
}

/** The daemon, which the round kills and starts again. */
export interface DaemonProcesses {
  readonly daemon: Daemon;
  /** The number of starts. */
  readonly count: () => number;
  /** Resolves when the daemon is running. */
  readonly up: () => Promise<void>;
}

/** Performs a plan. Actions that a kill interrupts are retried after the restart, as a client would. */
export class Schedule {
  readonly plan: Plan;
  readonly clients: DoorClient[] = [];
  readonly sent: Sent[] = [];
  /** The performed actions, for the analysis of a failure. */
  readonly trace: string[] = [];
  readonly #processes: DaemonProcesses;
  #pod = '';
  #began = performance.now();

  constructor(plan: Plan, processes: DaemonProcesses) {
    [this.plan, this.#processes] = [plan, processes];
  }

  get pod(): string {
    return this.#pod;
  }

  async run(): Promise<void> {
    this.#began = performance.now();
    await this.#create();
    for (const step of this.plan.steps) {
      if (step.waitMs > 0) await sleep(step.waitMs);
      const client = this.clients[step.client + this.#extra] ?? this.clients[0];
      if (client !== undefined) await this.#step(client, step);
    }
  }

  /** Connects all clients. */
  async gather(): Promise<void> {
    for (const client of this.clients) {
      client.resumeReading();
      if (!client.isConnected) await this.connect(client);
    }
  }

  async connect(client: DoorClient): Promise<void> {
    await this.#insist(`${client.wire} connects`, () => client.connect());
  }

  /** The client that created the session, if it stays. */
  #extra = 0;

  async #create(): Promise<void> {
    const { creator, first, clients } = this.plan;
    const { daemon } = this.#processes;
    if (creator === 'hld') {
      const own = await this.#insist('hld launches', () =>
        HldClient.launch({ daemon, fromStart: true, name: 'hld' }, first.text),
      );
      this.#pod = own.pod;
      this.sent.push({ mark: markOf(first), kind: 'prompt', outcome: 'accepted' });
      this.clients.push(own);
      this.#extra = 1;
    } else this.#pod = await this.#insist('a session is made', () => daemon.newSession());
    for (const { wire, fromStart } of clients)
      this.clients.push(newClient(wire, { daemon, pod: this.#pod, fromStart, name: wire }));
    if (creator === 'hld') return;
    const own = newClient(creator, { daemon, pod: this.#pod, fromStart: true, name: creator });
    this.clients.unshift(own);
    this.#extra = 1;
    await this.connect(own);
    const outcome = await this.#send(first, 'prompt', own, own.prompt);
    this.#note(`${creator} creates: ${String(outcome)}`);
  }

  async #step(client: DoorClient, step: Step): Promise<void> {
    const { act } = step;
    if (act === 'cut') client.cut();
    else if (act === 'read slowly') client.pauseReading();
    else {
      client.resumeReading();
      if (act === 'connect' || !client.isConnected) await this.connect(client);
    }
    const outcome = await this.#act(client, step);
    this.#note(`${client.wire} ${act}${outcome === undefined ? '' : `: ${outcome}`}`);
  }

  async #act(client: DoorClient, { act, prompt, choice }: Step): Promise<Outcome | undefined> {
    switch (act) {
      case 'prompt':
      case 'queue':
        return this.#send(prompt, 'prompt', client, client[act]);
      case 'steer': {
        const { steer } = client;
        return this.#send(prompt, 'steer', client, steer && (({ text }) => steer(text)));
      }
      case 'cancel':
        return client.cancel?.();
      case 'prompt and cancel': {
        const { promptAndCancel } = client;
        return this.#send(
          prompt,
          'prompt',
          client,
          promptAndCancel && ((own) => promptAndCancel(own, choice)),
        );
      }
      case 'approve':
      case 'deny':
        return client.decide?.(act);
      case 'malformed input':
        return client.sendMalformed(choice);
      default:
        return undefined;
    }
  }

  async #send(
    prompt: Prompt,
    kind: Sent['kind'],
    client: DoorClient,
    send: ((prompt: Prompt) => Promise<Outcome>) | undefined,
  ): Promise<Outcome | undefined> {
    if (send === undefined) return undefined;
    const sent: Sent = {
      mark: markOf(prompt),
      kind,
      outcome: 'unknown',
      hasCancelled: () => client.hasCancelled?.(prompt) === true,
    };
    this.sent.push(sent);
    sent.outcome = await send(prompt);
    if (sent.outcome === 'unknown' && kind === 'prompt' && client.repeats === true) {
      this.#note(`${client.wire} sends ${sent.mark} again`);
      await this.connect(client);
      sent.outcome = await send(prompt);
    }
    return sent.outcome;
  }

  /** Retries after kills; an action that fails three times without a kill fails. */
  async #insist<T>(what: string, attempt: () => Promise<T>): Promise<T> {
    let failures = 0;
    for (;;) {
      await this.#processes.up();
      const processCount = this.#processes.count();
      try {
        return await attempt();
      } catch (thrown) {
        this.#note(`${what}: ${String(thrown)}`);
        failures = processCount === this.#processes.count() && this.#processes.daemon.isUp ? failures + 1 : 0;
        if (failures === 3) throw thrown;
        await sleep(20);
      }
    }
  }

  #note(text: string): void {
    this.trace.push(
      `${Math.round(performance.now() - this.#began)} ms, process ${this.#processes.count()}: ${text}`,
    );
  }
}

function markOf({ text }: Prompt): string {
  return text.split(' ')[0] ?? '';
}
