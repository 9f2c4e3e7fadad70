import type { Content } from './file-facts.ts';
import { normalizePath } from './secret-files.ts';

/** Common settings files that only sometimes contain credentials. */
const SIGNS: readonly (readonly [RegExp, RegExp])[] = [
  [
    /(?:^|\/)\.npmrc$/,
    /_auth|password|token|secret|credential|BEGIN |^\s*(?:key|cert|otp)\s*=|:\/\/[^/\s]*@/im,
  ],
  [/(?:^|\/)\.pypirc$/, /password|token|:\/\/[^/\s]*@/i],
  [
    /(?:^|\/)(?:\.git\/(?:modules\/.*\/)?config|\.gitconfig|\.gitmodules)$/,
    /:\/\/[^/\s:]*:[^/\s]*@|extraheader|password|token|secret/i,
  ],
  [/(?:^|\/)\.docker\/config\.json$/, /"auth"|identitytoken|registrytoken|password/i],
];

/** Returns whether a file's content decides if it contains credentials. */
export function isJudgedByContent(path: string): boolean {
  return SIGNS.some(([name]) => name.test(normalizePath(path)));
}

/** Returns whether such a file contains no possible credential. `${NAME}` refers to one stored elsewhere. */
export function hasNoSecrets(path: string, content: Content | undefined): boolean {
  // A file that does not exist reveals nothing.
  if (content === undefined) return true;
  if ('problem' in content || content.bytes.length > MAX_BYTES) return false;
  const text = content.bytes.toString();
  const lines = text.split('\n').filter((line) => !/=\s*["']?\$\{\w+\}["']?\s*$/.test(line));
  const signs = SIGNS.filter(([name]) => name.test(normalizePath(path)));
  return signs.length > 0 && !signs.some(([, sign]) => sign.test(lines.join('\n')));
}

const MAX_BYTES = 100_000;
