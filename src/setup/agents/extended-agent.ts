import type { Extensions } from '../../extensions/index.ts';
import type { Agent } from '../../pod/index.ts';

/** stdout carries an answer or a protocol: output of extensions goes to stderr. */
export function keepOffStdout(out: Console): void {
  for (const method of ['log', 'info', 'debug', 'dir', 'table'] as const)
    out[method] = (...values: unknown[]) => out.error(...values);
}

/** Adds the tools and hooks of extensions. The tools need no approval: the user who named the file has allowed them. */
export function extendedAgent(
  agent: Agent,
  loaded: () => Extensions | undefined,
  close: Agent['close'] = agent.close,
): Agent {
  return {
    ...agent,
    get defaultModel() {
      return agent.defaultModel;
    },
    get mode() {
      return agent.mode;
    },
    get rules() {
      const own = (loaded()?.tools ?? []).map(({ name }) => ({ tool: name, action: 'auto' }) as const);
      return [...agent.rules, ...own];
    },
    tools: async () => {
      const tools = await agent.tools();
      return loaded()?.extend(tools) ?? tools;
    },
    close,
  };
}
