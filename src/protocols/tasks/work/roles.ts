import { arrayOf, type JsonObject, objectOf, stringOf } from '../../../base/index.ts';
import type { ClientTool } from '../../../pod/index.ts';
import type { TaskType } from '../wire.ts';

/** Who works for a coordinator. */
export const ROLES = ['developer', 'reviewer'] as const;
export type Role = (typeof ROLES)[number];

export interface RoleSettings {
  /** Added to what the agent is told about itself. */
  readonly system: string;
  /** All if there is no list. */
  readonly tools?: readonly string[];
  /** What kind of task its work is, for the result. */
  readonly taskType: TaskType;
}

export const ROLE_SETTINGS: Readonly<Record<Role, RoleSettings>> = {
  developer: {
    system:
      'You are the developer. Do exactly the work that you are given, check it, and say in a few sentences what you changed and how you checked it.',
    taskType: 'file_operation',
  },
  reviewer: {
    system:
      'You are the reviewer. Judge the work that you are shown: look into the files, change nothing. Begin your answer with APPROVED or CHANGES NEEDED, and name each thing that has to change.',
    tools: ['read', 'ls', 'find', 'grep'],
    taskType: 'chat',
  },
};

/** What a coordinator is told beside the task. */
export function coordinatorSystem(delegations: number): string {
  return [
    'You are the coordinator. Make a short plan, then have it done: delegate the work to the developer, and its result to the reviewer, who sees what was changed.',
    'When the reviewer asks for changes, delegate those to the developer. What is small enough you may do yourself.',
    `You may delegate ${delegations} times. At the end say what was done and what is left.`,
  ].join(' ');
}

/** The tool by which a coordinator delegates; the door runs it. */
export const DELEGATE: ClientTool = {
  name: 'delegate',
  description:
    'Gives a piece of work to a colleague and returns the result. The developer changes files and runs commands; the reviewer reads and judges, and is shown what the developer did last.',
  parameters: {
    type: 'object',
    properties: {
      role: { type: 'string', enum: ROLES },
      instructions: {
        type: 'string',
        description: 'All that the colleague has to know: it has not seen the conversation.',
      },
    },
    required: ['role', 'instructions'],
    additionalProperties: false,
  },
};

/** What the coordinator reads of a colleague's work, and what a reviewer is shown of it. */
export function workText(result: JsonObject): string {
  const changes = arrayOf(result.changes).map(objectOf);
  const diffs = changes.map(({ path, diff }) => `--- ${stringOf(path)}\n${stringOf(diff)}`).join('\n');
  const text =
    changes.length === 0 ? stringOf(result.text) : `${stringOf(result.text)}\n\nChanges:\n${diffs}`;
  return text.length <= MOST_TEXT ? text : `${text.slice(0, MOST_TEXT)}\n[… cut …]`;
}

const MOST_TEXT = 50_000;
