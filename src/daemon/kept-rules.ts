import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { messageOf, PolypodError, shape, systemCodeOf, tryParse } from '../base/index.ts';
import type { Rule } from '../tools/index.ts';
import { refuseUnsafeFile } from './refuse-unsafe-file.ts';
import { RULE } from './rule-shape.ts';

const RULES: shape.Shape<readonly Rule[]> = shape.listOf(RULE);

/**
 * Rules that a person made by answering "always": they hold for every session from then on, behind those of the
 * configuration. They are in a file of their own, which a person may edit or remove.
 */
export class KeptRules {
  readonly #file: string;
  #rules: readonly Rule[];
  #writing: Promise<void> = Promise.resolve();

  static async open(file: string): Promise<KeptRules> {
    refuseUnsafeFile('the file of rules', file);
    return new KeptRules(file, await read(file));
  }

  private constructor(file: string, rules: readonly Rule[]) {
    this.#file = file;
    this.#rules = rules;
  }

  get rules(): readonly Rule[] {
    return this.#rules;
  }

  /** One after the other, each on what the file says by then: another process may have kept one too. */
  async keep(kept: Rule): Promise<void> {
    const done = this.#writing.then(() => this.#write(kept));
    this.#writing = done.catch(() => {});
    await done;
  }

  async #write(kept: Rule): Promise<void> {
    const before = await read(this.#file);
    const others = before.filter((one) => JSON.stringify(one) !== JSON.stringify(kept));
    const rules = [kept, ...others];
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    const draft = `${this.#file}.new`;
    await writeFile(draft, `${JSON.stringify(rules, null, 2)}\n`, { mode: 0o600 });
    await rename(draft, this.#file);
    this.#rules = rules;
  }
}

async function read(file: string): Promise<readonly Rule[]> {
  const text = await readFile(file, 'utf8').catch((thrown: unknown) => {
    if (systemCodeOf(thrown) === 'ENOENT') return '[]';
    throw new PolypodError('denied', `cannot read ${file}: ${messageOf(thrown)}`, { cause: thrown });
  });
  const problems: shape.Problem[] = [];
  const rules = RULES.read(tryParse(text), [], (problem) => problems.push(problem));
  if (rules !== undefined) return rules;
  throw new PolypodError('bad-request', `${shape.sentence(file, problems)}; correct or remove it`);
}
