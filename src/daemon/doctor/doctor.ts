import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { auditFiles, verifyAudit } from '../../audit/index.ts';
import { CALL_MARK_VARIABLE, isSecretName, messageOf, namesIn } from '../../base/index.ts';
import { usableAccounts, type Environment } from '../../llm/index.ts';
import { badCatalogueLines, Layout, sessionsIn } from '../../pod/sessions.ts';
import { readLock } from '../../store/index.ts';
import { damagedSessions } from './check-sessions.ts';
import type { Finding } from './finding.ts';
import { checkBackends } from './check-backends.ts';
import { checkGoogleCloud } from './check-google-cloud.ts';
import { checkSandbox } from './check-sandbox.ts';
import { checkWebSearch } from './check-web-search.ts';
import { type Config, readConfig, DEFAULT_CONFIG } from '../../setup/config/index.ts';
import { loadCommandSafety } from '../../setup/index.ts';
import {
  diskFree,
  makeDataDirectory,
  controlSocket,
  daemonLock,
  type DataPaths,
  podSocketPathsFit,
  SHORTER_PATH_HINT,
} from '../../setup/paths/index.ts';
import { readModels } from '../../setup/models/index.ts';
import { probeSocket } from '../sockets/socket-state.ts';

export interface DoctorOptions {
  readonly env: Environment;
  readonly dataPaths: DataPaths;
}

/** Checks everything that can be wrong, and changes nothing. The findings contain no keys. */
export async function examine({ env, dataPaths }: DoctorOptions): Promise<readonly Finding[]> {
  const { config, findings } = await configuration(dataPaths);
  return [
    ...findings,
    ...(await models(dataPaths)),
    ...keys(env, config, dataPaths),
    ...(await checkGoogleCloud(env, config)),
    ...(await checkWebSearch(env, config)),
    ...(await checkBackends(env, config, dataPaths)),
    ...dataDirectory(dataPaths),
    ...(await sockets(dataPaths)),
    ...locks(dataPaths),
    ...(await catalogue(dataPaths)),
    ...(await damagedSessions(dataPaths)),
    ...(await sandbox(env, config, dataPaths)),
    ...(await commands(env, config)),
    ...environment(),
    ...auditLog(dataPaths),
  ];
}

async function configuration(
  dataPaths: DataPaths,
): Promise<{ readonly config: Config; readonly findings: readonly Finding[] }> {
  const check = 'configuration';
  try {
    const { config, warnings } = await readConfig(dataPaths);
    const findings = warnings.map((text) => warning(check, text, 'follow the message'));
    const isThere = statSync(dataPaths.configFile, { throwIfNoEntry: false }) !== undefined;
    const found = isThere
      ? `${dataPaths.configFile} can be used`
      : `no ${dataPaths.configFile}: the defaults apply`;
    return { config, findings: findings.length > 0 ? findings : [ok(check, found)] };
  } catch (thrown) {
    const finding = bad(check, messageOf(thrown), `correct ${dataPaths.configFile}`);
    return { config: DEFAULT_CONFIG, findings: [finding] };
  }
}

function auditLog({ dataDirectory }: DataPaths): readonly Finding[] {
  const check = 'audit log';
  const { entries, problems } = verifyAudit(auditFiles(dataDirectory));
  const [first] = problems;
  if (first === undefined)
    return [
      ok(check, entries === 0 ? 'nothing was recorded so far' : `${entries} entries, the chain is intact`),
    ];
  const where = `${first.file}:${first.line}: ${first.problem}`;
  return [
    warning(check, where, 'polypod audit verify shows all of it; polypod audit shows what was recorded'),
  ];
}

async function models(dataPaths: DataPaths): Promise<readonly Finding[]> {
  try {
    const { models: known, warnings } = await readModels(dataPaths);
    const findings = warnings.map((text) => warning('models', text, 'polypod models refresh'));
    return findings.length > 0 ? findings : [ok('models', `${known.length} models are known`)];
  } catch (thrown) {
    return [bad('models', messageOf(thrown), `correct ${dataPaths.modelsFile}`)];
  }
}

function keys(env: Environment, { accounts }: Config, { configFile }: DataPaths): readonly Finding[] {
  const check = 'providers';
  try {
    const open = usableAccounts(env, accounts);
    const usable = open.map(({ name }) => name);
    const signing = open.flatMap(({ name, signer }) => (signer === undefined ? [] : [name]));
    const keyed = usable.filter((name) => !signing.includes(name));
    const lacking = accounts.map(({ name }) => name).filter((name) => !usable.includes(name));
    return [
      ...lacking.map((name) =>
        warning(
          check,
          `no key for the account ${name}`,
          `give its key as accounts.${name} in ${configFile} says`,
        ),
      ),
      ...signing.map((name) =>
        ok(check, `${name} uses credentials of AWS: polypod accounts test ${name} checks them`),
      ),
      ...(keyed.length > 0 ? [ok(check, `a key is available for ${keyed.join(', ')}`)] : []),
      ...(usable.length > 0
        ? []
        : [
            warning(
              check,
              'no provider key: Ollama on this machine answers, or the simulated model',
              'run polypod accounts add, or set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY',
            ),
          ]),
    ];
  } catch (thrown) {
    return [bad(check, messageOf(thrown), 'correct the variable it names')];
  }
}

const SCARCE_BYTES = 1024 ** 3;
const TOO_LITTLE_BYTES = 100 * 1024 ** 2;

function dataDirectory(dataPaths: DataPaths): readonly Finding[] {
  const check = 'data directory';
  try {
    makeDataDirectory(dataPaths);
  } catch (thrown) {
    return [bad(check, messageOf(thrown), 'correct its permissions, or use another with --data-dir')];
  }
  const free = diskFree(dataPaths.dataDirectory);
  const found = ok(check, `${dataPaths.dataDirectory} can be written`);
  if (free === undefined) return [found];
  const text = `${(free / 1024 ** 3).toFixed(1)} GB are free for ${dataPaths.dataDirectory}`;
  if (free < TOO_LITTLE_BYTES)
    return [found, bad('disk', text, 'free some space: sessions stop when it is full')];
  if (free < SCARCE_BYTES) return [found, warning('disk', text, 'free some space soon')];
  return [found, ok('disk', text)];
}

async function sockets(dataPaths: DataPaths): Promise<readonly Finding[]> {
  const check = 'daemon';
  const path = controlSocket(dataPaths);
  const state = await probeSocket(path);
  const pods = join(dataPaths.runtimeDirectory, 'pods');
  const stale: string[] = [];
  for (const name of namesIn(pods)) {
    if (name.endsWith('.sock') && (await probeSocket(join(pods, name))) === 'stale') stale.push(name);
  }
  return [
    ...(podSocketPathsFit(dataPaths)
      ? []
      : [
          warning(
            'sockets',
            `paths in ${dataPaths.runtimeDirectory} are too long for sockets of pods`,
            SHORTER_PATH_HINT,
          ),
        ]),
    state === 'live'
      ? ok(check, `a daemon is up on ${path}`)
      : state === 'none'
        ? ok(check, 'no daemon is up; polypod serve starts one')
        : warning(check, `${path} was left by a daemon that has ended`, 'polypod serve removes it'),
    ...(stale.length > 0
      ? [
          warning(
            'sockets',
            `${stale.length} sockets of pods in ${pods} are stale`,
            'polypod serve removes them when it starts and when it stops',
          ),
        ]
      : []),
  ];
}

function locks(dataPaths: DataPaths): readonly Finding[] {
  const { sessions } = new Layout(dataPaths.dataDirectory);
  const files = namesIn(sessions)
    .filter((name) => name.endsWith('.jsonl.lock'))
    .map((name) => join(sessions, name.slice(0, -'.lock'.length)));
  const found = [daemonLock(dataPaths), ...files].map((file) => ({ file, lock: readLock(file) }));
  const dead = found.filter(({ lock }) => lock?.state === 'dead');
  const elsewhere = found.filter(({ lock }) => lock?.state === 'elsewhere');
  const held = found.filter(({ lock }) => lock?.state === 'alive').length;
  return [
    ...elsewhere.map(({ file, lock }) =>
      warning(
        'locks',
        `${file} is locked by process ${lock?.owner.pid} on the host ${lock?.owner.host}`,
        `close it there; if that host is gone, rm -r ${file}.lock`,
      ),
    ),
    dead.length > 0
      ? ok('locks', `${dead.length} were left by processes that have ended; they are taken over when needed`)
      : ok('locks', held === 0 ? 'none is held' : `${held} held, all by running processes`),
  ];
}

async function commands(env: Environment, config: Config): Promise<readonly Finding[]> {
  const { commandSafety, describeCommandSafety } = await loadCommandSafety();
  const safety = await commandSafety(env, config);
  const { isolation, limits } = describeCommandSafety(safety);
  const isChosen = config.permissions.isolateCommands === false;
  return [
    safety.isolation.state === 'on' || isChosen
      ? ok('commands', isolation)
      : warning(
          'commands',
          isolation,
          'an approved command can read the memory of Polypod: make bubblewrap work, or use another user for agents',
        ),
    safety.limits.unenforced.length === 0 || config.daemon.commandLimits === undefined
      ? ok('limits', limits)
      : warning('limits', limits, 'run Polypod under systemd, or as a user that may make control groups'),
    ...(config.daemon.allowAgentPeers === true
      ? [
          warning(
            'sockets',
            'commands of agents may connect to our sockets, and so approve their own calls',
            'remove allow_agent_processes from sockets in the configuration',
          ),
        ]
      : []),
  ];
}

/** Whether keys were removed from the environment that the system shows to other processes. */
function environment(): readonly Finding[] {
  const check = 'environment';
  try {
    const names = readFileSync('/proc/self/environ', 'latin1')
      .split('\0')
      .map((entry) => entry.split('=')[0] ?? '');
    const left = names.filter((name) => name !== CALL_MARK_VARIABLE && isSecretName(name));
    if (left.length === 0) return [ok(check, 'no other process can read keys from our environment')];
    return [warning(check, `other processes of this user can read ${left.join(', ')} from ours`, KEY_FILES)];
  } catch {
    return [warning(check, 'other processes of this user can read our environment here', KEY_FILES)];
  }
}

const KEY_FILES = 'give keys by key_file in config.yaml instead of variables';

async function catalogue(dataPaths: DataPaths): Promise<readonly Finding[]> {
  const check = 'catalogue';
  const next = 'polypod doctor --rebuild rebuilds it from the session files';
  const layout = new Layout(dataPaths.dataDirectory);
  try {
    const rows = sessionsIn(dataPaths.dataDirectory);
    const badLines = await badCatalogueLines(dataPaths.dataDirectory);
    const listed = new Set(rows.map(({ id }) => layout.session(id)));
    const files = namesIn(layout.sessions).filter((name) => name.endsWith('.jsonl'));
    const unlisted = files.filter((name) => !listed.has(join(layout.sessions, name)));
    const gone = rows.filter(
      ({ file }) => statSync(layout.path(file), { throwIfNoEntry: false }) === undefined,
    );
    const findings = [
      ...(unlisted.length > 0
        ? [bad(check, `${unlisted.length} session files are not in it, such as ${unlisted[0]}`, next)]
        : []),
      ...(gone.length > 0
        ? [bad(check, `${gone.length} sessions in it have no file, such as ${gone[0]?.id}`, next)]
        : []),
      ...(badLines > 0 ? [warning(check, `${badLines} lines of it cannot be read`, next)] : []),
    ];
    return findings.length > 0 ? findings : [ok(check, `${rows.length} sessions, each with its file`)];
  } catch (thrown) {
    return [bad(check, messageOf(thrown), next)];
  }
}

/** Not a problem unless a sandbox is configured: without one, commands need approval or run unprotected. */
async function sandbox(env: Environment, config: Config, dataPaths: DataPaths): Promise<readonly Finding[]> {
  try {
    const features = await checkSandbox(env, dataPaths);
    const when = config.sandbox.enabled === true ? 'on for every agent' : 'available with --sandbox';
    return [ok('sandbox', `${when}: ${features.join(', ')}`)];
  } catch (thrown) {
    const text = messageOf(thrown);
    const next = 'follow the message, or work without --sandbox';
    return [config.sandbox.enabled === true ? bad('sandbox', text, next) : warning('sandbox', text, next)];
  }
}

function ok(check: string, text: string): Finding {
  return { check, state: 'ok', text };
}

function warning(check: string, text: string, next: string): Finding {
  return { check, state: 'warning', text, next };
}

function bad(check: string, text: string, next: string): Finding {
  return { check, state: 'bad', text, next };
}
