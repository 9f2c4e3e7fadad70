import { withoutUndefined } from '../../../base/index.ts';
import type { Row, SessionTexts, Snapshot } from '../../../pod/index.ts';
import { claudeSessionId } from './identity.ts';
import { notesIn, type SpentNote } from './notes.ts';
import { titleOf } from './title.ts';
import { errorOf, type Phase, wireStatus } from './status.ts';
import type { ListedSession, SessionHead, SessionResult, SessionState } from '../wire.ts';

/** A session in a list. */
export function listedSession(
  row: Row,
  phase: Phase,
  now: number,
  texts: SessionTexts | undefined,
): ListedSession {
  const { lastRun } = row;
  const error = phase === 'failed' ? errorOf(row) : undefined;
  const result = lastRun?.endedAt === undefined ? undefined : resultOf(row, error, texts);
  return {
    ...head(row, phase, now, texts),
    start_time: row.createdAt,
    ...(isOver(phase) && lastRun?.endedAt !== undefined ? { end_time: lastRun.endedAt } : {}),
    ...withoutUndefined({ error, result }),
    proxy_enabled: false,
  };
}

/** A single session with all details. The snapshot is its pod's, if that is available. */
export function sessionState(
  row: Row,
  phase: Phase,
  now: number,
  { texts, snapshot }: { readonly texts: SessionTexts | undefined; readonly snapshot: Snapshot | undefined },
): SessionState {
  const { lastRun } = row;
  const spent = spentOn(row);
  const duration = durationOf(row);
  const model = snapshot === undefined ? undefined : modelWords(snapshot.model.modelId);
  const contextTokens = snapshot?.stats.contextTokens ?? 0;
  const window = snapshot?.stats.contextWindow;
  const base = head(row, phase, now, texts);
  return {
    ...base,
    last_activity_at: wholeSeconds(base.last_activity_at),
    ...model,
    created_at: wholeSeconds(row.createdAt),
    ...(isOver(phase) && lastRun?.endedAt !== undefined
      ? { completed_at: wholeSeconds(lastRun.endedAt) }
      : {}),
    ...(phase === 'failed' ? { error_message: errorOf(row) } : {}),
    ...(row.totals.cost === undefined ? {} : { cost_usd: spent.cost }),
    ...(spent.turns > 0 && {
      total_tokens: spent.inputTokens + spent.outputTokens,
      input_tokens: spent.inputTokens,
      output_tokens: spent.outputTokens,
      cache_creation_input_tokens: spent.cacheCreationInputTokens,
      cache_read_input_tokens: spent.cacheReadInputTokens,
    }),
    ...(contextTokens > 0 && { effective_context_tokens: contextTokens }),
    ...withoutUndefined({ context_limit: window, duration_ms: duration }),
  };
}

/** Whether the session has ended and nothing happens until a client continues it. */
export function isOver(phase: Phase): boolean {
  return phase === 'completed' || phase === 'failed' || phase === 'interrupted' || phase === 'discarded';
}

/** RFC 3339 without a fraction, where the protocol has none. */
export function wholeSeconds(time: string): string {
  return time.replace(/\.\d+(?=Z|[+-])/, '');
}

/** The session's own first prompt; if the texts are not loaded, the part in the index row. */
function queryOf({ annotations, firstPrompt = '' }: Row, texts: SessionTexts | undefined): string {
  const notes = notesIn(annotations);
  if (notes === undefined) return texts?.firstPrompt ?? firstPrompt;
  return notes.isCut === true ? (texts?.ownPrompt ?? notes.query) : notes.query;
}

/** Whether the index row contains only a part of the texts that are shown. */
export function lacksTexts({ annotations, lastRun }: Row): boolean {
  const notes = notesIn(annotations);
  return lastRun?.endedAt !== undefined || (lastRun !== undefined && notes?.isCut !== false);
}

function onOneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

/** Whether approvals are skipped now, and until when; no end if none was set. */
export function skipping(
  until: string | undefined,
  now: number,
): { readonly isOn: boolean; readonly expiresAt?: string } {
  if (until === undefined || Date.parse(until) <= now) return { isOn: false };
  return until === NEVER_EXPIRES ? { isOn: true } : { isOn: true, expiresAt: until };
}

/** The latest time that this format can represent. */
export const NEVER_EXPIRES = '9999-12-31T23:59:59.999Z';

function head(row: Row, phase: Phase, now: number, texts: SessionTexts | undefined): SessionHead {
  const { id, lastRun, parentId, model = '', cwd, skipPermissionsUntil } = row;
  const query = queryOf(row, texts);
  const skip = skipping(skipPermissionsUntil, now);
  return {
    id,
    run_id: lastRun?.runId ?? '',
    claude_session_id: claudeSessionId(id),
    ...withoutUndefined({ parent_session_id: parentId }),
    ...wireStatus(phase),
    query,
    summary: summaryOf(query),
    title: titleOf(row) || (row.title ?? ''),
    ...modelWords(model.slice(model.indexOf('/') + 1)),
    working_dir: cwd,
    last_activity_at: row.updatedAt,
    auto_accept_edits: row.acceptEdits ?? false,
    dangerously_skip_permissions: skip.isOn,
    ...withoutUndefined({ dangerously_skip_permissions_expires_at: skip.expiresAt }),
    archived: row.archived,
  };
}

function modelWords(modelId: string): Pick<SessionHead, 'model' | 'model_id'> {
  return { model: ALIASES.find((alias) => modelId.includes(alias)) ?? modelId, model_id: modelId };
}

const ALIASES = ['opus', 'sonnet', 'haiku'];

const LONGEST_SUMMARY = 50;

function summaryOf(query: string): string {
  const characters = Array.from(onOneLine(query));
  if (characters.length <= LONGEST_SUMMARY) return characters.join('');
  return `${characters.slice(0, LONGEST_SUMMARY - 3).join('')}...`;
}

function resultOf(row: Row, error: string | undefined, texts: SessionTexts | undefined): SessionResult {
  const { cost, turns } = spentOn(row);
  return {
    type: 'result',
    subtype: 'session_completed',
    total_cost_usd: cost,
    is_error: error !== undefined,
    duration_ms: durationOf(row) ?? 0,
    duration_api_ms: 0,
    num_turns: turns,
    result: (texts === undefined ? row.lastText : texts.lastText) ?? '',
    session_id: claudeSessionId(row.id),
    ...withoutUndefined({ error }),
  };
}

/** The session's own usage. A continuation does not count the usage of the conversation it continues. */
function spentOn({ totals, annotations }: Row): SpentNote {
  const before = notesIn(annotations)?.before ?? NOTHING;
  return {
    cost: Math.max(0, (totals.cost ?? 0) - before.cost),
    turns: totals.turns - before.turns,
    inputTokens: totals.inputTokens - before.inputTokens,
    outputTokens: totals.outputTokens - before.outputTokens,
    cacheReadInputTokens: totals.cacheReadInputTokens - before.cacheReadInputTokens,
    cacheCreationInputTokens: totals.cacheCreationInputTokens - before.cacheCreationInputTokens,
  };
}

const NOTHING: SpentNote = {
  cost: 0,
  turns: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadInputTokens: 0,
  cacheCreationInputTokens: 0,
};

function durationOf({ lastRun }: Row): number | undefined {
  if (lastRun?.startedAt === undefined || lastRun.endedAt === undefined) return undefined;
  return Date.parse(lastRun.endedAt) - Date.parse(lastRun.startedAt);
}
