import { readFile, stat } from 'node:fs/promises';
import { stringOf, systemCodeOf } from '../../base/index.ts';
import { createDiff } from '../../tools/index.ts';
import type { AgentCall, AgentEvent } from '../agent-event.ts';
import { argumentsOf, diffDetails, oneLine } from './calls.ts';

/** Adds diffs to the results of `write`, which pi reports without them: reads a file when its call is about to be approved. */
export class WriteDiffs {
  readonly #files = new Map<string, { readonly call: AgentCall; readonly before: string | undefined }>();

  async add(events: readonly AgentEvent[]): Promise<readonly AgentEvent[]> {
    const added: AgentEvent[] = [];
    for (const event of events) {
      if (event.type === 'permission') await this.#readBefore(event.request.call);
      if (event.type === 'turn-end') this.#files.clear();
      added.push(event.type === 'call-end' ? await this.#withDiff(event) : event);
    }
    return added;
  }

  /** The arguments with which the call runs: a person may have changed them. */
  setArguments(callId: string, text: string): void {
    const file = this.#files.get(callId);
    // The path may be another one, whose content is unknown.
    if (file === undefined) return;
    const call = { ...file.call, arguments: text };
    if (argumentsOf(call).path === argumentsOf(file.call).path) this.#files.set(callId, { ...file, call });
    else this.#files.delete(callId);
  }

  async #readBefore(call: AgentCall): Promise<void> {
    const [access] = call.access;
    if (call.tool !== 'write' || access?.type !== 'write') return;
    const before = await textOfFile(access.path);
    if (before !== 'unreadable') this.#files.set(call.callId, { call, before: before?.text });
  }

  async #withDiff(event: Extract<AgentEvent, { type: 'call-end' }>): Promise<AgentEvent> {
    const file = this.#files.get(event.callId);
    this.#files.delete(event.callId);
    if (file === undefined || event.status !== 'done') return event;
    const { path, content } = argumentsOf(file.call);
    const after = stringOf(content);
    if (after.length > MAX_COMPARED) return event;
    const created = file.before === undefined;
    const details = diffDetails((await createDiff(stringOf(path), file.before, after)).text);
    const summary = oneLine(
      `${created ? 'Created' : 'Updated'} ${stringOf(path)} (+${details.added} -${details.removed})`,
    );
    return { ...event, output: { ...event.output, summary, details: { created, ...details } } };
  }
}

async function textOfFile(path: string): Promise<{ readonly text: string } | undefined | 'unreadable'> {
  try {
    const stats = await stat(path);
    if (!stats.isFile() || stats.size > MAX_COMPARED) return 'unreadable';
    const bytes = await readFile(path);
    return bytes.includes(0) ? 'unreadable' : { text: bytes.toString('utf8') };
  } catch (thrown) {
    return systemCodeOf(thrown) === 'ENOENT' ? undefined : 'unreadable';
  }
}

const MAX_COMPARED = 2 * 1024 * 1024;
