/** The chat: reduces the events of a pod to a view, draws the view, and turns what a user types into commands. */
export { runChat } from './run-chat.ts';
export { RESUME_FROM_LIST, pickSession, withBareResume } from './pick-session.ts';
