import type { ModelChoice } from './session/index.ts';

/** Our own worker, as the name of a back end. */
export const OWN_BACKEND = 'polypod';

/** A model of another agent, by the agent's own name for it, also as `claude/sonnet`. */
export function backendModel(backend: string, reference: string): ModelChoice {
  const prefix = `${backend}/`;
  return {
    provider: backend,
    modelId: reference.startsWith(prefix) ? reference.slice(prefix.length) : reference,
  };
}

/** The back end that a name means; undefined for our own worker. */
export function otherBackend(name: string | undefined): string | undefined {
  return name === OWN_BACKEND ? undefined : name;
}
