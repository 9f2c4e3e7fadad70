import { arrayOf, objectOf, stringOf } from '../base/index.ts';

/** The model ids in OpenAI's model list. Some compatible servers return the bare array. */
export function parseModelIds(list: unknown): readonly string[] {
  const models = Array.isArray(list) ? list : arrayOf(objectOf(list).data);
  return models.map((model) => stringOf(objectOf(model).id));
}
