import { isObject, type JsonObject, objectOf, PolypodError, schemaProblems } from '../base/index.ts';
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

/** An extension's tool as agents have it. */
export function toolFrom(tool: ExtensionTool | PiTool, context: ExtensionContext): Tool {
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
  const run = runnerOf(tool, context);
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
        run: (around, signal) => run(objectOf(input), around, signal),
      };
    },
  };
}

type Run = (
  input: JsonObject,
  around: Parameters<PreparedCall['run']>[0],
  signal: AbortSignal,
) => Promise<ToolOutput>;

function runnerOf(tool: ExtensionTool | PiTool, context: ExtensionContext): Run {
  const { name } = tool;
  if ('run' in tool && typeof tool.run === 'function')
    return async (input, { callId, cwd, update }, signal) =>
      outputOf(name, await tool.run(input, { callId, cwd, signal, update }));
  if ('execute' in tool && typeof tool.execute === 'function')
    return async (input, { callId, update }, signal) => {
      const tell = (partial: PiResult): void => update(textOf(partial?.content ?? []));
      return piOutput(name, await tool.execute(callId, input, signal, tell, context));
    };
  throw new PolypodError('bad-request', `the tool ${name} needs a function "run" or "execute"`);
}

function outputOf(name: string, result: ExtensionResult): ToolOutput {
  const {
    text,
    isError = false,
    details,
  } = typeof result === 'string' ? { text: result } : { details: undefined, ...result };
  return isError ? errorOutput(text, details) : textOutput(`${name}: done`, text, details);
}

/** A result in pi's words. */
function piOutput(name: string, { content, details, isError = false }: PiResult): ToolOutput {
  const text = textOutput(`${name}: done`, textOf(content));
  const images = content.flatMap((part) =>
    part.type === 'image' ? [{ type: 'image', mediaType: part.mimeType, data: part.data } as const] : [],
  );
  return {
    ...text,
    isError,
    content: [...(textOf(content) === '' && images.length > 0 ? [] : text.content), ...images],
    ...(isObject(details) ? { details } : {}),
  };
}

function textOf(content: readonly PiContent[]): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

/** The tool with the hooks around it. */
export function hooked(tool: Tool, hooks: Hooks): Tool {
  if (!hooks.has('tool_call') && !hooks.has('tool_result')) return tool;
  return {
    ...tool,
    prepare: (input, cwd) => {
      const prepared = tool.prepare(input, cwd);
      return 'invalid' in prepared ? prepared : hookedCall(prepared, { toolName: tool.name, input }, hooks);
    },
  };
}

function hookedCall(
  prepared: PreparedCall,
  { toolName, input: given }: { readonly toolName: string; readonly input: unknown },
  hooks: Hooks,
): PreparedCall {
  return {
    ...prepared,
    run: async (around, signal) => {
      // What was approved is what runs: a hook that changes the arguments fails, and so denies the call.
      const input = frozen(structuredClone(given));
      const about = { toolName, toolCallId: around.callId, input };
      const denial = await hooks.ask(
        'tool_call',
        { name: toolName, ...about },
        (answer) => 'deny' in answer || answer.block === true,
        // A guard that breaks must not open the door.
        (error) => ({ deny: `an extension's tool_call hook failed: ${error}` }),
      );
      if (denial !== undefined)
        return errorOutput(
          'deny' in denial ? denial.deny : (denial.reason ?? 'an extension blocked this call'),
        );
      const output = await prepared.run(around, signal);
      return hooks.has('tool_result') ? changed(output, about, hooks) : output;
    },
  };
}

type About = { readonly toolName: string; readonly toolCallId: string; readonly input: unknown };

async function changed(output: ToolOutput, about: About, hooks: Hooks): Promise<ToolOutput> {
  const content = output.content.map(
    (part): PiContent =>
      part.type === 'text' ? part : { type: 'image', data: part.data, mimeType: part.mediaType },
  );
  const { details, isError } = output;
  const change = await hooks.ask('tool_result', { ...about, content, details, isError }, () => true);
  if (change === undefined) return output;
  return piOutput(about.toolName, { content, details, isError, ...change });
}

function frozen(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}
