/**
 * The program of the validator thread. It compiles schemas with ajv and validates values against them. It is a text, because a
 * file would have another path in the sources, in the package and in the bundled command line.
 *
 * Each schema has its own Ajv instance: an instance keeps every `$id` that it has seen, so that two schemas with the same one
 * would collide. An instance of the thread itself validates schemas against the meta-schema of their dialect.
 */
export const THREAD_PROGRAM = `
const { port, signal, from, limits } = require('node:worker_threads').workerData;
const load = require('node:module').createRequire(from);

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

function create(dialect, allErrors) {
  const Ajv = load(dialect).default;
  return new Ajv({ ...OPTIONS, allErrors, ignoreKeywordsWithRef: dialect === 'ajv' });
}

const cache = new Map();
let cached = 0;
function remembered(key, make) {
  if (!cache.has(key)) {
    const made = make();
    if (cached + key.length > limits.cachedCharacters) {
      cache.clear();
      cached = 0;
    }
    cache.set(key, made);
    cached += key.length;
  }
  return cache.get(key);
}

function validator({ dialect, schema }, allErrors) {
  const make = () => create(dialect, allErrors).compile(JSON.parse(schema));
  return remembered([allErrors, dialect, schema].join(' '), make);
}

function checkSchema(request) {
  const ajv = remembered(request.dialect, () => create(request.dialect, false));
  if (!ajv.validateSchema(JSON.parse(request.schema))) return ajv.errors;
  // Finds a schema that refers to itself without end.
  validator(request, true)({});
  return [];
}

function checkValue(request) {
  let validate;
  try {
    validate = validator(request, request.value.length <= limits.smallValue);
  } catch {
    // The code that stops at the first error can be nested too deep for V8.
    validate = validator(request, true);
  }
  return validate(JSON.parse(request.value)) ? [] : validate.errors;
}

function brief({ instancePath, schemaPath, keyword, params }) {
  const shortParams = Object.entries(params).map(([name, value]) => [name, short(value)]);
  return {
    instancePath: short(instancePath),
    schemaPath: short(schemaPath),
    keyword,
    params: Object.fromEntries(shortParams),
  };
}

function short(value) {
  return typeof value === 'string' && value.length > limits.text ? value.slice(0, limits.text) + '…' : value;
}

function answerTo(request) {
  try {
    const errors = request.value === undefined ? checkSchema(request) : checkValue(request);
    return { type: 'checked', errors: errors.slice(0, limits.errors).map(brief) };
  } catch ({ message, missingRef }) {
    return { type: 'failed', message: short(String(message)), missingRef: short(missingRef) };
  }
}

port.on('message', (request) => {
  port.postMessage(answerTo(request));
  Atomics.add(signal, 0, 1);
  Atomics.notify(signal, 0);
});
`;
