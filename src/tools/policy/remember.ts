import { escapeGlob } from '../../base/index.ts';
import { matchesExactly } from './command-pattern.ts';
import { findings, judge } from './judge.ts';
import type { Finding } from './judge-command.ts';
import type { ExaminedCall, JudgedStep } from './judged-access.ts';
import type { Policy } from './policy.ts';
import type { Rule } from './rule.ts';

/**
 * Returns the rule to prepend when a user answers "always" to a question; undefined if no rule covers exactly
 * this, so that the answer applies once only. A rule that asks is not overridden, because it is meant to ask
 * every time.
 */
export function ruleFor(call: ExaminedCall, policy: Policy): Rule | undefined {
  const questions = findings(call, policy).filter(({ verdict }) => verdict.decision === 'ask');
  const rules = new Map(
    questions.map((question) => {
      const rule = ruleForFinding(question, call.tool);
      return [JSON.stringify(rule), rule];
    }),
  );
  const [rule] = rules.values();
  if (rules.size !== 1 || rule === undefined) return undefined;
  const isEnough = judge(call, { ...policy, rules: [rule, ...policy.rules] }).decision === 'allow';
  return isEnough ? rule : undefined;
}

function ruleForFinding({ verdict, about }: Finding, tool: string): Rule | undefined {
  if (verdict.rule !== undefined || about.type === 'text') return undefined;
  const name = escapeGlob(tool);
  if (about.type === 'tool') return { tool: name, action: 'auto' };
  if (about.type === 'host') return { tool: name, host: about.host, action: 'auto' };
  if (about.type === 'program') return commandRule(about.step, name);
  const { location } = about.file;
  return 'real' in location ? { tool: name, path: escapeGlob(location.real), action: 'auto' } : undefined;
}

/** Commands that people repeat with other arguments. All others are remembered word by word. */
const OFTEN = [
  'bun run *',
  'bun test',
  'cargo build',
  'cargo check',
  'cargo clippy',
  'cargo test',
  'eslint',
  'go build',
  'go test',
  'go vet',
  'npm run *',
  'npm test',
  'npx eslint',
  'npx tsc',
  'npx vitest',
  'pnpm run *',
  'pnpm test',
  'pytest',
  'tsc',
  'vitest',
  'yarn run *',
  'yarn test',
];

function commandRule(step: JudgedStep, tool: string): Rule | undefined {
  const { words, hazard } = step;
  const isClear = words.every(({ vague, wild }) => vague === undefined && wild.length === 0);
  if (hazard !== undefined || !isClear || words.length === 0) return undefined;
  const texts = words.map(({ text }) => quoteWord(text));
  const often = OFTEN.find((pattern) => matchesExactly(pattern, false, step));
  if (often === undefined) return { tool, command: texts.join(' '), exact: true, action: 'auto' };
  return { tool, command: texts.slice(0, often.split(' ').length).join(' '), action: 'auto' };
}

/** Quotes a word so that a pattern matches it literally. */
function quoteWord(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
