import type { PodEvent } from '../../src/pod/index.ts';
import { askedFindings, findings, waitUntilReceived } from './check.ts';
import type { DoorClient, Outcome, Prompt, WireName } from './clients/client.ts';
import { HldClient } from './clients/hld.ts';
import { newClient } from './clients/open-client.ts';
import type { Daemon } from './daemon.ts';
import { withinTime } from './within-time.ts';

/** One session and its clients, each on its own door. */
export class SharedSession {
  readonly daemon: Daemon;
  readonly pod: string;
  readonly clients: DoorClient[] = [];
  /** Accepted prompts. */
  #prompts = 0;

  /** Creates a session and a client of every wire. If a protocol cannot create a session, its first prompt does. */
  static async open(
    daemon: Daemon,
    driver: WireName,
    wires: readonly WireName[],
    first: Prompt,
  ): Promise<SharedSession> {
    const own =
      driver === 'hld'
        ? await HldClient.launch({ daemon, fromStart: true, name: 'hld' }, first.text)
        : undefined;
    const session = new SharedSession(daemon, own?.pod ?? (await daemon.newSession()));
    if (own !== undefined) session.clients.push(own);
    await Promise.all(
      wires.filter((wire) => own === undefined || wire !== driver).map((wire) => session.join(wire)),
    );
    if (own === undefined) await session.prompt(session.client(driver).prompt, first);
    else session.#prompts += 1;
    return session;
  }

  constructor(daemon: Daemon, pod: string) {
    [this.daemon, this.pod] = [daemon, pod];
  }

  client(wire: WireName): DoorClient {
    const client = this.clients.find((one) => one.wire === wire);
    if (client === undefined) throw new Error(`nobody speaks ${wire} here`);
    return client;
  }

  async join(wire: WireName, fromStart = true): Promise<DoorClient> {
    const { daemon, pod } = this;
    const client = newClient(wire, { daemon, pod, fromStart, name: wire });
    this.clients.push(client);
    await client.connect();
    return client;
  }

  async expect(acted: Promise<Outcome> | undefined, wanted: Outcome): Promise<void> {
    const outcome = await acted;
    if (outcome !== wanted) throw new Error(`an action is ${String(outcome)} and not ${wanted}`);
  }

  /** Sends or queues a prompt. */
  async prompt(ask: ((prompt: Prompt) => Promise<Outcome>) | undefined, prompt: Prompt): Promise<void> {
    await this.expect(ask?.(prompt), 'accepted');
    this.#prompts += 1;
  }

  /** Decides as soon as the client knows the approval. */
  async decide(client: DoorClient, decision: 'approve' | 'deny'): Promise<void> {
    await withinTime(`${client.wire} decides`, async () =>
      (await client.decide?.(decision)) === 'accepted' ? true : undefined,
    );
  }

  /** Until somebody has decided. */
  async decideOnce(client: DoorClient, decision: 'approve' | 'deny'): Promise<void> {
    await withinTime(`${client.wire} decides`, async () => {
      if ((await client.decide?.(decision)) === 'accepted') return true;
      return (await this.daemon.state(this.pod)).state === 'waiting' ? undefined : true;
    });
  }

  /** Resolves when the log contains a matching event. */
  async until(what: string, matches: (event: PodEvent) => boolean, count = 1): Promise<void> {
    await withinTime(what, async () =>
      (await this.daemon.log(this.pod)).filter(matches).length >= count ? true : undefined,
    );
  }

  async untilState(state: string): Promise<void> {
    await withinTime(`the session is ${state}`, async () =>
      (await this.daemon.state(this.pod)).state === state ? true : undefined,
    );
  }

  /** Resolves when nothing runs; returns the differences between any door and the log. */
  async settle(): Promise<{ readonly log: readonly PodEvent[]; readonly problems: readonly string[] }> {
    // A prompt may be acknowledged before its run starts.
    const log = await withinTime('every prompt has ended', async () => {
      const events = await this.daemon.log(this.pod);
      const prompts = events.filter(({ type }) => type === 'input').length;
      const last = events.findLast(({ type }) => type === 'state');
      return prompts >= this.#prompts && last?.type === 'state' && last.state === 'idle' ? events : undefined;
    });
    const problems = [
      ...(await waitUntilReceived(this.clients, log)),
      ...this.clients.flatMap((client) => findings(client, log)),
      ...(await askedFindings(this.clients, log)),
    ];
    return { log, problems };
  }

  leave(): void {
    for (const client of this.clients) client.cut();
  }
}
