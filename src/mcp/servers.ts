import { resolve } from 'node:path';
import { type Env, isSecretName, PolypodError, redactor, safeEnv } from '../base/index.ts';
import type { Tool } from '../tools/index.ts';
import { SYSTEM_CLOCK } from './clock.ts';
import { DEFAULT_RESTART } from './restart.ts';
import { McpServer, type McpServerStatus, type McpTuning } from './server.ts';
import type { McpServerSpec } from './spec.ts';
import { mcpTool } from './tool.ts';
import { serverPart, toolNames } from './tools/tool-name.ts';

/** All of the world that MCP servers get from us. */
export interface McpSurroundings {
  /** The user's environment. Servers that are started get it without secrets. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Variables that hold keys although their names do not tell. */
  readonly secretEnv: readonly string[];
  /** Where servers run that are started. */
  readonly cwd: string;
  /** The version of Polypod, which it tells the servers. */
  readonly clientVersion: string;
  /** Hears whenever a server's state or list of tools changes. */
  readonly onChange: (status: McpServerStatus) => void;
}

export const DEFAULT_TUNING: McpTuning = {
  connectTimeoutMs: 30_000,
  callTimeoutMs: 600_000,
  graceMs: 2_000,
  restart: DEFAULT_RESTART,
  clock: SYSTEM_CLOCK,
};

/** The MCP servers of one session. Whatever happens to a server, its calls answer and the others go on. */
export class McpServers {
  readonly #servers: readonly McpServer[];

  constructor(
    specs: readonly McpServerSpec[],
    surroundings: McpSurroundings,
    tuning: Partial<McpTuning> = {},
  ) {
    refuseTwins(specs);
    const { clientVersion, onChange } = surroundings;
    this.#servers = specs.map(
      (spec) =>
        new McpServer(spec, {
          ...processOptions(spec, surroundings),
          clientVersion,
          onChange,
          tuning: { ...DEFAULT_TUNING, ...tuning },
        }),
    );
  }

  /**
   * The tools of all servers. The first call reaches for the servers, all at once, and waits until each is there or has failed; a
   * server that comes later or changes its tools is in the next answer.
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

  /** Ends all servers; when it resolves no process of theirs is left. */
  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.close()));
  }
}

function refuseTwins(specs: readonly McpServerSpec[]): void {
  const parts = new Map<string, string>();
  for (const { name } of specs) {
    const twin = parts.get(serverPart(name));
    if (twin !== undefined)
      throw new PolypodError(
        'bad-request',
        `the tools of the MCP servers "${twin}" and "${name}" would have the same names: rename one of the servers`,
      );
    parts.set(serverPart(name), name);
  }
}

function processOptions(spec: McpServerSpec, { env, secretEnv, cwd }: McpSurroundings) {
  if (spec.transport === 'http')
    return {
      env: {},
      cwd,
      redact: redactor([...wordsIn(Object.values(spec.headers)), ...queryOf(spec.url)]),
    };
  const own = safeEnv(env, { secret: secretEnv, pass: spec.passEnv });
  const passed = spec.passEnv.flatMap((name) => env[name] ?? []);
  return {
    env: { ...own, ...spec.env },
    cwd: resolve(cwd, spec.cwd ?? ''),
    redact: redactor([...passed, ...secretsIn(spec.env)]),
  };
}

/** Values that people put into the configuration of a server to let it in somewhere. */
function secretsIn(env: Env): readonly string[] {
  return Object.entries(env).flatMap(([name, value]) => (isSecretName(name) ? [value] : []));
}

/** `Bearer abc` is a secret as a whole, and `abc` is one too. */
function wordsIn(values: readonly string[]): readonly string[] {
  return values.flatMap((value) => [value, ...value.split(/\s+/)]);
}

function queryOf(url: string): readonly string[] {
  return URL.canParse(url) ? [...new URL(url).searchParams.values()] : [];
}
