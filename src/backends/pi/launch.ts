import { randomUUID } from 'node:crypto';
import { access, mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { type Env, PolypodError } from '../../base/index.ts';
import type { AgentSettings, ConnectOptions, SessionStart } from '../agent-program.ts';
import { GATE_SOURCE } from './gate.ts';

type LaunchOptions = Pick<
  ConnectOptions,
  'cwd' | 'directory' | 'env' | 'settings' | 'start' | 'trustProject'
>;

/** Writes the files that pi reads, and returns its arguments. Rejects if the session to resume does not exist. */
export async function prepareLaunch(options: LaunchOptions): Promise<readonly string[]> {
  const { cwd, directory, env, settings, start, trustProject } = options;
  const gate = join(directory, 'gate.js');
  await writeFile(gate, GATE_SOURCE, { mode: 0o600 });
  return [
    '--mode',
    'rpc',
    '--extension',
    gate,
    // Without it, pi trusts a project of which the user's own settings, or an earlier session, say so.
    trustProject ? '--approve' : '--no-approve',
    ...(await sessionArguments(start, sessionDirectory(env, cwd))),
    ...modelArguments(settings),
    ...toolArguments(settings),
    ...(await promptArguments(settings, directory, env)),
  ];
}

/** The home directory of the program, which `~` in paths stands for. */
export function homeOf(env: Env): string {
  return env.HOME ?? homedir();
}

/**
 * The directory of the project's sessions, as pi computes it. It is always passed: pi reads the setting `sessionDir` of a project
 * even if the project is not trusted.
 */
function sessionDirectory(env: Env, cwd: string): string {
  if (env.PI_CODING_AGENT_SESSION_DIR) return expandHome(env.PI_CODING_AGENT_SESSION_DIR, env);
  const project = `--${resolve(cwd)
    .replace(/^\//, '')
    .replaceAll(/[/\\:]/g, '-')}--`;
  return join(agentDirectory(env), 'sessions', project);
}

/** The directory of the user's own configuration of pi. */
function agentDirectory(env: Env): string {
  return expandHome(env.PI_CODING_AGENT_DIR || '~/.pi/agent', env);
}

function expandHome(path: string, env: Env): string {
  return resolve(/^~(?:\/|$)/.test(path) ? join(homeOf(env), path.slice(1)) : path);
}

async function sessionArguments(start: SessionStart, directory: string): Promise<readonly string[]> {
  const inDirectory = ['--session-dir', directory];
  if (start.type === 'new') return [...inDirectory, '--session', await createSessionFile(directory)];
  const { sessionId: path } = start;
  await requireSession(path);
  return [...inDirectory, start.type === 'resume' ? '--session' : '--fork', path];
}

/**
 * pi writes a session only after the first answer, unless its file exists: then it writes every entry at once, and the session can be
 * resumed from the start.
 */
async function createSessionFile(directory: string): Promise<string> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const time = new Date().toISOString().replaceAll(/[:.]/g, '-');
  const path = join(directory, `${time}_${randomUUID()}.jsonl`);
  await writeFile(path, '', { mode: 0o600, flag: 'wx' });
  return path;
}

/** pi would start an empty session if the file were missing. */
async function requireSession(path: string): Promise<void> {
  if (isAbsolute(path) && (await exists(path))) return;
  throw new PolypodError('not-found', `pi has no session ${path}: its file is missing. Start a new session.`);
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}

function modelArguments({ model, thinking }: AgentSettings): readonly string[] {
  return [
    ...(model === undefined ? [] : ['--model', model]),
    ...(thinking === undefined ? [] : ['--thinking', thinking]),
  ];
}

function toolArguments({ allowedTools, disallowedTools }: AgentSettings): readonly string[] {
  return [
    ...(allowedTools === undefined ? [] : ['--tools', allowedTools.join(',')]),
    ...(disallowedTools === undefined ? [] : ['--exclude-tools', disallowedTools.join(',')]),
  ];
}

/** Prompts are passed as files: arguments have a maximum length, and other users can read them. */
async function promptArguments(
  { system, appendSystem }: AgentSettings,
  directory: string,
  env: Env,
): Promise<readonly string[]> {
  const save = async (name: string, text: string): Promise<string> => {
    const path = join(directory, name);
    await writeFile(path, text, { mode: 0o600 });
    return path;
  };
  const replaced = system === undefined ? [] : ['--system-prompt', await save('system-prompt.md', system)];
  if (appendSystem === undefined) return replaced;
  // With the option, pi no longer reads the user's own file by itself.
  const own = join(agentDirectory(env), 'APPEND_SYSTEM.md');
  const added = [...((await exists(own)) ? [own] : []), await save('append-system-prompt.md', appendSystem)];
  return [...replaced, ...added.flatMap((path) => ['--append-system-prompt', path])];
}
