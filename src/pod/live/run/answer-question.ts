import type { Audit } from '../../../audit/index.ts';
import type { Policy, Tool } from '../../../tools/index.ts';
import type { PermissionAnswer, PermissionQuestion } from '../../../worker/index.ts';
import type { Agent } from '../../agent.ts';
import type { Limit } from '../../command.ts';
import type { PodView } from '../../view/view.ts';
import { limitedSettings } from './apply-limit.ts';
import { askTool, permissionTool } from './permission-tool.ts';

export type AskPerson = (
  question: PermissionQuestion,
  runId: string,
  signal: AbortSignal,
) => Promise<PermissionAnswer>;

/** The run that requests approval. */
export interface RequestingRun {
  readonly runId: string;
  readonly limit: Limit | undefined;
  readonly tools: readonly Tool[];
  readonly policy: () => Policy;
}

export interface QuestionParts {
  readonly view: PodView;
  readonly agent: Agent;
  readonly cwd: string;
  readonly now: () => Date;
  readonly audit: Audit;
  readonly ask: AskPerson;
}

/**
 * Decides whether a call may run: without approval while permissions are skipped, by the session's permission tool, or by a
 * person.
 */
export async function answerQuestion(
  question: PermissionQuestion,
  { runId, limit, tools, policy }: RequestingRun,
  { view, agent, cwd, now, audit, ask }: QuestionParts,
  signal: AbortSignal,
): Promise<PermissionAnswer> {
  const until = limitedSettings(view.settings, limit).skipPermissionsUntil;
  const { name: toolName, title, arguments: args, callId } = question.call;
  const details = { tool: toolName, title, arguments: args, runId };
  if (until !== undefined && now().getTime() < Date.parse(until)) {
    audit({ event: 'approval.skipped', details: { ...details, until } });
    return { decision: 'allow' };
  }
  const { permissionTool: name } = view.settings;
  if (name === undefined) return ask(question, runId, signal);
  const toolContext = agent.toolContext(callId, policy());
  const answer = await askTool(permissionTool(name, tools), question, { cwd, toolContext }, signal);
  const event = answer.decision === 'allow' ? 'approval.approved' : 'approval.denied';
  audit({ event, by: `tool ${name}`, door: 'mcp', details });
  return answer;
}
