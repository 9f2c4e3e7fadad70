import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, sep } from 'node:path';
import { messageOf, PolypodError, shape, systemCodeOf, tryParse, uuidv7 } from '../../base/index.ts';
import type { Person } from '../../pod/index.ts';
import type { Rule } from '../../tools/index.ts';
import { lockWithRetry } from '../paths/lock-with-retry.ts';
import { refuseUnsafeFile } from '../paths/refuse-unsafe-file.ts';
import { RULE } from '../config/rule-shape.ts';

const VERSION = 2;

const KEPT_RULE = shape.fields(
  {
    /** By which it is removed. */
    id: shape.text('an id', (id) => /^[0-9a-z]{6,32}$/.test(id)),
    /** Sessions that work there, or below, have it. */
    directory: shape.text('an absolute path', (path) => path.startsWith('/')),
    rule: RULE,
    createdAt: shape.anyText,
  },
  {
    /** The owner of a key; the local user if there is none. */
    owner: shape.text(),
  },
);
/** A rule that a person made by answering "always", and where it holds. */
export type SavedRule = shape.ValueOf<typeof KEPT_RULE>;

const FILE = shape.fields({ version: shape.count(1), rules: shape.listOf(KEPT_RULE) }, {});
const OLD_FILE: shape.Shape<readonly Rule[]> = shape.listOf(RULE);

/**
 * Rules that people made by answering "always". Each belongs to the person who made it, the local user or the owner of a key,
 * and to the directory of the session. They stand behind those of the configuration, in a file of their own, which a person
 * may edit or remove at any time.
 */
export class SavedRules {
  readonly #file: string;
  #rules: readonly SavedRule[];
  #mark: string;

  static async open(file: string): Promise<SavedRules> {
    refuseUnsafeFile('the file of rules', file);
    const mark = markOf(file);
    return new SavedRules(file, readRules(file), mark);
  }

  private constructor(file: string, rules: readonly SavedRule[], mark: string) {
    this.#file = file;
    this.#rules = rules;
    this.#mark = mark;
  }

  /** Those of a person that hold in a directory, the newest first. */
  rulesFor(person: Person, directory: string): readonly Rule[] {
    this.#refresh();
    return this.#rules
      .filter((kept) => kept.owner === ownerOf(person) && isBelow(directory, kept.directory))
      .map(({ rule }) => rule);
  }

  async keep(rule: Rule, person: Person, directory: string): Promise<SavedRule> {
    const kept = await keepRule(this.#file, rule, person, directory);
    this.#refresh();
    return kept;
  }

  /** Another process may have made one, or a person may have removed one. A mistake in the file leaves them as they are. */
  #refresh(): void {
    const mark = markOf(this.#file);
    if (mark === this.#mark) return;
    try {
      this.#rules = readRules(this.#file);
      this.#mark = mark;
    } catch {
      // What is wrong with it is said when the next rule is to be kept, and by polypod rules.
    }
  }
}

/** The rules of a file; none if it is missing. Those of the first version belong to the local user, in every directory. */
export function readRules(file: string): readonly SavedRule[] {
  const text = textOf(file);
  if (text === undefined) return [];
  const value = tryParse(text);
  const problems: shape.Problem[] = [];
  const report = (problem: shape.Problem): void => void problems.push(problem);
  if (Array.isArray(value)) {
    const old = OLD_FILE.read(value, [], report);
    if (old !== undefined)
      return old.map((rule) => ({ id: idOf(rule), directory: sep, rule, createdAt: '' }));
  } else {
    const read = FILE.read(value, [], report);
    if (read !== undefined && read.version > VERSION)
      throw new PolypodError('bad-request', `${file} is of a newer version: update polypod to use it`);
    if (read !== undefined) return read.rules;
  }
  throw new PolypodError('bad-request', `${shape.sentence(file, problems)}; correct or remove it`);
}

/** Removes rules by their ids, all or none. */
export async function removeRules(file: string, ids: readonly string[]): Promise<readonly SavedRule[]> {
  return change(file, (rules) => {
    for (const id of ids)
      if (!rules.some((kept) => kept.id === id))
        throw new PolypodError('not-found', `there is no rule "${id}"; polypod rules list shows the ids`);
    const [removed, left] = [
      rules.filter(({ id }) => ids.includes(id)),
      rules.filter(({ id }) => !ids.includes(id)),
    ];
    return { rules: left, result: removed };
  });
}

async function keepRule(file: string, rule: Rule, person: Person, directory: string): Promise<SavedRule> {
  const owner = ownerOf(person);
  const kept: SavedRule = {
    id: uuidv7().replaceAll('-', '').slice(-12),
    ...(owner !== undefined && { owner }),
    directory,
    rule,
    createdAt: new Date().toISOString(),
  };
  return change(file, (rules) => {
    const others = rules.filter(
      (one) =>
        one.owner !== owner ||
        one.directory !== directory ||
        JSON.stringify(one.rule) !== JSON.stringify(rule),
    );
    return { rules: [kept, ...others], result: kept };
  });
}

/** Reads, changes and writes while no other process does. */
async function change<T>(
  file: string,
  decide: (rules: readonly SavedRule[]) => { readonly rules: readonly SavedRule[]; readonly result: T },
): Promise<T> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const lock = await lockWithRetry(file);
  try {
    const { rules, result } = decide(readRules(file));
    if (Array.isArray(tryParse(textOf(file) ?? ''))) copyFileSync(file, `${file}.v1`);
    const draft = `${file}.${uuidv7()}`;
    writeFileSync(draft, `${JSON.stringify({ version: VERSION, rules }, null, 2)}\n`, {
      mode: 0o600,
      flag: 'wx',
    });
    renameSync(draft, file);
    return result;
  } finally {
    lock.release();
  }
}

function ownerOf(person: Person): string | undefined {
  return person === 'local' ? undefined : person.owner;
}

function isBelow(directory: string, root: string): boolean {
  return directory === root || directory.startsWith(root.endsWith(sep) ? root : `${root}${sep}`);
}

/** The same rule of an old file has the same id each time. */
function idOf(rule: Rule): string {
  return createHash('sha256').update(JSON.stringify(rule)).digest('hex').slice(0, 12);
}

function markOf(file: string): string {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? '' : `${found.ino} ${found.mtimeNs} ${found.size}`;
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (thrown) {
    if (systemCodeOf(thrown) === 'ENOENT') return undefined;
    throw new PolypodError('denied', `cannot read ${file}: ${messageOf(thrown)}`, { cause: thrown });
  }
}
