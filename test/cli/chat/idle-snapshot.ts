import { DEFAULT_SETTINGS, type Snapshot } from '../../../src/pod/index.ts';
import { NO_TOTALS } from '../../../src/worker/index.ts';

/** The snapshot of a session in which nothing has happened. */
export const SNAPSHOT: Snapshot = {
  seq: 7,
  id: 'pod-1',
  cwd: '/projects',
  createdAt: '2026-01-01T00:00:00Z',
  state: 'idle',
  settings: DEFAULT_SETTINGS,
  model: { provider: 'sim', modelId: 'offline' },
  items: [],
  leafId: null,
  turn: 0,
  blocks: [],
  tools: [],
  shells: [],
  approvals: [],
  queue: [],
  todos: [],
  compacting: false,
  stats: { totals: NO_TOTALS, contextTokens: 0, contextWindow: 1000 },
};
