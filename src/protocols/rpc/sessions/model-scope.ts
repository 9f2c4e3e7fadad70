import { compileNameGlob } from '../../../base/index.ts';
import { THINKING_LEVELS, type ThinkingLevel } from '../../../pod/index.ts';

/** The properties of a model that a pattern can match. */
export interface NamedModel {
  readonly provider: string;
  readonly id: string;
  readonly name: string;
}

export interface ScopedModel<M> {
  readonly model: M;
  /** The thinking level, if the pattern has one. */
  readonly thinking?: ThinkingLevel;
}

export interface ModelScope<M> {
  /** In the order of the patterns, without duplicates. */
  readonly models: readonly ScopedModel<M>[];
  /** Patterns that match no model. */
  readonly unmatched: readonly string[];
}

/**
 * Resolves the models in `--models`: by `provider/id`, an id, a part of an id or name, or a glob (`anthropic/*`, `*sonnet*`), each with an
 * optional thinking level: `gpt-6:high`.
 */
export function modelScope<M extends NamedModel>(
  models: readonly M[],
  patterns: readonly string[],
): ModelScope<M> {
  const scoped: ScopedModel<M>[] = [];
  const unmatched: string[] = [];
  for (const pattern of patterns) {
    const found = matches(models, pattern);
    if (found.length === 0) unmatched.push(pattern);
    scoped.push(...found.filter(({ model }) => !scoped.some((other) => other.model === model)));
  }
  return { models: scoped, unmatched };
}

/** An id may contain a colon, so the whole pattern is tried first. */
function matches<M extends NamedModel>(models: readonly M[], pattern: string): readonly ScopedModel<M>[] {
  const whole = fitting(models, pattern);
  if (whole.length > 0) return whole.map((model) => ({ model }));
  const at = pattern.lastIndexOf(':');
  const thinking = THINKING_LEVELS.find((level) => level === pattern.slice(at + 1));
  if (at < 0 || thinking === undefined) return [];
  return fitting(models, pattern.slice(0, at)).map((model) => ({ model, thinking }));
}

function fitting<M extends NamedModel>(models: readonly M[], pattern: string): readonly M[] {
  if (/[*?[{]/.test(pattern)) {
    const fits = compileNameGlob(pattern, { ignoreCase: true }) ?? (() => false);
    return models.filter(({ provider, id }) => fits(`${provider}/${id}`) || fits(id));
  }
  const wanted = pattern.toLowerCase();
  const exact = models.find(
    ({ provider, id }) => `${provider}/${id}`.toLowerCase() === wanted || id.toLowerCase() === wanted,
  );
  if (exact !== undefined) return [exact];
  const partial = models.filter(({ provider, id, name }) =>
    [`${provider}/${id}`, name].some((text) => text.toLowerCase().includes(wanted)),
  );
  return best(partial);
}

/** Of several versions the newest; an alias is preferred to a version with a date. */
function best<M extends NamedModel>(models: readonly M[]): readonly M[] {
  const isDated = ({ id }: M): boolean => /-\d{8}$/.test(id);
  const sorted = models.toSorted(
    (one, other) =>
      Number(isDated(one)) - Number(isDated(other)) ||
      other.id.localeCompare(one.id, 'en', { numeric: true }),
  );
  return sorted.slice(0, 1);
}

/** Notices about `--models` for the person. */
export function scopeNotices({ models, unmatched }: ModelScope<unknown>): readonly string[] {
  const missing = unmatched.map((pattern) => `no model matches "${pattern}" in --models`);
  return models.length > 0 || missing.length === 0
    ? missing
    : [...missing, '--models has no effect: cycle_model cycles through all models'];
}
