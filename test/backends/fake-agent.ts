import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('fake-agent.mjs', import.meta.url));

/** What the fake agent does; see fake-agent.mjs. */
export type FakeMode = 'asks' | 'unasked' | 'signed-out' | 'broken';

/** The command of the fake agent, for `backends` in the configuration. */
export function fakeAgent(mode: FakeMode = 'asks'): readonly string[] {
  return [process.execPath, PROGRAM, mode];
}

/** A configuration with back ends, as YAML. */
export function withBackends(
  backends: Readonly<Record<string, readonly string[]>>,
  more: Readonly<Record<string, unknown>> = {},
): string {
  const entries = Object.entries(backends).map(([name, command]) => [name, { command }]);
  // JSON is YAML.
  return JSON.stringify({ version: 1, titles: 'off', backends: Object.fromEntries(entries), ...more });
}
