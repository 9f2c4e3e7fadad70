// Runs every command and checks every block of the pages: npm run docs:run [-- --page docs/chat.md] [--list] [--json]
//
// Each page has a fresh home directory, in which its commands run in order and without a provider account: a simulated provider
// answers. Blocks of other languages are parsed, compiled or read as a configuration. A block that cannot run here has an annotation
// with the reason; CONTRIBUTING.md explains the annotations. Exits with 1 if a block fails or has neither.
import { readdirSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { startSim } from '../dist/sim/index.js';
import { blocksIn, commandsIn, prose, unusedAnnotations } from './pages/blocks.mjs';
import { blockProblems, commandProblems, isTested, namedCommands, typeProblems } from './pages/checks.mjs';
import { hasTmux, isComplete, kindOf, Sandbox } from './pages/sandbox.mjs';

/** Two pages run at the same time: their commands mostly wait. */
const CONCURRENCY = 2;
const SHELL = new Set(['sh', 'bash', 'console']);
/** Programs of examples that a machine may not have. */
const OPTIONAL = new Set(['jq', 'nc', 'socat']);

const { values } = parseArgs({
  options: { page: { type: 'string', multiple: true }, list: { type: 'boolean' }, json: { type: 'boolean' } },
});
const pages = (values.page ?? allPages()).map((path) => {
  const text = readFileSync(path, 'utf8');
  return { path, text, blocks: blocksIn(path, text) };
});
const sim = values.list ? undefined : await startSim();
const sandboxes = new Set();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void interrupted());
const results = [];
const queue = [...pages];
await Promise.all(
  Array.from({ length: CONCURRENCY }, async () => {
    for (let page = queue.shift(); page !== undefined; page = queue.shift())
      results.push(...(await runPage(page)));
  }),
);
results.push(...(await compile(pages.flatMap(({ blocks }) => blocks))));
await sim?.close();
report(inOrder(results));

/** Stops the daemons of the pages, which are processes of their own. */
async function interrupted() {
  await Promise.all([...sandboxes].map((sandbox) => sandbox.close()));
  process.exit(130);
}

function allPages() {
  const docs = readdirSync('docs', { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.md'),
  );
  return [
    'README.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'AGENTS.md',
    ...docs.map((path) => `docs/${path}`).toSorted(),
  ];
}

async function runPage({ path, text, blocks }) {
  const found = await Promise.all(inlineCommands(text).map((command) => inline(path, command)));
  const isRun = blocks.some((block) => SHELL.has(block.language) || block.annotations.length > 0);
  const sandbox = values.list || !isRun ? undefined : new Sandbox(sim.url);
  if (sandbox !== undefined) sandboxes.add(sandbox);
  try {
    for (const block of blocks) found.push(...(await runBlock(block, sandbox)));
  } finally {
    await sandbox?.close();
    sandboxes.delete(sandbox);
  }
  return found;
}

/** The results of a block; TypeScript is compiled later, all blocks at once. */
async function runBlock(block, sandbox) {
  const { page, line, language, lines, annotations, marker, problems } = block;
  const result = (status, detail) => ({ page, line, what: `${language || 'plain'} block`, status, detail });
  if (problems.length > 0) return problems.map((problem) => result('failed', problem));
  const isShell = SHELL.has(language);
  const commands = isShell ? commandsIn(block, isComplete) : [];
  const unused = unusedAnnotations(block, commands);
  if (unused.length > 0) return unused.map((problem) => result('failed', problem));
  if (marker !== undefined) {
    const isFound = isTested(block);
    return [
      result(
        isFound ? 'tested' : 'failed',
        isFound ? marker.name : `no test names ${page} and "${marker.kind}"`,
      ),
    ];
  }
  const notRun = annotations.find(({ type, command }) => type === 'not-run' && command === undefined);
  if (notRun !== undefined) return [result('not run', notRun.reason), ...(await named(block))];
  const saved = annotations.find(({ type }) => type === 'save-as');
  if (saved !== undefined) sandbox?.save(saved.path, `${lines.join('\n')}\n`);
  const before = await steps(block, 'before', sandbox);
  const own = isShell ? await runCommands(block, commands, sandbox) : await check(block, saved, result);
  const after = await steps(block, 'after', sandbox);
  const { code, output } = (await sandbox?.endBlock()) ?? { code: 0 };
  const end =
    code === 0 ? [] : [result('failed', `a command that was interrupted exits with ${code}:\n${output}`)];
  return [...before, ...own, ...after, ...end];
}

async function check(block, saved, result) {
  if (block.language === 'ts') return [];
  if (saved !== undefined) return [result('checked', `saved as ${saved.path}`)];
  const problems = await blockProblems(block);
  if (problems === undefined)
    return [result('failed', 'no check for this language: add <!-- not run: REASON --> above the block')];
  return problems.length === 0 ? [result('checked')] : problems.map((problem) => result('failed', problem));
}

/** Runs the commands of the annotations `before` and `after`. */
async function steps({ page, line, annotations }, wanted, sandbox) {
  const found = [];
  for (const { type, command } of annotations)
    if (type === wanted)
      found.push(await runCommand({ page, line, text: command, exit: 0 }, command, sandbox));
  return found;
}

async function runCommands(block, commands, sandbox) {
  const found = [];
  for (const command of commands) {
    const { text } = command;
    const replaced = block.annotations.reduce(
      (before, { type, from, to }) => (type === 'replace' ? before.replaceAll(from, to) : before),
      text,
    );
    found.push(await runCommand({ page: block.page, ...command }, replaced, sandbox));
  }
  return found;
}

async function runCommand({ page, line, text, notRun, exit }, typed, sandbox) {
  const what = text.replace(/\s+# .*$/, '');
  const result = (status, detail) => ({ page, line, what, status, detail });
  if (notRun !== undefined) return result('not run', notRun);
  if (kindOf(typed) === 'interactive' && !hasTmux) return result('unavailable', 'tmux is not installed');
  const how = typed === text ? undefined : `as ${typed}`;
  if (sandbox === undefined) return result('run', how);
  const { code, output } = await sandbox.run(typed);
  const [, missing] = /: (?:line \d+: )?([\w-]+): command not found/.exec(output) ?? [];
  if (OPTIONAL.has(missing)) return result('unavailable', `${missing} is not installed`);
  if (code === exit) return { ...result('run', how), output };
  const end = code === undefined ? 'does not end' : `exits with ${code} instead of ${exit}`;
  return result('failed', `${end}:\n${output.trimEnd()}`);
}

/** Checks the commands in a block that is not run. */
async function named({ page, line, language, lines }) {
  if (!SHELL.has(language)) return [];
  const commands = lines.flatMap((text, index) =>
    namedCommands(text).map((each) => ({ ...each, line: line + 1 + index })),
  );
  return (await Promise.all(commands.map((command) => inline(page, command)))).filter(
    ({ status }) => status === 'failed',
  );
}

/** The commands in code spans of the text. */
function inlineCommands(text) {
  return prose(text)
    .split('\n')
    .flatMap((line, index) =>
      [...line.matchAll(/`([^`]+)`/g)].flatMap(([, code]) =>
        namedCommands(code).map((command) => ({ ...command, line: index + 1 })),
      ),
    );
}

async function inline(page, { line, program, words }) {
  const problems = await commandProblems({ program, words });
  const what = [program, ...words].join(' ');
  return {
    page,
    line,
    what,
    status: problems.length === 0 ? 'checked' : 'failed',
    detail: problems.join('; '),
  };
}

async function compile(blocks) {
  const sources = blocks.filter(({ language }) => language === 'ts');
  const problems = values.list ? [] : await typeProblems(sources);
  return sources.map(({ page, line }, index) => {
    const detail = problems[index]?.join('\n') ?? '';
    return {
      page,
      line,
      what: 'types of the ts block',
      status: detail === '' ? 'checked' : 'failed',
      detail,
    };
  });
}

function inOrder(found) {
  const position = new Map(pages.map(({ path }, index) => [path, index]));
  return found.toSorted((a, b) => position.get(a.page) - position.get(b.page) || a.line - b.line);
}

function report(found) {
  const count = (status) => found.filter((each) => each.status === status).length;
  const totals = ['run', 'checked', 'tested', 'not run', 'unavailable', 'failed'].map(
    (status) => `${count(status)} ${status}`,
  );
  const shown = values.list
    ? found
    : found.filter(({ status }) => status === 'failed' || status === 'unavailable');
  if (values.json) console.log(JSON.stringify(found));
  else {
    for (const { page, line, what, status, detail } of shown)
      console.log(`${page}:${line}: ${status}: ${what}${detail ? `: ${detail}` : ''}`);
    console.log(totals.join(', '));
  }
  process.exitCode = count('failed') > 0 ? 1 : 0;
}
