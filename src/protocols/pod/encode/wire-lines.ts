import type { SeedEvents, WireEvent, WireEvents } from '../wire.ts';

/** The recipients: clients without extras, clients with extras, or both. */
export type ClientKind = 'plain' | 'extended';

/** One event of the protocol, and its recipients. */
export interface WireLine {
  readonly to: ClientKind | 'all';
  readonly line: WireEvent;
}

export function toAll<K extends keyof SeedEvents>(event: K, data: SeedEvents[K]): WireLine {
  return { to: 'all', line: lineOf(event, data) };
}

export function toPlain<K extends keyof SeedEvents>(event: K, data: SeedEvents[K]): WireLine {
  return { to: 'plain', line: lineOf(event, data) };
}

export function toExtended<K extends keyof WireEvents>(event: K, data: WireEvents[K]): WireLine {
  return { to: 'extended', line: lineOf(event, data) };
}

export function isFor(kind: ClientKind, { to }: WireLine): boolean {
  return to === 'all' || to === kind;
}

function lineOf(event: keyof WireEvents, data: WireEvents[keyof WireEvents]): WireEvent {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the signatures above ensure that the data matches the event
  return { event, data } as WireEvent;
}
