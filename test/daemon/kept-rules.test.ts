import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { KeptRules } from '../../src/daemon/kept-rules.ts';
import { temporaryDirectory } from '../cli/polypod.ts';

const TEST = { tool: 'bash', command: 'npm test', action: 'auto' } as const;
const BUILD = { tool: 'bash', command: 'npm run build', exact: true, action: 'auto' } as const;

it('keeps rules for those who come later, each once, the newest first', async () => {
  const file = join(temporaryDirectory(), 'polypod', 'rules.json');
  const [one, other] = [await KeptRules.open(file), await KeptRules.open(file)];
  await Promise.all([one.keep(TEST), one.keep(BUILD)]);
  await other.keep(TEST);
  expect(other.rules).toEqual([TEST, BUILD]);
  expect((await KeptRules.open(file)).rules).toEqual([TEST, BUILD]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

it('says what is wrong with a file that a person edited, and leaves it', async () => {
  const file = join(temporaryDirectory(), 'rules.json');
  writeFileSync(file, '[{ "action": "alow" }]');
  await expect(KeptRules.open(file)).rejects.toThrow(/0\.action must be one of auto, ask, deny/);
  expect(readFileSync(file, 'utf8')).toContain('alow');
});
