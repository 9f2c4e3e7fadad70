import { isObject, messageOf, objectOf, PolypodError, schemaProblems } from '../base/index.ts';
import {
  errorOutput,
  invalidArguments,
  type PreparedCall,
  type Tool,
  type ToolOutput,
  textOutput,
} from '../tools/index.ts';
import type { ExtensionHooks, ExtensionResult, ExtensionTool } from './api.ts';

/** An extension's tool as agents have it. */
export function toolFrom(tool: ExtensionTool): Tool {
  const { name, description, parameters } = tool;
  if (!/^[\w-]{1,64}$/.test(name))
    throw new PolypodError(
      'bad-request',
      `a tool cannot be called "${name}": letters, digits, _ and - make a name`,
    );
  if (!isObject(parameters) || typeof description !== 'string')
    throw new PolypodError(
      'bad-request',
      `the tool ${name} needs a description and a JSON Schema as parameters`,
    );
  return {
    name,
    description,
    parameters,
    parallel: false,
    prepare: (input) => {
      const problems = schemaProblems(input, { type: 'object', ...parameters });
      if (problems.length > 0) return { invalid: invalidArguments(name, problems, input) };
      return {
        access: [{ type: 'foreign', readOnly: false }],
        title: name,
        run: async ({ callId, cwd, update }, signal) =>
          outputOf(name, await tool.run(objectOf(input), { callId, cwd, signal, update })),
      };
    },
  };
}

function outputOf(name: string, result: ExtensionResult): ToolOutput {
  const {
    text,
    isError = false,
    details,
  } = typeof result === 'string' ? { text: result } : { details: undefined, ...result };
  return isError ? errorOutput(text, details) : textOutput(`${name}: done`, text, details);
}

/** The tool with the hooks in front of it. One that fails denies: a guard that breaks must not open the door. */
export function guarded(tool: Tool, hooks: readonly ExtensionHooks['tool_call'][]): Tool {
  if (hooks.length === 0) return tool;
  return {
    ...tool,
    prepare: (input, cwd) => {
      const prepared = tool.prepare(input, cwd);
      return 'invalid' in prepared ? prepared : guardedCall(prepared, { name: tool.name, input }, hooks);
    },
  };
}

function guardedCall(
  prepared: PreparedCall,
  event: { readonly name: string; readonly input: unknown },
  hooks: readonly ExtensionHooks['tool_call'][],
): PreparedCall {
  return {
    ...prepared,
    run: async (around, signal) => {
      for (const hook of hooks) {
        const denied = await denialOf(hook, event);
        if (denied !== undefined) return errorOutput(denied);
      }
      return prepared.run(around, signal);
    },
  };
}

async function denialOf(
  hook: ExtensionHooks['tool_call'],
  event: { readonly name: string; readonly input: unknown },
): Promise<string | undefined> {
  try {
    const verdict = await hook(event);
    return verdict === undefined ? undefined : verdict.deny;
  } catch (thrown) {
    return `an extension's tool_call hook failed: ${messageOf(thrown)}`;
  }
}
