import { type JsonObject, PolypodError, shape } from '../base/index.ts';

/** Validates the params of a method; throws a `bad-request` that names the invalid field. */
export function readParams<T>(expected: shape.Shape<T>, params: JsonObject): T {
  const problems: shape.Problem[] = [];
  const value = expected.read(params, [], (problem) => problems.push(problem));
  if (value !== undefined) return value;
  throw new PolypodError('bad-request', shape.problemsMessage('the params', problems));
}
