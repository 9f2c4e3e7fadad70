// The reference of the tasks API: loads the OpenAPI document with the key that the user enters, and describes it. All texts are
// inserted as text, never as HTML.

const form = document.querySelector('#open');
const status = document.querySelector('#status');
const content = document.querySelector('#content');
const filter = document.querySelector('#filter');

form.addEventListener('submit', (event) => {
  event.preventDefault();
  report('Loading …');
  load(document.querySelector('#key').value.trim()).then(
    (api) => {
      show(api);
      form.hidden = true;
      report('');
      filter.focus();
    },
    (error) => report(error.message, 'failed'),
  );
});

filter.addEventListener('input', () => {
  const words = filter.value.toLowerCase().split(/\s+/);
  for (const element of document.querySelectorAll('[data-text]'))
    element.hidden = !words.every((word) => element.dataset.text.includes(word));
});

async function load(key) {
  const response = await fetch('/openapi.json', { headers: { authorization: `Bearer ${key}` } }).catch(() => {
    throw new Error('The agent did not answer. Check that it runs with "polypod agent status".');
  });
  const body = await response.json();
  if (response.ok) return body;
  throw new Error(`${body.error?.message ?? `The agent answered with ${response.status}`}.`);
}

function show({ info, paths, components }) {
  document.querySelector('#about').textContent = `${info.title} ${info.version}. ${info.description ?? ''}`;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  document.querySelector('#list').replaceChildren(listOf(operations));
  document.querySelector('#requests').replaceChildren(...operations.map(describeOperation));
  const schemas = Object.entries(components?.schemas ?? {});
  document
    .querySelector('#schemas')
    .replaceChildren(element('h2', {}, 'Messages'), ...schemas.map(describeSchema));
  content.hidden = false;
}

function listOf(operations) {
  const items = operations.map(({ method, path, operation }) =>
    element(
      'li',
      { 'data-text': textOf(method, path, operation) },
      element('a', { href: `#${operation.operationId}` }, `${method} ${path}`),
    ),
  );
  return element('ul', {}, ...items);
}

function textOf(method, path, { summary = '', operationId = '' }) {
  return `${method} ${path} ${summary} ${operationId}`.toLowerCase();
}

function describeOperation({ method, path, operation }) {
  const { operationId, summary = '', description = '', parameters = [], requestBody, responses } = operation;
  const body = requestBody?.content?.['application/json']?.schema;
  return element(
    'article',
    { id: operationId, 'data-text': textOf(method, path, operation) },
    element('h2', {}, element('span', { class: 'method' }, `${method} ${path}`)),
    element('p', {}, summary),
    description && element('p', { class: 'scope' }, description),
    parameters.length > 0 && element('h3', {}, 'Parameters'),
    parameters.length > 0 && table(['name', 'in', 'type', 'description'], parameters.map(parameterRow)),
    body && element('h3', {}, 'Body'),
    body && element('p', {}, typeLink(body)),
    element('h3', {}, 'Responses'),
    table(['status', 'body', 'description'], Object.entries(responses).filter(isSuccess).map(responseRow)),
    element('p', { class: 'hint' }, `Errors: ${errorCodes(responses)}.`),
    element('h3', {}, 'Example'),
    element('pre', {}, exampleOf(method, path, body)),
  );
}

function parameterRow({ name, in: place, required, schema, description = '' }) {
  return [required ? `${name} (required)` : name, place, typeText(schema ?? {}), description];
}

function responseRow([code, { description = '', content: bodies = {} }]) {
  const types = Object.entries(bodies).map(([type, { schema = {} }]) =>
    type === 'application/json' ? typeLink(schema) : type,
  );
  return [code, types[0] ?? '', description];
}

function isSuccess([code]) {
  return Number(code) < 400;
}

function errorCodes(responses) {
  return Object.keys(responses)
    .filter((code) => Number(code) >= 400)
    .join(', ');
}

/** The type of a schema; the name of a message is a link to its fields. */
function typeLink(schema) {
  const name = typeText(schema);
  return schema.$ref ? element('a', { href: `#schema-${name}` }, name) : name;
}

function describeSchema([name, schema]) {
  const required = new Set(schema.required);
  const rows = Object.entries(schema.properties ?? {}).map(([key, property]) => [
    required.has(key) ? `${key} (required)` : key,
    typeLink(property),
    property.description ?? '',
  ]);
  return element(
    'article',
    { id: `schema-${name}`, 'data-text': name.toLowerCase() },
    element('h2', {}, name),
    schema.description && element('p', {}, schema.description),
    rows.length > 0
      ? table(['field', 'type', 'description'], rows)
      : element('pre', {}, JSON.stringify(schema, undefined, 2)),
  );
}

/** The type of a schema on one line. */
function typeText(schema) {
  if (schema.$ref) return schema.$ref.split('/').at(-1);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return options.map(typeText).join(' | ');
  if (schema.type === 'array') return `${typeText(schema.items ?? {})}[]`;
  if (Array.isArray(schema.type)) return schema.type.join(' | ');
  return schema.type ?? 'any';
}

function exampleOf(method, path, body) {
  const lines = [
    `curl -H "Authorization: Bearer $KEY" ${location.origin}${path.replaceAll(/\{(\w+)\}/g, '$1')}`,
  ];
  if (method !== 'GET') lines[0] = lines[0].replace('curl ', `curl -X ${method} `);
  if (body) lines.push(`  -H "Content-Type: application/json" -d '{ … ${typeText(body)} … }'`);
  return lines.join(' \\\n');
}

function table(heads, rows) {
  return element(
    'table',
    {},
    element('tr', {}, ...heads.map((head) => element('th', {}, head))),
    ...rows.map((cells) => element('tr', {}, ...cells.map((cell) => element('td', {}, cell)))),
  );
}

function element(name, attributes, ...children) {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
  created.append(...children.filter(Boolean));
  return created;
}

function report(text, kind = '') {
  status.textContent = text;
  status.className = kind;
}
