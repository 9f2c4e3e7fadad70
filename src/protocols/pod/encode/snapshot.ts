import { withoutUndefined } from '../../../base/index.ts';
import type { Approval, BackgroundCommandStart, Queued, Snapshot } from '../../../pod/index.ts';
import { historyItems, richContent, textOf } from './items.ts';
import { wireSettings } from './settings.ts';
import { wireStatus } from './status.ts';
import type { WireApproval, WireBackground, WireBlock, WireQueued, WireSnapshot } from '../wire.ts';

/** Encodes a snapshot. */
export function wireSnapshot(snapshot: Snapshot, reason: 'joined' | 'gap'): WireSnapshot {
  const { id, state, settings, model, run, tools, shells, stats } = snapshot;
  return {
    reason,
    ...wireStatus({ podId: id, name: settings.name, state }),
    detail: state,
    cwd: snapshot.cwd,
    created_at: snapshot.createdAt,
    model: { provider: model.provider, model_id: model.modelId },
    turn: snapshot.turn,
    items: historyItems(snapshot.items),
    in_flight: inFlight(snapshot),
    ...withoutUndefined({ run_id: run?.runId, title: snapshot.title?.text }),
    tools: tools.map(({ call, text }) => ({ id: call.callId, name: call.name, title: call.title, text })),
    shells: shells.map(({ shellId, command, private: isPrivate }) => ({
      shell_id: shellId,
      command,
      private: isPrivate,
    })),
    ...withoutUndefined({ background: snapshot.background?.map(wireBackground) }),
    approvals: snapshot.approvals.map(wireApproval),
    ...withoutUndefined({ denied: snapshot.denied }),
    queue: snapshot.queue.map(wireQueued),
    todos: snapshot.todos,
    settings: wireSettings(settings),
    compacting: snapshot.compacting,
    context_tokens: stats.contextTokens,
    ...withoutUndefined({ context_window: stats.contextWindow, cost: stats.totals.cost }),
  };
}

/** The blocks of the answer in progress, from their start. */
export function inFlight({ blocks }: Snapshot): readonly WireBlock[] {
  return blocks.flatMap((block): readonly WireBlock[] => {
    const { text, open } = block;
    if (block.blockType === 'text' || block.blockType === 'thinking')
      return [{ type: block.blockType, text, open }];
    return block.blockType === 'tool-use'
      ? [{ type: 'tool_call', text, open, id: block.id, name: block.name }]
      : [];
  });
}

export function wireBackground({ id, command, callId, startedAt }: BackgroundCommandStart): WireBackground {
  return { id, command, call_id: callId, started_at: startedAt };
}

export function wireApproval(approval: Approval): WireApproval {
  const { runId, callId, podId, podName, rule, deadline, fallback } = approval;
  return {
    approval_id: approval.approvalId,
    requested_at: approval.requestedAt,
    tool: approval.tool,
    arguments: approval.arguments,
    title: approval.title,
    reason: approval.reason,
    ...withoutUndefined({
      run_id: runId,
      call_id: callId,
      pod_id: podId,
      pod_name: podName,
      rule: rule === undefined ? undefined : { ...rule },
      deadline,
      fallback,
    }),
  };
}

export function wireQueued({ queueId, lane, content, by, door, taskId }: Queued): WireQueued {
  return {
    queue_id: queueId,
    lane: lane === 'follow-up' ? 'follow_up' : lane,
    text: textOf(content),
    ...richContent(content),
    ...withoutUndefined({ by, door, task_id: taskId }),
  };
}
