import { arrayOf, isObject, type JsonObject, withoutUndefined } from '../../base/index.ts';
import type { Item } from '../../llm/index.ts';
import { blocksOfItem, itemOfBlock } from './block.ts';
import { readItem } from './content.ts';

/**
 * How to restore our items from the blocks that other programs see. One step per item: 1 for a block that contains everything,
 * else the number of its blocks and what they do not contain.
 */
export type Step =
  | 1
  | { readonly take: 1; readonly set?: JsonObject; readonly spaced?: true }
  | { readonly take: number; readonly item: Item };

/** The blocks of an answer, and the steps that restore its items; no steps if the blocks contain everything. */
export function encodeAnswer(
  items: readonly Item[],
  api: string,
): { readonly content: readonly JsonObject[]; readonly steps: readonly Step[] } {
  const content: JsonObject[] = [];
  const steps: Step[] = [];
  for (const item of items) {
    const blocks = blocksOfItem(item, api);
    steps.push(stepFor(item, blocks, api));
    content.push(...blocks);
  }
  return { content, steps };
}

function stepFor(item: Item, blocks: readonly JsonObject[], api: string): Step {
  const [block, more] = blocks;
  const read = block === undefined || more !== undefined ? undefined : itemOfBlock(block, api);
  if (read?.type !== item.type) return { take: blocks.length, item };
  const near = block !== undefined && isSpaced(item, block) ? spacedCall(read, block) : read;
  const set = differenceOf(near, item);
  if (near === read) return set === undefined ? 1 : { take: 1, set };
  return { take: 1, spaced: true, ...withoutUndefined({ set }) };
}

/** Restores the items of an answer. Undefined if the steps do not match the blocks: then only the blocks count. */
export function followSteps(
  steps: unknown,
  content: readonly JsonObject[],
  api: string,
): readonly Item[] | undefined {
  const items: Item[] = [];
  let at = 0;
  for (const step of arrayOf(steps)) {
    const { take, set, spaced, item: whole }: JsonObject = isObject(step) ? step : { take: step };
    const block = content[at];
    const plain = block && itemOfBlock(block, api);
    const read = plain && spaced === true ? spacedCall(plain, block) : plain;
    const item = whole === undefined ? read && applyDifference(read, set) : readItem(whole);
    if (item === undefined || typeof take !== 'number') return undefined;
    items.push(item);
    at += take;
  }
  return at === content.length ? items : undefined;
}

/** Whether a call's arguments are spaced as several models do it: then they need not be stored twice. */
function isSpaced(item: Item, block: JsonObject): boolean {
  if (item.type !== 'tool-call' || !item.arguments.includes('": ')) return false;
  return spacedJson(block.arguments) === item.arguments;
}

function spacedCall(item: Item, block: JsonObject): Item {
  return item.type === 'tool-call' ? { ...item, arguments: spacedJson(block.arguments) } : item;
}

/** JSON with a space after every comma and colon. */
function spacedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spacedJson).join(', ')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const fields = Object.entries(value).map(([key, field]) => `${JSON.stringify(key)}: ${spacedJson(field)}`);
  return `{${fields.join(', ')}}`;
}

/** The difference between two objects; null for a key to remove. */
export function differenceOf(from: Item, to: Item): JsonObject | undefined {
  const [before, after]: JsonObject[] = [{ ...from }, { ...to }];
  const keys = Object.keys({ ...before, ...after }).filter((key) => !isSame(before?.[key], after?.[key]));
  return keys.length === 0 ? undefined : Object.fromEntries(keys.map((key) => [key, after?.[key] ?? null]));
}

/** Applies the difference to an item. */
export function applyDifference(item: Item, difference: unknown): Item | undefined {
  if (!isObject(difference)) return item;
  const changed = Object.entries({ ...item, ...difference }).filter(([, value]) => value !== null);
  return readItem(Object.fromEntries(changed));
}

function isSame(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === 'object' && JSON.stringify(a) === JSON.stringify(b));
}
