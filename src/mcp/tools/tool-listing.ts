import type { Client, RequestOptions, StandardSchemaV1 } from '@modelcontextprotocol/client';
import {
  arrayOf,
  isValueDeeperThan,
  MESSAGE_DEPTH,
  objectOf,
  PolypodError,
  stringOf,
  tooDeepMessage,
} from '../../base/index.ts';

/** A tool as listed by its server. */
export interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: unknown;
  /** Whether the server declares it read-only. */
  readonly readOnly: boolean;
}

/** The known tools of one server. */
export class ToolListing {
  tools: readonly ListedTool[] = [];
  readonly #fetch: () => Promise<readonly ListedTool[]>;
  #isStale = false;
  #refreshing: Promise<void> | undefined;

  constructor(fetch: () => Promise<readonly ListedTool[]>) {
    this.#fetch = fetch;
  }

  /** Resolves when the list is at least as new as this call. A call during a fetch triggers another fetch. */
  refresh(): Promise<void> {
    this.#isStale = true;
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #refresh(): Promise<void> {
    // Some servers announce a change on every request.
    for (let round = 0; this.#isStale && round < MAX_ROUNDS; round += 1) {
      this.#isStale = false;
      this.tools = await this.#fetch();
    }
  }
}

const MAX_ROUNDS = 3;

/** Fetches all pages of a server's tool list. */
export async function fetchTools(client: Client, options: RequestOptions): Promise<readonly ListedTool[]> {
  // The SDK would write to the console about a server without tools.
  if (client.getServerCapabilities()?.tools === undefined) return [];
  let tools: readonly ListedTool[] = [];
  const cursors = new Set<string>();
  for (let cursor = ''; cursors.size < MAX_PAGES; cursors.add(cursor)) {
    const params = cursor === '' ? {} : { cursor };
    const page = objectOf(
      checkDepth(await client.request({ method: 'tools/list', params }, UNPARSED, options)),
    );
    tools = [...tools, ...arrayOf(page.tools).flatMap(listedTool)].slice(0, MAX_TOOLS);
    cursor = stringOf(page.nextCursor);
    if (cursor === '' || cursors.has(cursor)) break;
  }
  return tools;
}

const MAX_PAGES = 100;
/** More than any model accepts. */
const MAX_TOOLS = 2_000;

/** Makes the SDK return unparsed answers: its own parsing rejects the whole list for one invalid tool. */
export const UNPARSED: StandardSchemaV1<unknown, unknown> = {
  '~standard': { version: 1, vendor: 'polypod', validate: (value) => ({ value }) },
};

/** Returns the answer, or throws if it is nested too deep for the recursive code that reads it later. */
export function checkDepth(answer: unknown): unknown {
  if (!isValueDeeperThan(MESSAGE_DEPTH, answer)) return answer;
  throw new PolypodError('tool-failed', `its answer is nested too deep: ${tooDeepMessage()}`);
}

function listedTool(value: unknown): readonly ListedTool[] {
  const { name, title, description, inputSchema, annotations } = objectOf(value);
  if (typeof name !== 'string' || name === '') return [];
  const hints = objectOf(annotations);
  const about = [description, title, hints.title].map(stringOf).find((text) => text.trim() !== '');
  return [{ name, description: about ?? '', inputSchema, readOnly: hints.readOnlyHint === true }];
}
