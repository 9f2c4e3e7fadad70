import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { messageOf, PolypodError, type shape } from '../../base/index.ts';

/** A parsed YAML file that can locate problems. */
export interface YamlFile {
  readonly value: unknown;
  /** The `file:line:column` of a path. */
  readonly location: (problem: Pick<shape.Problem, 'path' | 'at'>) => string;
}

/** Parses YAML 1.2. Throws one error with all syntax errors. It never quotes the file, which may contain a key. */
export function parseYaml(text: string, file: string): YamlFile {
  const lineCounter = new LineCounter();
  const document = parseText(text, file, lineCounter);
  const position = (offset: number) => {
    const { line, col } = lineCounter.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  const syntaxErrors = [...document.errors, ...document.warnings];
  if (syntaxErrors.length > 0)
    throw invalidFile(
      syntaxErrors.map(({ pos, message }) => `${position(pos[0])}: ${syntaxErrorText(message)}`),
    );
  return {
    value: toValue(document, file),
    location: (problem) => position(findOffset(document, problem)),
  };
}

/** The parser reports a stack overflow as a syntax error. */
function syntaxErrorText(message: string): string {
  return message.startsWith('Maximum call stack') ? 'lists and maps are nested too deep' : message;
}

/** A limit for the parser, which is slow for huge files. */
const MAX_CHARACTERS = 1024 * 1024;

function parseText(text: string, file: string, lineCounter: LineCounter): Document {
  if (text.length > MAX_CHARACTERS)
    throw invalidFile([`${file}: has more than ${MAX_CHARACTERS} characters: make it shorter`]);
  try {
    return parseDocument(text, { version: '1.2', lineCounter, prettyErrors: false });
  } catch (thrown) {
    throw new PolypodError(
      'bad-request',
      `${file}: is nested too deep, or is not YAML: ${messageOf(thrown)}`,
      {
        cause: thrown,
      },
    );
  }
}

/** Validates the file. Throws one error that lists every problem, in the order of the file. */
export function readShape<T>(yaml: YamlFile, expected: shape.Shape<T>): T {
  const problems: shape.Problem[] = [];
  const value = expected.read(yaml.value, [], (problem) => problems.push(problem));
  if (value !== undefined && problems.length === 0) return value;
  throw invalidFile(problems.map((problem) => problemMessage(problem, yaml.location(problem))));
}

function problemMessage({ path, text }: shape.Problem, position: string): string {
  return `${position}: ${path.length === 0 ? 'the file' : path.join('.')} ${text}`;
}

function invalidFile(messages: readonly string[]): PolypodError {
  return new PolypodError('bad-request', messages.join('\n'));
}

/** An empty file is valid. */
function toValue(document: Document, file: string): unknown {
  try {
    return document.toJS() ?? {};
  } catch (thrown) {
    // An alias without an anchor, or recursive aliases.
    throw new PolypodError('bad-request', `${file}: ${messageOf(thrown)}`, { cause: thrown });
  }
}

function findOffset(document: Document, { path, at }: Pick<shape.Problem, 'path' | 'at'>): number {
  let node = document.contents;
  let key: Node | null = node;
  for (const step of path) {
    const [stepKey, stepValue] = child(resolved(node, document), step);
    if (stepKey === undefined) break;
    [key, node] = [stepKey, stepValue];
  }
  return (at === 'key' ? key : (node ?? key))?.range?.[0] ?? 0;
}

/** A path follows aliases, except at its end, so that the reported location is where the user wrote it. */
function resolved(node: Node | null, document: Document): Node | null {
  return isAlias(node) ? (node.resolve(document) ?? null) : node;
}

/** The key and value of one step of a path; a list item is its own key. */
function child(node: Node | null, step: string | number): [Node | undefined, Node | null] {
  if (isSeq<Node>(node) && typeof step === 'number') return [node.items[step], node.items[step] ?? null];
  if (!isMap<Node, Node | null>(node)) return [undefined, null];
  const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === step);
  return [pair?.key, pair?.value ?? null];
}
