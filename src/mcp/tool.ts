import { isObject, type JsonObject } from '../base/index.ts';
import type { Tool } from '../tools/index.ts';
import { beginning, oneLine } from './shorten.ts';
import type { McpServer } from './server.ts';
import type { ListedTool } from './tools/tool-listing.ts';
import { argumentsSchema } from './tools/tool-schema.ts';

/** A server's tool as one of ours. The server reads the arguments itself; what it says about the tool is a hint, not a promise. */
export function mcpTool(name: string, server: McpServer, listed: ListedTool): Tool {
  const { description, inputSchema, readOnly } = listed;
  return {
    name,
    description: beginning(
      description || `The tool ${listed.name} of the MCP server ${server.spec.name}.`,
      LONGEST_DESCRIPTION,
    ),
    parameters: argumentsSchema(inputSchema),
    parallel: readOnly,
    prepare: (value) => {
      const input = value ?? {};
      if (!isObject(input)) return { invalid: `The arguments of ${name} must be a JSON object.` };
      return {
        access: [{ type: 'foreign', readOnly }],
        title: titleOf(server.spec.name, listed.name, input),
        run: (around, signal) => server.call(listed.name, input, around, signal),
      };
    },
  };
}

/** A server that tells a model stories pays for them with this many characters. */
const LONGEST_DESCRIPTION = 4_096;

function titleOf(server: string, tool: string, input: JsonObject): string {
  const said = Object.keys(input).length === 0 ? '' : ` ${JSON.stringify(input)}`;
  return oneLine(`${server}: ${tool}${said}`, LONGEST_TITLE);
}

const LONGEST_TITLE = 160;
