import { isObject, type JsonObject } from '../../base/index.ts';
import { wrongField } from './errors.ts';

/** The parameters of a call. As in the original protocol, null and empty text mean absent. Unknown names are ignored. */
export class Params {
  readonly #values: JsonObject;

  constructor(params: unknown) {
    if (params !== undefined && params !== null && !isObject(params))
      throw wrongField('params', `invalid request: params must be an object, not ${kindOf(params)}`);
    this.#values = isObject(params) ? params : {};
  }

  /** Whether the parameter is present, even if it is invalid. */
  has(name: string): boolean {
    return this.#values[name] !== undefined;
  }

  /** The value without validation. */
  raw(name: string): unknown {
    return this.#values[name];
  }

  text(name: string): string | undefined {
    const value = this.#values[name];
    if (value === undefined || value === null || value === '') return undefined;
    if (typeof value !== 'string') throw invalidParam(name, 'a string', value);
    return value;
  }

  required(name: string): string {
    const value = this.text(name);
    if (value === undefined) throw wrongField(name, `${name} is required`);
    return value;
  }

  flag(name: string): boolean | undefined {
    const value = this.#values[name];
    if (value === undefined || value === null) return undefined;
    if (typeof value !== 'boolean') throw invalidParam(name, 'true or false', value);
    return value;
  }

  /** An integer; 0 means absent. */
  count(name: string): number | undefined {
    const value = this.#values[name];
    if (value === undefined || value === null || value === 0) return undefined;
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
      throw invalidParam(name, 'a whole number from 0 on', value);
    return value;
  }

  texts(name: string): readonly string[] | undefined {
    const value = this.#values[name];
    if (value === undefined || value === null) return undefined;
    if (!Array.isArray(value)) throw invalidParam(name, 'a list of strings', value);
    const texts: string[] = value.map((part: unknown) => {
      if (typeof part !== 'string') throw invalidParam(name, 'a list of strings', part);
      return part;
    });
    return texts.length === 0 ? undefined : texts;
  }
}

function invalidParam(name: string, must: string, found: unknown): Error {
  return wrongField(name, `invalid request: ${name} must be ${must}, not ${kindOf(found)}`);
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'number' ? `the number ${value}` : `a ${typeof value}`;
}
