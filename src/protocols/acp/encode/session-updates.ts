import { type JsonObject, numberOf, stringOf, withoutUndefined } from '../../../base/index.ts';
import type { PodEvent, PodEventOf, Snapshot } from '../../../pod/index.ts';
import type { ClientCapabilities, SessionUpdate, ToolCallFields } from '../wire.ts';
import { ShownTerminals } from './shown-terminals.ts';
import {
  blockOf,
  type Content,
  inputOf,
  kindOf,
  locationsOf,
  resultFields,
  textBlock,
  titleOf,
  type ToolOutput,
} from './tool-call.ts';

type BlockHead = DistributiveOmit<PodEventOf<'block-start'>, 'type' | 'index' | 'seq' | 'entryId'>;
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** A block of the answer that is being streamed. */
interface OpenBlock {
  readonly head: BlockHead;
  readonly messageId: string;
  readonly pieces: string[];
}

export interface ProjectionOptions {
  readonly cwd: string;
  readonly capabilities: Pick<ClientCapabilities, 'notices' | 'compaction' | 'terminalOutput'>;
  /** Whether a prompt was sent by this client, which shows it already. */
  readonly isOwnPrompt: (event: PodEventOf<'input'>) => boolean;
}

/** An update, and the number of the event that it reports. */
export interface NumberedUpdate {
  readonly seq: number;
  readonly update: SessionUpdate;
}

/** Projects the events of a pod to updates of a session, for one client. */
export class SessionProjection {
  readonly #options: ProjectionOptions;
  readonly #blocks = new Map<number, OpenBlock>();
  /** The calls that the client knows, and their arguments. */
  readonly #calls = new Map<string, JsonObject | undefined>();
  /** The commands of people that the client knows. */
  readonly #shells = new Set<string>();
  readonly #terminals: ShownTerminals;
  #compaction = '';

  constructor(options: ProjectionOptions) {
    this.#options = options;
    this.#terminals = new ShownTerminals(options.cwd);
  }

  /** Whether the client knows a call. Editors reject an update of an unknown one. */
  knows(callId: string): boolean {
    return this.#calls.has(callId);
  }

  /** The updates for consecutive events. Consecutive deltas of a block are one update. */
  project(events: readonly PodEvent[]): readonly NumberedUpdate[] {
    const updates: NumberedUpdate[] = [];
    let [open, text, last]: [OpenBlock | undefined, string, number] = [undefined, '', 0];
    const flush = (): void => {
      if (open !== undefined && text !== '') updates.push({ seq: last, update: chunkOf(open, text) });
      [open, text] = [undefined, ''];
    };
    for (const event of events) {
      if (event.type === 'block-delta') {
        const block = this.#blocks.get(event.index);
        if (block === undefined) continue;
        if (event.delta.type === 'input-json') {
          block.pieces.push(event.delta.json);
          continue;
        }
        if (block !== open) flush();
        open = block;
        text += event.delta.text;
        last = event.seq;
        continue;
      }
      flush();
      for (const update of this.#updatesFor(event)) updates.push({ seq: event.seq, update });
    }
    flush();
    return updates;
  }

  /** Announces a call, unless the client knows it. */
  announce(callId: string, tool: string, title: string, json: string): readonly SessionUpdate[] {
    if (this.#calls.has(callId)) return [];
    const fields = this.#fieldsOf(callId, json);
    return [
      {
        sessionUpdate: 'tool_call',
        toolCallId: callId,
        title,
        name: tool,
        kind: kindOf(tool),
        status: 'pending',
        ...fields,
        ...(tool === COMMAND_TOOL &&
          this.#options.capabilities.terminalOutput &&
          this.#terminals.create(callId)),
      },
    ];
  }

  /** A call that runs, with its output so far. */
  running(callId: string, title: string, json: string, text: string): readonly SessionUpdate[] {
    const started = this.#start(callId, { title, status: 'in_progress' }, json);
    return text === '' ? [started] : [started, ...this.#output(callId, text)];
  }

  /** Takes over a call that the client knows from the history. */
  adopt(callId: string, json: string): void {
    this.#fieldsOf(callId, json);
  }

  /** Closes the calls that no event will close. */
  closeAll(): readonly SessionUpdate[] {
    return [...this.#calls.keys()].map((callId) => this.#close(callId, 'failed', {}));
  }

  /** Events were missed: closes the calls and the commands of people that have ended meanwhile. */
  catchUp({ items, shells, state, diffs = [] }: Snapshot): readonly SessionUpdate[] {
    this.#blocks.clear();
    const ended = [...this.#calls].flatMap(([callId, input]) => {
      const result = items.findLast((item) => item.type === 'tool-result' && item.callId === callId);
      if (result?.type !== 'tool-result') return state === 'idle' ? [this.#close(callId, 'failed', {})] : [];
      const diff = diffs.find((one) => one.callId === callId)?.diff;
      const output = { content: result.content, ...(diff && { details: { diff } }) };
      const fields = resultFields(output, input, this.#options.cwd);
      return [this.#close(callId, result.isError ? 'failed' : 'completed', fields)];
    });
    const endedShells = [...this.#shells].filter((id) => !shells.some(({ shellId }) => shellId === id));
    for (const shellId of endedShells) this.#shells.delete(shellId);
    // How it ended was missed, too; after session/load its output is part of the conversation.
    return [...ended, ...endedShells.map((id) => this.#update(shellCall(id), { status: 'completed' }))];
  }

  announceShell({
    shellId,
    command,
    private: isPrivate,
  }: Pick<PodEventOf<'shell-start'>, 'shellId' | 'command' | 'private'>): readonly SessionUpdate[] {
    if (isPrivate || this.#shells.has(shellId)) return [];
    this.#shells.add(shellId);
    const toolCallId = shellCall(shellId);
    const hasTerminal = this.#options.capabilities.terminalOutput;
    return [
      {
        sessionUpdate: 'tool_call',
        toolCallId,
        title: command,
        kind: 'execute',
        status: 'in_progress',
        rawInput: { command },
        ...(hasTerminal && { ...this.#terminals.create(toolCallId), ...this.#terminals.show(toolCallId) }),
      },
    ];
  }

  /** Continues a block that was already streamed in part. */
  join(index: number, head: BlockHead, messageId: string, text: string): readonly SessionUpdate[] {
    const block: OpenBlock = { head, messageId, pieces: head.blockType === 'tool-use' ? [text] : [] };
    this.#blocks.set(index, block);
    if (head.blockType === 'tool-use') return this.announce(head.id, head.name, head.name, '');
    return text === '' || !isShown(head) ? [] : [chunkOf(block, text)];
  }

  #updatesFor(event: Exclude<PodEvent, PodEventOf<'block-delta'>>): readonly SessionUpdate[] {
    switch (event.type) {
      case 'block-start': {
        const { type: _, index, seq, ...head } = event;
        return this.join(index, head, `m${seq}`, '');
      }
      case 'block-stop': {
        const block = this.#blocks.get(event.index);
        this.#blocks.delete(event.index);
        if (event.blockType !== 'tool-use' || block === undefined) return [];
        const fields = this.#fieldsOf(event.id, block.pieces.join(''));
        const name = block.head.blockType === 'tool-use' ? block.head.name : '';
        return [this.#update(event.id, { title: titleOf(name, fields.rawInput), ...fields })];
      }
      case 'block-abort':
        return this.#dropBlock(event.index);
      case 'turn-start':
        return this.#dropBlocks();
      case 'retry-start':
        return [
          ...this.#dropBlocks(),
          ...this.#notice('warning', `The request is sent again: ${event.failure.message}`),
        ];
      case 'input':
        return this.#input(event);
      case 'tool-start': {
        const { callId, name, title, arguments: json } = event.call;
        const known = this.announce(callId, name, title, json);
        return [
          ...known,
          this.#start(callId, { title, status: 'in_progress', ...this.#fieldsOf(callId, json) }, json),
        ];
      }
      case 'tool-update':
        return this.#calls.has(event.callId) ? this.#output(event.callId, event.text) : [];
      case 'tool-end':
        return this.#toolEnd(event);
      case 'turn-end':
        // The results of calls that were never started appear only here.
        return event.results.flatMap((item) =>
          item.type === 'tool-result' && this.#calls.has(item.callId)
            ? [this.#close(item.callId, 'failed', { content: contentOf(item.content) })]
            : [],
        );
      case 'todos':
        return [planOf(event.items)];
      case 'compaction-start':
        this.#compaction = `c${event.seq}`;
        return this.#compactionUpdate({ status: 'in_progress' });
      case 'compaction-end':
        return this.#compactionEnd(event);
      case 'shell-start':
        return this.announceShell(event);
      case 'shell-update':
        return this.#shells.has(event.shellId) ? this.#output(shellCall(event.shellId), event.text) : [];
      case 'shell-end':
        return this.#shells.delete(event.shellId)
          ? [
              this.#update(shellCall(event.shellId), {
                status: event.output.isError || event.status !== 'done' ? 'failed' : 'completed',
                ...this.#resultOf(shellCall(event.shellId), event.output, undefined),
              }),
            ]
          : [];
      case 'approval-response':
        // The approval of a sub-agent's call is shown as a call of its own.
        return this.#calls.has(event.approvalId)
          ? [this.#close(event.approvalId, event.status === 'approved' ? 'completed' : 'failed', {})]
          : [];
      case 'queued':
        return event.door === 'acp'
          ? []
          : this.#notice('info', `${event.by ?? 'Another client'} queued: ${textOf(event.content)}`);
      case 'branched':
        this.#calls.clear();
        return this.#notice(
          'warning',
          'The conversation continues from an earlier message. Load the session again to see it.',
        );
      case 'rewound': {
        const changed = event.files.filter(({ outcome }) => outcome !== 'skipped');
        return changed.length === 0
          ? []
          : this.#notice('warning', `Files were restored: ${changed.map(({ path }) => path).join(', ')}`);
      }
      case 'background-end':
        return this.#notice('info', `A background command has ended: ${event.message}`);
      case 'run-end':
        this.#blocks.clear();
        // A paused run goes on later.
        return event.outcome.status === 'paused' ? [] : this.closeAll();
      case 'ping':
      case 'status':
      case 'error':
      case 'usage':
      case 'run-start':
      case 'llm-end':
      case 'retry-end':
      case 'state':
      case 'unqueued':
      case 'approval-request':
      case 'settings':
      case 'title':
      case 'file-change':
      case 'background-start':
      case 'client-call':
      case 'client-cancel':
      case 'recovered':
      case 'commanded':
      case 'closed':
        return [];
    }
  }

  /** The model's answer was cut off: a call in it is never made. */
  #dropBlock(index: number): readonly SessionUpdate[] {
    const head = this.#blocks.get(index)?.head;
    this.#blocks.delete(index);
    return head?.blockType === 'tool-use' && this.#calls.has(head.id)
      ? [this.#close(head.id, 'failed', {})]
      : [];
  }

  #dropBlocks(): readonly SessionUpdate[] {
    return [...this.#blocks.keys()].flatMap((index) => this.#dropBlock(index));
  }

  #input(event: PodEventOf<'input'>): readonly SessionUpdate[] {
    const { item, customType, origin } = event;
    if (item.type !== 'message' || item.role !== 'user' || customType !== undefined) return [];
    if (origin === 'shell' || origin === 'notice' || origin === 'continuation') return [];
    return this.#options.isOwnPrompt(event) ? [] : userChunks(item.content, `m${event.seq}`);
  }

  #toolEnd({ callId, name, status, output }: PodEventOf<'tool-end'>): readonly SessionUpdate[] {
    const known = this.announce(callId, name, name, '');
    const input = this.#calls.get(callId);
    // A call that never ran has a reason and no output.
    if (status === 'denied' || status === 'skipped') this.#terminals.forget(callId);
    const { _meta: meta, ...result } = this.#resultOf(callId, output, input);
    const exact = status !== 'done' && status !== 'failed' && { polypod: { status } };
    const end = this.#close(callId, status === 'done' ? 'completed' : 'failed', {
      ...result,
      ...((meta !== undefined || exact !== false) && { _meta: { ...meta, ...exact } }),
    });
    return [...known, end];
  }

  /** A call starts. A command in the background prints nothing here. */
  #start(callId: string, fields: ToolCallFields, json: string): SessionUpdate {
    const isBackground = inputOf(json)?.background === true;
    return this.#update(callId, { ...fields, ...(!isBackground && this.#terminals.show(callId)) });
  }

  /** The latest output of a call that runs. */
  #output(callId: string, text: string): readonly SessionUpdate[] {
    if (!this.#terminals.isShown(callId)) return [this.#update(callId, { content: [textBlock(text)] })];
    const meta = this.#terminals.update(callId, text);
    return meta === undefined ? [] : [this.#update(callId, { _meta: meta })];
  }

  /** The result of a call, in its terminal if it has one. */
  #resultOf(callId: string, output: ToolOutput, input: JsonObject | undefined): ToolCallFields {
    const fields = resultFields(output, input, this.#options.cwd);
    if (!this.#terminals.isShown(callId)) return fields;
    const { content: _, ...rest } = fields;
    const { exitCode, signal } = output.details ?? {};
    const exit = { exitCode: numberOf(exitCode) ?? null, signal: stringOf(signal) || null };
    return { ...rest, _meta: this.#terminals.end(callId, exit, textOf(output.content)) };
  }

  #compactionEnd({ result }: PodEventOf<'compaction-end'>): readonly SessionUpdate[] {
    switch (result.status) {
      case 'compacted':
        return this.#compactionUpdate({
          status: 'completed',
          summary: [{ type: 'text', text: result.summary }],
        });
      case 'failed':
        return this.#compactionUpdate({ status: 'failed', error: result.failure.message });
      default:
        return this.#compactionUpdate({ status: 'cancelled' });
    }
  }

  #compactionUpdate(
    fields: Omit<
      Extract<SessionUpdate, { sessionUpdate: 'compaction_update' }>,
      'sessionUpdate' | 'compactionId'
    >,
  ): readonly SessionUpdate[] {
    if (!this.#options.capabilities.compaction) return [];
    return [{ sessionUpdate: 'compaction_update', compactionId: this.#compaction, ...fields }];
  }

  #notice(severity: 'info' | 'warning', title: string): readonly SessionUpdate[] {
    return this.#options.capabilities.notices ? [{ sessionUpdate: 'notice', severity, title }] : [];
  }

  /** Records the arguments of a call and returns the fields that depend on them. */
  #fieldsOf(callId: string, json: string): Pick<ToolCallFields, 'rawInput' | 'locations'> {
    const input = inputOf(json);
    this.#calls.set(callId, input);
    const locations = locationsOf(input, this.#options.cwd);
    return { ...withoutUndefined({ rawInput: input }), ...(locations.length > 0 && { locations }) };
  }

  #close(callId: string, status: 'completed' | 'failed', fields: ToolCallFields): SessionUpdate {
    this.#calls.delete(callId);
    const isRunning = this.#terminals.isShown(callId);
    // The output is not repeated: the call ended without a result of its own.
    const meta = isRunning ? this.#terminals.end(callId, { exitCode: null, signal: null }) : undefined;
    this.#terminals.forget(callId);
    const { _meta: own } = fields;
    return this.#update(callId, { status, ...fields, ...(meta && { _meta: { ...own, ...meta } }) });
  }

  #update(toolCallId: string, fields: ToolCallFields): SessionUpdate {
    return { sessionUpdate: 'tool_call_update', toolCallId, ...fields };
  }
}

function isShown({ blockType }: BlockHead): boolean {
  return blockType === 'text' || blockType === 'thinking';
}

function chunkOf({ head, messageId }: OpenBlock, text: string): SessionUpdate {
  return {
    sessionUpdate: head.blockType === 'thinking' ? 'agent_thought_chunk' : 'agent_message_chunk',
    content: { type: 'text', text },
    messageId,
  };
}

export function userChunks(content: Content, messageId: string): readonly SessionUpdate[] {
  return content.map((part) => ({
    sessionUpdate: 'user_message_chunk',
    content: blockOf(part),
    messageId,
  }));
}

export function contentOf(content: Content) {
  return content.map((part) => ({ type: 'content', content: blockOf(part) }) as const);
}

export function planOf(items: Snapshot['todos']): SessionUpdate {
  return {
    sessionUpdate: 'plan',
    entries: items.map(({ content, status }) => ({ content, priority: 'medium', status })),
  };
}

export function textOf(content: Content): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** The tool whose calls run commands. */
const COMMAND_TOOL = 'bash';

function shellCall(shellId: string): string {
  return `shell-${shellId}`;
}
