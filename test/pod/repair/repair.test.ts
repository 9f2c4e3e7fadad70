import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SessionManager } from '@mariozechner/pi-coding-agent';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { messageOf, PolypodError } from '../../../src/base/index.ts';
import type { Item } from '../../../src/llm/index.ts';
import { openSession, restore } from '../../../src/pod/journal/index.ts';
import { openCallsIn } from '../../../src/pod/view/open-calls.ts';
import {
  isDamage,
  type RepairReport,
  repairCommand,
  repairSession,
  surveySession,
} from '../../../src/pod/repair/index.ts';
import {
  conversation,
  encodeEntry,
  type Entry,
  ORPHANED_RESULT,
  parseLine,
} from '../../../src/pod/session/index.ts';
import { realFiles } from '../../../src/store/index.ts';
import { Providers } from './accepted.ts';
import { type Damage, damagesOf, linesOf } from './damages.ts';
import { type RealSession, realSessions } from './real-sessions.ts';
import { counting, readTree } from '../session/samples.ts';

/** Tests every n-th damaged byte; all bytes with POLYPOD_REPAIR=1. */
const STEP = Number(process.env.POLYPOD_REPAIR ?? 701);

/** Skips syncs, which every repair waits for and which are not tested here. */
const MEMORY = '/dev/shm';

let sessions: readonly RealSession[];
let providers: Providers;
const directory = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'polypod-repaired-'));

beforeAll(async () => {
  sessions = await realSessions();
  providers = await Providers.start();
}, 60_000);
afterAll(async () => {
  await providers.close();
  rmSync(directory, { recursive: true, force: true });
});

let count = 0;

function put({ id }: RealSession, bytes: Buffer): string {
  const copy = join(directory, String((count += 1)));
  mkdirSync(copy);
  const file = join(copy, `${id}.jsonl`);
  writeFileSync(file, bytes);
  return file;
}

function repaired(file: string, isDryRun = false): Promise<RepairReport> {
  return repairSession({ file, known: {}, cwd: directory, now: () => new Date(), isDryRun });
}

/** Opens it as every door and command does. */
async function opened(file: string): Promise<'opened' | PolypodError> {
  try {
    const options = { file, files: realFiles, durability: 'none', now: () => new Date() } as const;
    const session = await openSession(options);
    await session.release();
    return 'opened';
  } catch (error) {
    if (error instanceof PolypodError) return error;
    throw error;
  }
}

/** The problems of the repair of one damage; empty if there are none. */
async function problemsOf(
  session: RealSession,
  damage: Damage,
  isSealed: boolean,
): Promise<readonly string[]> {
  const file = put(session, damage.bytes);
  try {
    const survey = await surveySession(realFiles, file);
    const isDamaged = survey.defects.some(isDamage);
    if (isDamaged) {
      const refused = await opened(file);
      if (refused === 'opened') return ['it was opened although it is damaged'];
      const { code, message } = refused;
      if (code !== 'conflict' || !message.includes(file) || !message.endsWith(repairCommand(file)))
        return [`the error says: ${code}: ${message}`];
      if (!readFileSync(file).equals(damage.bytes)) return ['it was changed when it was refused'];
    }
    const report = await repaired(file);
    if (report.outcome === 'sound') {
      if (isDamaged) return ['the repair finds nothing'];
      if (!readFileSync(file).equals(damage.bytes)) return ['a sound file was changed'];
    } else if (!readFileSync(report.original ?? '').equals(damage.bytes)) return ['the original is not kept'];
    const after = readFileSync(file);
    if (damage.isUndone === true && !after.equals(session.bytes)) return ['it is not what it was'];
    const again = await repaired(file);
    if (again.outcome !== 'sound')
      return [`the second repair does something: ${JSON.stringify(again.notes)}`];
    if ((await opened(file)) !== 'opened') return ['it cannot be opened after the repair'];
    return [
      ...(isSealed ? invented(session.bytes, after) : []),
      ...(await historyProblems(after)),
      ...piProblems(file),
    ];
  } catch (thrown) {
    return [messageOf(thrown)];
  } finally {
    rmSync(join(file, '..'), { recursive: true, force: true });
  }
}

/** Entries whose content changed. */
function invented(before: Buffer, after: Buffer): readonly string[] {
  const original = new Map(entriesIn(before).map((entry) => [entry.id, entry]));
  return entriesIn(after).flatMap((entry) => {
    const known = original.get(entry.id);
    if (known === undefined || ORPHANED_RESULT.in(entry) !== undefined) return [];
    const same = { parentId: null, ...(known.type === 'compaction' && { firstKeptEntryId: '' }) };
    const text = (one: Entry): string => encodeEntry({ ...one, ...same } as Entry);
    return text(known) === text(entry) ? [] : [`the entry ${entry.id} is not what it was`];
  });
}

function entriesIn(bytes: Buffer): readonly Entry[] {
  return linesOf(bytes).flatMap((line) => {
    const parsed = parseLine(line.toString().trim());
    return parsed.kind === 'entry' ? [parsed.entry] : [];
  });
}

async function historyProblems(bytes: Buffer): Promise<readonly string[]> {
  const lines = linesOf(bytes).map((line) => line.toString());
  const { tree, problems } = readTree(lines, counting());
  const { view } = restore(tree);
  const { items } = conversation(tree);
  const open = openCallsIn(items);
  const awaited = view.approvals.pending().flatMap(({ callId }) => callId ?? []);
  if (open.length > 0 && !open.some(({ callId }) => awaited.includes(callId)))
    return [`calls without a result: ${open.map(({ callId }) => callId).join()}`];
  if (awaited.some((id) => !open.some(({ callId }) => callId === id))) return ['a question without its call'];
  // The worker closes open calls before it sends the next prompt.
  const results = open.map(
    ({ callId }): Item => ({ type: 'tool-result', callId, content: [], isError: true }),
  );
  return [
    ...problems.map(({ line, reason }) => `line ${line}: ${reason}`).filter((text) => !text.includes('no ')),
    ...(await providers.refusals(withResults(items, results))),
  ];
}

/** After the existing calls and results. */
function withResults(items: readonly Item[], results: readonly Item[]): readonly Item[] {
  return [...items, ...results];
}

/** What pi 0.73.1 reads from it; a cycle would never end there. */
function piProblems(file: string): readonly string[] {
  const { messages } = SessionManager.open(file).buildSessionContext();
  let open: string[] = [];
  return messages.flatMap((message) => {
    if (message.role === 'assistant') {
      const left = open;
      open = message.content.flatMap((block) => (block.type === 'toolCall' ? [block.id] : []));
      return left.length > 0 ? [`pi: no result for ${left.join()}`] : [];
    }
    if (message.role !== 'toolResult') return [];
    const isOpen = open.includes(message.toolCallId);
    open = open.filter((id) => id !== message.toolCallId);
    return isOpen ? [] : [`pi: no call for the result of ${message.toolCallId}`];
  });
}

describe('a damaged session file is rejected, repaired, and accepted by Polypod, pi and all providers', () => {
  it.each([
    // The second starts like the first.
    ['a finished session', STEP > 1 ? 5 : 1, true],
    ['a session that waits for an approval', 1, true],
    ['a session of pi', 1, false],
  ])(
    '%s',
    async (name, each, isSealed) => {
      const session = sessions.find((one) => one.name === name);
      if (session === undefined) throw new Error('there is no such session');
      const wrong: string[] = [];
      let tried = 0;
      for (const damage of damagesOf(session.bytes, isSealed, STEP)) {
        tried += 1;
        if (tried % each !== 0) continue;
        for (const problem of await problemsOf(session, damage, isSealed))
          wrong.push(`${damage.name}: ${problem}`);
      }
      expect(wrong).toEqual([]);
      expect(tried).toBeGreaterThan(90);
    },
    600_000,
  );
});
