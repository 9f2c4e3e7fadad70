import type { PodCommand, PodEvent, Receipt } from '../../../src/pod/index.ts';

/** What a client knows, in order. */
export type Known =
  /** It requested a pod, and received it. */
  | { readonly type: 'wanted'; readonly pod: PodName }
  | { readonly type: 'given'; readonly pod: PodName; readonly id: string }
  /** It sent a command, which was accepted. */
  | { readonly type: 'sent'; readonly pod: PodName; readonly key: string; readonly command: PodCommand }
  | { readonly type: 'accepted'; readonly key: string; readonly receipt: Receipt }
  /** It received events. */
  | { readonly type: 'received'; readonly pod: PodName; readonly events: readonly PodEvent[] };

export type PodName = 'main' | 'fork';

export type Note = (known: Known) => void;

export interface Sent {
  readonly key: string;
  readonly command: PodCommand;
  /** Undefined for a command in flight. */
  readonly receipt: Receipt | undefined;
}

/** What a client knows about one pod. */
export interface Ledger {
  readonly name: PodName;
  readonly id: string;
  readonly sent: readonly Sent[];
  readonly received: readonly PodEvent[];
}

/** By pod. A pod that no client received is unknown. */
export function ledgersOf(knowledge: readonly Known[]): readonly Ledger[] {
  const receipts = new Map(
    knowledge.flatMap((known) => (known.type === 'accepted' ? [[known.key, known.receipt] as const] : [])),
  );
  return knowledge.flatMap((given) => {
    if (given.type !== 'given') return [];
    const own = knowledge.filter((known) => 'pod' in known && known.pod === given.pod);
    return {
      name: given.pod,
      id: given.id,
      sent: own.flatMap((known) =>
        known.type === 'sent'
          ? [{ key: known.key, command: known.command, receipt: receipts.get(known.key) }]
          : [],
      ),
      received: own.flatMap((known) => (known.type === 'received' ? known.events : [])),
    };
  });
}
