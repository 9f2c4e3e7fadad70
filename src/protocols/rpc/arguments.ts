import { arrayOf, type JsonObject, PolypodError, shape } from '../../base/index.ts';
import {
  BASE64,
  MEDIA_TYPE,
  THINKING_LEVELS,
  type ThinkingLevel,
  type PodCommandOf,
} from '../../pod/index.ts';

/** What may be said to a model: text and images. */
export type UserContent = PodCommandOf<'prompt'>['content'];

/** A command as it came: its type, and fields that nobody has looked at. Keys that we do not know are let be. */
export interface RpcCommand {
  readonly id: unknown;
  readonly type: string;
  readonly fields: JsonObject;
  /** The run that was cancelled when the command was received, for a command that cancels one. */
  readonly cancelled?: Promise<CancelledRun | undefined>;
}

/** A run that was cancelled and may not have ended; what is no run, such as a compaction, has no id. */
export interface CancelledRun {
  readonly runId: string | undefined;
}

export function textIn({ type, fields }: RpcCommand, key: string): string {
  const value = fields[key];
  if (typeof value === 'string') return value;
  throw new PolypodError('bad-request', `${type} needs "${key}", which is text`);
}

/** Undefined when it is not there. */
export function anyTextIn(wish: RpcCommand, key: string): string | undefined {
  const value = wish.fields[key];
  return value === undefined || value === null ? undefined : textIn(wish, key);
}

export function flagIn({ type, fields }: RpcCommand, key: string): boolean {
  const value = fields[key];
  if (typeof value === 'boolean') return value;
  throw new PolypodError('bad-request', `${type} needs "${key}", which is true or false`);
}

export function wordIn<const W extends string>(wish: RpcCommand, key: string, words: readonly W[]): W {
  const value = wish.fields[key];
  const word = words.find((candidate) => candidate === value);
  if (word !== undefined) return word;
  throw new PolypodError('bad-request', `${wish.type} needs "${key}", which is one of ${words.join(', ')}`);
}

/** Undefined for what is no level, as the protocol has it. */
export function levelIn({ fields }: RpcCommand): ThinkingLevel | undefined {
  return THINKING_LEVELS.find((level) => level === fields.level);
}

/** The message and its images. */
export function userContentIn(wish: RpcCommand): UserContent {
  const text = textIn(wish, 'message');
  return [{ type: 'text', text }, ...arrayOf(wish.fields.images).map((image) => imageIn(wish, image))];
}

function imageIn({ type }: RpcCommand, image: unknown): UserContent[number] {
  const read = shape.open(IMAGE).read(image, [], () => {});
  if (read !== undefined) return { type: 'image', mediaType: read.mimeType, data: read.data };
  throw new PolypodError(
    'bad-request',
    `${type}: an image needs "data" in base64 and a "mimeType" such as image/png`,
  );
}

const IMAGE = shape.fields({ data: BASE64, mimeType: MEDIA_TYPE }, {});
