import { ellipsize, objectOf } from '../../base/index.ts';
import type { SimAnswer } from './answer.ts';
import { withoutDirectives } from './directive-text.ts';
import { countEntries, readmeSummary, findReadme } from './readme-summary.ts';
import { lastUserText, type SimCall, type SimRequest, type SimResult, type SimTool } from '../request.ts';

/**
 * Answers when no account is configured. It demonstrates an agent run: it lists the directory, reads the README
 * and answers from it. It states that it is simulated, and it never calls a tool twice.
 */
export function offlineModel(request: SimRequest): SimAnswer {
  const lister = toolNamed(request, LISTERS);
  const reader = toolNamed(request, READERS);
  if (lister === undefined && reader === undefined)
    return textAnswer(INTRODUCTION, quoteQuestion(request), SETUP_HINT);
  const listed = lister && lastOutcome(request, lister);
  if (lister !== undefined && listed === undefined) {
    return callAnswer(
      lister,
      '.',
      'I will look around first: list the files, then read the README if there is one.',
    );
  }
  const readme = listed === undefined || listed.failed ? 'README.md' : findReadme(listed.text);
  const read = reader && lastOutcome(request, reader);
  if (reader !== undefined && read === undefined && readme !== undefined) {
    return callAnswer(reader, readme, `${readme} should say what this is.`);
  }
  return textAnswer(
    INTRODUCTION,
    quoteQuestion(request),
    listingReport(listed),
    readingReport(readme, read),
    SETUP_HINT,
  );
}

const LISTERS = /^(ls|list|list_?(files|dir|directory|directories))$/i;
const READERS = /^(read|read_?(file|text_?file)|view|cat)$/i;

/** Tools of MCP servers are named `server__tool`. */
function toolNamed(request: SimRequest, names: RegExp): SimTool | undefined {
  return request.tools.find((tool) => names.test(tool.name.split(/__|\./).at(-1) ?? ''));
}

interface Outcome {
  readonly text: string;
  readonly failed: boolean;
}

/**
 * Returns the outcome of the last call of the tool, or undefined if it was never called. A call without a
 * result counts as failed.
 */
function lastOutcome(request: SimRequest, tool: SimTool): Outcome | undefined {
  const results = request.messages.flatMap((message) => message.toolResults);
  const quoteQuestion = request.messages.flatMap((message) => message.toolCalls);
  const position = quoteQuestion.findLastIndex((call) => call.name === tool.name);
  const call = quoteQuestion[position];
  if (call === undefined) return undefined;
  const result = results.findLast((one, at) => isResultOf(call, one, at === position));
  return result === undefined ? { text: 'no result came back', failed: true } : resultOutcome(result);
}

/** Provider APIs identify results by id, by tool name, or only by the order of the calls. */
function isResultOf(call: SimCall, { id, name }: SimResult, hasSamePosition: boolean): boolean {
  if (id !== '') return id === call.id;
  return name === '' ? hasSamePosition : name === call.name;
}

/** Most provider APIs cannot mark a result as failed, so the text is checked too. */
function resultOutcome({ text, isError }: SimResult): Outcome {
  return { text, failed: isError || /^\s*(error|failed|denied|rejected|ENOENT|EACCES)\b/i.test(text) };
}

function callAnswer(tool: SimTool, path: string, thinking: string): SimAnswer {
  return {
    parts: [{ thinking }, { toolCall: { name: tool.name, arguments: { [pathArgument(tool)]: path } } }],
  };
}

function pathArgument(tool: SimTool): string {
  const parameterNames = Object.keys(objectOf(tool.parameters['properties']));
  return parameterNames.find((name) => /path|file|dir/i.test(name)) ?? parameterNames[0] ?? 'path';
}

function textAnswer(...sentences: readonly string[]): SimAnswer {
  return { parts: [{ text: sentences.filter((sentence) => sentence !== '').join('\n\n') }] };
}

function quoteQuestion(request: SimRequest): string {
  const question = withoutDirectives(lastUserText(request));
  return question === '' ? 'You asked nothing.' : `You asked: ${shorten(question)}`;
}

function listingReport(listed: Outcome | undefined): string {
  if (listed === undefined) return '';
  if (listed.failed) return `Listing the files did not work: ${shorten(listed.text)}`;
  const count = countEntries(listed.text);
  return `I listed the working directory: ${count} ${count === 1 ? 'entry' : 'entries'}.`;
}

function readingReport(readme: string | undefined, read: Outcome | undefined): string {
  if (readme === undefined) return 'There is no README among them, so I have nothing to answer from.';
  if (read === undefined) return `There is a ${readme}, but I was given no tool to read it.`;
  if (read.failed) return `Reading ${readme} did not work: ${shorten(read.text)}`;
  const { title, sentence } = readmeSummary(read.text);
  const titled = title === '' ? `I read ${readme}.` : `I read ${readme}, titled "${title}".`;
  return sentence === '' ? titled : `${titled} It begins: ${shorten(sentence)}`;
}

function shorten(text: string): string {
  return ellipsize(text.replace(/\s+/g, ' ').trim(), MAX_QUOTE);
}

const MAX_QUOTE = 400;
const INTRODUCTION = 'I am a simulated model: a script that comes with Polypod, without any intelligence.';
const SETUP_HINT =
  'For a real model, set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or run Ollama on this machine.';
