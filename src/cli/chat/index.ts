/** A conversation with a pod: its events become a view, the view is drawn, and what a person types becomes commands. */
export { holdChat } from './hold-chat.ts';
export { ASK_WHICH, pickSession, withBareResume } from './pick-session.ts';
