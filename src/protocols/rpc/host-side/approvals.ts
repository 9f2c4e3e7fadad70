import { objectIn } from '../../../base/index.ts';
import type { Approval, PodCommandOf } from '../../../pod/index.ts';
import type { UiRequests } from './ui.ts';

export interface ApprovalPromptsParts {
  readonly ui: UiRequests;
  /** Hands in the decision; one that comes too late is let go. */
  readonly decide: (decision: Omit<PodCommandOf<'decide'>, 'type'>) => Promise<void>;
}

const ONCE = 'Allow once';
const SESSION = 'Allow for this session';
const ALWAYS = 'Always allow';
const DENY = 'Deny';

const REMEMBER = new Map([
  [ONCE, 'once'],
  [SESSION, 'session'],
  [ALWAYS, 'always'],
] as const);

/** Puts the pod's questions to the client, and takes them back when somebody else has answered. */
export class ApprovalPrompts {
  readonly #parts: ApprovalPromptsParts;
  readonly #open = new Map<string, AbortController>();

  constructor(parts: ApprovalPromptsParts) {
    this.#parts = parts;
  }

  ask(approval: Approval): void {
    const { approvalId } = approval;
    if (this.#open.has(approvalId)) return;
    const taken = new AbortController();
    this.#open.set(approvalId, taken);
    void this.#answer(approval, taken.signal).then(async (answer) => {
      this.#open.delete(approvalId);
      if (!taken.signal.aborted) await this.#parts.decide({ approvalId, ...answer });
    });
  }

  settled(approvalId: string): void {
    this.#open.get(approvalId)?.abort();
    this.#open.delete(approvalId);
  }

  /** The link looks at another pod now: its questions stay open there. */
  close(): void {
    for (const taken of this.#open.values()) taken.abort();
    this.#open.clear();
  }

  async #answer(
    approval: Approval,
    signal: AbortSignal,
  ): Promise<Omit<PodCommandOf<'decide'>, 'type' | 'approvalId'>> {
    const { tool, title, reason, rule } = approval;
    const { ui } = this.#parts;
    if (rule === undefined) {
      const request = { title: `Allow ${tool}?`, message: `${title}\n${reason}${wholeCall(approval)}` };
      return { decision: (await ui.confirm(request, signal)) ? 'approve' : 'deny' };
    }
    const options = [ONCE, SESSION, ALWAYS, DENY];
    const chosen = await ui.text(
      { method: 'select', title: `Allow ${tool}: ${title}? ${reason}${wholeCall(approval)}`, options },
      signal,
    );
    const remember = [...REMEMBER].find(([option]) => option === chosen)?.[1];
    return remember === undefined ? { decision: 'deny' } : { decision: 'approve', remember };
  }
}

/** All arguments of a call, in lines of their own; nothing where the title, which is one line and may be cut, says it all. */
function wholeCall({ title, arguments: json }: Approval): string {
  const input = objectIn(json);
  const values = Object.values(input ?? {});
  if (input !== undefined && values.length === 1 && values[0] === title) return '';
  const whole = input === undefined ? JSON.stringify(json) : JSON.stringify(input, undefined, 2);
  return `\n\n${whole.replaceAll(REORDERING, (sign) => `\\u${sign.charCodeAt(0).toString(16)}`)}`;
}

/** Signs that make a text read otherwise than it is; JSON escapes all other control characters. */
const REORDERING = /[\u202A-\u202E\u2066-\u2069\u2028\u2029]/g;
