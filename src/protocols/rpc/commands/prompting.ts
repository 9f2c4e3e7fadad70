import { PolypodError } from '../../../base/index.ts';
import { userContentIn, type UserContent, textIn, type RpcCommand, choiceIn } from '../arguments.ts';
import { endRun, unlessConflict } from '../sessions/end-run.ts';
import { TEXTS } from '../errors.ts';
import { busy, type RpcSession } from '../sessions/rpc-session.ts';
import type { CommandHandler } from './command.ts';

/**
 * Responds before the run starts; a later error is sent as a second response with the same id. A prompt during a run without
 * `streamingBehavior` is refused in the first response, because clients treat that one as the outcome.
 */
export const prompt: CommandHandler = async (request, session, answer) => {
  const content = userContentIn(request);
  if (ranCommand(textIn(request, 'message'), session)) return { disposition: 'handled' };
  const whenBusy = whenBusyIn(request);
  const isBusy = await isRunning(session);
  if (isBusy && whenBusy === 'refuse') throw new PolypodError('conflict', TEXTS.busy);
  const expanded = await withPromptFile(content, session);
  answer({ disposition: isBusy ? 'queued' : 'started' });
  return session.prompt({ type: 'prompt', content: await named(expanded, session), whenBusy }).catch(busy);
};

/**
 * The link learns of a run's end later than the pod, so the pod is queried only if the link knows of a run. A session that was removed, or
 * can no longer be written, fails before the response.
 */
async function isRunning(session: RpcSession): Promise<boolean> {
  return (session.isBusy || session.isCutOff) && (await session.pod.snapshot()).run !== undefined;
}

export const steer: CommandHandler = async (request, session) => {
  await session.handle({ type: 'steer', content: await queueable(request, session) });
  return { disposition: 'queued' };
};

export const followUp: CommandHandler = async (request, session) => {
  await session.handle({ type: 'follow-up', content: await queueable(request, session) });
  return { disposition: 'queued' };
};

export const abort: CommandHandler = async ({ cancelled }, session) => {
  await endRun(session, cancelled);
};

export const abortAndPrompt: CommandHandler = async (request, session, answer) => {
  const content = await withPromptFile(userContentIn(request), session);
  await endRun(session, request.cancelled);
  answer({ disposition: 'started' });
  await session
    .prompt({ type: 'prompt', content: await named(content, session), whenBusy: 'refuse' })
    .catch(busy);
};

export const abortRetry: CommandHandler = async (_, session) => {
  await session.handle({ type: 'abort-retry' }).catch(unlessConflict);
};

/** Returns the removed messages, so that the client can restore them in its editor. */
export const clearQueue: CommandHandler = async (_, session) => {
  const { queue } = await session.pod.snapshot();
  await session.handle({ type: 'clear-queue' });
  const texts = (lane: string): readonly string[] =>
    queue.filter((queued) => queued.lane === lane).map(({ content }) => textOf(content));
  return { steering: texts('steer'), followUp: texts('follow-up') };
};

/** Adds the mentioned files. A prompt without an `@` loads nothing. */
async function named(content: UserContent, { parts }: RpcSession): Promise<UserContent> {
  if (!textOf(content).includes('@')) return content;
  return (await import('../host-side/mentions.ts')).withMentions(content, parts.sessions.cwd);
}

function whenBusyIn({ type, id, fields }: RpcCommand): 'steer' | 'follow-up' | 'refuse' {
  if (fields.streamingBehavior === undefined || fields.streamingBehavior === null) return 'refuse';
  const request = { type, id, fields };
  return choiceIn(request, 'streamingBehavior', ['steer', 'followUp']) === 'steer' ? 'steer' : 'follow-up';
}

/** A command of an extension runs at once, also during a run. An unknown `/x` is ordinary text. */
function ranCommand(text: string, session: RpcSession): boolean {
  const [, name = '', args = ''] = COMMAND.exec(text) ?? [];
  return name !== '' && session.parts.extensions.run(name, args);
}

const COMMAND = /^\/(\S+)\s*([\s\S]*)$/;

async function queueable(request: RpcCommand, session: RpcSession): Promise<UserContent> {
  const [, name = ''] = COMMAND.exec(textIn(request, 'message')) ?? [];
  if (session.parts.extensions.commands().some((command) => command.name === name))
    throw new PolypodError(
      'bad-request',
      `Extension command "/${name}" cannot be queued. Use prompt() or execute the command when not streaming.`,
    );
  return withPromptFile(userContentIn(request), session);
}

/** Replaces `/NAME arguments` by the prompt of a file, as pi does with prompt templates. An unknown `/x` is ordinary text. */
async function withPromptFile(content: UserContent, { parts }: RpcSession): Promise<UserContent> {
  const [first, ...images] = content;
  if (first?.type !== 'text' || !first.text.startsWith('/')) return content;
  const text = await parts.prompts?.expand(first.text);
  return text === undefined ? content : [{ type: 'text', text }, ...images];
}

function textOf(content: UserContent): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}
