import { arrayOf, type JsonObject, objectOf, stringOf } from '../../base/index.ts';
import type { ClientAnswer, ClientQuestion } from '../../tools/index.ts';

/** The form for a call of the tool AskUserQuestion: one field per question. */
export function questionForm(input: JsonObject): ClientQuestion {
  const questions = arrayOf(input.questions).map(objectOf);
  return {
    message: questions.map(({ question }) => stringOf(question)).join('\n'),
    schema: {
      type: 'object',
      properties: Object.fromEntries(questions.map((question, at) => [fieldName(at), field(question)])),
      required: questions.map((_, at) => fieldName(at)),
    },
  };
}

/** The input with which the call must run so that the model receives the answers. */
export function answeredInput(input: JsonObject, content: JsonObject): JsonObject {
  const answers = arrayOf(input.questions)
    .map(objectOf)
    .flatMap(({ question }, at) => {
      const value = content[fieldName(at)];
      const text = (Array.isArray(value) ? value : [value]).map(valueText).join(', ');
      return text === '' ? [] : [[stringOf(question), text] as const];
    });
  return { ...input, answers: Object.fromEntries(answers) };
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined ? '' : JSON.stringify(value);
}

function fieldName(at: number): string {
  return `answer${at + 1}`;
}

function field({ question, header, options, multiSelect }: JsonObject): JsonObject {
  const choices = arrayOf(options).map(objectOf);
  const labels = choices.map(({ label }) => stringOf(label));
  const choice = labels.length === 0 ? { type: 'string' } : { type: 'string', enum: labels };
  return {
    title: stringOf(header) || stringOf(question),
    description: [
      stringOf(question),
      ...choices.map(({ label, description }) => `${stringOf(label)}: ${stringOf(description)}`),
    ].join('\n'),
    ...(multiSelect === true ? { type: 'array', items: choice } : choice),
  };
}

/** The form that an MCP server of the agent asks for. */
export function elicitationForm(request: JsonObject): ClientQuestion {
  const server = stringOf(request.mcp_server_name);
  const message = stringOf(request.message);
  return {
    message: server === '' ? message : `${server}: ${message}`,
    schema: objectOf(request.requested_schema),
  };
}

/** The answer to a request for a form. */
export function questionResponse(
  kind: 'tool' | 'elicitation',
  input: JsonObject,
  answer: ClientAnswer,
): JsonObject {
  if (kind === 'elicitation')
    return answer.action === 'accept'
      ? { action: 'accept', content: answer.content }
      : { action: answer.action };
  if (answer.action === 'accept')
    return { behavior: 'allow', updatedInput: answeredInput(input, answer.content) };
  return {
    behavior: 'deny',
    message: answer.action === 'decline' ? 'The user declined to answer.' : 'Nobody answered the question.',
  };
}
