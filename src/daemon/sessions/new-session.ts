import type { ThinkingLevel } from '../../llm/index.ts';
import { withoutUndefined } from '../../base/index.ts';
import { backendModel, type Host, type ModelChoice } from '../../pod/index.ts';
import type { PermissionMode } from '../../tools/index.ts';
import type { ModelAccess } from '../../setup/models/index.ts';

/** The request for a new session. */
export interface NewSession {
  readonly cwd: string;
  readonly name?: string;
  /** The agent that does the work; by default the configured one. */
  readonly backend?: string;
  /** `provider/id`, an id, or a provider's name. */
  readonly model?: string;
  readonly mode?: PermissionMode;
  readonly thinking?: ThinkingLevel;
  readonly appendSystem?: string;
  /** Whether a model writes a title after the first run. */
  readonly autoTitle?: boolean;
}

/** Creates a session. An unavailable model is rejected before anything is written. */
export async function newSession(
  host: Host,
  models: ModelAccess,
  { cwd, model: reference, backend: wanted, ...rest }: NewSession,
): Promise<{ readonly id: string }> {
  const backend = host.backendFor(wanted);
  const model = reference === undefined ? undefined : await modelOf(reference, backend, models);
  const settings = { ...rest, ...withoutUndefined({ model, backend: backend ?? wanted }) };
  const { id } = await host.create({ cwd, settings });
  return { id };
}

async function modelOf(
  reference: string,
  backend: string | undefined,
  models: ModelAccess,
): Promise<ModelChoice> {
  if (backend !== undefined) return backendModel(backend, reference);
  const { account, id } = (await models.choose(reference)).model;
  return { provider: account, modelId: id };
}
