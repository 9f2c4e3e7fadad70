import {
  isObject,
  type JsonObject,
  objectOf,
  PolypodError,
  schemaError,
  schemaProblems,
} from '../base/index.ts';
import {
  errorOutput,
  invalidArguments,
  type PreparedCall,
  type Tool,
  type ToolOutput,
  textOutput,
} from '../tools/index.ts';
import type { ExtensionContext, ExtensionResult, ExtensionTool, PiContent, PiResult, PiTool } from './api.ts';
import type { Hooks } from './hooks.ts';

/** Converts an extension's tool to a Tool. */
export function createTool(tool: ExtensionTool | PiTool, context: ExtensionContext): Tool {
  const { name, description, parameters } = tool;
  if (!/^[\w-]{1,64}$/.test(name))
    throw new PolypodError('bad-request', `"${name}" is not a valid tool name: use letters, digits, _ and -`);
  if (!isObject(parameters) || typeof description !== 'string')
    throw new PolypodError(
      'bad-request',
      `the tool ${name} needs a description and a JSON Schema as parameters`,
    );
  const run = createRunner(tool, context);
  const schema = { type: 'object', ...parameters };
  const invalid = schemaError(schema);
  if (invalid !== undefined)
    throw new PolypodError('bad-request', `the JSON Schema of the tool ${name} cannot be used: ${invalid}`);
  return {
    name,
    description,
    parameters,
    parallel: false,
    prepare: (input) => {
      const problems = schemaProblems(input, schema);
      if (problems.length > 0) return { invalid: invalidArguments(name, problems, input) };
      return {
        access: [{ type: 'foreign', readOnly: false }],
        title: name,
        run: (toolContext, signal) => run(objectOf(input), toolContext, signal),
      };
    },
  };
}

type Run = (
  input: JsonObject,
  toolContext: Parameters<PreparedCall['run']>[0],
  signal: AbortSignal,
) => Promise<ToolOutput>;

function createRunner(tool: ExtensionTool | PiTool, context: ExtensionContext): Run {
  const { name } = tool;
  if ('run' in tool && typeof tool.run === 'function')
    return async (input, { callId, cwd, update }, signal) =>
      toToolOutput(name, await tool.run(input, { callId, cwd, signal, update }));
  if ('execute' in tool && typeof tool.execute === 'function')
    return async (input, { callId, update }, signal) => {
      const publish = (partial: PiResult): void => update(contentText(partial?.content ?? []));
      return piOutput(name, await tool.execute(callId, input, signal, publish, context));
    };
  throw new PolypodError('bad-request', `the tool ${name} needs a function "run" or "execute"`);
}

function toToolOutput(name: string, result: ExtensionResult): ToolOutput {
  const {
    text,
    isError = false,
    details,
  } = typeof result === 'string' ? { text: result } : { details: undefined, ...result };
  return isError ? errorOutput(text, details) : textOutput(`${name}: done`, text, details);
}

/** Converts a result in pi's format. */
function piOutput(name: string, { content, details, isError = false }: PiResult): ToolOutput {
  const text = textOutput(`${name}: done`, contentText(content));
  const images = content.flatMap((part) =>
    part.type === 'image' ? [{ type: 'image', mediaType: part.mimeType, data: part.data } as const] : [],
  );
  return {
    ...text,
    isError,
    content: [...(contentText(content) === '' && images.length > 0 ? [] : text.content), ...images],
    ...(isObject(details) ? { details } : {}),
  };
}

function contentText(content: readonly PiContent[]): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

/** Wraps a tool with the hooks. */
export function withHooks(tool: Tool, hooks: Hooks): Tool {
  if (!hooks.has('tool_call') && !hooks.has('tool_result')) return tool;
  return {
    ...tool,
    prepare: (input, cwd) => {
      const prepared = tool.prepare(input, cwd);
      return 'invalid' in prepared
        ? prepared
        : withCallHooks(prepared, { toolName: tool.name, input }, hooks);
    },
  };
}

function withCallHooks(
  prepared: PreparedCall,
  { toolName, input: original }: { readonly toolName: string; readonly input: unknown },
  hooks: Hooks,
): PreparedCall {
  return {
    ...prepared,
    run: async (toolContext, signal) => {
      // The input is frozen, so that the approved arguments are those that run: a hook that changes them throws, which denies the call.
      const input = deepFreeze(structuredClone(original));
      const call = { toolName, toolCallId: toolContext.callId, input };
      const denial = await hooks.ask(
        'tool_call',
        { name: toolName, ...call },
        (answer) => 'deny' in answer || answer.block === true,
        // A failing hook must not allow the call.
        (error) => ({ deny: `an extension's tool_call hook failed: ${error}` }),
      );
      if (denial !== undefined)
        return errorOutput(
          'deny' in denial ? denial.deny : (denial.reason ?? 'an extension blocked this call'),
        );
      const output = await prepared.run(toolContext, signal);
      return hooks.has('tool_result') ? applyResultHooks(output, call, hooks) : output;
    },
  };
}

type HookedCall = { readonly toolName: string; readonly toolCallId: string; readonly input: unknown };

async function applyResultHooks(output: ToolOutput, call: HookedCall, hooks: Hooks): Promise<ToolOutput> {
  const content = output.content.map(
    (part): PiContent =>
      part.type === 'text' ? part : { type: 'image', data: part.data, mimeType: part.mediaType },
  );
  const { details, isError } = output;
  const change = await hooks.ask('tool_result', { ...call, content, details, isError }, () => true);
  if (change === undefined) return output;
  return piOutput(call.toolName, { content, details, isError, ...change });
}

function deepFreeze(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
