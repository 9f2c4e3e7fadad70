import type { Caller, ClientTool, Pod } from '../pod/index.ts';
import { ROLES } from './roles.ts';

/** The tool by which a coordinator delegates. This process answers its calls. */
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

/** The calls of the colleagues are judged one by one; the delegation itself needs no approval. */
const DELEGATE_RULE = { action: 'auto', tool: DELEGATE.name } as const;

/** Adds the tool to a session; tools and rules that others added stay. */
export async function addDelegateTool(pod: Pod, caller: Caller): Promise<void> {
  const { settings } = await pod.snapshot();
  if (settings.clientTools.some(isDelegate)) return;
  const set = {
    clientTools: [...settings.clientTools, DELEGATE],
    rules: [...settings.rules, DELEGATE_RULE],
  };
  await pod.handle({ type: 'configure', set }, caller);
}

/** Removes the tool: a later run of the session would wait for an answer that nobody gives. */
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
