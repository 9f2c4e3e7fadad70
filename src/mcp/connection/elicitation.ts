import type { Client } from '@modelcontextprotocol/client';
import type { ClientServices } from '../../tools/index.ts';
import { oneLine } from '../shorten.ts';

/** Returns how the user can be asked now; undefined if nobody can be asked. */
export type AskUser = () => Pick<ClientServices, 'ask' | 'openPage' | 'pageDone'> | undefined;

type Nothing = Readonly<Record<string, never>>;

/** The questions that can be shown now; undefined if there are none. Servers offer more tools to a client that declares them. */
export function questionCapabilities(
  askUser: AskUser | undefined,
): { readonly elicitation: { readonly form?: Nothing; readonly url?: Nothing } } | undefined {
  const { ask, openPage } = askUser?.() ?? {};
  if (ask === undefined && openPage === undefined) return undefined;
  return { elicitation: { ...(ask && { form: {} }), ...(openPage && { url: {} }) } };
}

/** Shows the questions of a server to the user. The user sees which server asks. */
export function answerQuestions(client: Client, server: string, askUser: AskUser): void {
  const name = oneLine(server, MAX_NAME);
  /** Servers choose their ids independently of each other. */
  const pageId = (id: string): string => `${name}/${id.slice(0, MAX_NAME)}`;
  client.setNotificationHandler('notifications/elicitation/complete', ({ params }) =>
    askUser()?.pageDone?.(pageId(params.elicitationId)),
  );
  client.setRequestHandler('elicitation/create', async ({ params }, { mcpReq }) => {
    const { ask, openPage } = askUser() ?? {};
    const message = `The MCP server "${name}" asks: ${params.message.slice(0, MAX_MESSAGE)}`;
    if (params.mode === 'url') {
      const { url, elicitationId } = params;
      if (openPage === undefined || !isWebPage(url)) return { action: 'decline' };
      return { action: await openPage({ message, url, id: pageId(elicitationId) }, mcpReq.signal) };
    }
    if (ask === undefined) return { action: 'decline' };
    const answer = await ask({ message, schema: { ...params.requestedSchema } }, mcpReq.signal);
    if (answer.action !== 'accept') return { action: answer.action };
    return { action: 'accept', content: Object.fromEntries(Object.entries(answer.content).filter(isSimple)) };
  });
}

/** A server must not make the editor open a local file or another program. */
function isWebPage(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

type Simple = string | number | boolean | string[];

function isSimple(entry: [string, unknown]): entry is [string, Simple] {
  const [, value] = entry;
  return (
    ['string', 'number', 'boolean'].includes(typeof value) ||
    (Array.isArray(value) && value.every((item) => typeof item === 'string'))
  );
}

const MAX_NAME = 100;
const MAX_MESSAGE = 4_000;
