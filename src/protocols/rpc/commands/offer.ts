import { clientTools } from '../host-side/host-tools.ts';
import type { RpcSession } from '../sessions/rpc-session.ts';
import type { RpcHostTool } from '../wire.ts';

/**
 * Makes the client's tools those of the pod before it, in place of the ones that the client had offered. The client is also
 * whom one would ask about them: they run unasked.
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
      // A list of tools that the model is given has to name them as well.
      ...(settings.tools && { tools: [...settings.tools.filter((name) => !isOld(name)), ...names] }),
    },
  });
  session.hostTools.offer(tools);
}
