import { expect, test } from 'vitest';
import { metricsOf } from '../../src/daemon/metrics.ts';

test('metrics are in the text format of Prometheus', () => {
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
      { name: 'pod', state: 'open' },
      { name: 'tasks', state: 'unavailable', reason: 'taken' },
    ],
    failures: 0,
    memoryBytes: 1000,
    cpuSeconds: 0.5,
  });
  expect(text).toContain('polypod_info{version="1.2.3-\\"odd\\""} 1\n');
  expect(text).toContain('# TYPE polypod_runs gauge\npolypod_runs 2\n');
  expect(text).toContain('polypod_door_open{door="pod"} 1\npolypod_door_open{door="tasks"} 0\n');
  expect(text).toContain('# TYPE polypod_failures_total counter\n');
  // What is not known is not said.
  expect(text).not.toContain('polypod_disk_free_bytes');
  for (const line of text.trimEnd().split('\n'))
    expect(line).toMatch(/^(?:# (?:HELP|TYPE) \w+ .+|\w+(?:\{.*\})? [\d.]+)$/);
});
