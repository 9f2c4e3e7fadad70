/** The Pod Protocol: JSON lines with methods from clients and events to all of them. */
export { PodDoor } from './pod-door.ts';
export { DEFAULT_DUPLEX, type DuplexOptions, serveDuplex } from './duplex-link.ts';
export type { Link, LinkOptions, Receiver } from './link.ts';
export { openPodDoor } from './sockets/open-pod-door.ts';
export { podEvents, type PodEventsOptions } from './pod-events.ts';
export { projectedEvents } from './projected-events.ts';
export { type ListenOptions, PodListener } from './pod-listener.ts';
export { PodSockets, type PodSocketsOptions } from './sockets/pod-sockets.ts';
export type {
  ExtraEvents,
  SeedEvents,
  WireErrorCode,
  WireEvent,
  WireEvents,
  WireItem,
  WireRequest,
  WireSnapshot,
} from './wire.ts';
