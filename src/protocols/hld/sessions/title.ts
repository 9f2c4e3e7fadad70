import { truncateText, isPrintableLine, type JsonObject } from '../../../base/index.ts';
import { wrongField } from '../errors.ts';
import type { Params } from '../params.ts';

/** The settings that determine the title of a session. */
export interface TitleSettings {
  readonly name?: string;
  readonly annotations?: JsonObject;
}

/** The title in a request: any text. */
export function titleIn(params: Params): string | undefined {
  const title = params.text('title');
  if (title !== undefined && title.length > LONGEST_TITLE)
    throw wrongField('title', `title must be at most ${LONGEST_TITLE} characters long, not ${title.length}`);
  return title;
}

/** The title of a session: as set by a client of this door, unless another door has renamed the session since. */
export function titleOf({ name = '', annotations }: TitleSettings): string {
  const title = annotations?.[KEY];
  return typeof title === 'string' && nameFrom(title) === name ? title : name;
}

/**
 * The settings that store a title. A pod's name is a short line, because lists and terminals show it. A title that is not a valid name is
 * stored in the annotations.
 */
export function titleSettings(title: string, annotations: JsonObject | undefined): TitleSettings {
  const name = nameFrom(title);
  const { [KEY]: _, ...others } = annotations ?? {};
  return {
    ...(name === '' ? {} : { name }),
    annotations: name === title ? others : { ...others, [KEY]: title },
  };
}

function nameFrom(title: string): string {
  const line = title.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
  const readable = isPrintableLine(line)
    ? line
    : line.replaceAll(/[\u202A-\u202E\u2066-\u2069]/gu, '').trim();
  return truncateText(readable, LONGEST_NAME).trim();
}

const KEY = 'title';
const LONGEST_NAME = 200;
const LONGEST_TITLE = 10_000;
