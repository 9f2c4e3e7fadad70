import type { Client } from '@modelcontextprotocol/client';
import type { ClientServices } from '../../tools/index.ts';
import { oneLine } from '../shorten.ts';

/** Returns how the user can be asked now; undefined if nobody can be asked. */
export type AskUser = () => ClientServices['ask'];

/** Forms only: a page to open would be outside of what the user sees here. */
export const QUESTIONS = { elicitation: { form: {} } } as const;

/** Shows the questions of a server to the user. The user sees which server asks. */
export function answerQuestions(client: Client, server: string, askUser: AskUser): void {
  client.setRequestHandler('elicitation/create', async ({ params }, { mcpReq }) => {
    const ask = askUser();
    if (ask === undefined || !('requestedSchema' in params)) return { action: 'decline' };
    const message = `The MCP server "${oneLine(server, MAX_NAME)}" asks: ${params.message.slice(0, MAX_MESSAGE)}`;
    const answer = await ask({ message, schema: { ...params.requestedSchema } }, mcpReq.signal);
    if (answer.action !== 'accept') return { action: answer.action };
    return { action: 'accept', content: Object.fromEntries(Object.entries(answer.content).filter(isSimple)) };
  });
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
