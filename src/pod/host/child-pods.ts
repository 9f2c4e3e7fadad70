import { asPolypodError, type PolypodError, withoutUndefined } from '../../base/index.ts';
import type { FileWrite } from '../../tools/index.ts';
import { type Caller, readCommand, type ValidCommandOf } from '../command.ts';
import type { Approval, Settlement } from '../event.ts';
import type { LivePod } from '../live/live-pod.ts';
import { withPermissionsOf } from '../settings.ts';
import { childLabel } from '../subagent-label.ts';
import type { PodCache } from './pod-cache.ts';

export interface ChildPodsParts {
  readonly podCache: PodCache;
  readonly exists: (id: string) => boolean;
  readonly now: () => Date;
  readonly onFailure: (error: PolypodError, podId: string) => void;
}

/** Connects child pods with their parents: a child's approvals and file changes are also recorded in its parent. */
export class ChildPods {
  readonly #parts: ChildPodsParts;

  constructor(parts: ChildPodsParts) {
    this.#parts = parts;
  }

  asked(child: LivePod, approval: Approval): void {
    const podName = childLabel(child.view.settings);
    this.#toParent(child, (parent) =>
      parent.mirror({ podId: child.id, ...withoutUndefined({ podName }), ...approval }),
    );
  }

  settled(child: LivePod, approvalId: string, how: Settlement): void {
    this.#toParent(child, (parent) => parent.mirrorSettled(approvalId, how));
  }

  /** A rewind of the parent also takes back what a sub-agent did for it. */
  async fileWrite(child: LivePod, write: FileWrite, callId: string): Promise<void> {
    const parentId = parentIdOf(child);
    // A user may prompt the sub-agent later, for themselves.
    const isForParent = child.view.run?.runId === child.header.extras?.awaitedRun;
    if (parentId === undefined || !isForParent) return;
    await this.#parts.podCache.use(parentId, (parent) => parent.rewinds.record(write, callId));
  }

  async decide(podId: string, command: ValidCommandOf<'decide'>, { key, ...who }: Caller): Promise<void> {
    // Idempotency keys of the parent must not collide with the child's own.
    const caller = key === undefined ? who : { ...who, key: `parent ${key}` };
    await this.#parts.podCache.use(podId, (child) => child.handle(command, caller));
  }

  /** Parent and child record the same approvals in separate files, and a crash may have come between the two writes. */
  compare(pod: LivePod): void {
    for (const { podId, podName: _, ...approval } of pod.view.approvals.pending()) {
      if (podId === undefined) this.asked(pod, approval);
      else this.#mirrorChildApproval(pod.id, podId, approval.approvalId);
    }
  }

  /** Cancels a run whose parent no longer waits for it: the process that ran both has ended. */
  async endOrphanedRun(pod: LivePod): Promise<void> {
    const { state, lastRun } = pod.view;
    const isOpen = state === 'waiting' || state === 'paused';
    if (!isOpen || lastRun === undefined || lastRun.runId !== pod.header.extras?.awaitedRun) return;
    await pod.handle(readCommand({ type: 'cancel' }), HOST);
  }

  /** Applies a change of the parent's permissions to its children. What they have been limited to stays. */
  inheritPermissions(parent: LivePod): void {
    for (const child of this.#parts.podCache.pods()) {
      const isWorking = child.closing === undefined && child.header.extras?.awaitedRun !== undefined;
      if (!isWorking || parentIdOf(child) !== parent.id) continue;
      const settings = withPermissionsOf(child.view.settings, parent.view.settings);
      if (JSON.stringify(settings) !== JSON.stringify(child.view.settings))
        child.publish({ fact: { type: 'settings', settings, by: HOST.by, door: HOST.door } });
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
    const parentId = parentIdOf(pod);
    if (parentId === undefined) return;
    this.#parts.podCache
      .use(parentId, async (parent) => notify(parent))
      .catch((thrown: unknown) => this.#parts.onFailure(asPolypodError(thrown), parentId));
  }
}

/** The parent of a pod that works for it. A fork has a parent too, but is independent of it. */
function parentIdOf({ header: { extras } }: LivePod): string | undefined {
  const { parentSessionId, spawned } = extras ?? {};
  return typeof parentSessionId === 'string' && spawned === true ? parentSessionId : undefined;
}

const HOST: Caller = { by: 'host', door: 'process' };
