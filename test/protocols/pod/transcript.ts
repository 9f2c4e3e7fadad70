import { readFileSync } from 'node:fs';

/** A line of a transcript in the page: its client and its direction. */
export interface Step {
  readonly client: string;
  readonly direction: '→' | '←';
  readonly text: string;
}

/** The transcripts of a page, by name. */
export function transcriptsIn(page: string): ReadonlyMap<string, readonly Step[]> {
  const text = readFileSync(page, 'utf8');
  const blocks = text.matchAll(/<!-- transcript: (\S+) -->\n```jsonl\n([\s\S]*?)```/g);
  return new Map(
    [...blocks].map(([, name = '', block = '']) => [name, block.trim().split('\n').map(stepIn)]),
  );
}

function stepIn(line: string): Step {
  const [, client = '', direction, text = ''] = /^(\w*) ?([→←]) (.*)$/.exec(line) ?? [];
  if (direction !== '→' && direction !== '←') throw new Error(`no line of a transcript: ${line}`);
  return { client, direction, text };
}

/** Ids and times differ from run to run: each is replaced by its order of appearance among those of its kind. */
export class Names {
  readonly #known = new Map<string, string>();
  #count = 0;

  /** A line with placeholders for its ids, without `seq`, whose order is checked elsewhere. */
  normal(text: string): unknown {
    const named = text.replaceAll(UUID, (id) => this.#nameOf(id)).replaceAll(TIME, 'TIME');
    const value = JSON.parse(named) as { seq?: number };
    const isNumbered = value.seq !== undefined;
    delete value.seq;
    return { ...value, isNumbered };
  }

  /** The value of another transcript's placeholder in this one. */
  translate(text: string, from: Names): string {
    return text.replaceAll(UUID, (id) => this.#idOf(from.#nameOf(id)) ?? id);
  }

  #nameOf(id: string): string {
    const name = this.#known.get(id) ?? `ID-${(this.#count += 1)}`;
    this.#known.set(id, name);
    return name;
  }

  #idOf(name: string): string | undefined {
    return [...this.#known].find(([, known]) => known === name)?.[0];
  }
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;
