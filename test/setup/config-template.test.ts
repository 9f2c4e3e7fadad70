import { describe, expect, it } from 'vitest';
import { arrayOf, isObject, type JsonObject } from '../../src/base/index.ts';
import { CONFIG } from '../../src/setup/config/config-shape.ts';
import { CONFIG_TEMPLATE } from '../../src/setup/config/config-template.ts';
import { parseYaml, readShape } from '../../src/setup/config/yaml.ts';

/** The template with all its options in force. */
const ALL_OPTIONS = CONFIG_TEMPLATE.replaceAll(/^#(?=[a-z]| {2})/gm, '');

describe('the commented configuration', () => {
  it('is valid as it is, and sets nothing but the version', () => {
    expect(parseYaml(CONFIG_TEMPLATE, 'config.yaml').value).toEqual({ version: 1 });
  });

  it('is valid with all its options in force', () => {
    expect(() => readShape(parseYaml(ALL_OPTIONS, 'config.yaml'), CONFIG)).not.toThrow();
  });

  it('contains every key of the configuration', () => {
    const used = new Set(keysOf(parseYaml(ALL_OPTIONS, 'config.yaml').value, CONFIG.schema));
    expect(allKeys(CONFIG.schema).filter((key) => !used.has(key))).toEqual([]);
  });

  it('has lines of at most 120 characters', () => {
    expect(CONFIG_TEMPLATE.split('\n').filter((line) => line.length > 120)).toEqual([]);
  });
});

/** The paths of all keys of a schema; names that the user chooses are `*`. */
function allKeys(schema: JsonObject, path = ''): readonly string[] {
  if (isObject(schema.items)) return allKeys(schema.items, path);
  if (isObject(schema.additionalProperties)) return allKeys(schema.additionalProperties, `${path}.*`);
  if (!isObject(schema.properties)) return [path];
  return Object.entries(schema.properties).flatMap(([key, value]) =>
    isObject(value) ? allKeys(value, `${path}.${key}`) : [],
  );
}

function keysOf(value: unknown, schema: JsonObject, path = ''): readonly string[] {
  if (isObject(schema.items)) {
    const { items } = schema;
    return arrayOf(value).length === 0 && Array.isArray(value)
      ? [path]
      : arrayOf(value).flatMap((item) => keysOf(item, items, path));
  }
  if (!isObject(value)) return [path];
  const { properties, additionalProperties } = schema;
  return Object.entries(value).flatMap(([key, part]) => {
    const known = isObject(properties) ? properties[key] : undefined;
    if (isObject(known)) return keysOf(part, known, `${path}.${key}`);
    return isObject(additionalProperties) ? keysOf(part, additionalProperties, `${path}.*`) : [];
  });
}
