import type { BackgroundCommands } from '../../tools/index.ts';
import { NO_TOTALS, type Totals } from '../../worker/index.ts';
import type { AgentContext } from '../agent.ts';
import type { UnnumberedEvent } from '../journal/index.ts';
import type { Header } from '../session/index.ts';
import type { PodView } from '../view/view.ts';
import type { HostCallbacks } from './pod-options.ts';

export interface AgentContextParts {
  readonly header: Header;
  readonly view: PodView;
  readonly background: BackgroundCommands;
  readonly callbacks: Pick<HostCallbacks<unknown>, 'clientServices' | 'editorServerValues' | 'spawn'>;
  /** Undefined until the agent is open: the pod is created with it. */
  readonly pod: () =>
    | { readonly publish: (draft: UnnumberedEvent) => unknown; readonly usedByRun: Totals }
    | undefined;
}

/** What the agent of a pod can read and change of the pod. */
export function agentContext({ header, view, background, callbacks, pod }: AgentContextParts): AgentContext {
  const { id, cwd, extras } = header;
  return {
    podId: id,
    cwd,
    todos: {
      get: () => view.todos,
      set: (items) => pod()?.publish({ fact: { type: 'todos', items } }),
    },
    background,
    settings: () => view.settings,
    client: () => callbacks.clientServices(id),
    editorServerValues: () => callbacks.editorServerValues(id),
    // One level deep: children could otherwise multiply without a person noticing.
    ...(extras?.spawned !== true && {
      children: {
        spawn: (child) => callbacks.spawn(id, { ...child, cwd }),
        currentRun: () => ({
          overrides: view.run?.overrides ?? {},
          used: pod()?.usedByRun ?? NO_TOTALS,
        }),
      },
    }),
  };
}
