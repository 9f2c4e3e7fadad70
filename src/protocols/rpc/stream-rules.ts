import { PolypodError } from '../../base/index.ts';
import type { RpcRule } from './wire.ts';

/** How much of what the model wrote last a rule can see: the answer as a whole would be looked through at every delta. */
const SIGHT = 4_000;

/** Rules that cut an answer as soon as the model writes what they are about. Each speaks up once. */
export class StreamRules {
  readonly #rules: { readonly rule: RpcRule; readonly patterns: readonly RegExp[] }[];
  #seen = '';

  constructor(rules: readonly RpcRule[]) {
    this.#rules = rules.map((rule) => ({
      rule,
      patterns: rule.condition.map((text) => pattern(rule, text)),
    }));
  }

  /** Another part of the answer begins. */
  begin(): void {
    this.#seen = '';
  }

  /** The rules that what was just written breaks. */
  look(text: string): readonly RpcRule[] {
    if (this.#rules.length === 0) return [];
    this.#seen = (this.#seen + text).slice(-SIGHT - text.length);
    const broken = this.#rules.filter(({ patterns }) =>
      patterns.some((expression) => expression.test(this.#seen)),
    );
    for (const hit of broken) this.#rules.splice(this.#rules.indexOf(hit), 1);
    return broken.map(({ rule }) => rule);
  }
}

/** What the model is told about the rules that it broke. */
export function injectionOf(rules: readonly RpcRule[]): string {
  const bodies = rules.map(({ name, content }) => `<rule name="${name}">\n${content}\n</rule>`).join('\n\n');
  return `Your answer was stopped because it broke a rule. Begin it again, by the rule:\n\n${bodies}`;
}

function pattern({ name }: RpcRule, text: string): RegExp {
  try {
    return new RegExp(text, 'u');
  } catch (cause) {
    throw new PolypodError(
      'bad-request',
      `the rule ${name} has a condition that is no regular expression: ${text}`,
      {
        cause,
      },
    );
  }
}
