import { resolve } from 'node:path';
import { type Env, isSecretName, PolypodError, redactor, safeEnv, withoutUndefined } from '../base/index.ts';
import type { Tool } from '../tools/index.ts';
import type { AskUser } from './connection/elicitation.ts';
import { SYSTEM_CLOCK } from './clock.ts';
import { DEFAULT_RESTART } from './restart.ts';
import { McpServer, type McpServerStatus, type McpTuning } from './server.ts';
import type { McpServerSpec } from './spec.ts';
import { mcpTool } from './tool.ts';
import { serverPart, toolNames } from './tools/tool-name.ts';

/** What MCP servers receive from the host. */
export interface McpHostContext {
  /** The user's environment. Started servers get it without secrets. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Variables that hold keys although their names do not show it. */
  readonly secretEnv: readonly string[];
  /** The working directory of started servers. */
  readonly cwd: string;
  /** Sends the requests to servers over HTTP; default: Node's own `fetch`. */
  readonly fetch?: typeof fetch;
  /** The Polypod version that is reported to the servers. */
  readonly clientVersion: string;
  /** Asks the user for a server; undefined if nobody can be asked now. */
  readonly ask?: AskUser;
  /** Called when the state or the tool list of a server changes. */
  readonly onChange: (status: McpServerStatus) => void;
}

export const DEFAULT_TUNING: McpTuning = {
  connectTimeoutMs: 30_000,
  callTimeoutMs: 600_000,
  graceMs: 2_000,
  restart: DEFAULT_RESTART,
  clock: SYSTEM_CLOCK,
};

/**
 * The MCP servers of one session. A failing server affects neither its callers, who get an error, nor the other
 * servers.
 */
export class McpServers {
  readonly #servers: readonly McpServer[];

  constructor(specs: readonly McpServerSpec[], host: McpHostContext, tuning: Partial<McpTuning> = {}) {
    rejectDuplicateNames(specs);
    const { clientVersion, onChange, fetch, ask } = host;
    this.#servers = specs.map(
      (spec) =>
        new McpServer(spec, {
          ...processOptions(spec, host),
          clientVersion,
          ...withoutUndefined({ fetch, ask }),
          onChange,
          tuning: { ...DEFAULT_TUNING, ...tuning },
        }),
    );
  }

  /**
   * Returns the tools of all servers. The first call connects to all servers in parallel and waits until each
   * is ready or has failed; later changes are in the next result.
   */
  async tools(): Promise<readonly Tool[]> {
    await Promise.all(this.#servers.map((server) => server.start()));
    const tools = new Map<string, Tool>();
    for (const server of this.#servers) {
      const names = toolNames(
        server.spec.name,
        server.tools.map(({ name }) => name),
      );
      for (const listed of server.tools) {
        const name = names.get(listed.name) ?? '';
        // A name that is listed twice is one tool to its server.
        if (!tools.has(name)) tools.set(name, mcpTool(name, server, listed));
      }
    }
    return [...tools.values()];
  }

  status(): readonly McpServerStatus[] {
    return this.#servers.map((server) => server.status);
  }

  /** Ends all servers; resolves when none of their processes is left. */
  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.close()));
  }
}

function rejectDuplicateNames(specs: readonly McpServerSpec[]): void {
  const parts = new Map<string, string>();
  for (const { name } of specs) {
    const duplicate = parts.get(serverPart(name));
    if (duplicate !== undefined)
      throw new PolypodError(
        'bad-request',
        `the tools of the MCP servers "${duplicate}" and "${name}" would have the same names: rename one of the servers`,
      );
    parts.set(serverPart(name), name);
  }
}

function processOptions(spec: McpServerSpec, { env, secretEnv, cwd }: McpHostContext) {
  if (spec.transport === 'http')
    return {
      env: {},
      cwd,
      redact: redactor([...withWords(Object.values(spec.headers)), ...queryValues(spec.url)]),
    };
  const inherited = safeEnv(env, { secret: secretEnv, pass: spec.passEnv });
  const passed = spec.passEnv.flatMap((name) => env[name] ?? []);
  return {
    env: { ...inherited, ...spec.env },
    cwd: resolve(cwd, spec.cwd ?? ''),
    redact: redactor([...passed, ...secretsIn(spec.env)]),
  };
}

/** Returns configuration values that grant access somewhere. */
function secretsIn(env: Env): readonly string[] {
  return Object.entries(env).flatMap(([name, value]) => (isSecretName(name) ? [value] : []));
}

/** `Bearer abc` is a secret as a whole, and so is `abc`. */
function withWords(values: readonly string[]): readonly string[] {
  return values.flatMap((value) => [value, ...value.split(/\s+/)]);
}

function queryValues(url: string): readonly string[] {
  return URL.canParse(url) ? [...new URL(url).searchParams.values()] : [];
}
