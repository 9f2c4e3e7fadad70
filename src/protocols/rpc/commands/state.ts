import { withoutUndefined } from '../../../base/index.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { isWithinLimit, type OfferedModel, type ThinkingLevel } from '../../../pod/index.ts';
import { flagIn, choiceIn } from '../arguments.ts';
import { hostToolsIn } from '../host-side/host-tools.ts';
import { modelFrame } from '../encode/messages.ts';
import type { RpcSession } from '../sessions/rpc-session.ts';
import { phasesIn } from '../host-side/todos.ts';
import type { RpcState } from '../wire.ts';
import type { CommandHandler } from './command.ts';
import { messagesOf } from './history.ts';
import { offer } from './offer.ts';
import { sessionFile } from './session-file.ts';

export const getState: CommandHandler = async (_, session): Promise<RpcState> => {
  const [snapshot, messages, briefing] = await Promise.all([
    session.state(),
    messagesOf(session),
    promptAndTools(session),
  ]);
  const { settings, queue } = snapshot;
  const model = session.modelOf(snapshot.model);
  const level = levelOf(settings.thinking, model);
  return {
    model: modelFrame(model),
    ...withoutUndefined({ thinkingLevel: level }),
    isStreaming: snapshot.run !== undefined,
    isCompacting: snapshot.compacting,
    steeringMode: settings.delivery.steering,
    followUpMode: settings.delivery.followUps,
    interruptMode: settings.delivery.interrupt,
    ...sessionFile(session, snapshot),
    sessionId: snapshot.id,
    ...withoutUndefined({ sessionName: settings.name }),
    autoCompactionEnabled: settings.autoCompaction,
    messageCount: messages.length,
    queuedMessageCount: queue.length,
    pendingMessageCount: queue.length,
    todoPhases: session.todos.phases,
    ...briefing,
  };
};

/** An MCP server that starts slowly must not delay the state. */
const PATIENCE_MS = 1_000;

async function promptAndTools({ pod }: RpcSession): Promise<Pick<RpcState, 'systemPrompt' | 'dumpTools'>> {
  const enough = new AbortController();
  const briefing = pod.briefing().then(
    ({ system, tools }) => ({ systemPrompt: system, dumpTools: tools }),
    () => ({}),
  );
  const late = sleep(PATIENCE_MS, {}, { signal: enough.signal, ref: false }).catch(() => ({}));
  return Promise.race([briefing, late]).finally(() => enough.abort());
}

/** Undefined for a model that cannot reason although a level is set. */
export function levelOf(
  thinking: ThinkingLevel = 'off',
  { reasoning }: OfferedModel,
): ThinkingLevel | undefined {
  return reasoning || thinking === 'off' ? thinking : undefined;
}

export const setTodos: CommandHandler = async ({ fields }, session) => {
  await session.todos.set(phasesIn(fields.phases));
  return { todoPhases: session.todos.phases };
};

export const setHostTools: CommandHandler = async ({ fields }, session) => {
  const { limits, toolNames } = session.parts;
  // A host tool can use the name of a built-in tool that the limit excludes.
  const taken = (await toolNames()).filter((name) => isWithinLimit(name, limits.toolLimit));
  const tools = hostToolsIn(fields.tools, taken);
  await offer(session, tools);
  return { toolNames: tools.map(({ name }) => name) };
};

const DELIVERY = ['all', 'one-at-a-time'] as const;

export const setSteeringMode: CommandHandler = async (request, session) => {
  await session.handle({
    type: 'configure',
    set: { delivery: { steering: choiceIn(request, 'mode', DELIVERY) } },
  });
};

export const setFollowUpMode: CommandHandler = async (request, session) => {
  await session.handle({
    type: 'configure',
    set: { delivery: { followUps: choiceIn(request, 'mode', DELIVERY) } },
  });
};

export const setInterruptMode: CommandHandler = async (request, session) => {
  const interrupt = choiceIn(request, 'mode', ['immediate', 'wait']);
  await session.handle({ type: 'configure', set: { delivery: { interrupt } } });
};

export const setAutoCompaction: CommandHandler = async (request, session) => {
  await session.handle({ type: 'configure', set: { autoCompaction: flagIn(request, 'enabled') } });
};

export const setAutoRetry: CommandHandler = async (request, session) => {
  await session.handle({ type: 'configure', set: { autoRetry: flagIn(request, 'enabled') } });
};

export const getCommands: CommandHandler = async (_, { parts }) => ({
  commands: [
    ...parts.extensions.commands().map(({ name, description, path }) => ({
      name,
      ...withoutUndefined({ description }),
      source: 'extension',
      sourceInfo: { path, source: 'cli', scope: 'temporary', origin: 'top-level' },
    })),
    ...((await parts.prompts?.list()) ?? []).map(({ name, description, of, file }) => ({
      name,
      description,
      source: 'prompt',
      sourceInfo: { path: file, source: 'local', scope: of, origin: 'top-level' },
    })),
  ],
});

/** Polypod has only one language. */
export const setLocale: CommandHandler = async () => {};

export const getIntegrations: CommandHandler = async (_, session) => {
  const { provider } = session.model;
  return { version: session.parts.version, model: { state: 'connected', provider }, services: [] };
};
