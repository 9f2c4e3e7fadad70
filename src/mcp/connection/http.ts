import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, Transport } from '@modelcontextprotocol/client';
import { orAbort } from '../abort.ts';
import { answerFailure, httpStatus, isAnswer } from './failure.ts';
import type { McpLink, McpLinkOptions, LinkResult } from './link.ts';
import { answerLostRequests } from './lost-requests.ts';
import type { Sdk } from './sdk.ts';
import type { HttpSpec } from '../spec.ts';

/**
 * Connects to a server over HTTP: with streamable HTTP, or with the SSE transport of 2024 if the server does
 * not support it.
 */
export async function connectHttp(
  sdk: Sdk,
  newClient: () => Client,
  { url, headers }: HttpSpec,
  options: McpLinkOptions,
): Promise<LinkResult> {
  const { fetch } = options;
  const requestOptions = { requestInit: { headers: { ...headers } }, ...(fetch && { fetch }) };
  const streamable = new sdk.StreamableHTTPClientTransport(new URL(url), requestOptions);
  answerLostRequests(streamable);
  const link = new HttpLink(newClient(), streamable, () => streamable.terminateSession(), options);
  const thrown = await link.connect();
  if (thrown === undefined) return { link };
  if (NOT_STREAMABLE.has(httpStatus(thrown) ?? 0)) {
    const old = new sdk.SSEClientTransport(new URL(url), requestOptions);
    const oldLink = new HttpLink(newClient(), old, async () => undefined, options);
    if ((await oldLink.connect()) === undefined) return { link: oldLink };
  }
  return { failure: answerFailure(thrown, options.timeoutMs) };
}

/** How servers of 2024 answer a POST to their event stream URL. */
const NOT_STREAMABLE: ReadonlySet<number> = new Set([400, 404, 405]);

/** How long a server may take to answer a ping. */
const PING_MS = 5_000;

/**
 * HTTP has no disconnect event: a request fails or the message stream breaks. Then the server is pinged, and
 * the link is lost if it does not answer.
 */
class HttpLink implements McpLink {
  readonly client: Client;
  readonly pid = undefined;
  readonly #transport: Transport;
  readonly #endSession: () => Promise<void>;
  readonly #options: McpLinkOptions;
  #isOpen = false;
  #pinging: Promise<void> | undefined;

  constructor(
    client: Client,
    transport: Transport,
    endSession: () => Promise<void>,
    options: McpLinkOptions,
  ) {
    this.client = client;
    this.#transport = transport;
    this.#endSession = endSession;
    this.#options = options;
  }

  /** Returns what was thrown, if anything. */
  async connect(): Promise<unknown> {
    const { timeoutMs, signal } = this.#options;
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the transport has no other way
    this.#transport.onerror = (error) => void this.check(error);
    try {
      const connected = this.client.connect(this.#transport, { timeout: timeoutMs, signal });
      // The SDK sets no time limit for opening the event stream of 2024.
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
    this.#pinging ??= this.#ping().finally(() => {
      this.#pinging = undefined;
    });
    await this.#pinging;
  }

  async end(): Promise<void> {
    this.#isOpen = false;
    // Optional: lets the server drop the session immediately.
    const endSession = this.#endSession().catch(() => undefined);
    await Promise.race([endSession, sleep(this.#options.graceMs, undefined, { ref: false })]);
    await this.client.close();
  }

  async #ping(): Promise<void> {
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
