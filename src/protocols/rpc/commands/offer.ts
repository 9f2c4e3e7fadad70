import { clientTools } from '../host-side/host-tools.ts';
import type { RpcSession } from '../sessions/rpc-session.ts';
import type { RpcHostTool } from '../wire.ts';

/**
 * Replaces the pod's client tools with those of this client. They run without approval, because the client that would approve them runs
 * them itself.
 */
export async function offer(session: RpcSession, tools: readonly RpcHostTool[]): Promise<void> {
  const { settings } = await session.pod.snapshot();
  const before = new Set(session.hostTools.tools.map(({ name }) => name));
  const isOld = (name: string | undefined): boolean => name !== undefined && before.has(name);
  const names = tools.map(({ name }) => name);
  const rules = settings.rules.filter(({ tool, action }) => !(action === 'auto' && isOld(tool)));
  const own = names.map((name) => ({ tool: name, action: 'auto' }) as const);
  await session.handle({
    type: 'configure',
    set: {
      clientTools: clientTools(tools),
      rules: [...own, ...rules],
      // If the tools of the model are restricted to a list, the list must contain the client's tools too.
      ...(settings.tools && { tools: [...settings.tools.filter((name) => !isOld(name)), ...names] }),
    },
  });
  session.hostTools.offer(tools);
}
