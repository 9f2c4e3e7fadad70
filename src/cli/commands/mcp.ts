import { PolypodError, redactor, withoutUndefined } from '../../base/index.ts';
import { keyVariables, dataPathsFrom, readConfig } from '../../setup/index.ts';
import { type McpServerSpec, McpServers } from '../../mcp/index.ts';
import { EXIT, type ExitCode, runnable, type CommandContext } from '../command.ts';
import { version } from '../version.ts';
import { fetchFrom } from '../../wire/index.ts';
import { sanitizeLine } from '../../terminal/index.ts';

/** `polypod mcp`: lists and tests the configured MCP servers. */
export const mcp = runnable({
  name: 'mcp',
  summary: 'List the configured MCP servers, or start them and check that they work.',
  usage: 'list|status [--json]',
  options: { json: { type: 'flag', help: 'print a JSON list' } },
  words: ['list', 'status'],
  details: `
Servers are configured in config.yaml. Their tools are named mcp__SERVER__TOOL and have the same permission rules as
all others:
  mcp_servers:
    files: { command: npx, args: [-y, "@modelcontextprotocol/server-filesystem", .] }
    wiki: { url: "https://example.com/mcp" }

list shows the configured servers; status starts or connects to each server and shows its tools.

Examples:
  polypod mcp list
  polypod mcp status --json`,
  async run({ values, positionals }, context) {
    const [action] = positionals;
    if (positionals.length !== 1 || (action !== 'list' && action !== 'status')) {
      throw new PolypodError('bad-request', 'the action must be list or status: polypod mcp list');
    }
    const { config } = await readConfig(dataPathsFrom(context.env));
    if (action === 'list') return list(config.mcpServers, values.json, context);
    return status(config.mcpServers, keyVariables(config), values.json, context);
  },
});

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
