import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { SavedRules, readRules, removeRules } from '../../src/setup/agents/saved-rules.ts';
import { temporaryDirectory } from '../cli/polypod.ts';

const TEST = { tool: 'bash', command: 'npm test', action: 'auto' } as const;
const BUILD = { tool: 'bash', command: 'npm run build', exact: true, action: 'auto' } as const;

it('stores each rule once, the newest first', async () => {
  const file = join(temporaryDirectory(), 'polypod', 'rules.json');
  const [one, other] = [await SavedRules.open(file), await SavedRules.open(file)];
  await Promise.all([
    one.save(TEST, 'local', '/p'),
    other.save(BUILD, 'local', '/p'),
    one.save(BUILD, { owner: 'ci' }, '/p'),
  ]);
  await other.save(TEST, 'local', '/p');
  for (const savedRules of [one, other, await SavedRules.open(file)])
    expect(savedRules.rulesFor('local', '/p')).toEqual([TEST, BUILD]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

it('applies a rule to the user who created it, in its directory and below', async () => {
  const file = join(temporaryDirectory(), 'rules.json');
  const savedRules = await SavedRules.open(file);
  await savedRules.save(TEST, { owner: 'ci' }, '/p/one');
  expect(savedRules.rulesFor({ owner: 'ci' }, '/p/one')).toEqual([TEST]);
  expect(savedRules.rulesFor({ owner: 'ci' }, '/p/one/deep')).toEqual([TEST]);
  for (const [person, directory] of [
    ['local', '/p/one'],
    [{ owner: 'web' }, '/p/one'],
    [{ owner: 'ci' }, '/p/other'],
    [{ owner: 'ci' }, '/p/one-more'],
    [{ owner: 'ci' }, '/p'],
  ] as const)
    expect(savedRules.rulesFor(person, directory)).toEqual([]);
});

it('migrates a file of version 1: the rules belong to the local user everywhere, and a copy is kept', async () => {
  const file = join(temporaryDirectory(), 'rules.json');
  writeFileSync(file, JSON.stringify([TEST]), { mode: 0o600 });
  const savedRules = await SavedRules.open(file);
  expect(savedRules.rulesFor('local', '/anywhere')).toEqual([TEST]);
  expect(savedRules.rulesFor({ owner: 'ci' }, '/anywhere')).toEqual([]);
  await savedRules.save(BUILD, 'local', '/p');
  expect(savedRules.rulesFor('local', '/p')).toEqual([BUILD, TEST]);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ version: 2 });
  expect(JSON.parse(readFileSync(`${file}.v1`, 'utf8'))).toEqual([TEST]);
});

it('detects a rule that another process removed', async () => {
  const file = join(temporaryDirectory(), 'rules.json');
  const savedRules = await SavedRules.open(file);
  const { id } = await savedRules.save(TEST, 'local', '/p');
  await savedRules.save(BUILD, 'local', '/p');
  await expect(removeRules(file, [id, 'nothing'])).rejects.toThrow('there is no rule "nothing"');
  expect(await removeRules(file, [id])).toMatchObject([{ id, rule: TEST }]);
  expect(savedRules.rulesFor('local', '/p')).toEqual([BUILD]);
});

it('reports the problems of an edited file and does not change it', async () => {
  const file = join(temporaryDirectory(), 'rules.json');
  writeFileSync(file, '[{ "action": "alow" }]');
  await expect(SavedRules.open(file)).rejects.toThrow(/0\.action must be one of auto, ask, deny/);
  expect(readFileSync(file, 'utf8')).toContain('alow');
  writeFileSync(file, '{ "version": 3, "rules": [] }');
  expect(() => readRules(file)).toThrow('was written by a newer version');
});
