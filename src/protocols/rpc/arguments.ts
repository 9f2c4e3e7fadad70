import { arrayOf, type JsonObject, PolypodError, shape } from '../../base/index.ts';
import {
  BASE64,
  MEDIA_TYPE,
  THINKING_LEVELS,
  type ThinkingLevel,
  type PodCommandOf,
} from '../../pod/index.ts';

/** The content of a user message: text and images. */
export type UserContent = PodCommandOf<'prompt'>['content'];

/** A received command: its type, and fields that are not validated yet. Unknown keys are ignored. */
export interface RpcCommand {
  readonly id: unknown;
  readonly type: string;
  readonly fields: JsonObject;
  /** The run that was cancelled when the command was received, for a command that cancels one. */
  readonly cancelled?: Promise<CancelledRun | undefined>;
}

/** A run that was cancelled and may not have ended. A compaction has no run id. */
export interface CancelledRun {
  readonly runId: string | undefined;
}

export function textIn({ type, fields }: RpcCommand, key: string): string {
  const value = fields[key];
  if (typeof value === 'string') return value;
  throw new PolypodError('bad-request', `${type} needs "${key}", which is text`);
}

/** Undefined if the field is absent. */
export function anyTextIn(request: RpcCommand, key: string): string | undefined {
  const value = request.fields[key];
  return value === undefined || value === null ? undefined : textIn(request, key);
}

export function flagIn({ type, fields }: RpcCommand, key: string): boolean {
  const value = fields[key];
  if (typeof value === 'boolean') return value;
  throw new PolypodError('bad-request', `${type} needs "${key}", which is true or false`);
}

export function choiceIn<const W extends string>(request: RpcCommand, key: string, words: readonly W[]): W {
  const value = request.fields[key];
  const word = words.find((candidate) => candidate === value);
  if (word !== undefined) return word;
  throw new PolypodError(
    'bad-request',
    `${request.type} needs "${key}", which is one of ${words.join(', ')}`,
  );
}

/** Undefined if the value is not a level, as in the original protocol. */
export function levelIn({ fields }: RpcCommand): ThinkingLevel | undefined {
  return THINKING_LEVELS.find((level) => level === fields.level);
}

/** Parses the message and its images. */
export function userContentIn(request: RpcCommand): UserContent {
  const text = textIn(request, 'message');
  return [{ type: 'text', text }, ...arrayOf(request.fields.images).map((image) => imageIn(request, image))];
}

function imageIn({ type }: RpcCommand, image: unknown): UserContent[number] {
  const read = shape.withUnknownKeys(IMAGE).read(image, [], () => {});
  if (read !== undefined) return { type: 'image', mediaType: read.mimeType, data: read.data };
  throw new PolypodError(
    'bad-request',
    `${type}: an image needs "data" in base64 and a "mimeType" such as image/png`,
  );
}

const IMAGE = shape.fields({ data: BASE64, mimeType: MEDIA_TYPE }, {});
