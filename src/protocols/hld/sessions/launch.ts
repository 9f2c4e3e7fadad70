import { randomUUID } from 'node:crypto';
import { ellipsize, type JsonObject, PolypodError, withoutUndefined } from '../../../base/index.ts';
import {
  backendModel,
  endRun,
  OWN_BACKEND,
  type Pod,
  type PodSettings,
  readCommand,
  type ValidCommand,
  type Row,
  type SettingsChange,
} from '../../../pod/index.ts';
import { withOperation } from '../errors.ts';
import { claudeSessionId } from './identity.ts';
import {
  additionsIn,
  directoryIn,
  settingsOf,
  skipFor,
  type LaunchRequest,
  readLaunchRequest,
} from './launch-request.ts';
import { annotated, type Notes, notesIn } from './notes.ts';
import type { Params } from '../params.ts';
import { skipping } from './session.ts';
import type { Sessions } from './sessions.ts';
import { CALLER, type HldSettings } from '../settings.ts';
import { titleSettings, titleIn, titleOf } from './title.ts';
import { toolLimitWith, toolRules, withToolLists } from './tool-rules.ts';
import type { Phase } from './status.ts';
import { NATIVE_PERMISSION_TOOL } from '../wire.ts';

/** Launches sessions, and continues sessions in new ones. */
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
    const request: LaunchRequest = { query, ...readLaunchRequest(params) };
    const title = titleIn(params);
    const skips = params.flag('dangerously_skip_permissions') ?? false;
    const timeoutMs = params.count('dangerously_skip_permissions_timeout');
    const verbose = params.flag('verbose') ?? false;
    const cwd = directoryIn(params, this.#settings);
    const backend = this.#settings.host.backendFor(params.text('backend'));
    const model = await this.#model(params.text('model'), backend);
    const notes: Notes = { ...notesOf(request), ...(verbose && { verbose }) };
    const settings = checked({
      ...settingsOf(request),
      rules: [...toolRules(request)],
      fallbackRules: [...ASK_BEFORE_EDITS],
      toolLimit: toolLimitWith(undefined, {}, request),
      ...withoutUndefined({ model }),
      backend: backend ?? OWN_BACKEND,
      ...(skips && skipFor(timeoutMs, this.#now())),
      ...titleSettings(title ?? '', annotated(undefined, notes)),
    });
    return this.#sessions.whileLaunching(notes.launch, async () => {
      const pod = await this.#settings.host.create({
        cwd,
        settings: (id) => ({ ...settings, ...this.#contextFor(id, notes, request.mcpConfig) }),
      });
      await begin(pod, request, notes, 'failed to launch Claude session');
      return { session_id: pod.id, run_id: notes.run };
    });
  }

  async continueSession(params: Params) {
    const parentId = params.required('session_id');
    const query = params.required('query');
    const asked = readLaunchRequest(params);
    const parent = await this.#sessions.row(parentId, 'failed to get parent session');
    const { host } = this.#settings;
    if (this.#phaseToContinue(parent) === 'running') await endRun(host.pod(parentId), CALLER);
    const { settings, stats } = await host.pod(parentId).snapshot();
    const request = inherited(asked, query, settings, parent);
    const notes: Notes = { ...notesOf(request), before: { ...stats.totals, cost: stats.totals.cost ?? 0 } };
    return this.#sessions.whileLaunching(notes.launch, async () => {
      const pod = await host.fork(parentId);
      await pod.perform(this.#changeFor(pod.id, request, notes, settings), CALLER);
      await begin(pod, request, notes, 'failed to launch resumed Claude session');
      return {
        session_id: pod.id,
        run_id: notes.run,
        claude_session_id: claudeSessionId(pod.id),
        parent_session_id: parentId,
      };
    });
  }

  #phaseToContinue(parent: Row): Phase {
    const phase = this.#sessions.phase(parent);
    if (GOES_ON.has(phase)) return phase;
    throw new PolypodError(
      'conflict',
      `cannot continue session with status ${phase} (must be completed, interrupted, running, or failed)`,
    );
  }

  /** The settings that turn a fork of the parent into the requested session. The fork inherits the rest. */
  #changeFor(id: string, request: LaunchRequest, notes: Notes, parent: PodSettings): ValidCommand {
    const { rules, toolLimit, annotations, skipPermissionsUntil, mcpConfig } = parent;
    const isExpired = !skipping(skipPermissionsUntil, this.#now()).isOn;
    const before = notesIn(annotations) ?? {};
    return readCommand({
      type: 'configure',
      set: {
        ...settingsOf(request),
        ...this.#contextFor(id, notes, request.mcpConfig ?? mcpConfig),
        rules: withToolLists(rules, before, request),
        toolLimit: toolLimitWith(toolLimit, before, request),
        archived: false,
        ...titleSettings(titleOf(parent), annotated(undefined, notes)),
      },
      clear: [
        ...(isExpired ? ['skipPermissionsUntil'] : []),
        ...(request.permissionPromptTool === NATIVE_PERMISSION_TOOL ? ['permissionTool'] : []),
      ],
    });
  }

  /** The environment of a client's MCP servers: to request approvals, they need the socket and the run. */
  #contextFor(
    id: string,
    { run }: Notes,
    mcpConfig: JsonObject | undefined,
  ): Pick<PodSettings, 'mcpContext'> {
    if (mcpConfig === undefined) return {};
    return {
      mcpContext: {
        env: {
          HUMANLAYER_RUN_ID: run,
          HUMANLAYER_SESSION_ID: id,
          HUMANLAYER_DAEMON_SOCKET: this.#settings.socketPath,
        },
        headers: { 'X-Session-ID': id },
      },
    };
  }

  /** As in the original protocol, an unknown model is not an error: the session shows which model answers. */
  async #model(word: string | undefined, backend: string | undefined) {
    if (word === undefined) return undefined;
    if (backend !== undefined) return backendModel(backend, word);
    const model = await this.#settings.modelNamed(word).catch(() => undefined);
    if (model === undefined) this.#settings.log.warn('a client requested an unknown model', { model: word });
    return model;
  }
}

const GOES_ON: ReadonlySet<Phase> = new Set(['completed', 'interrupted', 'running', 'failed']);

/** A pod is created only with settings that it would also accept as a change. Others are refused before it exists. */
function checked(settings: SettingsChange): SettingsChange {
  readCommand({ type: 'configure', set: settings });
  return settings;
}

/** Starts the session's first run. A session that cannot start stays, with the reason. */
async function begin(
  pod: Pod,
  { query, maxTurns }: LaunchRequest,
  notes: Notes,
  doing: string,
): Promise<void> {
  try {
    await pod.handle(
      {
        type: 'prompt',
        content: [{ type: 'text', text: query }],
        runId: notes.run,
        ...(maxTurns === undefined ? {} : { overrides: { maxTurns } }),
      },
      CALLER,
    );
  } catch (thrown) {
    const failure = withOperation(doing, thrown);
    // The client needs the reason why the launch failed, not that this reason could not be stored.
    await noteFailure(pod, { ...notes, error: ellipsize(failure.message, LONGEST_ERROR) }).catch(() => {});
    throw failure;
  }
}

async function noteFailure(pod: Pod, notes: Notes): Promise<void> {
  const { settings } = await pod.snapshot();
  const annotations = annotated(settings.annotations, notes);
  await pod.handle({ type: 'configure', set: { annotations } }, CALLER);
}

/** Clients of this protocol expect an approval before files change, unless they accept edits. */
const ASK_BEFORE_EDITS: PodSettings['rules'] = [
  { tool: 'edit', action: 'ask' },
  { tool: 'write', action: 'ask' },
];

const LONGEST_ERROR = 1_000;

function notesOf({ query, allowedTools, disallowedTools }: LaunchRequest): Notes {
  return {
    query,
    launch: randomUUID(),
    run: randomUUID(),
    ...withoutUndefined({ allowedTools, disallowedTools }),
  };
}

/** The request, with the parent's values for absent fields. The maximum number of turns is not inherited. */
function inherited(
  asked: Omit<LaunchRequest, 'query'>,
  query: string,
  settings: PodSettings,
  parent: Row,
): LaunchRequest {
  const { allowedTools, disallowedTools } = notesIn(parent.annotations) ?? {};
  return {
    ...additionsIn(settings),
    ...withoutUndefined({ allowedTools, disallowedTools }),
    ...asked,
    query,
  };
}
