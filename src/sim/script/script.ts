import { PolypodError } from '../../base/index.ts';
import type { Answer } from './answer.ts';
import { directed, directiveOf } from './directive.ts';
import type { Fault } from './fault.ts';
import { lastUserText, type SimRequest } from '../request.ts';

/** Answers given in order, one per request, or made for each request. */
export type Script = readonly Answer[] | ((request: SimRequest) => Answer);

/** Chooses the answer to each request: the prompt's directive, else the script; and counts whom a fault still hits. */
export class Director {
  readonly #script: Script;
  readonly #fault: Fault | undefined;
  readonly #hits = new Map<string, number>();
  #next = 0;

  /** `fault` is for answers that have none of their own. */
  constructor(script: Script, fault: Fault | undefined) {
    this.#script = script;
    this.#fault = fault;
  }

  /** The answer with the fault that strikes this time, if any. Throws `bad-request` for a directive it cannot read. */
  answer(request: SimRequest): Answer {
    const directive = directiveOf(request);
    if (directive === undefined) return this.#scripted(request, (answer) => answer);
    if (directive.parts === undefined)
      return this.#scripted(request, (answer) => directed(answer, directive));
    return this.#struck(
      directed({ parts: directive.parts }, directive),
      `directive ${lastUserText(request)}`,
    );
  }

  #scripted(request: SimRequest, direct: (answer: Answer) => Answer): Answer {
    if (typeof this.#script === 'function') {
      return this.#struck(direct(this.#script(request)), `script ${lastUserText(request)}`);
    }
    const position = this.#next;
    const answer = this.#script[position];
    if (answer === undefined) {
      throw new PolypodError('bad-request', `the script has no answer left: it has ${this.#script.length}`);
    }
    const struck = this.#struck(direct(answer), `answer ${position}`);
    // A fault that wears off keeps its answer for the request that gets through.
    if (struck.fault?.times === undefined) this.#next += 1;
    return struck;
  }

  #struck(answer: Answer, key: string): Answer {
    const { fault: own, ...rest } = answer;
    const fault = own ?? this.#fault;
    if (fault === undefined) return rest;
    const counter = own === undefined ? 'server' : key;
    const hits = this.#hits.get(counter) ?? 0;
    if (fault.times !== undefined && hits >= fault.times) return rest;
    this.#hits.set(counter, hits + 1);
    return { ...rest, fault };
  }
}
