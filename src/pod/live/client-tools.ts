import { onAbort, PolypodError, schemaError, schemaProblems, withoutUndefined } from '../../base/index.ts';
import { errorOutput, invalidArguments, type Tool, type ToolOutput } from '../../tools/index.ts';
import type { PodCommandOf } from '../command.ts';
import type { PodFact } from '../event.ts';
import type { ClientTool } from '../settings.ts';

/** Tools that clients run: publishes each call to watchers and waits for its result. */
export class ClientTools {
  readonly #publish: (fact: PodFact) => void;
  readonly #waiting = new Map<string, Waiting>();

  constructor(publish: (fact: PodFact) => void) {
    this.#publish = publish;
  }

  toolFor({ name, description, parameters }: ClientTool): Tool {
    return {
      name,
      description,
      parameters,
      parallel: true,
      prepare: (input) => {
        const problems = schemaProblems(input, parameters);
        if (problems.length > 0) return { invalid: invalidArguments(name, problems, input) };
        return {
          access: [{ type: 'foreign', readOnly: false }],
          title: name,
          run: ({ callId, update }, signal) =>
            this.#call(callId, { name, arguments: JSON.stringify(input), update }, signal),
        };
      },
    };
  }

  result({ callId, content, isError = false, details }: PodCommandOf<'tool-result'>): void {
    const waiting = this.#waiting.get(callId);
    if (waiting === undefined) throw unknownCall(callId);
    const summary = isError ? 'failed' : 'done';
    waiting.finish({ summary, content, isError, ...withoutUndefined({ details }) });
  }

  update({ callId, text }: PodCommandOf<'tool-update'>): void {
    const waiting = this.#waiting.get(callId);
    if (waiting === undefined) throw unknownCall(callId);
    waiting.update(text);
  }

  /** Fails the calls of these tools, because their client has disconnected. */
  abandon(names: ReadonlySet<string>, reason: string): void {
    for (const { name, finish } of this.#waiting.values()) if (names.has(name)) finish(errorOutput(reason));
  }

  #call(
    callId: string,
    call: { readonly name: string; readonly arguments: string; readonly update: (text: string) => void },
    signal: AbortSignal,
  ): Promise<ToolOutput> {
    return new Promise((resolve) => {
      const finish = (output: ToolOutput): void => {
        forget();
        this.#waiting.delete(callId);
        resolve(output);
      };
      const { name, arguments: args, update } = call;
      this.#waiting.set(callId, { name, finish, update });
      this.#publish({ type: 'client-call', callId, name, arguments: args });
      let forget = (): void => {};
      forget = onAbort(signal, () => {
        this.#publish({ type: 'client-cancel', callId });
        finish(errorOutput(`Host tool "${name}" was aborted`));
      });
    });
  }
}

interface Waiting {
  readonly name: string;
  readonly finish: (output: ToolOutput) => void;
  readonly update: (text: string) => void;
}

/** Throws `bad-request` for a tool whose JSON Schema cannot be used. */
export function requireValidSchemas(tools: readonly ClientTool[]): void {
  const deadline = performance.now() + CHECK_LIMIT_MS;
  for (const { name, parameters } of tools) {
    const invalid = schemaError(parameters);
    if (invalid !== undefined)
      throw new PolypodError(
        'bad-request',
        `the JSON Schema of the tool "${name}" cannot be used: ${invalid}`,
      );
    if (performance.now() > deadline)
      throw new PolypodError(
        'bad-request',
        `the JSON Schemas of ${tools.length} tools take longer than ${CHECK_LIMIT_MS / 1000} s to check: offer fewer tools or simpler schemas`,
      );
  }
}

/** For all tools of a command. The event loop waits for it: later commands of the client must find the tools. */
const CHECK_LIMIT_MS = 5_000;

function unknownCall(callId: string): PolypodError {
  return new PolypodError('not-found', `no call ${callId} waits for a result: it may have been cancelled`);
}
