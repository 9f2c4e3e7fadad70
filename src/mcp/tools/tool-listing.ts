import type { Client, RequestOptions, StandardSchemaV1 } from '@modelcontextprotocol/client';
import {
  arrayOf,
  isValueDeeperThan,
  MESSAGE_DEPTH,
  objectOf,
  PolypodError,
  stringOf,
  tooDeep,
} from '../../base/index.ts';

/** A tool as its server tells of it. */
export interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: unknown;
  /** Whether the server says that it changes nothing. */
  readonly readOnly: boolean;
}

/** The tools of one server, as far as they are known. */
export class ToolListing {
  tools: readonly ListedTool[] = [];
  readonly #fetch: () => Promise<readonly ListedTool[]>;
  #isStale = false;
  #refreshing: Promise<void> | undefined;

  constructor(fetch: () => Promise<readonly ListedTool[]>) {
    this.#fetch = fetch;
  }

  /** Resolves when the list is as new as this call. Whoever calls while it is being fetched has it fetched once more. */
  refresh(): Promise<void> {
    this.#isStale = true;
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #refresh(): Promise<void> {
    // Some servers announce a change whenever they are asked.
    for (let round = 0; this.#isStale && round < MOST_ROUNDS; round += 1) {
      this.#isStale = false;
      this.tools = await this.#fetch();
    }
  }
}

const MOST_ROUNDS = 3;

/** Asks a server for all pages of its list. */
export async function fetchTools(client: Client, options: RequestOptions): Promise<readonly ListedTool[]> {
  // The SDK would write to the console about a server that has none.
  if (client.getServerCapabilities()?.tools === undefined) return [];
  let tools: readonly ListedTool[] = [];
  const cursors = new Set<string>();
  for (let cursor = ''; cursors.size < MOST_PAGES; cursors.add(cursor)) {
    const params = cursor === '' ? {} : { cursor };
    const page = objectOf(
      notTooDeep(await client.request({ method: 'tools/list', params }, UNREAD, options)),
    );
    tools = [...tools, ...arrayOf(page.tools).flatMap(listedTool)].slice(0, MOST_TOOLS);
    cursor = stringOf(page.nextCursor);
    if (cursor === '' || cursors.has(cursor)) break;
  }
  return tools;
}

const MOST_PAGES = 100;
/** More than any model takes. */
const MOST_TOOLS = 2_000;

/** Lets the SDK hand out an answer as it came: its own reading refuses the whole list for one flaw in one tool. */
export const UNREAD: StandardSchemaV1<unknown, unknown> = {
  '~standard': { version: 1, vendor: 'polypod', validate: (value) => ({ value }) },
};

/** The answer, unless it is nested too deep for what reads it later, which is recursive. */
export function notTooDeep(answer: unknown): unknown {
  if (!isValueDeeperThan(MESSAGE_DEPTH, answer)) return answer;
  throw new PolypodError('tool-failed', `its answer is nested too deep: ${tooDeep()}`);
}

function listedTool(value: unknown): readonly ListedTool[] {
  const { name, title, description, inputSchema, annotations } = objectOf(value);
  if (typeof name !== 'string' || name === '') return [];
  const hints = objectOf(annotations);
  const about = [description, title, hints.title].map(stringOf).find((text) => text.trim() !== '');
  return [{ name, description: about ?? '', inputSchema, readOnly: hints.readOnlyHint === true }];
}
