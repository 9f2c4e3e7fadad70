import { parseObject } from '../../../base/index.ts';
import type { Approval, PodCommandOf } from '../../../pod/index.ts';
import type { UiRequests } from './ui.ts';

export interface ApprovalPromptsParts {
  readonly ui: UiRequests;
  /** Sends the decision. A late one is ignored. */
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

/** Shows pending approvals to the client, and closes a dialog if another client has decided. */
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

  /** The link moved to another pod: the approvals stay pending there. */
  close(): void {
    for (const taken of this.#open.values()) taken.abort();
    this.#open.clear();
  }

  async #answer(
    approval: Approval,
    signal: AbortSignal,
  ): Promise<Omit<PodCommandOf<'decide'>, 'type' | 'approvalId'>> {
    const { tool, title, reason, rule, podName } = approval;
    const from = podName === undefined ? '' : `Requested by the sub-agent "${podName}". `;
    const { ui } = this.#parts;
    if (rule === undefined) {
      const message = `${title}\n${from}${reason}${wholeCall(approval)}`;
      const request = { title: `Allow ${tool}?`, message };
      return { decision: (await ui.confirm(request, signal)) ? 'approve' : 'deny' };
    }
    const options = [ONCE, SESSION, ALWAYS, DENY];
    const chosen = await ui.text(
      { method: 'select', title: `Allow ${tool}: ${title}? ${from}${reason}${wholeCall(approval)}`, options },
      signal,
    );
    const remember = [...REMEMBER].find(([option]) => option === chosen)?.[1];
    return remember === undefined ? { decision: 'deny' } : { decision: 'approve', remember };
  }
}

/** All arguments of a call, one per line; nothing if the title, a single line that may be cut, already contains them. */
function wholeCall({ title, arguments: json }: Approval): string {
  const input = parseObject(json);
  const values = Object.values(input ?? {});
  if (input !== undefined && values.length === 1 && values[0] === title) return '';
  const whole = input === undefined ? JSON.stringify(json) : JSON.stringify(input, undefined, 2);
  return `\n\n${whole.replaceAll(REORDERING, (sign) => `\\u${sign.charCodeAt(0).toString(16)}`)}`;
}

/** Characters that change how a text is displayed. JSON escapes all other control characters. */
const REORDERING = /[\u202A-\u202E\u2066-\u2069\u2028\u2029]/g;
