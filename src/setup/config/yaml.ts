import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { messageOf, PolypodError, type shape } from '../../base/index.ts';

/** A YAML file that a person wrote: its value, and where in it a problem is. */
export interface YamlFile {
  readonly value: unknown;
  /** `file:line:column` of what a path leads to. */
  readonly placeOf: (problem: Pick<shape.Problem, 'path' | 'at'>) => string;
}

/** Parses YAML 1.2. Throws one error with all mistakes of syntax; it never quotes the file, which may hold a key. */
export function parseYaml(text: string, file: string): YamlFile {
  const lineCounter = new LineCounter();
  const document = documentIn(text, file, lineCounter);
  const place = (offset: number) => {
    const { line, col } = lineCounter.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  const mistakes = [...document.errors, ...document.warnings];
  if (mistakes.length > 0)
    throw refusal(mistakes.map(({ pos, message }) => `${place(pos[0])}: ${reasonOf(message)}`));
  return {
    value: valueOf(document, file),
    placeOf: (problem) => place(offsetOf(document, problem)),
  };
}

/** The parser reports its own overflow like a mistake of syntax. */
function reasonOf(message: string): string {
  return message.startsWith('Maximum call stack') ? 'lists and maps are nested too deep' : message;
}

/** Larger and deeper than anybody writes: the parser is recursive, and slow for what has no end. */
const MOST_CHARACTERS = 1024 * 1024;

function documentIn(text: string, file: string, lineCounter: LineCounter): Document {
  if (text.length > MOST_CHARACTERS)
    throw refusal([`${file}: has more than ${MOST_CHARACTERS} characters: make it shorter`]);
  try {
    return parseDocument(text, { version: '1.2', lineCounter, prettyErrors: false });
  } catch (thrown) {
    throw new PolypodError(
      'bad-request',
      `${file}: is nested too deep, or is no YAML: ${messageOf(thrown)}`,
      {
        cause: thrown,
      },
    );
  }
}

/** Reads the file by the shape. Throws one error that names every problem, in the order of the file. */
export function readShape<T>(yaml: YamlFile, expected: shape.Shape<T>): T {
  const problems: shape.Problem[] = [];
  const value = expected.read(yaml.value, [], (problem) => problems.push(problem));
  if (value !== undefined && problems.length === 0) return value;
  throw refusal(problems.map((problem) => sentenceFor(problem, yaml.placeOf(problem))));
}

function sentenceFor({ path, text }: shape.Problem, place: string): string {
  return `${place}: ${path.length === 0 ? 'the file' : path.join('.')} ${text}`;
}

function refusal(sentences: readonly string[]): PolypodError {
  return new PolypodError('bad-request', sentences.join('\n'));
}

/** An empty file says nothing, which is not wrong. */
function valueOf(document: Document, file: string): unknown {
  try {
    return document.toJS() ?? {};
  } catch (thrown) {
    // An alias without its anchor, or aliases of aliases without end.
    throw new PolypodError('bad-request', `${file}: ${messageOf(thrown)}`, { cause: thrown });
  }
}

function offsetOf(document: Document, { path, at }: Pick<shape.Problem, 'path' | 'at'>): number {
  let node = document.contents;
  let key: Node | null = node;
  for (const step of path) {
    const [stepKey, stepValue] = child(resolved(node, document), step);
    if (stepKey === undefined) break;
    [key, node] = [stepKey, stepValue];
  }
  return (at === 'key' ? key : (node ?? key))?.range?.[0] ?? 0;
}

/** A path goes through an alias, but what stands at the end of it is where the person wrote it. */
function resolved(node: Node | null, document: Document): Node | null {
  return isAlias(node) ? (node.resolve(document) ?? null) : node;
}

/** The key and the value behind one step of a path; an item of a list is its own key. */
function child(node: Node | null, step: string | number): [Node | undefined, Node | null] {
  if (isSeq<Node>(node) && typeof step === 'number') return [node.items[step], node.items[step] ?? null];
  if (!isMap<Node, Node | null>(node)) return [undefined, null];
  const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === step);
  return [pair?.key, pair?.value ?? null];
}
