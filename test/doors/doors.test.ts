import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { doors } from '../../src/registry.ts';
import { type Part, runOnEveryDoor } from './contract.ts';
import { Daemon } from './daemon.ts';
import { SCENARIOS } from './scenarios.ts';
import { FACTS, TABLE } from './table.ts';

describe('the door matrix', () => {
  let daemon: Daemon;
  const parts = new Map<string, readonly Part[]>();
  beforeAll(async () => {
    daemon = await Daemon.start();
  });
  afterAll(async () => {
    await daemon.remove();
  });

  it('has a row for every door of the registry', () => {
    expect(Object.keys(TABLE)).toEqual(doors.map(({ name }) => name));
  });

  for (const scenario of SCENARIOS)
    it(`${scenario.name}: every door matches the log`, { timeout: 120_000 }, async () => {
      const played = await runOnEveryDoor(daemon, scenario);
      parts.set(scenario.name, played);
      expect(played.flatMap(({ problems }) => problems)).toEqual([]);
    });

  it('lists in its table exactly the lines that each door sent for each event of the log', () => {
    for (const [door, { facts }] of Object.entries(TABLE)) {
      const own = [...parts.values()].flat().filter((part) => part.door === door);
      const seen = Object.keys(FACTS).map((fact) => [
        fact,
        [...new Set(own.flatMap(({ words }) => [...(words.get(fact) ?? [])]))].toSorted(),
      ]);
      const named = Object.entries(facts).map(([fact, names]) => [fact, names.toSorted()]);
      expect(Object.fromEntries(seen), door).toEqual(Object.fromEntries(named));
    }
  });
});
