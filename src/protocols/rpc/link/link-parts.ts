import { backendModel, type OfferedModel, type Host, type ToolLimit } from '../../../pod/index.ts';
import type { Inventory } from '../../inventory.ts';
import { choiceOf, firstPod, newSettings, settingsFor } from '../sessions/first-pod.ts';
import type { LinkHeader } from './link-header.ts';
import { type ModelScope, modelScope, scopeNotices } from '../sessions/model-scope.ts';
import { firstOf, isSameModel, type ModelSelection, modelSelection } from '../sessions/model-selection.ts';
import { NO_EXTENSIONS, type RpcLimits, type RpcParts } from '../parts.ts';
import { DEFAULT_RULES } from '../host-side/default-rules.ts';

export interface LinkContext {
  readonly host: Host;
  readonly inventory: Inventory;
  readonly version: string;
  /** Called for every request that is refused. */
  readonly onRefused: () => void;
}

/** What a link to the daemon is served with, and notices for the person. Throws if the header cannot be satisfied. */
export async function linkParts(
  header: LinkHeader,
  { host, inventory, version, onRefused }: LinkContext,
): Promise<{ readonly parts: RpcParts; readonly notices: readonly string[] }> {
  const {
    cwd,
    hasMcp = true,
    hasContextFiles = true,
    hasPrompts = true,
    hasRules = true,
    isAsking = false,
    models = [],
  } = header;
  if (header.provider !== undefined) await inventory.refuseUnknownProvider(header.provider);
  const scope = models.length === 0 ? NO_SCOPE : modelScope(await inventory.models(), models);
  const { reference, thinking } = selectionFor(header, scope);
  const backend = host.backendFor(header.backend);
  const chosen =
    reference === undefined || backend !== undefined ? undefined : await inventory.model(reference);
  const limits: RpcLimits = {
    toolLimit: hasMcp ? header.toolLimit : withoutMcp(header.toolLimit),
    contextFiles: hasContextFiles ? undefined : false,
  };
  const { system, appendSystem } = header;
  const flags = settingsFor({
    system,
    appendSystem,
    thinking,
    model:
      backend !== undefined && reference !== undefined
        ? backendModel(backend, reference)
        : chosen && choiceOf(chosen.model),
    ...limits,
  });
  const model =
    backend === undefined
      ? choiceOf((chosen ?? (await inventory.model())).model)
      : backendModel(backend, 'default');
  const sessions = {
    cwd,
    inMemory: false,
    flags,
    settings: newSettings(flags, model, backend),
    directory: header.sessionDirectory,
  };
  const open = () => firstPod(host, sessions, header, inventory.session);
  // A missing session is reported before the link is open.
  const first = await open();
  const parts: RpcParts = {
    host,
    sessions,
    first: async () => first,
    models: async () => {
      const known = await inventory.models();
      const isMissing = chosen !== undefined && !known.some((model) => isSameModel(model, chosen.model));
      return isMissing ? [chosen.model, ...known] : known;
    },
    modelNamed: async (reference) => (await inventory.model(reference)).model,
    scope: models,
    toolNames: inventory.toolNames,
    extensions: NO_EXTENSIONS,
    prompts: hasPrompts ? inventory.promptFiles(cwd) : undefined,
    rules: hasRules ? inventory.streamRules() : [],
    limits,
    fallbackRules: isAsking ? [] : DEFAULT_RULES,
    survivesClient: true,
    onRefused,
    version,
    by: header.by,
    echoErrors: header.echoErrors ?? false,
    clearTodosAfterMs: 60_000,
    now: Date.now,
  };
  return { parts, notices: [...(chosen?.notices ?? []), ...scopeNotices(scope)] };
}

const NO_SCOPE: ModelScope<OfferedModel> = { models: [], unmatched: [] };

/** A new session uses the first model of its scope, unless the options name another one. */
function selectionFor(header: LinkHeader, { models: [first] }: ModelScope<OfferedModel>): ModelSelection {
  const selection = modelSelection(header);
  const isNew = header.resume === undefined && header.fork === undefined && header.isContinued !== true;
  return first === undefined || !isNew || selection.reference !== undefined
    ? selection
    : firstOf(first, selection);
}

/** The daemon's MCP servers are shared by all sessions, so the limit excludes their tools instead. */
function withoutMcp(limit: ToolLimit | undefined): ToolLimit {
  return { ...limit, without: [...(limit?.without ?? []), 'mcp__*'] };
}
