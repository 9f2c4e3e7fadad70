import { shape } from '../base/index.ts';
import { attempt } from './attempt.ts';
import { ENDED_COMMANDS } from './bash/background-output.ts';
import { requireBackground } from './bash/start-in-background.ts';
import { defineTool, type ToolContext, type ToolOutput, textOutput } from './tool.ts';

const input = shape.fields(
  { id: shape.withDescription(shape.text('the id of a command'), 'The id that bash returned.') },
  {},
);

/** Touches only what the session itself has started, so it needs no approval. */
export const bashKill = defineTool({
  name: 'bash_kill',
  description:
    'Ends a background command with all its processes. Its output stays readable with bash_output. End what you no longer need.',
  input,
  parallel: false,
  access: () => [],
  title: ({ id }) => `end ${id}`,
  run: ({ id }, context, signal) => attempt('bash_kill', signal, () => endCommand(id, context)),
});

async function endCommand(id: string, context: ToolContext): Promise<ToolOutput> {
  const found = requireBackground(context).commands.get(id);
  const wasRunning = found.end === undefined;
  found.stop('by bash_kill');
  await found.over;
  const { message = '', notes = [] } = found.end ?? {};
  const outcome = wasRunning ? message : `it had already ended: ${message}`;
  const text = [`${id} (${found.command}): ${outcome}`, ...notes].join('\n');
  return textOutput(`${id}: ${outcome}`, text, { [ENDED_COMMANDS]: [id] });
}
