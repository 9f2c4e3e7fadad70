import { PolypodError, uuidv7Time } from '../../base/index.ts';
import { readLock } from '../../store/index.ts';
import type { ApprovalRow, Catalogue, Row } from '../catalogue/index.ts';
import type { Caller, PodCommandOf, Receipt } from '../command.ts';
import type { Settlement } from '../event.ts';
import { Pod } from '../pod.ts';
import { APPROVAL_REQUEST, APPROVAL_RESPONSE, type Entry } from '../session/index.ts';
import type { PodCache } from './pod-cache.ts';
import type { SessionReader } from './session-reader.ts';
import type { RowSource } from './session-rows.ts';

/** An approval, its session and, once settled, its outcome. */
export interface SessionApproval {
  readonly row: Row;
  readonly approval: ApprovalRow;
  readonly settlement?: Settlement;
}

/** A decision about an approval, as in the command `decide`. */
export type ApprovalDecision = Omit<PodCommandOf<'decide'>, 'type'>;

export interface HostApprovalsParts {
  readonly catalogue: Catalogue;
  readonly podCache: PodCache;
  readonly reader: SessionReader;
  readonly source: RowSource;
}

/**
 * The approvals of all sessions. Answers come from the catalogue and from the pods in memory. A session is opened or read only if
 * the call is too long for a row, or if the approval is no longer in the row.
 */
export class HostApprovals {
  readonly #parts: HostApprovalsParts;

  constructor(parts: HostApprovalsParts) {
    this.#parts = parts;
  }

  /**
   * The pending approvals of these sessions, oldest first. An approval of a child pod is also listed for its parent, with
   * `podId`. The arguments are absent while another process has the session open, because only that process can decide.
   */
  async pending(isWanted: (row: Row) => boolean = () => true): Promise<readonly SessionApproval[]> {
    await this.#parts.catalogue.refresh();
    const wanted = this.#parts.catalogue.pendingApprovals().filter(({ row }) => isWanted(row));
    return Promise.all(
      wanted.map((found) =>
        this.#withCall(found).catch(() => ({ ...found, approval: gist(found.approval) })),
      ),
    );
  }

  /**
   * Finds an approval that is pending or was settled recently. An approval of a child pod is found in the child, not in its
   * parent.
   */
  async find(approvalId: string): Promise<SessionApproval | undefined> {
    await this.#parts.catalogue.refresh();
    const found = [...this.#inMemory(approvalId), ...this.#inRows(approvalId)];
    return found.find(({ approval }) => approval.podId === undefined) ?? found[0];
  }

  /** Finds an approval of any age, with its call. Rejects if it is pending in a session that another process has open. */
  async get(approvalId: string): Promise<SessionApproval | undefined> {
    const found = await this.find(approvalId);
    return found === undefined ? this.#inFiles(approvalId) : this.#withCall(found);
  }

  /** Decides an approval in its session, or in the named one. The first decision wins. */
  async decide(decision: ApprovalDecision, caller: Caller, sessionId?: string): Promise<Receipt> {
    const { approvalId } = decision;
    const id = sessionId ?? (await this.get(approvalId))?.row.id;
    if (id === undefined) throw new PolypodError('not-found', `there is no approval ${approvalId}`);
    return new Pod(id, this.#parts.podCache).handle({ type: 'decide', ...decision }, caller);
  }

  #inMemory(approvalId: string): readonly SessionApproval[] {
    const { podCache, catalogue } = this.#parts;
    return podCache.pods().flatMap(({ id, view }) => {
      const [asked, row] = [view.approvals.get(approvalId), catalogue.get(id)];
      return asked === undefined || row === undefined ? [] : [{ row, ...asked }];
    });
  }

  #inRows(approvalId: string): readonly SessionApproval[] {
    const rows = this.#parts.catalogue.list();
    const pending = rows.flatMap((row) => row.approvals.map((approval) => ({ row, approval })));
    const settled = rows.flatMap((row) =>
      (row.settled ?? []).map(({ settlement, ...approval }) => ({ row, approval, settlement })),
    );
    return [...pending, ...settled].filter(({ approval }) => approval.approvalId === approvalId);
  }

  /** The id contains the time of the request, so only sessions that were in use at that time can have it. */
  async #inFiles(approvalId: string): Promise<SessionApproval | undefined> {
    const at = uuidv7Time(approvalId);
    if (at === undefined) return undefined;
    const candidates = this.#parts.catalogue
      .list()
      .filter(
        ({ createdAt, updatedAt }) => Date.parse(createdAt) <= at && at <= Date.parse(updatedAt) + SLACK_MS,
      );
    for (const row of candidates) {
      const tree = await this.#parts.reader.whole(row.id).catch(() => undefined);
      const found = tree && approvalIn(tree.entries(), approvalId);
      if (found !== undefined) return { row, ...found };
    }
    return undefined;
  }

  async #withCall(found: SessionApproval): Promise<SessionApproval> {
    const { podCache } = this.#parts;
    const { row, approval, settlement } = found;
    const pod = podCache.get(row.id);
    // Waits until the settlement is on disk: a crash must not revert a returned answer.
    await pod?.written();
    const isReadable = pod !== undefined || settlement !== undefined || !this.#isLocked(row);
    if (isReadable && approval.arguments !== undefined) return found;
    return podCache.use(row.id, async ({ view }) => {
      const asked = view.approvals.get(approval.approvalId);
      return asked === undefined ? found : { row, ...asked };
    });
  }

  #isLocked({ file }: Row): boolean {
    const { files, layout } = this.#parts.source;
    const lock = readLock(layout.path(file), { files });
    return lock !== undefined && lock.state !== 'dead';
  }
}

/** Ids and rows use the same clock, but may differ by milliseconds. */
const SLACK_MS = 1_000;

/** Without the call. */
function gist({ arguments: _, reason: _reason, ...approval }: ApprovalRow): ApprovalRow {
  return approval;
}

function approvalIn(
  entries: Iterable<Entry>,
  approvalId: string,
): Pick<SessionApproval, 'approval' | 'settlement'> | undefined {
  let approval: ApprovalRow | undefined;
  for (const entry of entries) {
    const request = APPROVAL_REQUEST.in(entry);
    if (request?.approvalId === approvalId) approval = request;
    const response = APPROVAL_RESPONSE.in(entry);
    if (response?.approvalId !== approvalId || approval === undefined) continue;
    const { approvalId: _, ...settlement } = response;
    return { approval, settlement };
  }
  return approval && { approval };
}
