import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Circumstances, judgeAttempt, perform, usual } from './attempt.ts';
import { runsOf } from './runs.ts';
import { discard, freshWorkspace, guarded, hasCanary, snapshot, type Workspace } from './workspace.ts';

/** Starts of commands, most of which only read in this form. */
const STARTS = (
  'ls¦ls -la¦cat¦cat notes.txt¦head -n 1¦tail -2¦wc -l¦grep -n two¦grep -r one¦rg two¦find . -type f¦' +
  'find src¦sort¦sort -n numbers.txt¦uniq¦uniq -c¦cut -d t -f 1¦tr a b¦nl¦git status¦git diff¦' +
  'git log --oneline¦git show¦git branch¦git tag¦git stash list¦git grep one¦git ls-files¦' +
  'git remote¦git reflog¦git blame¦git rev-parse¦git worktree list¦git describe¦echo¦printf¦' +
  'printf %s¦test -f¦[ -d¦cd¦cd src¦cd docs &&¦pwd¦date¦true¦false¦:¦sed -n 1p¦sed -n¦sed¦' +
  'jq .¦jq¦diff¦cmp¦comm¦od -c¦file¦stat¦du -s¦tree¦xxd¦base64¦md5sum¦readlink¦realpath¦basename¦' +
  'dirname¦seq¦expr¦id¦uname¦hostname¦type¦command¦timeout 1¦nice¦time¦!¦exit¦which¦paste¦' +
  'fold¦strings¦column -t¦node¦df'
).split('¦');

/** What may follow: files, flags that write or run, and everything that makes a shell do something else. */
const REST = (
  'notes.txt¦numbers.txt¦src/a.ts¦src¦.¦docs¦data.json¦HEAD¦main¦*¦*.txt¦src/*.ts¦.env¦../canary/secret.txt¦' +
  'link-out.txt¦link-env¦dir-out¦up¦ROOT/canary¦/etc/passwd¦bare¦-¦--¦-o¦-o out¦-oout¦--output=out¦' +
  '--output out¦-i¦-w out¦-n¦-r¦-R¦-L¦-c¦-f¦-d¦-D¦-delete¦-exec touch out +¦-exec touch out {} ;¦' +
  `-exec touch out ';'¦-fprint out¦-fls out¦-ok touch out¦--pre=touch¦--compress-program=touch¦` +
  `-T¦--files0-from=notes.txt¦-O¦-m x¦-d main¦new¦out¦x y¦'1w out'¦'w out'¦'1e touch out'¦` +
  `'s/o/x/w out'¦p¦1,2p¦$p¦'$!N'¦-s¦-v¦> out¦>> notes.txt¦2> out¦&> out¦>& out¦>&'$(touch out)'¦` +
  `<> notes.txt¦>| out¦2>&1¦>&2¦> /dev/null¦< notes.txt¦<<E\nx\nE\n¦<<'E'\n$(touch out)\nE\n¦<<E\n$(touch out)\nE\n¦` +
  `<<< x¦<(touch out)¦>(touch out)¦$(touch out)¦\`touch out\`¦"$(touch out)"¦'$(touch out)'¦` +
  `\${x:=\`touch out\`}¦$x¦"$HOME"¦$IFS¦$?¦~¦{a,b}¦[a]¦%n¦%s¦'a[$(touch out)]'¦-v 'a[$(touch out)]'¦` +
  `-eq¦= x¦]¦+%s¦$'\\ntouch out'¦'¦"¦\\¦\\\n¦\n¦\r¦#¦# x¦;¦&¦&&¦||¦|¦|&¦;;¦(¦)¦{¦}¦; touch out¦&& touch out¦` +
  '| tee out¦\ntouch out\n¦& touch out¦| bash¦| xargs touch¦-u¦-a¦-p¦PATH=.¦X=1¦CI=1¦env¦eval¦' +
  'exec¦bash -c¦--version¦--set=1¦-C¦-x¦-e 1p¦-ps¦-bc¦-z¦-l¦-b'
).split('¦');

const words = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...REST) },
  { weight: 1, arbitrary: fc.stringMatching(/^-[A-Za-z0-9]{1,3}$/) },
  { weight: 1, arbitrary: fc.constantFrom('notes.txt', 'numbers.txt out', 'src/a.ts', '1 notes.txt') },
);

const commands = fc
  .array(
    fc.record({
      start: fc.constantFrom(...STARTS),
      rest: fc.array(words, { maxLength: 3 }),
      join: fc.constantFrom(' ', ' ', ' ', ''),
      next: fc.constantFrom(' ; ', ' && ', ' | ', ' || ', '\n', ' & ', ' '),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .map((parts) =>
    parts
      .map(({ start, rest, join, next }) => `${start} ${rest.join(join)}${next}`)
      .join('')
      .trimEnd(),
  );

/** Judges random command lines and runs only those that are allowed. */
async function fuzz(
  circumstances: Circumstances,
  check: (before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>, command: string) => void,
): Promise<number> {
  let workspace: Workspace | undefined;
  let allowed = 0;
  await fc.assert(
    fc.asyncProperty(commands, async (command) => {
      workspace ??= await freshWorkspace();
      const target = workspace;
      const verdict = await judgeAttempt({ tool: 'bash', command }, circumstances, target);
      if (verdict.decision !== 'allow') return;
      allowed += 1;
      const before = snapshot(target.root);
      const output = await perform({ tool: 'bash', command }, circumstances, target);
      const after = snapshot(target.root);
      if (!isDeepStrictEqual(before, after)) {
        discard(target);
        workspace = undefined;
      }
      check(before, after, command);
      expect(hasCanary(output), `${command}\n${output}`).toBe(false);
    }),
    { numRuns: runsOf(300) },
  );
  return allowed;
}

it('commands allowed in read-only mode change nothing and show no secret', async () => {
  const allowed = await fuzz({ ...usual, mode: 'read-only' }, (before, after, command) =>
    expect(after, command).toEqual(before),
  );
  expect(allowed).toBeGreaterThan(10);
}, 600_000);

it('commands allowed in workspace-write mode change nothing outside the workspace and show no secret', async () => {
  const allowed = await fuzz(usual, (before, after, command) =>
    expect(guarded(after), command).toEqual(guarded(before)),
  );
  expect(allowed).toBeGreaterThan(10);
}, 600_000);
