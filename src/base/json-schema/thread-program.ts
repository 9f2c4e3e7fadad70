/**
 * The program of the validator thread. It compiles schemas with ajv and validates values against them. It is a text, because a
 * file would have another path in the sources, in the package and in the bundled command line.
 *
 * Each schema has its own Ajv instance: an instance keeps every `$id` that it has seen, so that two schemas with the same one
 * would collide. An instance of the thread itself validates schemas against the meta-schema of their dialect.
 */
export const THREAD_PROGRAM = `
const { port, signal, dialects, limits } = require('node:worker_threads').workerData;

const OPTIONS = {
  strict: false,
  // 'format' is an annotation.
  validateFormats: false,
  validateSchema: false,
  ownProperties: true,
  // Inlining repeats a definition for each reference to it.
  inlineRefs: false,
  messages: false,
  logger: false,
  // Optimizing takes longer than it saves, and its time is not linear.
  code: { optimize: false, regExp: createPattern },
};

function createPattern(pattern) {
  try {
    return new RegExp(pattern, 'u');
  } catch {
    // Without 'u', meaningless escapes are accepted, which schemas often have.
    return new RegExp(pattern);
  }
}
createPattern.code = 'new RegExp';

const loaded = new Map();
function load(name) {
  if (!loaded.has(name)) {
    const { file, metaSchema, options } = dialects[name];
    const Ajv = require(file).default;
    const create = (more) => new Ajv({ ...OPTIONS, ...options, ...more });
    loaded.set(name, { create, isValid: create({}).getSchema(metaSchema) });
  }
  return loaded.get(name);
}

function compile({ dialect, schema }) {
  const { create, isValid } = load(dialect);
  const parsed = JSON.parse(schema);
  if (!isValid(parsed)) return { answer: { type: 'invalid', errors: brief(isValid.errors) } };
  const all = create({ allErrors: true }).compile(parsed);
  // Finds a schema that refers to itself without end.
  all({});
  return { all, first: undefined, create, parsed };
}

/** The validator that stops at the first error; the other one if the nesting of its code is too deep for V8. */
function firstOf(entry) {
  try {
    entry.first ??= entry.create({ allErrors: false }).compile(entry.parsed);
  } catch {
    entry.first = entry.all;
  }
  return entry.first;
}

const cache = new Map();
let cached = 0;
function entryOf(request) {
  const key = request.dialect + ' ' + request.schema;
  const entry = cache.get(key) ?? compile(request);
  if (!cache.delete(key)) cached += key.length;
  cache.set(key, entry);
  for (const oldest of cache.keys()) {
    if (cached <= limits.cachedCharacters || cache.size === 1) break;
    cache.delete(oldest);
    cached -= oldest.length;
  }
  return entry;
}

function answerTo(request) {
  const entry = entryOf(request);
  if (entry.answer !== undefined || request.value === undefined) return entry.answer ?? { type: 'valid' };
  const validate = request.value.length <= limits.smallValue ? entry.all : firstOf(entry);
  return validate(JSON.parse(request.value)) ? { type: 'valid' } : { type: 'invalid', errors: brief(validate.errors) };
}

function brief(errors) {
  return errors.slice(0, limits.errors).map(({ instancePath, schemaPath, keyword, params }) => ({
    instancePath: short(instancePath),
    schemaPath: short(schemaPath),
    keyword,
    params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, short(value)])),
  }));
}

function short(value) {
  return typeof value === 'string' && value.length > limits.text ? value.slice(0, limits.text) + '…' : value;
}

function send(answer) {
  port.postMessage(answer);
  Atomics.add(signal, 0, 1);
  Atomics.notify(signal, 0);
}

port.on('message', (request) => {
  try {
    send(answerTo(request));
  } catch (error) {
    const { message, missingRef } = error;
    send({ type: 'failed', message: short(String(message)), missingRef: short(missingRef) });
  }
});
load('2020-12');
`;
