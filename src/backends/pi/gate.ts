/** The name of the gate in its requests and messages. */
export const GATE = 'polypod-gate';

/**
 * The extension that makes pi ask before every call: pi itself has no approvals. It asks with dialogs, which pi forwards to us, and
 * blocks every call that has no valid answer. pi also blocks a call whose handler throws.
 *
 * pi calls the handlers of other extensions after this one. They must not change what was approved, so the arguments are frozen.
 */
export const GATE_SOURCE = `export default function polypodGate(pi) {
  const NAME = ${JSON.stringify(GATE)};
  const send = (ctx, message) => ctx.ui.setStatus(NAME, JSON.stringify(message));
  const ask = async (ctx, request) => {
    try {
      const text = await ctx.ui.input(NAME, JSON.stringify(request), { signal: ctx.signal });
      const reply = JSON.parse(text);
      return typeof reply === 'object' && reply !== null ? reply : {};
    } catch {
      return {};
    }
  };
  const isBuiltin = (name) => pi.getAllTools().find((tool) => tool.name === name)?.sourceInfo?.source === 'builtin';
  const freeze = (value) => {
    if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
    Object.freeze(value);
    for (const part of Object.values(value)) freeze(part);
  };
  pi.on('tool_call', async (event, ctx) => {
    const { toolCallId: callId, toolName: name, input } = event;
    const reply = await ask(ctx, { type: 'call', callId, name, input, isBuiltin: isBuiltin(name) });
    if (reply.decision !== 'allow')
      return { block: true, reason: typeof reply.reason === 'string' ? reply.reason : 'The call was not approved.' };
    if (typeof reply.input === 'object' && reply.input !== null) {
      for (const key of Object.keys(input)) delete input[key];
      Object.assign(input, reply.input);
    }
    freeze(input);
    send(ctx, { type: 'running', callId });
    return undefined;
  });
  pi.on('turn_end', async (event, ctx) => {
    if (event.toolResults.length === 0) return;
    const reply = await ask(ctx, { type: 'next-turn' });
    if (reply.decision !== 'allow') ctx.abort();
  });
  pi.on('session_start', (_event, ctx) => {
    send(ctx, { type: 'ready', cwd: ctx.cwd, isTrusted: ctx.isProjectTrusted() });
  });
}
`;
