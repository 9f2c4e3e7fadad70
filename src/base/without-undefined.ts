type OptionalFields<T> = { [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> };
type RequiredFields<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] };

/** Copies an object without the fields that are undefined: optional fields of our types are absent, never undefined. */
export function withoutUndefined<T extends object>(fields: T): RequiredFields<T> & OptionalFields<T>;
export function withoutUndefined(fields: Readonly<Record<string, unknown>>): object {
  const copy: Record<string, unknown> = {};
  for (const key in fields) if (fields[key] !== undefined) copy[key] = fields[key];
  return copy;
}
