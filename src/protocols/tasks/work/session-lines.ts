import { withoutUndefined } from '../../../base/index.ts';
import type { Row } from '../../../pod/index.ts';
import type { KeyRecord } from '../keys/key.ts';
import type { OwnedSessions } from './owned-sessions.ts';
import type { SessionLine, WireUsage } from '../wire.ts';

/** A session in a list. */
export function sessionLine(key: KeyRecord, row: Row, sessions: OwnedSessions): SessionLine {
  return {
    sessionId: sessions.nameFor(key, row),
    podId: row.id,
    state: row.state,
    workingDirectory: row.cwd,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    queued: row.queued,
    usage: usageOf(row),
  };
}

export function usageOf({ totals }: Row): WireUsage {
  const { inputTokens, outputTokens, turns, toolCalls, cost } = totals;
  return { inputTokens, outputTokens, turns, toolCalls, ...withoutUndefined({ cost }) };
}

/** Adds up usages. The cost is known only if every single cost is. */
export function sumOf(usages: readonly WireUsage[]): WireUsage {
  let sum: WireUsage = { inputTokens: 0, outputTokens: 0, turns: 0, toolCalls: 0, cost: 0 };
  for (const usage of usages) {
    const { cost: before, ...rest } = sum;
    sum = {
      inputTokens: rest.inputTokens + usage.inputTokens,
      outputTokens: rest.outputTokens + usage.outputTokens,
      turns: rest.turns + usage.turns,
      toolCalls: rest.toolCalls + usage.toolCalls,
      ...(before !== undefined && usage.cost !== undefined && { cost: before + usage.cost }),
    };
  }
  return sum;
}
