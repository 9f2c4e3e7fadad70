import { PolypodError } from '../base/index.ts';

/** A rule about what a model may write. */
export interface StreamRule {
  readonly name: string;
  /** The file that states the rule. */
  readonly path: string;
  /** The message to the model when it breaks the rule. */
  readonly content: string;
  /** Regular expressions. The rule is broken when one of them matches the model's output. */
  readonly condition: readonly string[];
}

/** How many characters of the latest output a rule is matched against. Matching the whole answer would make each delta slower. */
const WINDOW = 4_000;

/** Matches the output of a model against rules while it streams. Each rule is reported once. */
export class StreamRules {
  readonly #rules: { readonly rule: StreamRule; readonly patterns: readonly RegExp[] }[];
  #window = '';

  constructor(rules: readonly StreamRule[]) {
    this.#rules = rules.map((rule) => ({
      rule,
      patterns: rule.condition.map((text) => pattern(rule, text)),
    }));
  }

  /** Starts another block of the answer: a match does not span two blocks. */
  startBlock(): void {
    this.#window = '';
  }

  /** Appends a delta and returns the rules that the output now breaks. */
  append(text: string): readonly StreamRule[] {
    if (this.#rules.length === 0) return [];
    this.#window = (this.#window + text).slice(-WINDOW - text.length);
    const broken = this.#rules.filter(({ patterns }) =>
      patterns.some((expression) => expression.test(this.#window)),
    );
    for (const hit of broken) this.#rules.splice(this.#rules.indexOf(hit), 1);
    return broken.map(({ rule }) => rule);
  }
}

/** The prompt that names the rules that the model's answer broke. */
export function brokenRulesText(rules: readonly StreamRule[]): string {
  const bodies = rules.map(({ name, content }) => `<rule name="${name}">\n${content}\n</rule>`).join('\n\n');
  return `Your answer was stopped because it broke a rule. Begin it again, by the rule:\n\n${bodies}`;
}

function pattern({ name }: StreamRule, text: string): RegExp {
  try {
    return new RegExp(text, 'u');
  } catch (cause) {
    throw new PolypodError(
      'bad-request',
      `the rule ${name} has an invalid regular expression as a condition: ${text}`,
      {
        cause,
      },
    );
  }
}
