import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, Transport } from '@modelcontextprotocol/client';
import { orAbort } from '../abort.ts';
import { answerFailure, httpStatusOf, isAnswer } from './failure.ts';
import type { Link, LinkOptions, Reached } from './link.ts';
import { answerLostRequests } from './lost-requests.ts';
import type { Sdk } from './sdk.ts';
import type { HttpSpec } from '../spec.ts';

/** Says hello to a server over HTTP: in today's way, and if it does not know that, in the way of 2024. */
export async function connectHttp(
  sdk: Sdk,
  newClient: () => Client,
  { url, headers }: HttpSpec,
  options: LinkOptions,
): Promise<Reached> {
  const requestInit = { headers: { ...headers } };
  const streamable = new sdk.StreamableHTTPClientTransport(new URL(url), { requestInit });
  answerLostRequests(streamable);
  const link = new HttpLink(newClient(), streamable, () => streamable.terminateSession(), options);
  const thrown = await link.connect();
  if (thrown === undefined) return { link };
  if (NOT_STREAMABLE.has(httpStatusOf(thrown) ?? 0)) {
    const old = new sdk.SSEClientTransport(new URL(url), { requestInit });
    const oldLink = new HttpLink(newClient(), old, async () => undefined, options);
    if ((await oldLink.connect()) === undefined) return { link: oldLink };
  }
  return { failure: answerFailure(thrown, options.timeoutMs) };
}

/** What servers of 2024 say to a POST at the address of their event stream. */
const NOT_STREAMABLE: ReadonlySet<number> = new Set([400, 404, 405]);

/** How long a server may take to say that it is still there. */
const PING_MS = 5_000;

/**
 * Over HTTP nobody tells that a server is gone: a request fails, or the stream of its messages breaks off. Then it is asked, and
 * if it does not answer the link is lost.
 */
class HttpLink implements Link {
  readonly client: Client;
  readonly pid = undefined;
  readonly #transport: Transport;
  readonly #farewell: () => Promise<void>;
  readonly #options: LinkOptions;
  #isOpen = false;
  #asking: Promise<void> | undefined;

  constructor(client: Client, transport: Transport, farewell: () => Promise<void>, options: LinkOptions) {
    this.client = client;
    this.#transport = transport;
    this.#farewell = farewell;
    this.#options = options;
  }

  /** Answers what was thrown, if anything was. */
  async connect(): Promise<unknown> {
    const { timeoutMs, signal } = this.#options;
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport has no other way to be heard
    this.#transport.onerror = (error) => void this.check(error);
    try {
      const connected = this.client.connect(this.#transport, { timeout: timeoutMs, signal });
      // The SDK sets no limit to the time that the event stream of 2024 takes to open.
      await orAbort(connected, signal);
      this.#isOpen = true;
      return undefined;
    } catch (thrown) {
      await this.#transport.close();
      return thrown;
    }
  }

  async check(thrown: unknown): Promise<void> {
    if (!this.#isOpen || isAnswer(thrown)) return;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    await this.#asking;
  }

  async end(): Promise<void> {
    this.#isOpen = false;
    // A courtesy: the server may forget the session at once.
    const farewell = this.#farewell().catch(() => undefined);
    await Promise.race([farewell, sleep(this.#options.graceMs, undefined, { ref: false })]);
    await this.client.close();
  }

  async #ask(): Promise<void> {
    try {
      await this.client.ping({ timeout: PING_MS });
    } catch (thrown) {
      if (!this.#isOpen || isAnswer(thrown)) return;
      this.#isOpen = false;
      this.#options.onLost({ text: answerFailure(thrown, PING_MS).text, permanent: false });
      await this.client.close();
    }
  }
}
