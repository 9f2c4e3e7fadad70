import type { Host } from '../../pod/index.ts';
import type { Inventory } from '../door.ts';
import { firstPod, settingsFor } from './first-pod.ts';
import type { LinkHeader } from './link-header.ts';
import { isSameModel, modelWish, scopedModels } from './model-wish.ts';
import { NO_EXTENSIONS, type RpcParts } from './parts.ts';
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
  const { cwd, isOffline = false, hasMcp = true, hasRules = true, isAsking = false, models = [] } = header;
  const { reference, thinking } = modelWish(header);
  if (header.provider !== undefined) inventory.refuseUnknownProvider(header.provider);
  const wanted = isOffline ? SIMULATED : reference;
  const chosen = wanted === undefined ? undefined : await inventory.model(wanted);
  const sessions = {
    cwd,
    inMemory: false,
    settings: settingsFor({
      ...header,
      thinking,
      model: chosen && { provider: chosen.model.provider, modelId: chosen.model.id },
      tools: hasMcp ? header.tools : (header.tools ?? (await inventory.toolNames())),
    }),
  };
  const open = () => firstPod(host, sessions, header, inventory.session);
  // That there is no such session is told before the link is open; a new one is no reason to wait.
  const named = header.resume === undefined && header.fork === undefined ? undefined : await open();
  const parts: RpcParts = {
    host,
    sessions,
    first: async () => named ?? open(),
    models: async () => {
      if (isOffline && chosen !== undefined) return [chosen.model];
      const known = await inventory.models();
      const isMissing = chosen !== undefined && !known.some((model) => isSameModel(model, chosen.model));
      return scopedModels(isMissing ? [chosen.model, ...known] : known, models);
    },
    isScoped: models.length > 0,
    toolNames: inventory.toolNames,
    extensions: NO_EXTENSIONS,
    rules: hasRules ? inventory.streamRules() : [],
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

const SIMULATED = 'sim/offline';
