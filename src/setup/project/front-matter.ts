import { arrayOf, objectOf } from '../../base/index.ts';

/** A Markdown file with an optional block of YAML at its start. */
export interface FrontMatter {
  /** The values of the block that are text, and lists of texts with commas between them. */
  readonly values: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Separates the YAML block between two lines `---` from the text. An invalid block has no values. */
export async function readFrontMatter(text: string): Promise<FrontMatter> {
  const [block, yaml] = /^---[^\S\n]*\r?\n([^]*?)\n---[^\S\n]*(?:\r?\n|$)/.exec(text) ?? [];
  if (block === undefined || yaml === undefined) return { values: {}, body: text };
  return { values: await valuesIn(yaml), body: text.slice(block.length) };
}

async function valuesIn(yaml: string): Promise<Readonly<Record<string, string>>> {
  const { parseYaml } = await import('../config/yaml.ts');
  try {
    const entries = Object.entries(objectOf(parseYaml(yaml, '').value));
    return Object.fromEntries(
      entries.flatMap(([name, value]) => {
        const texts = typeof value === 'string' ? [value] : arrayOf(value);
        return texts.length > 0 && texts.every((text) => typeof text === 'string')
          ? [[name, texts.join(', ')]]
          : [];
      }),
    );
  } catch {
    // The file is still usable without its description.
    return {};
  }
}
