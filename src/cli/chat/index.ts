/** A conversation with a pod: its events become a view, the view is drawn, and what a person types becomes commands. */
export { holdChat } from './hold-chat.ts';
export { ASK_WHICH, pickSession, withBareResume } from './pick-session.ts';
export type { Place } from './place.ts';
export { placeInDaemon } from './place-daemon.ts';
export { placeElsewhere } from './place-elsewhere.ts';
export { placeHere, type PlaceWish } from './place-here.ts';
