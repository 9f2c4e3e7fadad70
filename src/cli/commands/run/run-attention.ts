import { basename } from 'node:path';
import { promptTitle } from '../../../base/index.ts';
import type { PodEvent } from '../../../pod/index.ts';
import type { Config } from '../../../setup/index.ts';
import type { CommandContext } from '../../command.ts';
import { Attention } from '../../output/attention.ts';
import { callName } from '../../output/call-name.ts';
import { endText } from '../../output/run-end-text.ts';

export interface RunAttentionOptions {
  readonly prompt: string;
  readonly cwd: string;
  readonly name: string | undefined;
  readonly settings: Pick<Config, 'notify' | 'titles'>;
}

/** Shows a run in the title of the window and notifies its user of approvals and of its end. */
export class RunAttention {
  readonly #attention: Attention;
  readonly #label: string;
  #pending = new Set<string>();

  constructor({ prompt, cwd, name, settings }: RunAttentionOptions, { stderr, env }: CommandContext) {
    this.#attention = new Attention({
      write: (bytes) => stderr.write(bytes),
      env,
      settings: settings.notify,
      now: () => performance.now(),
    });
    const title = settings.titles.source === 'off' ? undefined : promptTitle(prompt);
    this.#label = name ?? title ?? basename(cwd);
  }

  observe(event: PodEvent): void {
    switch (event.type) {
      case 'run-start':
        return this.#show();
      case 'approval-request':
        this.#pending.add(event.approval.approvalId);
        this.#attention.notify(`${this.#label}: approval needed: ${callName(event.approval)}`);
        return this.#show();
      case 'approval-response':
        // Most likely answered on this terminal.
        this.#attention.attended();
        this.#pending.delete(event.approvalId);
        return this.#show();
      case 'run-end':
        return this.#attention.notify(`${this.#label}: ${endText(event.outcome)}`);
    }
  }

  /** Restores the title of the window. */
  end(): void {
    this.#attention.pause();
  }

  #show(): void {
    this.#attention.show(this.#label, this.#pending.size > 0 ? 'waiting for approval' : 'working');
  }
}
