import type { Config } from './config.ts';

/** The configuration without a file. */
export const DEFAULT_CONFIG: Config = {
  accounts: [],
  backends: new Map(),
  permissions: { rules: [], allowPaths: [], privateHosts: [], passEnv: [] },
  sandbox: {},
  mcpServers: [],
  extensions: [],
  streamRules: [],
  daemon: {
    doors: {},
    limits: {},
    approvals: { fallback: 'deny' },
    shutdownGraceMs: 10_000,
  },
  log: {},
  titles: { source: 'model' },
  notify: { bell: true, title: true, desktop: true },
};
