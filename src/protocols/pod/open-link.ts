/** Everything that serves a client of a pod. It is loaded with the first client. */
export { Broadcast } from './broadcast.ts';
export { Link } from './link.ts';
