import { isObject, messageOf, objectOf, PolypodError, stringOf, tryParse } from '../../../base/index.ts';
import { contentText } from '../../../llm/index.ts';
import type { HostToolContext, Tool } from '../../../tools/index.ts';
import type { PermissionAnswer, PermissionQuestion } from '../../../worker/index.ts';

/** Returns the tool that decides in place of people. Rejects with its name if it is missing. */
export function permissionTool(name: string, tools: readonly Tool[]): Tool {
  const found = tools.find((tool) => tool.name === name);
  if (found !== undefined) return found;
  const foreign = tools.map((tool) => tool.name).filter((known) => known.startsWith('mcp__'));
  const there = foreign.length === 0 ? 'none' : foreign.join(', ');
  throw new PolypodError(
    'not-found',
    `the permission tool ${name} does not exist. Available MCP tools: ${there}`,
  );
}

/** Calls the tool in the format of Claude Code. Any answer other than a clear approval is a denial. */
export async function askTool(
  tool: Tool,
  { call }: PermissionQuestion,
  context: { readonly cwd: string; readonly toolContext: HostToolContext },
  signal: AbortSignal,
): Promise<PermissionAnswer> {
  const input = tryParse(call.arguments) ?? {};
  const prepared = tool.prepare({ tool_name: call.name, input, tool_use_id: call.callId }, context.cwd);
  if ('invalid' in prepared) return denied(prepared.invalid);
  try {
    const output = await prepared.run(
      {
        ...context.toolContext,
        callId: call.callId,
        cwd: context.cwd,
        resolve: async (path) => path,
        update: () => {},
      },
      signal,
    );
    const text = contentText(output.content);
    return output.isError ? denied(`${tool.name} failed: ${text}`) : answerIn(text, tool.name, input);
  } catch (thrown) {
    return denied(`${tool.name} failed: ${messageOf(thrown)}`);
  }
}

function answerIn(text: string, name: string, input: unknown): PermissionAnswer {
  const { behavior, updatedInput, message } = objectOf(tryParse(text));
  if (behavior === 'deny') return denied(stringOf(message) || 'Request denied by human reviewer');
  if (behavior !== 'allow') return denied(`${name} gave neither "allow" nor "deny"`);
  const args = isObject(updatedInput) ? JSON.stringify(updatedInput) : undefined;
  return args === undefined || args === JSON.stringify(input)
    ? { decision: 'allow' }
    : { decision: 'allow', arguments: args };
}

function denied(reason: string): PermissionAnswer {
  return { decision: 'deny', reason };
}
