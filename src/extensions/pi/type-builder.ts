import { type JsonObject, PolypodError } from '../../base/index.ts';

/** A JSON Schema; optional properties are marked with a symbol, which is not serialized. */
type Schema = JsonObject & { readonly [OPTIONAL]?: true };

const OPTIONAL = Symbol('optional');

const plain =
  (type: string) =>
  (options: JsonObject = {}): Schema => ({ ...options, type });

const BUILDERS = {
  String: plain('string'),
  Number: plain('number'),
  Integer: plain('integer'),
  Boolean: plain('boolean'),
  Null: plain('null'),
  Any: (options: JsonObject = {}): Schema => options,
  Unknown: (options: JsonObject = {}): Schema => options,
  Unsafe: (schema: JsonObject = {}): Schema => schema,
  Literal: (value: unknown, options: JsonObject = {}): Schema => ({
    ...options,
    const: value,
    type: typeof value,
  }),
  Array: (items: Schema, options: JsonObject = {}): Schema => ({ ...options, type: 'array', items }),
  Object: (properties: Readonly<Record<string, Schema>>, options: JsonObject = {}): Schema => {
    const required = Object.keys(properties).filter((key) => properties[key]?.[OPTIONAL] !== true);
    return { ...options, type: 'object', ...(required.length > 0 && { required }), properties };
  },
  Record: (_: Schema, values: Schema, options: JsonObject = {}): Schema => ({
    ...options,
    type: 'object',
    additionalProperties: values,
  }),
  Union: (schemas: readonly Schema[], options: JsonObject = {}): Schema => ({ ...options, anyOf: schemas }),
  Intersect: (schemas: readonly Schema[], options: JsonObject = {}): Schema => ({
    ...options,
    allOf: schemas,
  }),
  Enum: (values: readonly string[] | Readonly<Record<string, string>>, options: JsonObject = {}): Schema => ({
    ...options,
    type: 'string',
    enum: Object.values(values),
  }),
  Optional: (schema: Schema): Schema => ({ ...schema, [OPTIONAL]: true }),
};

/** The part of TypeBox's `Type` that tools use to describe their arguments; other members throw. */
export const Type: typeof BUILDERS = new Proxy(BUILDERS, {
  get: (builders, key, receiver): unknown => {
    if (typeof key === 'symbol' || Reflect.has(builders, key)) return Reflect.get(builders, key, receiver);
    throw new PolypodError(
      'bad-request',
      `Type.${key} does not work in Polypod without TypeBox: install typebox beside the extension`,
    );
  },
});
