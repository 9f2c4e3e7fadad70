import type { Content } from './file-facts.ts';
import { plainPath } from './secret-files.ts';

/** Settings files that every project has and that only sometimes hold credentials, whether or not their names are known for it. */
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

/** Whether a file has to be read to know whether it holds credentials. */
export function isJudgedByContent(path: string): boolean {
  return SIGNS.some(([name]) => name.test(plainPath(path)));
}

/** Whether such a file has nothing in it that may be a credential. `${NAME}` stands for one that is kept elsewhere. */
export function hasNoSecrets(path: string, content: Content | undefined): boolean {
  // A file that does not exist shows nothing.
  if (content === undefined) return true;
  if ('problem' in content || content.bytes.length > MOST_BYTES) return false;
  const text = content.bytes.toString();
  const lines = text.split('\n').filter((line) => !/=\s*["']?\$\{\w+\}["']?\s*$/.test(line));
  const signs = SIGNS.filter(([name]) => name.test(plainPath(path)));
  return signs.length > 0 && !signs.some(([, sign]) => sign.test(lines.join('\n')));
}

const MOST_BYTES = 100_000;
