import { tryParse } from '../../../base/index.ts';
import { isInside, type Policy, type Scope, type Tool } from '../../../tools/index.ts';
import { type ChangedCallVerdict, judgeChangedCall } from '../../../worker/index.ts';
import type { Agent, ReadyModel } from '../../agent.ts';
import type { Limit, Overrides } from '../../command.ts';
import { personOfRun } from '../../person.ts';
import type { ModelChoice } from '../../session/index.ts';
import { isWithinLimit } from '../../tool-limit.ts';
import type { WriteVerdict } from '../../rewind/index.ts';
import type { PodView } from '../../view/view.ts';
import { acceptingEdits } from './accept-edits.ts';
import { beyondLimit, limitedMode, limitedScope, limitedSettings } from './apply-limit.ts';
import { loadTools } from './load-tools.ts';
import { permissionTool } from './permission-tool.ts';

/** The system prompt and the tools that a model receives besides the conversation. */
export interface Briefing {
  readonly system: string;
  readonly tools: readonly Pick<Tool, 'name' | 'description' | 'parameters'>[];
}

/** What a run needs and that takes time to load. It is loaded before the run is accepted. */
export interface ReadyRun {
  readonly overrides: Overrides;
  readonly model: ReadyModel;
  readonly tools: readonly Tool[];
  readonly system: string;
  readonly scope: Scope;
  readonly configured: ConfiguredPolicy;
}

/** The configured mode and rules when the run started. A reload of the configuration must not allow the run more. */
export type ConfiguredPolicy = Pick<Agent, 'mode' | 'rules'>;

export interface RunSetupParts {
  readonly view: PodView;
  readonly agent: Agent;
  readonly cwd: string;
  readonly clientTools: () => readonly Tool[];
}

/** Resolves the model, tools, prompt and policy of a run from the agent, the session's settings and the overrides of the run. */
export class RunSetup {
  readonly #parts: RunSetupParts;

  constructor(parts: RunSetupParts) {
    this.#parts = parts;
  }

  /** The model of a run with these overrides. */
  choice({ model }: Overrides): ModelChoice {
    return model ?? this.#parts.view.settings.model ?? this.#parts.agent.defaultModel;
  }

  /** Loads what a run needs. Rejects with the reason if something is unavailable. */
  async prepare(overrides: Overrides = {}): Promise<ReadyRun> {
    const { agent, view } = this.#parts;
    const [model, tools, own, whole] = await Promise.all([
      agent.model(this.choice(overrides)),
      loadTools(agent),
      agent.system(),
      agent.scope([...(view.settings.paths ?? []), ...(overrides.paths ?? [])]),
    ]);
    if (view.settings.permissionTool !== undefined) permissionTool(view.settings.permissionTool, tools);
    const { limit = {} } = overrides;
    const scope = await limitedScope(whole, limit, agent.fileFacts);
    const { mode, rules } = agent;
    const system = this.#systemPrompt(own, overrides);
    return { overrides, model, tools, scope, system, configured: { mode, rules } };
  }

  /** What a model would receive now besides the conversation. */
  async briefing(overrides: Overrides): Promise<Briefing> {
    const { agent } = this.#parts;
    const [tools, own] = await Promise.all([loadTools(agent), agent.system()]);
    return {
      system: this.#systemPrompt(own, overrides),
      tools: this.offeredTools(tools, overrides).map(({ name, description, parameters }) => ({
        name,
        description,
        parameters,
      })),
    };
  }

  /** The tools that the model may call: the agent's within the session's limits, and the client's. */
  offeredTools(tools: readonly Tool[], overrides: Overrides): readonly Tool[] {
    const { settings } = this.#parts.view;
    const names = overrides.tools ?? settings.tools;
    const own = tools.filter(({ name }) => isWithinLimit(name, settings.toolLimit));
    return [...own, ...this.#parts.clientTools()].filter(
      ({ name }) => name !== settings.permissionTool && (names === undefined || names.includes(name)),
    );
  }

  policy(scope: Scope, overrides: Overrides, started: ConfiguredPolicy = this.#parts.agent): Policy {
    const { agent, view } = this.#parts;
    const configured = narrowed(started, agent);
    const { limit } = overrides;
    const settings = limitedSettings(view.settings, limit);
    const mode = limitedMode(overrides.mode ?? settings.mode ?? configured.mode, limit);
    const saved = agent.rulesOf?.(personOfRun(overrides)) ?? [];
    const { fallbackRules = [] } = settings;
    // Full access needs no approval.
    const fallback =
      mode === 'full-access' ? fallbackRules.filter(({ action }) => action !== 'ask') : fallbackRules;
    const all = [...settings.rules, ...configured.rules, ...saved, ...fallback];
    const rules = settings.acceptEdits ? acceptingEdits(all) : all;
    const { protectedPaths = [] } = agent;
    // The sandbox uses the session's paths, which may exceed the limit's directories.
    const sandboxed = agent.sandboxed && limit?.directories === undefined;
    return { mode, rules, scope, sandboxed, protectedPaths };
  }

  /** Checks other arguments for a call that has been waiting since before this process. */
  async reconsider(tool: string, args: string): Promise<ChangedCallVerdict> {
    const { agent, cwd, view } = this.#parts;
    const { tools, scope, overrides } = await this.prepare(view.lastRun?.overrides);
    const found = this.#toolNamed(tool, tools);
    // An approval request of a client, which has no call to check.
    if (found === undefined) return { resolve: async (path) => path, rule: undefined };
    const policy = (): Policy => this.policy(scope, overrides);
    return judgeChangedCall({ policy, fileFacts: agent.fileFacts }, tool, found.prepare(tryParse(args), cwd));
  }

  /** Judges a write to a real path that no call of a model makes. Needs no model. */
  async judgeWrite(path: string, after: string | undefined): Promise<WriteVerdict> {
    const { agent, view } = this.#parts;
    const overrides = view.lastRun?.overrides ?? {};
    const whole = await agent.scope([...(view.settings.paths ?? []), ...(overrides.paths ?? [])]);
    const scope = await limitedScope(whole, overrides.limit ?? {}, agent.fileFacts);
    const policy = (): Policy => this.policy(scope, overrides);
    const access = [{ type: 'write', path, after: () => after }] as const;
    const verdict = await judgeChangedCall({ policy, fileFacts: agent.fileFacts }, 'write', { access });
    const isOutside = !scope.write.some((root) => isInside(root, path));
    return 'refused' in verdict ? verdict : { resolve: verdict.resolve, isOutside };
  }

  /** Why the limit does not allow a call; undefined if it does. */
  async limitProblem(limit: Limit, tool: string, args: string): Promise<string | undefined> {
    const { agent, cwd } = this.#parts;
    const prepared = this.#toolNamed(tool, await agent.tools())?.prepare(tryParse(args), cwd);
    if (prepared === undefined || 'invalid' in prepared) return undefined;
    return beyondLimit(tool, prepared, limit, agent.fileFacts);
  }

  #toolNamed(name: string, tools: readonly Tool[]): Tool | undefined {
    return [...tools, ...this.#parts.clientTools()].find((tool) => tool.name === name);
  }

  #systemPrompt(own: string, overrides: Overrides): string {
    const { system = own, appendSystem } = { ...this.#parts.view.settings, ...overrides };
    return appendSystem === undefined ? system : `${system}\n\n${appendSystem}`;
  }
}

/** What the run started with, and what a reload has denied since. */
function narrowed(started: ConfiguredPolicy, { mode, rules }: ConfiguredPolicy): ConfiguredPolicy {
  const isSame = started.rules === rules || JSON.stringify(started.rules) === JSON.stringify(rules);
  const denied = isSame ? [] : rules.filter(({ action }) => action === 'deny');
  return { mode: limitedMode(started.mode, { mode }), rules: [...denied, ...started.rules] };
}
