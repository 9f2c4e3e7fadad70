/** The chat: reduces the events of a pod to a view, draws the view, and turns what a user types into commands. */
export { holdChat } from './hold-chat.ts';
export { ASK_WHICH, pickSession, withBareResume } from './pick-session.ts';
