import type { Caller, ClientTool, Pod } from '../pod/index.ts';
import { ROLES } from './roles.ts';

/** The tool with which a coordinator delegates work. This process answers its calls. */
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

/** Each call of a colleague goes through approval; the delegation itself needs none. */
const DELEGATE_RULE = { action: 'auto', tool: DELEGATE.name } as const;

/** Adds the tool to a session and keeps the tools and rules that others added. */
export async function addDelegateTool(pod: Pod, caller: Caller): Promise<void> {
  const { settings } = await pod.snapshot();
  if (settings.clientTools.some(isDelegate)) return;
  const set = {
    clientTools: [...settings.clientTools, DELEGATE],
    rules: [...settings.rules, DELEGATE_RULE],
  };
  await pod.handle({ type: 'configure', set }, caller);
}

/** Removes the tool. A later run of the session would wait for a result that nothing returns. */
export async function removeDelegateTool(pod: Pod, caller: Caller): Promise<void> {
  const { settings } = await pod.snapshot();
  const set = {
    clientTools: settings.clientTools.filter((tool) => !isDelegate(tool)),
    rules: settings.rules.filter(({ tool }) => tool !== DELEGATE.name),
  };
  await pod.handle({ type: 'configure', set }, caller);
}

function isDelegate({ name }: ClientTool): boolean {
  return name === DELEGATE.name;
}
