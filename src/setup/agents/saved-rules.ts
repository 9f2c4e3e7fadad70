import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, sep } from 'node:path';
import {
  messageOf,
  PolypodError,
  shape,
  systemCodeOf,
  tryParse,
  uuidv7,
  withoutUndefined,
} from '../../base/index.ts';
import type { Person } from '../../pod/index.ts';
import type { Rule } from '../../tools/index.ts';
import { fileVersion } from '../paths/file-version.ts';
import { lockWithRetry } from '../paths/lock-with-retry.ts';
import { refuseUnsafeFile } from '../paths/refuse-unsafe-file.ts';
import { RULE } from '../config/rule-shape.ts';

const VERSION = 2;

const SAVED_RULE = shape.fields(
  {
    /** Identifies the rule for removal. */
    id: shape.text('an id', (id) => /^[0-9a-z]{6,32}$/.test(id)),
    /** The rule applies to sessions in this directory and below. */
    directory: shape.text('an absolute path', (path) => path.startsWith('/')),
    rule: RULE,
    createdAt: shape.anyText,
  },
  {
    /** The owner of a key; the local user if there is none. */
    owner: shape.text(),
  },
);
/** A rule that a user created by answering "always", and the directory where it applies. */
export type SavedRule = shape.ValueOf<typeof SAVED_RULE>;

const FILE = shape.fields({ version: shape.integerFrom(1), rules: shape.listOf(SAVED_RULE) }, {});
const OLD_FILE: shape.Shape<readonly Rule[]> = shape.listOf(RULE);

/**
 * Rules that users created by answering "always". Each belongs to the user who created it (the local user or the owner of a
 * key) and to the directory of the session. The rules of the configuration take precedence. The file can be edited or removed
 * at any time.
 */
export class SavedRules {
  readonly #file: string;
  #rules: readonly SavedRule[];
  #loadedVersion: string;

  static async open(file: string): Promise<SavedRules> {
    refuseUnsafeFile('the file of rules', file);
    const loadedVersion = fileVersion(file);
    return new SavedRules(file, readRules(file), loadedVersion);
  }

  private constructor(file: string, rules: readonly SavedRule[], loadedVersion: string) {
    this.#file = file;
    this.#rules = rules;
    this.#loadedVersion = loadedVersion;
  }

  /** A user's rules that apply in a directory, the newest first. */
  rulesFor(person: Person, directory: string): readonly Rule[] {
    this.#refresh();
    return this.#rules
      .filter((saved) => saved.owner === ruleOwner(person) && isInside(directory, saved.directory))
      .map(({ rule }) => rule);
  }

  async save(rule: Rule, person: Person, directory: string): Promise<SavedRule> {
    const saved = await saveRule(this.#file, rule, person, directory);
    this.#refresh();
    return saved;
  }

  /** Reloads the file if another process or the user changed it. If the file is invalid, the loaded rules stay. */
  #refresh(): void {
    const loadedVersion = fileVersion(this.#file);
    if (loadedVersion === this.#loadedVersion) return;
    try {
      this.#rules = readRules(this.#file);
      this.#loadedVersion = loadedVersion;
    } catch {
      // The problem is reported when the next rule is saved, and by polypod rules.
    }
  }
}

/** Reads the rules of a file; none if it is missing. Rules of version 1 belong to the local user, in every directory. */
export function readRules(file: string): readonly SavedRule[] {
  const text = readText(file);
  if (text === undefined) return [];
  const value = tryParse(text);
  const problems: shape.Problem[] = [];
  const report = (problem: shape.Problem): void => void problems.push(problem);
  if (Array.isArray(value)) {
    const old = OLD_FILE.read(value, [], report);
    if (old !== undefined)
      return old.map((rule) => ({ id: stableId(rule), directory: sep, rule, createdAt: '' }));
  } else {
    const read = FILE.read(value, [], report);
    if (read !== undefined && read.version > VERSION)
      throw new PolypodError(
        'bad-request',
        `${file} was written by a newer version: update polypod to use it`,
      );
    if (read !== undefined) return read.rules;
  }
  throw new PolypodError('bad-request', `${shape.problemsMessage(file, problems)}; correct or remove it`);
}

/** Removes rules by their ids, all or none. */
export async function removeRules(file: string, ids: readonly string[]): Promise<readonly SavedRule[]> {
  return updateFile(file, (rules) => {
    for (const id of ids)
      if (!rules.some((saved) => saved.id === id))
        throw new PolypodError('not-found', `there is no rule "${id}"; polypod rules list shows the ids`);
    const [removed, left] = [
      rules.filter(({ id }) => ids.includes(id)),
      rules.filter(({ id }) => !ids.includes(id)),
    ];
    return { rules: left, result: removed };
  });
}

async function saveRule(file: string, rule: Rule, person: Person, directory: string): Promise<SavedRule> {
  const owner = ruleOwner(person);
  const saved: SavedRule = {
    id: uuidv7().replaceAll('-', '').slice(-12),
    ...withoutUndefined({ owner }),
    directory,
    rule,
    createdAt: new Date().toISOString(),
  };
  return updateFile(file, (rules) => {
    const others = rules.filter(
      (one) =>
        one.owner !== owner ||
        one.directory !== directory ||
        JSON.stringify(one.rule) !== JSON.stringify(rule),
    );
    return { rules: [saved, ...others], result: saved };
  });
}

/** Reads, changes and writes the file under a lock. */
async function updateFile<T>(
  file: string,
  decide: (rules: readonly SavedRule[]) => { readonly rules: readonly SavedRule[]; readonly result: T },
): Promise<T> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const lock = await lockWithRetry(file);
  try {
    const { rules, result } = decide(readRules(file));
    if (Array.isArray(tryParse(readText(file) ?? ''))) copyFileSync(file, `${file}.v1`);
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

function ruleOwner(person: Person): string | undefined {
  return person === 'local' ? undefined : person.owner;
}

function isInside(directory: string, root: string): boolean {
  return directory === root || directory.startsWith(root.endsWith(sep) ? root : `${root}${sep}`);
}

/** A stable id for a rule of version 1. */
function stableId(rule: Rule): string {
  return createHash('sha256').update(JSON.stringify(rule)).digest('hex').slice(0, 12);
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (thrown) {
    if (systemCodeOf(thrown) === 'ENOENT') return undefined;
    throw new PolypodError('denied', `cannot read ${file}: ${messageOf(thrown)}`, { cause: thrown });
  }
}
