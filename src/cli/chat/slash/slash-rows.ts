import { shortIds } from '../../../setup/index.ts';
import { dollars } from '../../output/dollars.ts';
import { relativeTime } from '../../output/relative-time.ts';
import type { PodLocation } from '../../hosting/index.ts';
import { compactCount } from '../screen/status.ts';
import type { View } from '../view/view.ts';

/** Earlier prompts with the numbers that `/branch` accepts. */
export function branchRows(texts: readonly string[]): readonly string[] {
  if (texts.length === 0) return ['there are no prompts yet'];
  const rows = texts.map((text, index) => `${String(index + 1).padStart(3)}  ${inALine(text)}`);
  return [...rows, '/branch NUMBER returns to the point before that prompt'];
}

/** The most recent sessions with the shortest unique prefixes of their ids. */
export async function sessionRows(location: PodLocation): Promise<readonly string[]> {
  const rows = (await location.sessions()).filter(({ archived, spawned = false }) => !archived && !spawned);
  const ids = shortIds(rows.map(({ id }) => id));
  const now = new Date();
  return rows.slice(0, 20).map(({ id, name, title, updatedAt, firstPrompt = '' }) => {
    const text = title ?? inALine(firstPrompt);
    const about = name === undefined ? text : `${name}: ${text}`;
    return [ids.get(id) ?? id, relativeTime(updatedAt, now).padStart(6), about].join('  ');
  });
}

/** The background commands that run, with the ids that `/commands end` accepts. */
export function backgroundRows(commands: View['background'], now: Date): readonly string[] {
  if (commands.length === 0) return ['no background command is running'];
  const rows = commands.map(
    ({ id, command, startedAt }) => `${id}  ${relativeTime(startedAt, now).padStart(6)}  ${inALine(command)}`,
  );
  return [...rows, '/commands end ID ends one of them, /commands end all all'];
}

/** The token and cost totals of the conversation. */
export function costRows({ totals, contextTokens, contextWindow }: View): readonly string[] {
  const { turns, toolCalls, inputTokens, outputTokens, cacheReadInputTokens, cost } = totals;
  const window = contextWindow === undefined ? '' : ` of ${compactCount(contextWindow)}`;
  return [
    `${counted(turns, 'turn')}, ${counted(toolCalls, 'call')}`,
    `${compactCount(inputTokens)} tokens in (${compactCount(cacheReadInputTokens)} from the cache), ${compactCount(outputTokens)} out`,
    `${compactCount(contextTokens)}${window} tokens in the context`,
    cost === undefined ? 'the cost is unknown' : dollars(cost),
  ];
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function inALine(text: string): string {
  return text.replace(/\s+/g, ' ').slice(0, 200);
}
