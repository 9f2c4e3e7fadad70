// Checks of blocks and commands that are not run: syntax, types, configuration, options.
import { execFile } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { readConfig } from '../../dist/setup/index.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MAIN = join(ROOT, 'dist/cli/main.js');
const exec = promisify(execFile);

/** Checks a block by its language. Returns what is wrong with it, or undefined for a language without a check. */
export async function blockProblems({ language, lines }) {
  const text = `${lines.join('\n')}\n`;
  if (language === 'json' || language === 'jsonl') return jsonProblems(text, lines);
  if (language === 'yaml') return configurationProblems(text);
  if (language === 'js') return output(inDirectory((directory) => syntaxOf(directory, text)));
  return undefined;
}

/**
 * Compiles TypeScript blocks like programs that have the package installed. Returns the messages of the compiler for each block; a
 * message that names no block belongs to the first one.
 */
export async function typeProblems(blocks) {
  if (blocks.length === 0) return [];
  const files = blocks.map((_, index) => `block-${index}.mts`);
  const compiled = inDirectory(async (directory) => {
    mkdirSync(join(directory, 'node_modules'));
    symlinkSync(ROOT, join(directory, 'node_modules/polypod'));
    symlinkSync(join(ROOT, 'node_modules/@types'), join(directory, 'node_modules/@types'));
    for (const [index, { lines }] of blocks.entries())
      writeFileSync(join(directory, files[index]), lines.join('\n'));
    const options = '--strict --noEmit --module nodenext --target es2023 --types node --skipLibCheck'.split(
      ' ',
    );
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    return exec(process.execPath, [tsc, ...options, ...files], { cwd: directory });
  });
  const messages = await output(compiled);
  const fileOf = (message) => files.find((file) => message.startsWith(file)) ?? files[0];
  return files.map((file) => messages.filter((message) => fileOf(message) === file));
}

/** Whether a test replays or runs the marked block: a test that names the page and the kind of the marker. */
export function isTested({ page, marker: { kind, name } }) {
  // The name of a recorded stream is the name of its fixture.
  const words = kind === 'tested' && !name.includes('/') ? [page, kind, name] : [page, kind];
  return testFiles().some((text) => words.every((word) => text.includes(word)));
}

let tests;
function testFiles() {
  tests ??= readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => readFileSync(join(ROOT, 'test', path), 'utf8'));
  return tests;
}

/** The commands of Polypod and the scripts of npm that a text in a page names. */
export function namedCommands(text) {
  const polypod = /(?:^|[|&;(]\s*)(?:npx --no-install )?polypod((?: [^|&;)\n#]+)?)/gm;
  const npm = /\bnpm run ([\w:]+)/g;
  return [
    ...[...text.matchAll(polypod)].map(([, rest]) => ({ program: 'polypod', words: wordsIn(rest) })),
    ...[...text.matchAll(npm)].map(([, name]) => ({ program: 'npm run', words: [name] })),
  ];
}

/** What is wrong with a command: it, its subcommand or an option does not exist. */
export async function commandProblems({ program, words }) {
  if (program === 'npm run') {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    return words[0] in scripts ? [] : [`package.json has no script "${words[0]}"`];
  }
  const isRpc = words[0] === '--mode';
  const named = isRpc ? words.slice(0, 2) : words.slice(0, 1).filter((word) => /^[a-z]/.test(word));
  const help = await helpOf(named.join(' '));
  if (help === undefined) return [`there is no command "polypod ${named.join(' ')}"`];
  const [, usage = ''] = /^Usage: polypod \S+(.*)$/m.exec(help) ?? [];
  const [, subcommand] = words;
  // Usage lines name subcommands in lower case, and arguments in upper case.
  const subcommands = [...usage.matchAll(/(?:^|\|| \[)\s*([a-z-]+)/g)].map(([, word]) => word);
  const problems = options(words).filter((option) => !new RegExp(`^\\s.*?${option}\\b`, 'm').test(help));
  return [
    ...(isRpc ||
    subcommands.length === 0 ||
    !/^[a-z]+$/.test(subcommand ?? '') ||
    subcommands.includes(subcommand)
      ? []
      : [`polypod ${named} has no subcommand "${subcommand}"`]),
    ...problems.map((option) => `polypod ${named.join(' ')} has no option ${option}`),
  ];
}

function options(words) {
  return words
    .flatMap((word) => /^(--[a-z][a-z-]*)/.exec(word)?.[1] ?? [])
    .filter((option) => option !== '--help');
}

const helps = new Map();
function helpOf(command) {
  if (!helps.has(command))
    helps.set(
      command,
      exec(process.execPath, [MAIN, ...command.split(' ').filter(Boolean), '--help']).then(
        ({ stdout }) => stdout,
        () => undefined,
      ),
    );
  return helps.get(command);
}

/** Quoted text is one word, without its content. */
function wordsIn(text) {
  return text
    .replaceAll(/"[^"]*"|'[^']*'/g, 'QUOTED')
    .split(/[\s,]+/)
    .filter(Boolean);
}

function jsonProblems(text, lines) {
  const parses = (json) => {
    try {
      return JSON.parse(json) !== undefined;
    } catch {
      return false;
    }
  };
  if (parses(text)) return [];
  return lines.filter((line) => line.trim() !== '' && !parses(line)).map((line) => `not JSON: ${line}`);
}

/** Reads YAML as the program reads its config.yaml. A part of a file needs no version. */
async function configurationProblems(text) {
  return output(
    inDirectory(async (home) => {
      const configFile = join(home, 'config.yaml');
      writeFileSync(configFile, /^version:/m.test(text) ? text : `version: 1\n${text}`, { mode: 0o600 });
      await readConfig({ configFile, home });
      return { stdout: '' };
    }),
  );
}

function syntaxOf(directory, text) {
  writeFileSync(join(directory, 'block.mjs'), text);
  return exec(process.execPath, ['--check', join(directory, 'block.mjs')]);
}

/** The lines that a check has printed, or its error. */
async function output(check) {
  return check.then(
    ({ stdout }) => stdout.split('\n').filter(Boolean),
    (error) => (error.stdout || error.stderr || error.message).split('\n').filter(Boolean),
  );
}

async function inDirectory(work) {
  const directory = mkdtempSync(join(tmpdir(), 'polypod-block-'));
  try {
    return await work(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
