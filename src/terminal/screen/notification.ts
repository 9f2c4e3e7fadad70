import { sanitizeLine } from '../sanitize.ts';
import { fitWidth } from '../width.ts';

export interface Notification {
  readonly title: string;
  readonly body: string;
}

/** How a terminal notifies its user. */
export interface NotificationChannels {
  readonly bell: boolean;
  /** Request a notification of the desktop. Terminals that do not support it ignore the request. */
  readonly desktop: boolean;
}

const BELL = '\u0007';
const LONGEST = 200;

/** Returns the bytes that notify the user of a terminal. */
export function notificationBytes(
  notification: Notification,
  { bell, desktop }: NotificationChannels,
  env: Readonly<Record<string, string | undefined>>,
): string {
  return `${desktop ? desktopBytes(notification, env) : ''}${bell ? BELL : ''}`;
}

/** Returns whether the terminal handles operating system commands (OSC): others would print their text. */
export function supportsOsc({ TERM = '' }: Readonly<Record<string, string | undefined>>): boolean {
  return TERM !== '' && TERM !== 'dumb' && TERM !== 'linux';
}

function desktopBytes(
  { title, body }: Notification,
  env: Readonly<Record<string, string | undefined>>,
): string {
  // GNU screen has no way to pass it to the terminal outside.
  if (!supportsOsc(env) || (env.STY !== undefined && env.TMUX === undefined)) return '';
  // The terminals of GNOME and rxvt know only OSC 777, and most others OSC 9.
  const isNamed = env.VTE_VERSION !== undefined || env.TERM?.startsWith('rxvt');
  const bytes = isNamed
    ? `\u001b]777;notify;${field(title)};${field(body)}\u001b\\`
    : `\u001b]9;${field(`${title}: ${body}`)}\u001b\\`;
  return env.TMUX === undefined ? bytes : passedThroughTmux(bytes);
}

/** Text without control characters and without the separator of fields. */
function field(text: string): string {
  return fitWidth(sanitizeLine(text).replaceAll(';', ','), LONGEST);
}

/** tmux sends the bytes to the terminal outside if its option allow-passthrough is on, and otherwise ignores them. */
function passedThroughTmux(bytes: string): string {
  return `\u001bPtmux;${bytes.replaceAll('\u001b', '\u001b\u001b')}\u001b\\`;
}
