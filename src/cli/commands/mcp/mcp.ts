import { PolypodError, redactor, withoutUndefined } from '../../../base/index.ts';
import { keyVariables, readConfig } from '../../../setup/index.ts';
import { type McpServerSpec, McpServers } from '../../../mcp/index.ts';
import { exclusive } from '../../args/agent-options.ts';
import { DATA_DIR, dataPathsOf } from '../../args/data-dir.ts';
import { EXIT, type ExitCode, runnable, type CommandContext } from '../../command.ts';
import type { Values } from '../../options.ts';
import { version } from '../../version.ts';
import { fetchFrom } from '../../../wire/index.ts';
import { sanitizeLine } from '../../../terminal/index.ts';

const OPTIONS = {
  json: { type: 'flag', help: 'print a JSON list' },
  'allow-dir': {
    type: 'texts',
    value: 'DIR',
    help: 'serve: also the sessions of this project directory; can be repeated',
  },
  'read-only': { type: 'flag', help: 'serve: only list, read and wait' },
  'allow-approvals': {
    type: 'flag',
    help: 'serve: let the host approve calls of agents, without a person',
  },
  offline: { type: 'flag', help: 'serve: use only the simulated model; implies --no-daemon' },
  'no-daemon': { type: 'flag', help: 'serve: host the sessions in this process, even if a daemon runs' },
  ...DATA_DIR,
} as const;

/** `polypod mcp`: lists and tests the configured MCP servers, or serves the sessions to an MCP host. */
export const mcp = runnable({
  name: 'mcp',
  summary: 'List and check the configured MCP servers, or be an MCP server that drives agents.',
  usage: 'list|status [--json] | serve [OPTIONS]',
  options: OPTIONS,
  words: ['list', 'status', 'serve'],
  details: `
Servers are configured in config.yaml. Their tools are named mcp__SERVER__TOOL and have the same permission rules as
all others:
  mcp_servers:
    files: { command: npx, args: [-y, "@modelcontextprotocol/server-filesystem", .] }
    wiki: { url: "https://example.com/mcp" }

list shows the configured servers; status starts or connects to each server and shows its tools.

serve is an MCP server on stdin and stdout. Hosts such as Claude Code or Codex start it; their model can then list sessions,
prompt agents, wait for them, and read their conversations. It serves the sessions of the current directory and of those
that --allow-dir names. Agents keep the configured permissions, and a person decides their approvals, unless you pass
--allow-approvals. With a running daemon, it uses the sessions of the daemon; otherwise they end with the host.

Exit codes of serve: 0 the host has disconnected, 2 usage or configuration error, 3 system error.

Examples:
  polypod mcp list
  polypod mcp status --json
  claude mcp add polypod -- polypod mcp serve
  polypod mcp serve --read-only --allow-dir ~/projects/api`,
  async run({ values, positionals }, context) {
    const [action] = positionals;
    if (positionals.length !== 1 || (action !== 'list' && action !== 'status' && action !== 'serve'))
      throw new PolypodError('bad-request', 'the action must be list, status or serve: polypod mcp list');
    if (action === 'serve') return serve(values, context);
    refuseServeOptions(values, action);
    const { config } = await readConfig(dataPathsOf(values, context));
    if (action === 'list') return list(config.mcpServers, values.json, context);
    return status(config.mcpServers, keyVariables(config), values.json, context);
  },
});

type McpValues = Values<typeof OPTIONS>;

async function serve(values: McpValues, context: CommandContext): Promise<ExitCode> {
  if (values.json) throw new PolypodError('bad-request', '--json is for list and status: serve speaks MCP');
  if (values['read-only'] && values['allow-approvals']) throw exclusive('--read-only', '--allow-approvals');
  const { serveMcp } = await import('./serve.ts');
  return serveMcp(
    {
      dataPaths: dataPathsOf(values, context),
      allowDirectories: values['allow-dir'],
      readOnly: values['read-only'],
      approvals: values['allow-approvals'],
      isInProcess: values['no-daemon'],
      offline: values.offline,
    },
    context,
  );
}

function refuseServeOptions(values: McpValues, action: string): void {
  const given = SERVE_OPTIONS.find((name) => values[name]);
  const option = given ?? (values['allow-dir'].length > 0 ? 'allow-dir' : undefined);
  if (option !== undefined)
    throw new PolypodError('bad-request', `--${option} is for polypod mcp serve, not for ${action}`);
}

const SERVE_OPTIONS = ['read-only', 'allow-approvals', 'offline', 'no-daemon'] as const;

function list(specs: readonly McpServerSpec[], json: boolean, { stdout }: CommandContext): ExitCode {
  const rows = specs.map((spec) => ({
    name: spec.name,
    transport: spec.transport,
    target: clean(spec.transport === 'stdio' ? [spec.command, ...spec.args].join(' ') : spec.url),
  }));
  const lines = rows.map(
    ({ name, transport, target }) => `${sanitizeLine(`${name}  ${transport}  ${target}`)}\n`,
  );
  stdout.write(json ? `${JSON.stringify(rows, null, 2)}\n` : lines.join('') || NONE);
  return EXIT.ok;
}

/** Arguments can contain keys, which a shared list must not show. */
const clean = redactor([]);

const NONE =
  'No MCP server is configured. Add one under mcp_servers in config.yaml (polypod mcp --help shows how).\n';

async function status(
  specs: readonly McpServerSpec[],
  secretEnv: readonly string[],
  json: boolean,
  { stdout, env }: CommandContext,
): Promise<ExitCode> {
  const servers = new McpServers(specs, {
    env,
    secretEnv,
    cwd: process.cwd(),
    clientVersion: version(),
    ...withoutUndefined({ fetch: fetchFrom(env) }),
    onChange: () => {},
  });
  try {
    const tools = await servers.tools();
    const states = servers.status();
    if (json)
      stdout.write(`${JSON.stringify({ servers: states, tools: tools.map(({ name }) => name) }, null, 2)}\n`);
    else {
      const lines = states.map(
        ({ name, state, tools: count, error }) =>
          `${sanitizeLine(`${name}  ${state}  ${count} tools${error === undefined ? '' : `  ${error}`}`)}\n`,
      );
      stdout.write(lines.join('') || NONE);
      for (const { name } of tools) stdout.write(`  ${sanitizeLine(name)}\n`);
    }
    return states.every(({ state }) => state === 'ready') ? EXIT.ok : EXIT.broken;
  } finally {
    await servers.close();
  }
}
