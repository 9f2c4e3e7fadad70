import { PolypodError, stringOf } from '../../../base/index.ts';
import { type ControlLink, remotePod } from '../../../control/index.ts';
import type { Row } from '../../../pod/sessions.ts';
import { EXIT, type ExitCode, type CommandContext } from '../../command.ts';
import { promptFrom } from '../../args/prompt-text.ts';
import { callerIn, type SessionsCall, findSessions } from './sessions-call.ts';
import { requireDaemon } from '../../hosting/require-daemon.ts';
import { endRunOf } from './interrupt.ts';

/** `polypod sessions continue`: creates a session that continues the conversation of another one, which does not change. */
export async function continueSession(call: SessionsCall, context: CommandContext): Promise<ExitCode> {
  const { dataPaths, words, isJson } = call;
  const [parent] = findSessions({ ...call, words: words.slice(0, 1) }, 'continue');
  if (parent === undefined) throw new PolypodError('internal', 'no session was resolved');
  const example = 'polypod sessions continue ID "Now the other one"';
  const prompt = await promptFrom(words.slice(1), context.stdin, example);
  const link = await requireDaemon(dataPaths);
  try {
    const child = await childOf(parent, prompt, link, context);
    context.stdout.write(isJson ? `${JSON.stringify(child)}\n` : `${child.id}\n`);
    if (!isJson)
      context.stderr.write(`polypod: the run has started; watch it with polypod attach ${child.id}\n`);
    return EXIT.ok;
  } finally {
    link.close();
  }
}

interface Child {
  readonly id: string;
  readonly parent: string;
  readonly run: string;
}

async function childOf(
  { id: parent, state }: Row,
  prompt: string,
  link: ControlLink,
  context: CommandContext,
): Promise<Child> {
  const caller = callerIn(context);
  if (state !== 'idle') await endRunOf(parent, link, caller);
  const id = stringOf((await link.call('fork', { pod: parent })).id);
  const child = await remotePod(id, link);
  await child.handle({ type: 'configure', set: { archived: false } }, caller);
  const content = [{ type: 'text', text: prompt }] as const;
  const { runId = '' } = await child.handle({ type: 'prompt', content }, caller);
  return { id, parent, run: runId };
}
