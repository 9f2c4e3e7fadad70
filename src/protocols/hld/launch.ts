import { randomUUID } from 'node:crypto';
import { PolypodError } from '../../base/index.ts';
import {
  endRun,
  type Pod,
  type PodCommand,
  type PodSettings,
  readCommand,
  type Row,
  type SettingsChange,
} from '../../pod/index.ts';
import { whileDoing } from './errors.ts';
import { claudeSessionId } from './identity.ts';
import { additionsIn, directoryIn, settingsOf, skipUntil, type Wish, wishIn } from './launch-wish.ts';
import { annotated, type Notes, notesIn } from './notes.ts';
import type { Params } from './params.ts';
import { skipping } from './session.ts';
import type { Sessions } from './sessions.ts';
import { CALLER, type HldSettings } from './settings.ts';
import { toolRules, withToolLists } from './tool-rules.ts';
import { NATIVE_PERMISSION_TOOL, type SessionStatus } from './wire.ts';

/** Begins sessions, and goes on with them in new ones. */
export class Launcher {
  readonly #settings: HldSettings;
  readonly #sessions: Sessions;
  readonly #now: () => number;

  constructor(settings: HldSettings, sessions: Sessions, now: () => number) {
    this.#settings = settings;
    this.#sessions = sessions;
    this.#now = now;
  }

  async launch(params: Params): Promise<{ readonly session_id: string; readonly run_id: string }> {
    const query = params.required('query');
    const wish: Wish = { query, ...wishIn(params) };
    const title = params.text('title');
    const skips = params.flag('dangerously_skip_permissions') ?? false;
    const timeoutMs = params.count('dangerously_skip_permissions_timeout');
    const verbose = params.flag('verbose') ?? false;
    const cwd = directoryIn(params, this.#settings);
    const model = await this.#model(params.text('model'));
    const notes: Notes = { ...notesOf(wish), ...(verbose && { verbose }) };
    const settings = checked({
      ...settingsOf(wish),
      rules: [...toolRules(wish)],
      ...(title === undefined ? {} : { name: title }),
      ...(model && { model }),
      ...(skips && { skipPermissionsUntil: skipUntil(timeoutMs, this.#now()) }),
      annotations: annotated(undefined, notes),
    });
    return this.#sessions.whileLaunching(notes.launch, async () => {
      const pod = await this.#settings.host.create({ cwd, settings });
      const runId = await begin(pod, wish, notes, 'failed to launch Claude session');
      return { session_id: pod.id, run_id: runId };
    });
  }

  async goOn(params: Params) {
    const parentId = params.required('session_id');
    const query = params.required('query');
    const asked = wishIn(params);
    const parent = await this.#sessions.row(parentId, 'failed to get parent session');
    const { host } = this.#settings;
    if (this.#statusToGoOn(parent) === 'running') await endRun(host.pod(parentId), CALLER);
    const { settings, stats } = await host.pod(parentId).snapshot();
    const wish = inherited(asked, query, settings, parent);
    const notes: Notes = { ...notesOf(wish), before: { ...stats.totals, cost: stats.totals.cost ?? 0 } };
    const change = this.#changeFor(wish, notes, settings);
    return this.#sessions.whileLaunching(notes.launch, async () => {
      const pod = await host.fork(parentId);
      await pod.handle(change, CALLER);
      const runId = await begin(pod, wish, notes, 'failed to launch resumed Claude session');
      return {
        session_id: pod.id,
        run_id: runId,
        claude_session_id: claudeSessionId(pod.id),
        parent_session_id: parentId,
      };
    });
  }

  #statusToGoOn(parent: Row): SessionStatus {
    const status = this.#sessions.status(parent);
    if (GOES_ON.has(status)) return status;
    throw new PolypodError(
      'conflict',
      `cannot continue session with status ${status} (must be completed, interrupted, running, or failed)`,
    );
  }

  /** What makes a fork of the parent the session that is wanted. The rest it has from the fork. */
  #changeFor(
    wish: Wish,
    notes: Notes,
    { rules, name, annotations, skipPermissionsUntil }: PodSettings,
  ): PodCommand {
    const isExpired = !skipping(skipPermissionsUntil, this.#now()).isOn;
    return readCommand({
      type: 'configure',
      set: {
        ...settingsOf(wish),
        rules: withToolLists(rules, notesIn(annotations) ?? {}, wish),
        archived: false,
        ...(name === undefined ? {} : { name }),
        annotations: annotated(undefined, notes),
      },
      clear: [
        ...(isExpired ? ['skipPermissionsUntil'] : []),
        ...(wish.permissionPromptTool === NATIVE_PERMISSION_TOOL ? ['permissionTool'] : []),
      ],
    });
  }

  /** As the wire has it, a word that names no model is no reason to refuse: the session shows which one answers. */
  async #model(word: string | undefined) {
    if (word === undefined) return undefined;
    const model = await this.#settings.modelNamed(word).catch(() => undefined);
    if (model === undefined)
      this.#settings.log.warn('a client asked for a model that is not known', { model: word });
    return model;
  }
}

/** The statuses of sessions that can be gone on with. */
const GOES_ON: ReadonlySet<SessionStatus> = new Set(['completed', 'interrupted', 'running', 'failed']);

/** A pod is made with what it would also take as a change; the rest is refused before there is one. */
function checked(settings: SettingsChange): SettingsChange {
  readCommand({ type: 'configure', set: settings });
  return settings;
}

/** The session's first run. A session that cannot begin stays, with the reason. */
async function begin(pod: Pod, { query, maxTurns }: Wish, notes: Notes, doing: string): Promise<string> {
  try {
    const { runId = '' } = await pod.handle(
      {
        type: 'prompt',
        content: [{ type: 'text', text: query }],
        ...(maxTurns === undefined ? {} : { overrides: { maxTurns } }),
      },
      CALLER,
    );
    return runId;
  } catch (thrown) {
    const failure = whileDoing(doing, thrown);
    const annotations = annotated(undefined, { ...notes, error: failure.message.slice(0, LONGEST_ERROR) });
    // Why it could not begin is what the client has to know, not that this could not be kept.
    await pod.handle({ type: 'configure', set: { annotations } }, CALLER).catch(() => {});
    throw failure;
  }
}

const LONGEST_ERROR = 1_000;

function notesOf({ query, allowedTools, disallowedTools }: Wish): Notes {
  return {
    query,
    launch: randomUUID(),
    ...(allowedTools && { allowedTools }),
    ...(disallowedTools && { disallowedTools }),
  };
}

/** What is asked for, and for the rest what the parent had. How many turns it may take is not inherited. */
function inherited(asked: Omit<Wish, 'query'>, query: string, settings: PodSettings, parent: Row): Wish {
  const { allowedTools, disallowedTools } = notesIn(parent.annotations) ?? {};
  return {
    ...additionsIn(settings),
    ...(allowedTools && { allowedTools }),
    ...(disallowedTools && { disallowedTools }),
    ...asked,
    query,
  };
}
