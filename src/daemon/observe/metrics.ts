import { numberOf } from '../../base/index.ts';
import type { RunOutcome } from '../../worker/index.ts';
import type { Health } from './health.ts';

type Kind = 'gauge' | 'counter';
type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

/** Renders the daemon's health in the Prometheus text format. Clients cannot choose label values. */
export function metricsOf(health: Health): string {
  return [...gauges(health), ...counters(health)].join('');
}

function gauges(health: Health): readonly string[] {
  const { pods, runs, doors, diskFreeBytes } = health;
  return [
    metric('polypod_info', 'gauge', 'The version that is running.', [[{ version: health.version }, 1]]),
    metric('polypod_ready', 'gauge', 'Whether new work is accepted.', one(health.state === 'ready' ? 1 : 0)),
    metric('polypod_uptime_seconds', 'gauge', 'Time since the start.', one(health.uptimeSeconds)),
    metric('polypod_pods', 'gauge', 'Pods in memory.', one(pods.live)),
    metric('polypod_pods_limit', 'gauge', 'Maximum number of pods in memory.', one(pods.limit)),
    metric('polypod_runs', 'gauge', 'Active runs.', one(runs.active)),
    metric('polypod_runs_limit', 'gauge', 'Maximum number of active runs.', one(runs.limit)),
    metric('polypod_sessions', 'gauge', 'Sessions in the catalogue.', one(health.sessions)),
    metric('polypod_approvals_pending', 'gauge', 'Pending approvals.', one(health.pendingApprovals)),
    metric(
      'polypod_door_open',
      'gauge',
      'Whether a door is open.',
      doors.map(({ name, state }) => [{ door: name }, state === 'open' ? 1 : 0]),
    ),
    metric('polypod_door_links', 'gauge', 'Clients of a door.', ofDoors(doors, 'links')),
    metric(
      'polypod_disk_free_bytes',
      'gauge',
      'Free disk space for the data directory.',
      diskFreeBytes === undefined ? [] : one(diskFreeBytes),
    ),
    metric('process_resident_memory_bytes', 'gauge', 'Resident memory.', one(health.memoryBytes)),
    metric('nodejs_heap_size_used_bytes', 'gauge', 'JavaScript heap in use.', one(health.heapBytes)),
  ];
}

/** Since the start of the daemon. */
function counters({
  counts,
  doors,
  failures,
  contained,
  refusedConnections,
  cpuSeconds,
}: Health): readonly string[] {
  const { totals } = counts;
  const tokens = {
    input: totals.inputTokens,
    output: totals.outputTokens,
    cache_read: totals.cacheReadInputTokens,
    cache_creation: totals.cacheCreationInputTokens,
  };
  return [
    counter('polypod_runs_started_total', 'Started runs.', one(counts.runsStarted)),
    counter(
      'polypod_runs_ended_total',
      'Ended runs, by outcome.',
      // Outcomes with a count of zero are included, because a rate needs a starting value.
      labelled('outcome', { ...NEVER_ENDED, ...counts.runsEnded }),
    ),
    counter('polypod_turns_total', 'Turns: requests to models with their tool calls.', one(totals.turns)),
    counter('polypod_tool_calls_total', 'Tool calls.', one(totals.toolCalls)),
    counter(
      'polypod_tokens_total',
      'Tokens used; input is the complete prompt, including cached tokens.',
      labelled('kind', tokens),
    ),
    counter('polypod_cost_usd_total', 'Cost of the tokens, where prices are known.', one(totals.cost)),
    counter('polypod_approvals_asked_total', 'Requested approvals.', one(counts.approvalsAsked)),
    counter(
      'polypod_approvals_settled_total',
      'Approvals decided, expired or cancelled.',
      one(counts.approvalsSettled),
    ),
    counter('polypod_events_total', 'Events of pods.', one(counts.events)),
    counter(
      'polypod_door_refused_total',
      'Lines and requests of clients that a door rejected.',
      ofDoors(doors, 'refused'),
    ),
    counter('polypod_failures_total', 'Failures outside of any request.', one(failures)),
    counter(
      'polypod_unexpected_errors_total',
      'Unexpected errors that ended a connection or a request.',
      one(contained),
    ),
    counter(
      'polypod_connections_refused_total',
      'Refused connections of agent processes to our sockets.',
      one(refusedConnections),
    ),
    counter('process_cpu_seconds_total', 'CPU time used.', one(cpuSeconds)),
  ];
}

const NEVER_ENDED: Readonly<Record<RunOutcome['status'], 0>> = {
  finished: 0,
  failed: 0,
  cancelled: 0,
  limited: 0,
  interrupted: 0,
  paused: 0,
};

/** A figure that open doors report; not every door reports every figure. */
function ofDoors(doors: Health['doors'], figure: string): readonly Sample[] {
  return doors.flatMap(({ name, details }): readonly Sample[] => {
    const value = numberOf(details?.[figure]);
    return value === undefined ? [] : [[{ door: name }, value]];
  });
}

function labelled(label: string, values: Readonly<Record<string, number>>): readonly Sample[] {
  return Object.entries(values).map(([name, value]) => [{ [label]: name }, value]);
}

function counter(name: string, help: string, samples: readonly Sample[]): string {
  return metric(name, 'counter', help, samples);
}

function one(value: number): readonly Sample[] {
  return [[{}, value]];
}

function metric(name: string, kind: Kind, help: string, samples: readonly Sample[]): string {
  if (samples.length === 0) return '';
  const lines = samples.map(([labels, value]) => `${name}${labelText(labels)} ${value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${lines.join('')}`;
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const parts = Object.entries(labels).map(([key, value]) => `${key}="${escaped(value)}"`);
  return parts.length === 0 ? '' : `{${parts.join(',')}}`;
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
