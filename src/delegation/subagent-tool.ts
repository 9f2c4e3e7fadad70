import { messageOf, onAbort, shape } from '../base/index.ts';
import { SHORTFALL_REASONS } from '../llm/index.ts';
import type { Children, ChildPod, ModelChoice, PodSettings } from '../pod/index.ts';
import { defineTool, errorOutput, type Tool, type ToolOutput, textOutput } from '../tools/index.ts';
import type { SubagentProgress } from './subagent-progress.ts';
import { budgetLeft, runSubagent, type SubagentRun } from './subagent-run.ts';
import type { SubagentType } from './subagent-types.ts';

const input = shape.fields(
  {
    description: shape.withDescription(shape.text(), 'The work in three to six words, for the user to see.'),
    prompt: shape.withDescription(
      shape.text(),
      'The work with all that the sub-agent has to know, and what to return: it has not seen the conversation.',
    ),
  },
  { type: shape.withDescription(shape.text(), 'The type of the sub-agent; default: general.') },
);

export interface SubagentToolParts {
  readonly types: readonly SubagentType[];
  readonly children: Children;
  /** The settings of the pod that has the tool. */
  readonly settings: () => PodSettings;
  /** Finds the model of a type. Rejects with the next step if it is unavailable. */
  readonly model: (reference: string) => Promise<ModelChoice>;
  readonly slots: SubagentSlots;
}

/** Creates the tool that gives work to child pods. Their calls are approved one by one; the call itself touches nothing. */
export function subagentTool(parts: SubagentToolParts): Tool {
  const { types, slots } = parts;
  return defineTool({
    name: 'subagent',
    description: `Gives a piece of work to a sub-agent, which works in the same directory with its own context, and returns its last message. Use it for work that would fill your context, such as a broad search, and for independent parts: several calls in one answer run in parallel. Do small things yourself. Types:\n\n${types.map(({ name, description }) => `- ${name}: ${description}`).join('\n')}`,
    input,
    parallel: true,
    access: () => [],
    title: ({ description, type = DEFAULT_TYPE }) => `${type}: ${description}`,
    run: async ({ description, prompt, type: name = DEFAULT_TYPE }, { update }, signal) => {
      const type = types.find((each) => each.name === name);
      if (type === undefined)
        return errorOutput(
          `There is no sub-agent type ${name}. The types are: ${types.map((each) => each.name).join(', ')}.`,
        );
      const release = await slots.take(signal, () =>
        update(`waiting: ${MAX_PARALLEL} sub-agents are running, which is the limit`),
      );
      try {
        const { running } = slots;
        if (signal.aborted) return errorOutput('The sub-agent was cancelled before it started.');
        if (budgetLeft({ ...parts, running }) === 0)
          return errorOutput('The budget of this run is used up: finish with what you have.');
        const model = await modelOf(type, parts);
        const show = (child: ChildPod, progress: SubagentProgress): void =>
          update(`${countOf(progress)} · ${progress.activity}\n${transcript(child.id)}`);
        const run = await runSubagent(
          { type, description, prompt, model },
          { ...parts, running, show },
          signal,
        );
        return outputOf(run, name);
      } catch (thrown) {
        return errorOutput(`The sub-agent failed: ${messageOf(thrown)}`);
      } finally {
        release();
      }
    },
  });
}

/** The model of a type. A key of the tasks door is limited to some models, so its runs keep the one that it has chosen. */
async function modelOf(
  { model: reference }: SubagentType,
  { children, model }: SubagentToolParts,
): Promise<ModelChoice | undefined> {
  const isOfKey = children.currentRun().overrides.submitter !== undefined;
  return reference === undefined || isOfKey ? undefined : model(reference);
}

const DEFAULT_TYPE = 'general';
/** How many sub-agents of one pod run at the same time. */
const MAX_PARALLEL = 8;
/** In characters. */
const MAX_RESULT = 50_000;

/** Limits how many sub-agents of a pod run at the same time. The others wait. */
export class SubagentSlots {
  /** The cost of each running sub-agent, by child. */
  readonly running = new Map<string, number>();
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  /** Resolves with a function that returns the slot. If the signal aborts first, there is no slot to return. */
  async take(signal: AbortSignal, onWait: () => void): Promise<() => void> {
    if (this.#taken < MAX_PARALLEL) this.#taken += 1;
    else {
      onWait();
      const isHandedOver = await new Promise<boolean>((resolve) => {
        const takeOver = (): void => resolve(true);
        this.#waiting.add(takeOver);
        onAbort(signal, () => {
          this.#waiting.delete(takeOver);
          resolve(false);
        });
      });
      if (!isHandedOver) return () => {};
    }
    return () => this.#release();
  }

  #release(): void {
    const [takeOver] = this.#waiting;
    if (takeOver === undefined) this.#taken -= 1;
    else {
      this.#waiting.delete(takeOver);
      takeOver();
    }
  }
}

function outputOf({ childId, progress, isOverBudget }: SubagentRun, type: string): ToolOutput {
  const { turns, toolCalls, cost, ...tokens } = progress.totals;
  const details = { podId: childId, type, turns, toolCalls };
  // The answer that was cut because of the budget has no known cost. Without the rest, the parent would not stop at its budget.
  const known = isOverBudget ? progress.cost : cost;
  const used = { ...tokens, ...(known !== undefined && { cost: known }) };
  const why = isOverBudget ? OVER_BUDGET : whyIncomplete(progress);
  const text = limited(progress.text.trim(), childId);
  const summary = `${countOf(progress)}${cost === undefined ? '' : `, $${cost.toFixed(2)}`} · ${transcript(childId)}`;
  if (why === undefined) return { ...textOutput(summary, text, details), used };
  const said = text === '' ? '' : `\nThe last thing it wrote:\n${text}`;
  return { ...errorOutput(`The sub-agent did not finish: ${why}.${said}`, details), used };
}

const OVER_BUDGET = 'the budget of this run is used up';

/** Why the result is incomplete; undefined if it is complete. */
function whyIncomplete({ outcome, shortfall }: SubagentProgress): string | undefined {
  switch (outcome?.status) {
    case 'finished':
      return shortfall && SHORTFALL_REASONS[shortfall];
    case 'failed':
      return outcome.failure.message;
    case 'limited':
      return outcome.message;
    default:
      return 'its run was cancelled';
  }
}

function limited(text: string, childId: string): string {
  if (text.length <= MAX_RESULT) return text;
  return `${text.slice(0, MAX_RESULT)}\n[cut after ${MAX_RESULT} characters; the rest is in the session ${childId}]`;
}

function countOf({ toolCalls }: SubagentProgress): string {
  return `${toolCalls} tool ${toolCalls === 1 ? 'call' : 'calls'}`;
}

/** How a person reads what the sub-agent does. */
function transcript(childId: string): string {
  return `polypod attach ${childId.slice(-12)}`;
}
