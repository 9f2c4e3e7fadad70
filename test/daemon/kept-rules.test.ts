import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { SavedRules, readRules, removeRules } from '../../src/setup/agents/saved-rules.ts';
import { temporaryDirectory } from '../cli/polypod.ts';

const TEST = { tool: 'bash', command: 'npm test', action: 'auto' } as const;
const BUILD = { tool: 'bash', command: 'npm run build', exact: true, action: 'auto' } as const;

it('keeps rules for those who come later, each once, the newest first', async () => {
  const file = join(temporaryDirectory(), 'polypod', 'rules.json');
  const [one, other] = [await SavedRules.open(file), await SavedRules.open(file)];
  await Promise.all([
    one.keep(TEST, 'local', '/p'),
    other.keep(BUILD, 'local', '/p'),
    one.keep(BUILD, { owner: 'ci' }, '/p'),
  ]);
  await other.keep(TEST, 'local', '/p');
  for (const kept of [one, other, await SavedRules.open(file)])
    expect(kept.rulesFor('local', '/p')).toEqual([TEST, BUILD]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

it('gives a rule to the person who made it, in its directory and below', async () => {
  const file = join(temporaryDirectory(), 'rules.json');
  const kept = await SavedRules.open(file);
  await kept.keep(TEST, { owner: 'ci' }, '/p/one');
  expect(kept.rulesFor({ owner: 'ci' }, '/p/one')).toEqual([TEST]);
  expect(kept.rulesFor({ owner: 'ci' }, '/p/one/deep')).toEqual([TEST]);
  for (const [person, directory] of [
    ['local', '/p/one'],
    [{ owner: 'web' }, '/p/one'],
    [{ owner: 'ci' }, '/p/other'],
    [{ owner: 'ci' }, '/p/one-more'],
    [{ owner: 'ci' }, '/p'],
  ] as const)
    expect(kept.rulesFor(person, directory)).toEqual([]);
});

it('migrates a file of the first version: the local user keeps its rules everywhere, and a copy stays', async () => {
  const file = join(temporaryDirectory(), 'rules.json');
  writeFileSync(file, JSON.stringify([TEST]), { mode: 0o600 });
  const kept = await SavedRules.open(file);
  expect(kept.rulesFor('local', '/anywhere')).toEqual([TEST]);
  expect(kept.rulesFor({ owner: 'ci' }, '/anywhere')).toEqual([]);
  await kept.keep(BUILD, 'local', '/p');
  expect(kept.rulesFor('local', '/p')).toEqual([BUILD, TEST]);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ version: 2 });
  expect(JSON.parse(readFileSync(`${file}.v1`, 'utf8'))).toEqual([TEST]);
});

it('notices what another process removed, by its id', async () => {
  const file = join(temporaryDirectory(), 'rules.json');
  const kept = await SavedRules.open(file);
  const { id } = await kept.keep(TEST, 'local', '/p');
  await kept.keep(BUILD, 'local', '/p');
  await expect(removeRules(file, [id, 'nothing'])).rejects.toThrow('there is no rule "nothing"');
  expect(await removeRules(file, [id])).toMatchObject([{ id, rule: TEST }]);
  expect(kept.rulesFor('local', '/p')).toEqual([BUILD]);
});

it('says what is wrong with a file that a person edited, and leaves it', async () => {
  const file = join(temporaryDirectory(), 'rules.json');
  writeFileSync(file, '[{ "action": "alow" }]');
  await expect(SavedRules.open(file)).rejects.toThrow(/0\.action must be one of auto, ask, deny/);
  expect(readFileSync(file, 'utf8')).toContain('alow');
  writeFileSync(file, '{ "version": 3, "rules": [] }');
  expect(() => readRules(file)).toThrow('is of a newer version');
});
