import { messageOf } from '../base/index.ts';
import type { Door, DoorContext, OpenDoor } from '../protocols/index.ts';
import type { DaemonSettings } from '../setup/config/index.ts';
import type { DoorHealth } from './observe/health.ts';

/** The doors of a daemon. If one fails to open, it is reported, and the others still open. */
export class OpenDoors {
  readonly #open = new Map<string, OpenDoor>();
  readonly #shut = new Map<string, DoorHealth>();

  async open(doors: readonly Door[], settings: DaemonSettings['doors'], context: DoorContext): Promise<void> {
    for (const { name, open } of doors) {
      if (settings[name] === false) {
        this.#shut.set(name, { name, state: 'off' });
        continue;
      }
      try {
        this.#open.set(name, await open(context));
      } catch (thrown) {
        const reason = messageOf(thrown);
        this.#shut.set(name, { name, state: 'unavailable', reason });
        context.log.error('a door cannot be opened', { door: name, reason });
      }
    }
  }

  /** Opens all doors, regardless of the configuration; throws the reason if one fails. */
  async openOrFail(doors: readonly Door[], context: DoorContext): Promise<void> {
    for (const { name, open } of doors) {
      this.#open.set(name, await open(context));
      this.#shut.delete(name);
    }
  }

  /** Closes one door; the others stay open. */
  async shut(name: string): Promise<void> {
    const door = this.#open.get(name);
    if (door === undefined) return;
    this.#open.delete(name);
    this.#shut.set(name, { name, state: 'off' });
    await door.close();
  }

  /** Notifies the doors that all of them are open. */
  ready(): void {
    for (const door of this.#open.values()) door.ready?.();
  }

  get(name: string): OpenDoor | undefined {
    return this.#open.get(name);
  }

  health(): readonly DoorHealth[] {
    const open = [...this.#open].map(
      ([name, door]): DoorHealth => ({ name, state: 'open', details: door.status() }),
    );
    return [...open, ...this.#shut.values()];
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((door) => door.close()));
    this.#open.clear();
  }
}
