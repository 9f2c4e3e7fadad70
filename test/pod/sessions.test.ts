import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Layout, searched, sessionsIn } from '../../src/pod/sessions.ts';
import { promptCommand, scratch, hostFixture } from './fixture.ts';

test('listing without a host returns the same rows in the same order', async () => {
  const { host, directory, cwd } = await hostFixture([{ parts: [{ text: 'Hello.' }] }]);
  const first = await host.create({ cwd, settings: { name: 'first' } });
  const deleted = await host.create({ cwd, settings: { name: 'gone' } });
  await host.create({ cwd, settings: { name: 'second' } });
  await host.delete(deleted.id);
  await first.handle(promptCommand('Hi'));
  for await (const watched of first.watch({ after: 0 }))
    if (watched.type === 'events' && watched.batch.events.some(({ type }) => type === 'run-end')) break;
  await host.shutdown();
  const rows = sessionsIn(directory);
  expect(rows).toEqual(await host.sessions.list());
  expect(rows.map(({ name }) => name)).toEqual(['first', 'second']);
  expect(searched(rows, 'SEC').map(({ name }) => name)).toEqual(['second']);
});

test('invalid lines and an unfinished one are skipped', async () => {
  const { host, directory, cwd } = await hostFixture([]);
  await host.create({ cwd, settings: { name: 'kept' } });
  await host.shutdown();
  appendFileSync(
    new Layout(directory).catalogue,
    '\nnonsense\n{"type":"row","row":{"id":7}}\n[1]\n{"type":"row","ro',
  );
  expect(sessionsIn(directory).map(({ name }) => name)).toEqual(['kept']);
});

test('a missing catalogue has no sessions; a newer version is rejected', () => {
  const directory = scratch();
  expect(sessionsIn(join(directory, 'nowhere'))).toEqual([]);
  writeFileSync(new Layout(directory).catalogue, '{"type":"catalogue","version":2}\n');
  expect(() => sessionsIn(directory)).toThrow('newer than this program reads');
});
