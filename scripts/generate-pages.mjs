// Writes the pages that are generated from the built program: npm run docs [-- --check]
//
// With --check, it writes nothing and exits with 1 if a page is out of date.
import { readFileSync, writeFileSync } from 'node:fs';
import { CONFIG_TEMPLATE } from '../dist/setup/config/config-template.js';
import { builtinTools } from '../dist/tools/builtin-tools.js';
import { todoTool } from '../dist/tools/todo.js';
import { BUILT_IN_TYPES, SubagentSlots, subagentTool } from '../dist/delegation/index.js';
import { webFetchTool } from '../dist/tools/web-fetch.js';
import { webSearchTool } from '../dist/tools/web-search.js';

const PAGES = {
  'docs/configuration.md': configurationPage(),
  'docs/tools.md': toolsPage([
    ...builtinTools,
    todoTool({ get: () => [], set: () => {} }),
    webFetchTool({ privateHosts: () => [] }),
    webSearchTool({ provider: 'brave' }),
    subagentTool({ types: BUILT_IN_TYPES, slots: new SubagentSlots() }),
  ]),
};

const isCheck = process.argv.includes('--check');
const stale = Object.entries(PAGES).filter(([path, page]) => contentOf(path) !== page);
for (const [path, page] of stale) {
  if (isCheck) console.error(`${path} is out of date: run npm run build && npm run docs`);
  else writeFileSync(path, page);
}
process.exitCode = isCheck && stale.length > 0 ? 1 : 0;

function configurationPage() {
  return `# Configuration

Polypod reads one file, \`~/.config/polypod/config.yaml\` (\`$XDG_CONFIG_HOME\`; \`POLYPOD_CONFIG\` names another one). The format is YAML 1.2. \`polypod config init\` writes the file below and never overwrites one. Unknown keys and invalid values are rejected with the file,
the line and a suggestion; \`polypod doctor\` checks the file. \`SIGHUP\` makes the daemon read it again: [daemon.md](daemon.md#configuration) lists which changes need a restart.

Options of the command line override the file. Environment variables: [daemon.md](daemon.md#file-locations). The sections are explained in [permissions.md](permissions.md) (\`permissions\`, \`sandbox\`), [protocols/tasks.md](protocols/tasks.md#configuration) (\`tasks\`,
also as \`agent-config.yaml\`), [protocols/rpc.md](protocols/rpc.md) (\`stream_rules\`) and [daemon.md](daemon.md) (the rest).

This page is generated from the file that \`polypod config init\` writes (\`npm run docs\`).

\`\`\`yaml
${CONFIG_TEMPLATE}\`\`\`
`;
}

function toolsPage(tools) {
  const sections = tools.map(
    ({ name, description, parameters, parallel }) => `## ${name}

${escaped(description)}

${parallel ? 'Calls run in parallel.' : 'Calls run one after the other.'}

${parametersTable(parameters)}
`,
  );
  return `# Tools

The tools that every agent has, as the model sees them. \`web_search\` exists only if \`web_search\` in the configuration names a provider; with \`--offline\`, there are no web tools. [permissions.md](permissions.md) explains which calls need approval. Tools of MCP servers are named \`mcp__SERVER__TOOL\` (\`polypod mcp status\`); [extensions.md](extensions.md) explains how to add your own.

This page is generated from the schemas of the tools (\`npm run docs\`).

${sections.join('\n')}`;
}

/** One row for each parameter. A parameter of a nested object is named by its path. */
function parametersTable(schema) {
  const rows = [['parameter', 'type', 'required', 'meaning'], ...parameterRows(schema, '')];
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (cells, fill = ' ') =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at], fill)).join(' | ')} |`;
  return [
    line(rows[0]),
    line(
      rows[0].map(() => ''),
      '-',
    ),
    ...rows.slice(1).map((row) => line(row)),
  ].join('\n');
}

function parameterRows({ properties = {}, required = [] }, prefix) {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const path = `${prefix}${name}`;
    const meaning = escaped(schema.description ?? '');
    return [
      [`\`${path}\``, typeOf(schema), required.includes(name) ? 'yes' : 'no', meaning],
      ...parameterRows(schema, `${path}.`),
      ...parameterRows(schema.items ?? {}, `${path}[].`),
    ];
  });
}

/** Characters that Markdown would interpret. */
function escaped(text) {
  return text.replaceAll(/[|*<]/g, (character) => `\\${character}`);
}

function typeOf({ type, enum: words, items, minimum }) {
  if (words !== undefined) return words.map((word) => `\`${word}\``).join(', ');
  if (items !== undefined) return `list of ${typeOf(items)}`;
  return minimum === undefined ? String(type ?? 'any') : `${type}, at least ${minimum}`;
}

function contentOf(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
