import { asPolypodError, type PolypodError } from '../../base/index.ts';
import type { Caller, ValidCommandOf } from '../command.ts';
import type { Approval, Settlement } from '../event.ts';
import type { LivePod } from '../live/live-pod.ts';
import type { PodCache } from './pod-cache.ts';

export interface ChildPodsParts {
  readonly podCache: PodCache;
  readonly exists: (id: string) => boolean;
  readonly now: () => Date;
  readonly onFailure: (error: PolypodError, podId: string) => void;
}

/** Connects child pods with their parents: a child's approvals also appear in its parent, and can be decided in either. */
export class ChildPods {
  readonly #parts: ChildPodsParts;

  constructor(parts: ChildPodsParts) {
    this.#parts = parts;
  }

  asked(child: LivePod, approval: Approval): void {
    this.#toParent(child, (parent) => parent.mirror({ podId: child.id, ...approval }));
  }

  settled(child: LivePod, approvalId: string, how: Settlement): void {
    this.#toParent(child, (parent) => parent.mirrorSettled(approvalId, how));
  }

  async decide(podId: string, command: ValidCommandOf<'decide'>, { key, ...who }: Caller): Promise<void> {
    // Idempotency keys of the parent must not collide with the child's own.
    const caller = key === undefined ? who : { ...who, key: `parent ${key}` };
    await this.#parts.podCache.use(podId, (child) => child.handle(command, caller));
  }

  /** Parent and child record the same approvals in separate files, and a crash may have come between the two writes. */
  compare(pod: LivePod): void {
    for (const { podId, ...approval } of pod.view.approvals.pending()) {
      if (podId === undefined) this.asked(pod, approval);
      else this.#mirrorChildApproval(pod.id, podId, approval.approvalId);
    }
  }

  #mirrorChildApproval(parentId: string, podId: string, approvalId: string): void {
    const { podCache, exists, now, onFailure } = this.#parts;
    const cancelled: Settlement = { status: 'cancelled', at: now().toISOString() };
    const settlement = exists(podId)
      ? podCache.use(podId, async ({ view: { approvals } }) => {
          const asked = approvals.get(approvalId);
          return asked === undefined ? cancelled : asked.settlement;
        })
      : Promise.resolve(cancelled);
    settlement
      .then(async (how) => {
        if (how !== undefined)
          await podCache.use(parentId, async (parent) => parent.mirrorSettled(approvalId, how));
      })
      .catch((thrown: unknown) => onFailure(asPolypodError(thrown), podId));
  }

  #toParent(pod: LivePod, notify: (parent: LivePod) => void): void {
    const { parentSessionId: parentId, spawned } = pod.header.extras ?? {};
    // A fork has a parent too, but is independent of it.
    if (typeof parentId !== 'string' || spawned !== true) return;
    this.#parts.podCache
      .use(parentId, async (parent) => notify(parent))
      .catch((thrown: unknown) => this.#parts.onFailure(asPolypodError(thrown), parentId));
  }
}
