import type { ThinkingLevel } from '../../llm/index.ts';
import type { Host } from '../../pod/index.ts';
import type { PermissionMode } from '../../tools/index.ts';
import type { ModelAccess } from '../../setup/models/index.ts';

/** The request for a new session. */
export interface NewSession {
  readonly cwd: string;
  readonly name?: string;
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
  { cwd, model: reference, ...rest }: NewSession,
): Promise<{ readonly id: string }> {
  const model = reference === undefined ? undefined : (await models.choose(reference)).model;
  const chosen = model === undefined ? {} : { model: { provider: model.account, modelId: model.id } };
  const { id } = await host.create({ cwd, settings: { ...rest, ...chosen } });
  return { id };
}
