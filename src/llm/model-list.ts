import { arrayOf, objectOf, stringOf } from '../base/index.ts';

/** The ids in a list of models in OpenAI's shape; some compatible servers answer with the bare list. */
export function modelIdsIn(list: unknown): readonly string[] {
  const models = Array.isArray(list) ? list : arrayOf(objectOf(list).data);
  return models.map((model) => stringOf(objectOf(model).id));
}
