import type { Health } from './health.ts';

type Kind = 'gauge' | 'counter';
type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

/** The daemon's health in the text format of Prometheus. */
export function metricsOf(health: Health): string {
  const { pods, runs, doors, diskFreeBytes } = health;
  return [
    metric('polypod_info', 'gauge', 'The version that is running.', [[{ version: health.version }, 1]]),
    metric('polypod_ready', 'gauge', 'Whether new work is taken.', one(health.state === 'ready' ? 1 : 0)),
    metric('polypod_uptime_seconds', 'gauge', 'Time since the start.', one(health.uptimeSeconds)),
    metric('polypod_pods', 'gauge', 'Pods in memory.', one(pods.live)),
    metric('polypod_pods_limit', 'gauge', 'Pods that may be in memory.', one(pods.limit)),
    metric('polypod_runs', 'gauge', 'Runs under way.', one(runs.active)),
    metric('polypod_runs_limit', 'gauge', 'Runs that may be under way.', one(runs.limit)),
    metric('polypod_sessions', 'gauge', 'Sessions in the catalogue.', one(health.sessions)),
    metric('polypod_approvals_pending', 'gauge', 'Approvals that wait.', one(health.pendingApprovals)),
    metric(
      'polypod_door_open',
      'gauge',
      'Whether a door is open.',
      doors.map(({ name, state }) => [{ door: name }, state === 'open' ? 1 : 0]),
    ),
    metric('polypod_failures_total', 'counter', 'Failures nobody was waiting for.', one(health.failures)),
    metric(
      'polypod_disk_free_bytes',
      'gauge',
      'Room left for the data directory.',
      diskFreeBytes === undefined ? [] : one(diskFreeBytes),
    ),
    metric('process_resident_memory_bytes', 'gauge', 'Resident memory.', one(health.memoryBytes)),
    metric('process_cpu_seconds_total', 'counter', 'CPU time used.', one(health.cpuSeconds)),
  ].join('');
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
