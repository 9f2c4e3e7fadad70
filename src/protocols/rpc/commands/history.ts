import { arrayOf, type JsonObject, numberOf, objectIn, objectOf, PolypodError } from '../../../base/index.ts';
import { type AgentMessage, encodeEntry, type Entry, type SessionTree } from '../../../pod/index.ts';
import { anyTextIn } from '../arguments.ts';
import { textOf } from '../messages.ts';
import type { RpcSessionStats } from '../wire.ts';
import type { Command } from './command.ts';
import { sessionFile } from './state.ts';

/** Every message of a person's, on all branches. */
export const getBranchMessages: Command = async (_, seat) => {
  const tree = await seat.parts.host.tree(seat.pod.id);
  const messages = [...tree.entries()].flatMap((entry) => {
    const text = entry.type === 'message' && entry.message.role === 'user' ? textOf(entry.message) : '';
    return text === '' ? [] : [{ entryId: entry.id, text }];
  });
  return { messages };
};

export const getMessages: Command = async (_, seat) => {
  const kept = await seat.parts.host.messages(seat.pod.id);
  return { messages: kept.map(({ message }) => message) };
};

/** Without a text the key is missing. */
export const getLastAssistantText: Command = async (_, seat) => {
  const kept = await seat.parts.host.messages(seat.pod.id);
  const last = kept.findLast(({ message }) => message.role === 'assistant' && !isNothing(message));
  const text = last === undefined ? '' : textOf(last.message).trim();
  return text === '' ? {} : { text };
};

function isNothing({ stopReason, content }: AgentMessage): boolean {
  return stopReason === 'aborted' && arrayOf(content).length === 0;
}

export const getSessionStats: Command = async (_, seat): Promise<RpcSessionStats> => {
  const [snapshot, kept] = await Promise.all([seat.pod.snapshot(), seat.parts.host.messages(seat.pod.id)]);
  const messages = kept.map(({ message }) => message);
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
    ...sessionFile(seat, snapshot),
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

export const getEntries: Command = async (wish, seat) => {
  const since = anyTextIn(wish, 'since');
  const tree = await seat.parts.host.tree(seat.pod.id);
  const entries = [...tree.entries()];
  const at = since === undefined ? -1 : entries.findIndex(({ id }) => id === since);
  if (since !== undefined && at < 0) throw new PolypodError('not-found', `Entry not found: ${since}`);
  return { entries: entries.slice(at + 1).map(entryFrame), leafId: tree.leafId };
};

export const getTree: Command = async (_, seat) => {
  const tree = await seat.parts.host.tree(seat.pod.id);
  return { tree: branches(tree), leafId: tree.leafId };
};

interface TreeNode {
  readonly entry: JsonObject;
  readonly children: TreeNode[];
  readonly label?: string;
}

/** Built from the ids: a conversation of ten thousand entries is ten thousand levels deep. */
function branches(tree: SessionTree): readonly TreeNode[] {
  const nodes = new Map<string, TreeNode>();
  const roots: TreeNode[] = [];
  for (const entry of tree.entries()) {
    const label = tree.labels.get(entry.id);
    const node = { entry: entryFrame(entry), children: [], ...(label === undefined ? {} : { label }) };
    nodes.set(entry.id, node);
    const parent = entry.parentId === null ? undefined : nodes.get(entry.parentId);
    (parent?.children ?? roots).push(node);
  }
  return roots;
}

function entryFrame(entry: Entry): JsonObject {
  return objectIn(encodeEntry(entry)) ?? {};
}
