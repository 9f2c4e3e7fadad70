import { PolypodError, tryParse } from '../base/index.ts';
import { contentText } from '../llm/index.ts';
import {
  type Access,
  builtinTools,
  readTextFile,
  type Tool,
  type ToolContext,
  type ToolOutput,
} from '../tools/index.ts';
import type { ApprovalResult, WorkerOptions } from '../worker/index.ts';
import type { AgentServices } from './agent-program.ts';

export interface ServicesParts
  extends Pick<WorkerOptions, 'approve' | 'toolContext' | 'cwd' | 'whenDurable'> {
  /** How to resolve the path of this access, if a call of the current turn that has it was allowed. */
  readonly granted: (access: Access) => ToolContext['resolve'] | undefined;
}

/** Files and commands that an agent asks its client for, as calls of our own tools: the same policy, approvals, sandbox and limits. */
export function agentServices(parts: ServicesParts): AgentServices {
  return {
    readTextFile: async (path, signal) => {
      const { resolve } = await allowed(parts, 'read', { path }, signal);
      return readTextFile(path, resolve, signal);
    },
    writeTextFile: async (path, content, signal) => {
      const { run } = await allowed(parts, 'write', { path, content }, signal);
      const output = await run(() => {});
      if (output.isError) throw new PolypodError('tool-failed', contentText(output.content));
    },
    runCommand: async ({ command, cwd, onOutput }, signal) => {
      const { run } = await allowed({ ...parts, cwd }, 'bash', { command }, signal);
      const output = await run(onOutput);
      const { exitCode } = output.details ?? {};
      return {
        output: contentText(output.content),
        exitCode: typeof exitCode === 'number' ? exitCode : output.isError ? 1 : 0,
      };
    },
  };
}

interface AllowedCall {
  readonly resolve: ToolContext['resolve'];
  readonly run: (update: (text: string) => void) => Promise<ToolOutput>;
}

/** Judges the call, and requests approval if the policy says so. Rejects with `denied`. */
async function allowed(
  { approve, toolContext, cwd, whenDurable, granted: grantedTo }: ServicesParts,
  name: string,
  input: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<AllowedCall> {
  const tool = toolNamed(name);
  const prepared = tool.prepare(input, cwd);
  if ('invalid' in prepared) throw new PolypodError('bad-request', prepared.invalid);
  const callId = `service-${crypto.randomUUID()}`;
  const call = { callId, name, arguments: JSON.stringify(input), title: prepared.title };
  const prepare = (args: string) => tool.prepare(tryParse(args), cwd);
  // The call for which the agent needs this has already been allowed.
  const [granted] = prepared.access.map(grantedTo);
  const advice =
    granted === undefined ? undefined : ({ decision: 'allow', reason: 'its call was approved' } as const);
  const answer = await approve({ call, prepared, prepare, advice }, signal);
  const result: ApprovalResult = 'ask' in answer ? await answer.ask() : answer;
  if (result.decision !== 'allow')
    throw new PolypodError('denied', result.decision === 'deny' ? result.reason : 'the run is paused');
  const { prepareReadOnly, approved = false } = result;
  // The file that was allowed: a link may have taken its place since then.
  const resolve = granted ?? result.resolve;
  const chosen = result.arguments === undefined ? prepared : prepare(result.arguments);
  if ('invalid' in chosen) throw new PolypodError('bad-request', chosen.invalid);
  return {
    resolve,
    run: async (update) => {
      await whenDurable?.();
      const context = { ...toolContext(callId), callId, cwd, resolve, approved, prepareReadOnly, update };
      return chosen.run(context, signal);
    },
  };
}

function toolNamed(name: string): Tool {
  const tool = builtinTools.find((candidate) => candidate.name === name);
  if (tool !== undefined) return tool;
  throw new PolypodError('internal', `there is no tool ${name}`);
}
