import { asPolypodError, objectOf, stringOf } from '../../../base/index.ts';
import type { Approval, PodCommandOf } from '../../../pod/index.ts';
import { inputOf, kindOf, locationsOf, textBlock } from '../encode/tool-call.ts';
import type { Peer } from '../peer.ts';
import type { PermissionOption, ToolCallContent, ToolCallFields } from '../wire.ts';
import { proposedChange } from './proposed-change.ts';

type Decision = Omit<PodCommandOf<'decide'>, 'type' | 'approvalId'>;

const DECISIONS: Readonly<Record<string, Decision>> = {
  'allow-once': { decision: 'approve', remember: 'once' },
  'allow-session': { decision: 'approve', remember: 'session' },
  'allow-always': { decision: 'approve', remember: 'always' },
  reject: { decision: 'deny' },
};

export interface PermissionsParts {
  readonly peer: Peer;
  readonly sessionId: string;
  readonly cwd: string;
  /** Whether the client wants the numbers of the pod's events. */
  readonly eventNumbers: boolean;
  /** Announces the call of an approval, unless the client knows it. */
  readonly announce: (approval: Approval) => void;
  /** Sends the decision. A late one is ignored. */
  readonly decide: (decision: Omit<PodCommandOf<'decide'>, 'type'>) => Promise<void>;
}

/** Shows pending approvals in the editor, and withdraws a request when another client has decided. */
export class Permissions {
  readonly #parts: PermissionsParts;
  readonly #open = new Map<string, AbortController>();

  constructor(parts: PermissionsParts) {
    this.#parts = parts;
  }

  /**
   * Sends a request, unless one is open. `seq` is the number of the event that requires the approval. Resolves when the request
   * is sent or withdrawn.
   */
  async ask(approval: Approval, seq?: number): Promise<void> {
    const { approvalId, tool } = approval;
    if (this.#open.has(approvalId)) return;
    const withdrawn = new AbortController();
    this.#open.set(approvalId, withdrawn);
    this.#parts.announce(approval);
    const change =
      tool === 'write' || tool === 'edit'
        ? await proposedChange(tool, inputOf(approval.arguments), this.#parts.cwd)
        : [];
    void this.#request(approval, change, withdrawn.signal, seq).then(async (decision) => {
      // A request that was withdrawn may have been replaced by another one.
      if (this.#open.get(approvalId) === withdrawn) this.#open.delete(approvalId);
      if (decision !== undefined) await this.#parts.decide({ approvalId, ...decision });
    });
  }

  settled(approvalId: string): void {
    this.#open.get(approvalId)?.abort();
    this.#open.delete(approvalId);
  }

  /** Withdraws the requests of approvals that are no longer pending. */
  keep(pending: readonly Approval[]): void {
    for (const approvalId of this.#open.keys())
      if (!pending.some((approval) => approval.approvalId === approvalId)) this.settled(approvalId);
  }

  /** Withdraws all requests: the client closed the session. The approvals stay pending. */
  close(): void {
    for (const withdrawn of this.#open.values()) withdrawn.abort();
    this.#open.clear();
  }

  /** Resolves with the decision; undefined if the request was withdrawn or the client has disconnected. */
  async #request(
    approval: Approval,
    change: readonly ToolCallContent[],
    signal: AbortSignal,
    seq: number | undefined,
  ): Promise<Decision | undefined> {
    const { peer, sessionId, cwd, eventNumbers } = this.#parts;
    const params = {
      sessionId,
      toolCall: callOf(approval, change, cwd),
      options: optionsOf(approval),
      ...(eventNumbers && seq !== undefined && { _meta: { polypod: { seq } } }),
    };
    try {
      const { outcome } = objectOf(await peer.request('session/request_permission', params, signal));
      const { outcome: kind, optionId } = objectOf(outcome);
      return (kind === 'selected' ? DECISIONS[stringOf(optionId)] : undefined) ?? { decision: 'deny' };
    } catch (thrown) {
      const { code, message } = asPolypodError(thrown);
      if (signal.aborted || peer.isOver || code !== 'unreachable') return undefined;
      return { decision: 'deny', comment: `The editor could not ask for the approval: ${message}` };
    }
  }
}

/** The call of an approval. Approvals that a client requested have no call. */
export function callIdOf({ callId, podId, approvalId }: Approval): string {
  return callId === undefined || podId !== undefined ? approvalId : callId;
}

/** The title of a call, with the sub-agent that makes it. */
export function callTitle({ title, podId, podName }: Approval): string {
  return podId === undefined ? title : `${podName ?? 'Sub-agent'}: ${title}`;
}

function callOf(
  approval: Approval,
  change: readonly ToolCallContent[],
  cwd: string,
): ToolCallFields & { readonly toolCallId: string } {
  const { tool, reason, arguments: json } = approval;
  const input = inputOf(json);
  const locations = locationsOf(input, cwd);
  return {
    toolCallId: callIdOf(approval),
    title: callTitle(approval),
    name: tool,
    kind: kindOf(tool),
    status: 'pending',
    content: [textBlock(reason), ...change],
    ...(input && { rawInput: input }),
    ...(locations.length > 0 && { locations }),
  };
}

/** Both simple answers are always offered, first and last: some editors fall back to the first option. */
function optionsOf({ rule }: Approval): readonly PermissionOption[] {
  return [
    { optionId: 'allow-once', name: 'Allow once', kind: 'allow_once' },
    ...(rule === undefined
      ? []
      : ([
          { optionId: 'allow-session', name: 'Allow in this session', kind: 'allow_always' },
          { optionId: 'allow-always', name: 'Always allow in this project', kind: 'allow_always' },
        ] as const)),
    { optionId: 'reject', name: 'Reject', kind: 'reject_once' },
  ];
}
