import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { type JsonObject, objectOf, stringOf } from '../../../src/base/index.ts';

const SCHEMA = objectOf(
  JSON.parse(
    readFileSync(
      new URL('../../../node_modules/@agentclientprotocol/sdk/schema/v1/schema.json', import.meta.url),
      'utf8',
    ),
  ),
);
const DEFINITIONS = objectOf(SCHEMA.$defs);
const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: false });
ajv.addSchema(SCHEMA, 'acp');

/** The names of the definitions, by method and what they describe. */
const NAMES = new Map(
  Object.entries(DEFINITIONS).flatMap(([name, definition]) => {
    const method = stringOf(objectOf(definition)['x-method']);
    return method === ''
      ? []
      : [[`${method} ${name.endsWith('Response') ? 'response' : 'call'}`, name] as const];
  }),
);

function problemOf(definition: string | undefined, value: unknown): string | undefined {
  if (definition === undefined) return 'the schema has no such message';
  const validate = ajv.getSchema(`acp#/$defs/${definition}`);
  if (validate === undefined) return `the schema has no ${definition}`;
  return validate(value) === true ? undefined : ajv.errorsText(validate.errors);
}

/** How a request or notification violates the schema of the protocol; undefined if it does not. */
export function callProblem(method: string, params: unknown): string | undefined {
  return problemOf(NAMES.get(`${method} call`), params);
}

/** All frames of a connection in both directions. Each is validated against the schema of the protocol. */
export class FrameLog {
  readonly sent: JsonObject[] = [];
  readonly received: JsonObject[] = [];
  readonly problems: string[] = [];
  /** The methods of unanswered requests, by who sent them and by id. */
  readonly #methods = new Map<string, string>();
  readonly #rest = { agent: '', client: '' };
  #waiting: (() => void)[] = [];
  #end: string | undefined;

  send(text: string): void {
    this.#take('client', text, this.sent);
  }

  receive(text: string): void {
    this.#take('agent', text, this.received);
    for (const wake of this.#waiting.splice(0)) wake();
  }

  over(why: string): void {
    this.#end = why;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Resolves when the check returns something. */
  async until<T>(check: () => T | undefined): Promise<T> {
    for (;;) {
      const found = check();
      if (found !== undefined) return found;
      if (this.#end !== undefined) throw new Error(this.#end);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Throws the frames that the schema does not allow. */
  assertValid(): void {
    if (this.problems.length > 0) throw new Error(this.problems.join('\n'));
  }

  #take(side: 'agent' | 'client', text: string, frames: JsonObject[]): void {
    const lines = (this.#rest[side] + text).split('\n');
    this.#rest[side] = lines.pop() ?? '';
    for (const line of lines) {
      const frame = objectOf(JSON.parse(line));
      frames.push(frame);
      const problem = this.#problem(side, frame);
      if (problem !== undefined) this.problems.push(`${side}: ${problem} in ${line.slice(0, 2_000)}`);
    }
  }

  #problem(side: 'agent' | 'client', frame: JsonObject): string | undefined {
    if (frame.jsonrpc !== '2.0') return 'not JSON-RPC 2.0';
    const { id, method, params } = frame;
    if (method !== undefined) {
      if (id !== undefined) this.#methods.set(`${side} ${JSON.stringify(id)}`, stringOf(method));
      return callProblem(stringOf(method), params);
    }
    if (frame.error !== undefined) return problemOf('Error', frame.error);
    const key = `${side === 'agent' ? 'client' : 'agent'} ${JSON.stringify(id)}`;
    const answered = this.#methods.get(key);
    this.#methods.delete(key);
    if (answered === undefined) return 'an answer without a request';
    return problemOf(NAMES.get(`${answered} response`), frame.result);
  }
}
