import type { AuditLog } from '../../audit/index.ts';
import type { Log } from '../../base/index.ts';
import type { Host } from '../../pod/index.ts';
import type { DaemonState } from '../observe/health.ts';
import type { Setup } from '../setup.ts';

export interface ShutdownParts {
  readonly setup: Setup;
  readonly host: Host;
  readonly log: Log;
  readonly audit: AuditLog;
  readonly close: () => Promise<void>;
}

/** The state of a daemon, and its end: it drains the runs, then closes everything, once. */
export class Shutdown {
  state: DaemonState = 'starting';
  readonly stopped: Promise<void>;
  readonly #parts: ShutdownParts;
  #stopping: Promise<void> | undefined;
  #resolveStopped = (): void => {};

  constructor(parts: ShutdownParts) {
    this.#parts = parts;
    this.stopped = new Promise<void>((resolve) => {
      this.#resolveStopped = resolve;
    });
  }

  stop(why: string): Promise<void> {
    this.#stopping ??= this.#stop(why);
    return this.#stopping;
  }

  async #stop(why: string): Promise<void> {
    const { setup, host, log, audit, close } = this.#parts;
    this.state = 'draining';
    const { shutdownGraceMs } = setup.config.daemon;
    audit.record({ event: 'daemon.stopped', door: 'process', details: { why } });
    log.info('stopping', { why, runs: host.usage.runs, graceSeconds: shutdownGraceMs / 1000 });
    await host.drain(shutdownGraceMs);
    await close();
    this.#resolveStopped();
  }
}
