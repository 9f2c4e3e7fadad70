import type { Content } from '../llm/index.ts';

/** Whether pending messages are delivered one per turn or all at once. */
export type DeliveryMode = 'one-at-a-time' | 'all';

/** When steering is delivered: after the tools of the turn, or between them, skipping the rest. */
export type InterruptMode = 'wait' | 'immediate';

export interface InboxModes {
  readonly steering: DeliveryMode;
  readonly followUps: DeliveryMode;
  readonly interrupt: InterruptMode;
}

export const DEFAULT_MODES: InboxModes = {
  steering: 'one-at-a-time',
  followUps: 'one-at-a-time',
  interrupt: 'wait',
};

export type Message = readonly Content[];

/** Messages that arrived during a run. Steering is delivered between turns, follow-ups after the run's work is done. */
export class Inbox {
  modes: InboxModes = DEFAULT_MODES;
  #steering: Message[] = [];
  #followUps: Message[] = [];

  steer(message: Message): void {
    this.#steering.push(message);
  }

  followUp(message: Message): void {
    this.#followUps.push(message);
  }

  takeSteering(): readonly Message[] {
    return this.#steering.splice(0, this.modes.steering === 'all' ? this.#steering.length : 1);
  }

  takeFollowUps(): readonly Message[] {
    return this.#followUps.splice(0, this.modes.followUps === 'all' ? this.#followUps.length : 1);
  }

  /** Whether the remaining calls of a turn must be skipped. */
  interrupts(): boolean {
    return this.modes.interrupt === 'immediate' && this.#steering.length > 0;
  }

  pending(): { readonly steering: readonly Message[]; readonly followUps: readonly Message[] } {
    return { steering: [...this.#steering], followUps: [...this.#followUps] };
  }

  clear(): void {
    this.#steering = [];
    this.#followUps = [];
  }
}
