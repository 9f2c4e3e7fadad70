import { readFileSync } from 'node:fs';
import { parseObject, stringOf } from '../base/index.ts';

export function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return stringOf(parseObject(text)?.version);
}
