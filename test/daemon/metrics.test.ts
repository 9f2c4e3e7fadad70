import { expect, test } from 'vitest';
import { metricsOf } from '../../src/daemon/observe/metrics.ts';
import { NO_COUNTS } from '../../src/daemon/observe/event-counts.ts';

test('metrics have the Prometheus text format', () => {
  const text = metricsOf({
    state: 'ready',
    pid: 1,
    version: '1.2.3-"odd"',
    startedAt: '2026-01-01T00:00:00.000Z',
    uptimeSeconds: 12,
    dataDirectory: '/d',
    pods: { live: 3, limit: 10 },
    runs: { active: 2, limit: 5 },
    sessions: 40,
    pendingApprovals: 1,
    doors: [
      { name: 'pod', state: 'open', details: { directory: '/d/pods', links: 4, refused: 7 } },
      { name: 'tasks', state: 'unavailable', reason: 'taken' },
    ],
    failures: 0,
    contained: 2,
    refusedConnections: 3,
    counts: {
      ...NO_COUNTS,
      runsStarted: 3,
      runsEnded: { failed: 1 },
      totals: { ...NO_COUNTS.totals, outputTokens: 20, cost: 0.25 },
    },
    memoryBytes: 1000,
    heapBytes: 500,
    cpuSeconds: 0.5,
  });
  expect(text).toContain('polypod_info{version="1.2.3-\\"odd\\""} 1\n');
  expect(text).toContain('# TYPE polypod_runs gauge\npolypod_runs 2\n');
  expect(text).toContain('polypod_door_open{door="pod"} 1\npolypod_door_open{door="tasks"} 0\n');
  expect(text).toContain('# TYPE polypod_failures_total counter\n');
  expect(text).toContain('polypod_door_links{door="pod"} 4\n');
  expect(text).toContain(
    '# TYPE polypod_door_refused_total counter\npolypod_door_refused_total{door="pod"} 7\n',
  );
  expect(text).toContain('polypod_runs_started_total 3\n');
  expect(text).toContain(
    'polypod_runs_ended_total{outcome="finished"} 0\npolypod_runs_ended_total{outcome="failed"} 1\n',
  );
  expect(text).toContain('polypod_tokens_total{kind="output"} 20\n');
  expect(text).toContain('polypod_unexpected_errors_total 2\n');
  expect(text).toContain('polypod_connections_refused_total 3\n');
  expect(text).toContain('polypod_cost_usd_total 0.25\n');
  // Unknown values are omitted.
  expect(text).not.toContain('polypod_disk_free_bytes');
  for (const line of text.trimEnd().split('\n'))
    expect(line).toMatch(/^(?:# (?:HELP|TYPE) \w+ .+|\w+(?:\{.*\})? [\d.]+)$/);
});
