import type { Env, JsonObject } from '../../base/index.ts';
import { oneLine } from '../shorten.ts';
import { answerFailure, type McpFailure } from './failure.ts';
import { type AskUser, answerQuestions, questionCapabilities } from './elicitation.ts';
import { connectHttp } from './http.ts';
import type { McpLink, McpLinkOptions } from './link.ts';
import { loadSdk } from './sdk.ts';
import type { McpServerSpec } from '../spec.ts';
import { connectStdio } from './stdio.ts';
import { fetchTools, type ListedTool, checkDepth, ToolListing, UNPARSED } from '../tools/tool-listing.ts';

export interface ConnectionOptions extends McpLinkOptions {
  readonly clientVersion: string;
  /** The complete environment and the working directory of a started server. */
  readonly env: Env;
  readonly cwd: string;
  readonly ask?: AskUser;
  readonly onToolsChanged: () => void;
}

export type OpenResult = { readonly connection: Connection } | { readonly failure: McpFailure };

/** Connects to a server and lists its tools within the time limit. Failures are returned, not thrown. */
export async function openConnection(spec: McpServerSpec, options: ConnectionOptions): Promise<OpenResult> {
  const { timeoutMs, onLost, onToolsChanged } = options;
  let isOpen = false;
  let lost: McpFailure | undefined;
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(timeoutMs)]);
  const reached = await connectServer(spec, {
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
  // If the list cannot be fetched, the old one stays; the link reports separately whether it still works.
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

async function connectServer(
  spec: McpServerSpec,
  options: ConnectionOptions,
): ReturnType<typeof connectHttp> {
  const sdk = await loadSdk();
  const { clientVersion: version, ask } = options;
  const newClient = () => {
    const capabilities = questionCapabilities(ask);
    if (ask === undefined || capabilities === undefined) return new sdk.Client({ name: 'polypod', version });
    const client = new sdk.Client({ name: 'polypod', version }, { capabilities });
    answerQuestions(client, spec.name, ask);
    return client;
  };
  if (spec.transport === 'http') return connectHttp(sdk, newClient, spec, options);
  const { command, args } = spec;
  return connectStdio(sdk, newClient(), { command, args, cwd: options.cwd, env: options.env }, options);
}

export interface CallOptions {
  /** How long the call may run without progress. */
  readonly timeoutMs: number;
  readonly onProgress: (text: string) => void;
  readonly signal: AbortSignal;
}

/** A connected server and its tools. */
export class Connection {
  readonly #link: McpLink;
  readonly #listing: ToolListing;

  constructor(link: McpLink, listing: ToolListing) {
    this.#link = link;
    this.#listing = listing;
  }

  get tools(): readonly ListedTool[] {
    return this.#listing.tools;
  }

  get pid(): number | undefined {
    return this.#link.pid;
  }

  /** The name and version that the server reports: `everything 2.0.0`. */
  get version(): string | undefined {
    const about = this.#link.client.getServerVersion();
    return about === undefined ? undefined : oneLine(`${about.name} ${about.version}`, MAX_PROGRESS_LENGTH);
  }

  /**
   * Returns the server's unparsed answer. Throws what the SDK throws, or an error if the answer is nested too
   * deep.
   */
  async call(
    tool: string,
    input: JsonObject,
    { timeoutMs, onProgress, signal }: CallOptions,
  ): Promise<unknown> {
    const params = { name: tool, arguments: input };
    const answer = await this.#link.client.request({ method: 'tools/call', params }, UNPARSED, {
      signal,
      timeout: Math.min(timeoutMs, MAX_TIMER_MS),
      resetTimeoutOnProgress: true,
      onprogress: ({ progress, total, message }) => onProgress(progressText(progress, total, message)),
    });
    return checkDepth(answer);
  }

  check(thrown: unknown): Promise<void> {
    return this.#link.check(thrown);
  }

  end(): Promise<void> {
    return this.#link.end();
  }
}

/** Node's timers treat a longer delay as none. */
const MAX_TIMER_MS = 2 ** 31 - 1;

function progressText(progress: number, total: number | undefined, message: string | undefined): string {
  const amount = total === undefined ? `${progress}` : `${progress}/${total}`;
  return oneLine(`${amount} ${message ?? ''}`, MAX_PROGRESS_LENGTH);
}

const MAX_PROGRESS_LENGTH = 200;
