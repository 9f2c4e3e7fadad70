import { beginningOf, objectOf } from '../../base/index.ts';
import type { Answer } from './answer.ts';
import { withoutDirectives } from './directive-text.ts';
import { entriesIn, gist, readmeIn } from './project-summary.ts';
import { lastUserText, type SimCall, type SimRequest, type SimResult, type SimTool } from '../request.ts';

/**
 * The model behind everything that runs without an account. It knows one trick, which shows an agent at work: list the
 * directory, read the README, answer from it. It says that it is simulated, and it never calls a tool twice.
 */
export function offlineModel(request: SimRequest): Answer {
  const lister = toolNamed(request, LISTERS);
  const reader = toolNamed(request, READERS);
  if (lister === undefined && reader === undefined) return says(WHO, asked(request), HOW);
  const listed = lister && outcomeOf(request, lister);
  if (lister !== undefined && listed === undefined) {
    return calls(
      lister,
      '.',
      'I will look around first: list the files, then read the README if there is one.',
    );
  }
  const readme = listed === undefined || listed.failed ? 'README.md' : readmeIn(listed.text);
  const read = reader && outcomeOf(request, reader);
  if (reader !== undefined && read === undefined && readme !== undefined) {
    return calls(reader, readme, `${readme} should say what this is.`);
  }
  return says(WHO, asked(request), listingReport(listed), readingReport(readme, read), HOW);
}

const LISTERS = /^(ls|list|list_?(files|dir|directory|directories))$/i;
const READERS = /^(read|read_?(file|text_?file)|view|cat)$/i;

/** Tools of MCP servers come as `server__tool`. */
function toolNamed(request: SimRequest, names: RegExp): SimTool | undefined {
  return request.tools.find((tool) => names.test(tool.name.split(/__|\./).at(-1) ?? ''));
}

interface Outcome {
  readonly text: string;
  readonly failed: boolean;
}

/** How the last call of the tool went; undefined if it was never called. A call nobody answered has failed. */
function outcomeOf(request: SimRequest, tool: SimTool): Outcome | undefined {
  const results = request.messages.flatMap((message) => message.toolResults);
  const asked = request.messages.flatMap((message) => message.toolCalls);
  const position = asked.findLastIndex((call) => call.name === tool.name);
  const call = asked[position];
  if (call === undefined) return undefined;
  const result = results.findLast((one, at) => isResultOf(call, one, at === position));
  return result === undefined ? { text: 'no result came back', failed: true } : judged(result);
}

/** Some wires tell results apart by id, some by the tool's name, some only by the order of the calls. */
function isResultOf(call: SimCall, { id, name }: SimResult, isInItsPlace: boolean): boolean {
  if (id !== '') return id === call.id;
  return name === '' ? isInItsPlace : name === call.name;
}

/** Most wires cannot mark a result as failed: there it shows only in the words. */
function judged({ text, isError }: SimResult): Outcome {
  return { text, failed: isError || /^\s*(error|failed|denied|rejected|ENOENT|EACCES)\b/i.test(text) };
}

function calls(tool: SimTool, path: string, thinking: string): Answer {
  return {
    parts: [{ thinking }, { toolCall: { name: tool.name, arguments: { [pathArgument(tool)]: path } } }],
  };
}

function pathArgument(tool: SimTool): string {
  const known = Object.keys(objectOf(tool.parameters['properties']));
  return known.find((name) => /path|file|dir/i.test(name)) ?? known[0] ?? 'path';
}

function says(...sentences: readonly string[]): Answer {
  return { parts: [{ text: sentences.filter((sentence) => sentence !== '').join('\n\n') }] };
}

function asked(request: SimRequest): string {
  const question = withoutDirectives(lastUserText(request));
  return question === '' ? 'You asked nothing.' : `You asked: ${shortened(question)}`;
}

function listingReport(listed: Outcome | undefined): string {
  if (listed === undefined) return '';
  if (listed.failed) return `Listing the files did not work: ${shortened(listed.text)}`;
  const count = entriesIn(listed.text);
  return `I listed the working directory: ${count} ${count === 1 ? 'entry' : 'entries'}.`;
}

function readingReport(readme: string | undefined, read: Outcome | undefined): string {
  if (readme === undefined) return 'There is no README among them, so I have nothing to answer from.';
  if (read === undefined) return `There is a ${readme}, but I was given no tool to read it.`;
  if (read.failed) return `Reading ${readme} did not work: ${shortened(read.text)}`;
  const { title, sentence } = gist(read.text);
  const titled = title === '' ? `I read ${readme}.` : `I read ${readme}, titled "${title}".`;
  return sentence === '' ? titled : `${titled} It begins: ${shortened(sentence)}`;
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= LONGEST ? line : `${beginningOf(line, LONGEST)}…`;
}

const LONGEST = 400;
const WHO = 'I am a simulated model: a script that comes with Polypod, without any intelligence.';
const HOW =
  'For a real model, set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or run Ollama on this machine.';
