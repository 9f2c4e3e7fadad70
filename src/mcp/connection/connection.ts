import type { Env, JsonObject } from '../../base/index.ts';
import { oneLine } from '../shorten.ts';
import { answerFailure, type McpFailure } from './failure.ts';
import { connectHttp } from './http.ts';
import type { Link, LinkOptions } from './link.ts';
import { loadSdk } from './sdk.ts';
import type { McpServerSpec } from '../spec.ts';
import { connectStdio } from './stdio.ts';
import { fetchTools, type ListedTool, notTooDeep, ToolListing, UNREAD } from '../tools/tool-listing.ts';

export interface ConnectionOptions extends LinkOptions {
  readonly clientVersion: string;
  /** The whole environment and the directory of a server that is started. */
  readonly env: Env;
  readonly cwd: string;
  readonly onToolsChanged: () => void;
}

export type Opened = { readonly connection: Connection } | { readonly failure: McpFailure };

/** Reaches a server and asks for its tools, all within the time limit. What goes wrong is an answer, not an exception. */
export async function openConnection(spec: McpServerSpec, options: ConnectionOptions): Promise<Opened> {
  const { timeoutMs, onLost, onToolsChanged } = options;
  let isOpen = false;
  let lost: McpFailure | undefined;
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(timeoutMs)]);
  const reached = await reach(spec, {
    ...options,
    signal,
    onLost: (failure) => {
      lost ??= failure;
      if (isOpen) onLost(failure);
    },
  });
  if ('failure' in reached) return reached;

  const { link } = reached;
  const listing = new ToolListing(() =>
    fetchTools(link.client, isOpen ? { timeout: timeoutMs } : { timeout: timeoutMs, signal }),
  );
  // A list that cannot be had leaves the old one; whether the link still works shows elsewhere.
  link.client.setNotificationHandler('notifications/tools/list_changed', () =>
    listing.refresh().then(onToolsChanged, () => undefined),
  );
  try {
    await listing.refresh();
  } catch (thrown) {
    await link.check(thrown);
    const failure = lost ?? answerFailure(thrown, timeoutMs);
    await link.end();
    return { failure };
  }
  if (lost !== undefined) return { failure: lost };
  isOpen = true;
  return { connection: new Connection(link, listing) };
}

async function reach(spec: McpServerSpec, options: ConnectionOptions): ReturnType<typeof connectHttp> {
  const sdk = await loadSdk();
  const newClient = () => new sdk.Client({ name: 'polypod', version: options.clientVersion });
  if (spec.transport === 'http') return connectHttp(sdk, newClient, spec, options);
  const { command, args } = spec;
  return connectStdio(sdk, newClient(), { command, args, cwd: options.cwd, env: options.env }, options);
}

export interface CallOptions {
  /** How long the call may go on without a sign of progress. */
  readonly timeoutMs: number;
  readonly onProgress: (text: string) => void;
  readonly signal: AbortSignal;
}

/** A server that is there, and what it can do. */
export class Connection {
  readonly #link: Link;
  readonly #listing: ToolListing;

  constructor(link: Link, listing: ToolListing) {
    this.#link = link;
    this.#listing = listing;
  }

  get tools(): readonly ListedTool[] {
    return this.#listing.tools;
  }

  get pid(): number | undefined {
    return this.#link.pid;
  }

  /** What the server calls itself: `everything 2.0.0`. */
  get version(): string | undefined {
    const about = this.#link.client.getServerVersion();
    return about === undefined ? undefined : oneLine(`${about.name} ${about.version}`, LONGEST_LINE);
  }

  /** The server's answer, unread. Throws what the SDK throws, and where it is nested too deep. */
  async call(
    tool: string,
    input: JsonObject,
    { timeoutMs, onProgress, signal }: CallOptions,
  ): Promise<unknown> {
    const params = { name: tool, arguments: input };
    const answer = await this.#link.client.request({ method: 'tools/call', params }, UNREAD, {
      signal,
      timeout: Math.min(timeoutMs, LONGEST_TIMER),
      resetTimeoutOnProgress: true,
      onprogress: ({ progress, total, message }) => onProgress(progressText(progress, total, message)),
    });
    return notTooDeep(answer);
  }

  check(thrown: unknown): Promise<void> {
    return this.#link.check(thrown);
  }

  end(): Promise<void> {
    return this.#link.end();
  }
}

/** Node's timers take a longer one for none at all. */
const LONGEST_TIMER = 2 ** 31 - 1;

function progressText(progress: number, total: number | undefined, message: string | undefined): string {
  const amount = total === undefined ? `${progress}` : `${progress}/${total}`;
  return oneLine(`${amount} ${message ?? ''}`, LONGEST_LINE);
}

const LONGEST_LINE = 200;
