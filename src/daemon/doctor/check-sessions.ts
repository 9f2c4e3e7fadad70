import { statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, tryOrUndefined, namesIn } from '../../base/index.ts';
import { Layout, repairKit, sessionsIn } from '../../pod/sessions.ts';
import { realFiles } from '../../store/index.ts';
import type { Finding } from './finding.ts';
import { type DataPaths } from '../../setup/index.ts';

/** How long session files are read; `polypod log verify` checks the rest. */
const MOST_MS = 10_000;
/** The maximum number of damaged sessions to list. */
const MOST_SHOWN = 20;

/** The session files that need a repair, most recently changed first. */
export async function damagedSessions(
  { dataDirectory }: DataPaths,
  mostMs = MOST_MS,
): Promise<readonly Finding[]> {
  const { isDamage, repairCommand, surveySession } = await repairKit();
  const deadline = performance.now() + mostMs;
  const files = sessionFiles(dataDirectory);
  const findings: Finding[] = [];
  let read = 0;
  for (const file of files) {
    if (performance.now() > deadline) break;
    read += 1;
    try {
      const damages = (await surveySession(realFiles, file)).defects.filter(isDamage);
      const [first] = damages;
      if (first === undefined) continue;
      const more = damages.length === 1 ? '' : `, and ${damages.length - 1} more`;
      findings.push(bad(`${file} is damaged: line ${first.line}: ${first.text}${more}`, repairCommand(file)));
    } catch (thrown) {
      findings.push(bad(`${file} cannot be read: ${messageOf(thrown)}`, 'correct its permissions'));
    }
  }
  const unread = files.length - read;
  return [
    ...findings.slice(0, MOST_SHOWN),
    ...(findings.length > MOST_SHOWN
      ? [bad(`${findings.length - MOST_SHOWN} more are damaged`, 'polypod log verify lists all of them')]
      : []),
    ...(findings.length === 0
      ? [{ check: CHECK, state: 'ok', text: `${read} session files, all intact` } as const]
      : []),
    ...(unread > 0
      ? [
          {
            check: CHECK,
            state: 'warning',
            text: `${unread} older session files were not read, to save time`,
            next: 'polypod log verify reads all of them',
          } as const,
        ]
      : []),
  ];
}

const CHECK = 'sessions';

function bad(text: string, next: string): Finding {
  return { check: CHECK, state: 'bad', text, next };
}

/** The files in the data directory and those opened elsewhere, most recently changed first. */
function sessionFiles(dataDirectory: string): readonly string[] {
  const layout = new Layout(dataDirectory);
  const listed = rowsIn(dataDirectory).map((file) => layout.path(file));
  const inside = namesIn(layout.sessions).filter((name) => name.endsWith('.jsonl'));
  const all = new Set([...inside.map((name) => join(layout.sessions, name)), ...listed]);
  return [...all]
    .flatMap((file) => {
      const stats = statSync(file, { throwIfNoEntry: false });
      return stats === undefined ? [] : [{ file, changedMs: stats.mtimeMs }];
    })
    .toSorted((one, other) => other.changedMs - one.changedMs)
    .map(({ file }) => file);
}

function rowsIn(dataDirectory: string): readonly string[] {
  // A damaged catalogue is a separate finding.
  return tryOrUndefined(() => sessionsIn(dataDirectory).map(({ file }) => file)) ?? [];
}
