import { Inbox, type Message } from '../worker/index.ts';

/** An inbox whose steering messages can be sent to the agent at once. A message that was sent is not delivered again. */
export class SteeringInbox extends Inbox {
  readonly #onSteer: () => void;
  readonly #sent = new WeakSet<Message>();

  constructor(onSteer: () => void) {
    super();
    this.#onSteer = onSteer;
  }

  override steer(message: Message): void {
    if (this.#sent.has(message)) return;
    super.steer(message);
    this.#onSteer();
  }

  /** All pending steering messages. They count as sent. */
  takeToSend(): readonly Message[] {
    const messages = this.pending().steering;
    for (const message of messages) {
      this.#sent.add(message);
      this.takeSteering();
    }
    return messages;
  }
}
