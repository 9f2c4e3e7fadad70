import { arrayOf, numberOf, objectOf, PolypodError } from '../../../base/index.ts';
import type { AgentMessage } from '../../../pod/index.ts';
import { anyTextIn } from '../arguments.ts';
import { splitMentions } from '../encode/file-mentions.ts';
import { textOf } from '../encode/messages.ts';
import type { RpcSession } from '../sessions/rpc-session.ts';
import type { RpcSessionStats } from '../wire.ts';
import type { CommandHandler } from './command.ts';
import { sessionFile } from './session-file.ts';

/** All user messages, on all branches. */
export const getBranchMessages: CommandHandler = async (_, session) => {
  const prompts = await session.parts.host.history.prompts(session.pod.id);
  const messages = prompts.flatMap(({ entryId, message }) => {
    const text = typedText(message);
    return text === '' ? [] : [{ entryId, text }];
  });
  return { messages };
};

/** The text that a person typed, without the mentioned files. */
export function typedText(message: AgentMessage): string {
  return textOf(splitMentions(message)[0] ?? message);
}

/** The conversation as clients see it. */
export async function messagesOf({ parts, pod }: RpcSession): Promise<readonly AgentMessage[]> {
  return (await parts.host.history.messages(pod.id)).flatMap(({ message }) => splitMentions(message));
}

export const getMessages: CommandHandler = async (_, session) => ({ messages: await messagesOf(session) });

/** The key is absent if there is no text. */
export const getLastAssistantText: CommandHandler = async (_, session) => {
  const messages = await messagesOf(session);
  const last = messages.findLast((message) => message.role === 'assistant' && !isNothing(message));
  const text = last === undefined ? '' : textOf(last).trim();
  return text === '' ? {} : { text };
};

function isNothing({ stopReason, content }: AgentMessage): boolean {
  return stopReason === 'aborted' && arrayOf(content).length === 0;
}

export const getSessionStats: CommandHandler = async (_, session): Promise<RpcSessionStats> => {
  const [snapshot, messages] = await Promise.all([session.pod.snapshot(), messagesOf(session)]);
  const of = (role: string) => messages.filter((message) => message.role === role);
  const answers = of('assistant');
  const used = (key: string) =>
    answers.reduce((sum, { usage }) => sum + (numberOf(objectOf(usage)[key]) ?? 0), 0);
  const [input, output, cacheRead, cacheWrite] = ['input', 'output', 'cacheRead', 'cacheWrite'].map(used);
  const tokens = {
    input: input ?? 0,
    output: output ?? 0,
    cacheRead: cacheRead ?? 0,
    cacheWrite: cacheWrite ?? 0,
  };
  const { contextTokens, contextWindow } = snapshot.stats;
  return {
    ...sessionFile(session, snapshot),
    sessionId: snapshot.id,
    userMessages: of('user').length,
    assistantMessages: answers.length,
    toolCalls: answers.reduce((sum, { content }) => sum + callsIn(content), 0),
    toolResults: of('toolResult').length,
    totalMessages: messages.length,
    tokens: { ...tokens, total: tokens.input + tokens.output + tokens.cacheRead + tokens.cacheWrite },
    cost: answers.reduce((sum, { usage }) => sum + (numberOf(objectOf(objectOf(usage).cost).total) ?? 0), 0),
    premiumRequests: 0,
    ...(contextWindow === undefined
      ? {}
      : {
          contextUsage: {
            tokens: contextTokens,
            contextWindow,
            percent: Math.round((contextTokens / contextWindow) * 1000) / 10,
          },
        }),
  };
};

function callsIn(content: unknown): number {
  return arrayOf(content).filter((block) => objectOf(block).type === 'toolCall').length;
}

export const getEntries: CommandHandler = async (request, session) => {
  const since = anyTextIn(request, 'since');
  const recorded = await session.parts.host.history.entries(session.pod.id, since);
  if (recorded === undefined) throw new PolypodError('not-found', `Entry not found: ${since}`);
  return recorded;
};
