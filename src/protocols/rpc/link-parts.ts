import type { Host, ToolLimit } from '../../pod/index.ts';
import type { Inventory } from '../door.ts';
import { choiceOf, firstPod, newSettings, settingsFor } from './first-pod.ts';
import type { LinkHeader } from './link-header.ts';
import { isSameModel, modelWish, scopedModels } from './model-wish.ts';
import { NO_EXTENSIONS, type RpcLimits, type RpcParts } from './parts.ts';
import { UNASKED } from './unasked.ts';

export interface LinkSurroundings {
  readonly host: Host;
  readonly inventory: Inventory;
  readonly version: string;
  /** Told of everything that a client is refused. */
  readonly onRefused: () => void;
}

/** What a link to the daemon is served with, and what the person should know. Refuses what the header asks for in vain. */
export async function linkParts(
  header: LinkHeader,
  { host, inventory, version, onRefused }: LinkSurroundings,
): Promise<{ readonly parts: RpcParts; readonly notices: readonly string[] }> {
  const {
    cwd,
    hasMcp = true,
    hasContextFiles = true,
    hasRules = true,
    isAsking = false,
    models = [],
  } = header;
  const { reference, thinking } = modelWish(header);
  if (header.provider !== undefined) inventory.refuseUnknownProvider(header.provider);
  const chosen = reference === undefined ? undefined : await inventory.model(reference);
  const limits: RpcLimits = {
    toolLimit: hasMcp ? header.toolLimit : withoutMcp(header.toolLimit),
    contextFiles: hasContextFiles ? undefined : false,
  };
  const { system, appendSystem } = header;
  const flags = settingsFor({
    system,
    appendSystem,
    thinking,
    model: chosen && choiceOf(chosen.model),
    ...limits,
  });
  const model = choiceOf((chosen ?? (await inventory.model())).model);
  const sessions = {
    cwd,
    inMemory: false,
    flags,
    settings: newSettings(flags, model),
    directory: header.sessionDirectory,
  };
  const open = () => firstPod(host, sessions, header, inventory.session);
  // That there is no such session is told before the link is open; a new one is no reason to wait.
  const named = header.resume === undefined && header.fork === undefined ? undefined : await open();
  const parts: RpcParts = {
    host,
    sessions,
    first: async () => named ?? open(),
    models: async () => {
      const known = await inventory.models();
      const isMissing = chosen !== undefined && !known.some((model) => isSameModel(model, chosen.model));
      return scopedModels(isMissing ? [chosen.model, ...known] : known, models);
    },
    modelNamed: async (reference) => (await inventory.model(reference)).model,
    isScoped: models.length > 0,
    toolNames: inventory.toolNames,
    extensions: NO_EXTENSIONS,
    rules: hasRules ? inventory.streamRules() : [],
    limits,
    fallbackRules: isAsking ? [] : UNASKED,
    outlivesClient: true,
    onRefused,
    version,
    by: header.by,
    echoErrors: header.echoErrors ?? false,
    clearTodosAfterMs: 60_000,
    now: Date.now,
  };
  return { parts, notices: chosen?.notices ?? [] };
}

/** The servers of the daemon are there for all its sessions; what is left out are their tools. */
function withoutMcp(limit: ToolLimit | undefined): ToolLimit {
  return { ...limit, without: [...(limit?.without ?? []), 'mcp__*'] };
}
