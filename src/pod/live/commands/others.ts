import { PolypodError } from '../../../base/index.ts';
import { changed } from '../../settings.ts';
import { requireValidSchemas } from '../client-tools.ts';
import { accept, type Handler } from './parts.ts';

export const decide: Handler<'decide'> = async (command, caller, recordReceipt, pod) => {
  const { approvalId } = command;
  const asked = pod.view.approvals.get(approvalId);
  // The child records who decided, including the key.
  const isOpen = asked?.settlement === undefined || caller.key !== undefined;
  const podId = isOpen ? asked?.approval.podId : undefined;
  if (podId === undefined) await pod.approvals.decide(command, caller, () => recordReceipt({ approvalId }));
  else {
    await pod.decideForChild(podId, command, caller);
    const { rule } = asked?.approval ?? {};
    // "In this session" was answered in this pod, so it applies to later calls of all of them.
    const isForSession = command.decision === 'approve' && command.remember === 'session';
    if (isForSession && rule !== undefined && command.updatedArguments === undefined)
      pod.approvals.allowForSession(rule, caller);
    accept(command, caller, () => recordReceipt({ approvalId }), pod);
  }
  return { approvalId };
};

export const ask: Handler<'ask'> = async (command, _, recordReceipt, pod) => {
  const { type: _type, title = command.tool, reason = '', ...question } = command;
  const approvalId = pod.newId();
  const requestedAt = pod.now().toISOString();
  pod.approvals.open({ ...question, approvalId, requestedAt, title, reason }, recordReceipt({ approvalId }));
  return { approvalId };
};

/** Checks a model and client tools before they are set: what is unusable is rejected here, not in the next run. */
export const configure: Handler<'configure'> = async (
  { set = {}, clear },
  { by, door },
  recordReceipt,
  pod,
) => {
  const { view, setup, runner, agent } = pod;
  if (set.backend !== undefined && set.backend !== view.settings.backend && view.items.length > 0)
    throw new PolypodError('conflict', 'the back end of a session cannot change: start a new session');
  if (set.model !== undefined) await agent.model(set.model);
  requireValidSchemas(set.clientTools ?? []);
  const settings = changed(view.settings, set, clear);
  pod.publish({ fact: { type: 'settings', settings, by, door }, recorded: recordReceipt({}) });
  runner.refill();
  await runner.look();
  // The settings are accepted. The next run reports what is unavailable.
  const ready = runner.active ? await setup.prepare(runner.overrides).catch(() => undefined) : undefined;
  if (ready !== undefined) runner.refresh(ready);
  return {};
};

export const shell: Handler<'shell'> = async (command, caller, recordReceipt, pod) => {
  const shellId = pod.newId();
  pod.shell.start(shellId, command.command, command.private ?? false, caller, recordReceipt({ shellId }));
  return { shellId };
};

export const abortShell: Handler<'abort-shell'> = async (command, caller, recordReceipt, pod) => {
  if (!pod.shell.active) throw new PolypodError('conflict', 'no shell command is running');
  pod.shell.abort(command.shellId);
  accept(command, caller, recordReceipt, pod);
  return {};
};

export const endBackground: Handler<'end-background'> = async (command, caller, recordReceipt, pod) => {
  const { id } = command;
  const running = pod.background.running().filter((one) => id === undefined || one.id === id);
  if (running.length === 0)
    throw new PolypodError(
      'not-found',
      id === undefined ? 'no background command is running' : `no background command ${id} is running`,
    );
  for (const one of running) one.stop('by the user');
  accept(command, caller, recordReceipt, pod);
  return {};
};

export const setTodos: Handler<'set-todos'> = async ({ items }, _, recordReceipt, pod) => {
  pod.publish({ fact: { type: 'todos', items }, recorded: recordReceipt({}) });
  return {};
};

export const toolResult: Handler<'tool-result'> = async (command, caller, recordReceipt, pod) => {
  pod.clientTools.result(command);
  accept(command, caller, recordReceipt, pod);
  return {};
};

export const toolUpdate: Handler<'tool-update'> = async (command, caller, recordReceipt, pod) => {
  pod.clientTools.update(command);
  // Updates are frequent: without a key, only the update itself is published.
  if (caller.key !== undefined) accept(command, caller, recordReceipt, pod);
  return {};
};

export const close: Handler<'close'> = async (_, caller, recordReceipt, pod) => {
  await pod.close(caller, recordReceipt({}));
  return {};
};
