import { isObject, type JsonObject, validateValue } from '../base/index.ts';
import { invalidArguments, type Tool } from '../tools/index.ts';
import { truncate, oneLine } from './shorten.ts';
import type { McpServer } from './server.ts';
import type { ListedTool } from './tools/tool-listing.ts';
import { argumentsSchema } from './tools/tool-schema.ts';

/**
 * Wraps a server's tool as one of ours. The arguments are validated before anybody is asked to approve the call. If the
 * server's schema is invalid, only the server validates them. Its annotations are hints, not guarantees.
 */
export function mcpTool(name: string, server: McpServer, listed: ListedTool): Tool {
  const { description, inputSchema, readOnly } = listed;
  return {
    name,
    description: truncate(
      description || `The tool ${listed.name} of the MCP server ${server.spec.name}.`,
      MAX_DESCRIPTION,
    ),
    parameters: argumentsSchema(inputSchema),
    parallel: readOnly,
    prepare: (value) => {
      const input = value ?? {};
      if (!isObject(input)) return { invalid: `The arguments of ${name} must be a JSON object.` };
      const check = validateValue(input, inputSchema);
      if ('problems' in check && check.problems.length > 0)
        return { invalid: invalidArguments(name, check.problems, input) };
      return {
        access: [{ type: 'foreign', readOnly }],
        title: callTitle(server.spec.name, listed.name, input),
        run: (around, signal) => server.call(listed.name, input, around, signal),
      };
    },
  };
}

/** Limits how much of the model's context a server's description uses. */
const MAX_DESCRIPTION = 4_096;

function callTitle(server: string, tool: string, input: JsonObject): string {
  const args = Object.keys(input).length === 0 ? '' : ` ${JSON.stringify(input)}`;
  return oneLine(`${server}: ${tool}${args}`, MAX_TITLE);
}

const MAX_TITLE = 160;
