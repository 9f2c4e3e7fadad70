import { PolypodError } from '../../base/index.ts';
import type { SimAnswer } from './answer.ts';
import { applyDirective, requestDirective } from './directive.ts';
import type { Fault } from './fault.ts';
import { lastUserText, type SimRequest } from '../request.ts';

/** Answers in order, one per request, or a function that creates one for each request. */
export type Script = readonly SimAnswer[] | ((request: SimRequest) => SimAnswer);

/**
 * Selects the answer to each request, from the prompt's directive or the script, and counts how often a fault
 * still applies.
 */
export class ScriptRunner {
  readonly #script: Script;
  readonly #fault: Fault | undefined;
  readonly #loop: boolean;
  readonly #faultCounts = new Map<string, number>();
  #next = 0;

  /** `fault` applies to answers without a fault. With `loop`, a list starts again after its last answer. */
  constructor(script: Script, fault: Fault | undefined, loop = false) {
    this.#script = script;
    this.#fault = fault;
    this.#loop = loop;
  }

  /** Returns the answer, with its fault if it applies this time. Throws `bad-request` for an invalid directive. */
  answer(request: SimRequest): SimAnswer {
    const directive = requestDirective(request);
    if (directive === undefined) return this.#scripted(request, (answer) => answer);
    if (directive.parts === undefined)
      return this.#scripted(request, (answer) => applyDirective(answer, directive));
    return this.#faulty(
      applyDirective({ parts: directive.parts }, directive),
      `directive ${lastUserText(request)}`,
    );
  }

  #scripted(request: SimRequest, transform: (answer: SimAnswer) => SimAnswer): SimAnswer {
    if (typeof this.#script === 'function') {
      return this.#faulty(transform(this.#script(request)), `script ${lastUserText(request)}`);
    }
    const position = this.#next;
    const answer = this.#script[this.#loop ? position % this.#script.length : position];
    if (answer === undefined) {
      throw new PolypodError(
        'bad-request',
        `the script has no answer left: it contains ${this.#script.length}`,
      );
    }
    const faulty = this.#faulty(transform(answer), `answer ${position}`);
    // A fault with `times` keeps its answer for the first request that succeeds.
    if (faulty.fault?.times === undefined) this.#next += 1;
    return faulty;
  }

  #faulty(answer: SimAnswer, key: string): SimAnswer {
    const { fault: ownFault, ...rest } = answer;
    const fault = ownFault ?? this.#fault;
    if (fault === undefined) return rest;
    const counter = ownFault === undefined ? 'server' : key;
    const faultCounts = this.#faultCounts.get(counter) ?? 0;
    if (fault.times !== undefined && faultCounts >= fault.times) return rest;
    this.#faultCounts.set(counter, faultCounts + 1);
    return { ...rest, fault };
  }
}
