import { arrayOf, type JsonObject, numberOf, objectOf, stringOf } from '../../../base/index.ts';
import type { AgentMessage, Snapshot } from '../../../pod/index.ts';
import { callHtml, contentHtml, diffHtml, textHtml, thinkingHtml } from './content.ts';
import { escaped } from './escape.ts';
import { STYLE } from './style.ts';

export interface ExportedSession {
  readonly snapshot: Snapshot;
  readonly messages: readonly AgentMessage[];
  readonly version: string;
}

/** Renders a session as a self-contained page. It has no scripts, and its policy blocks scripts and requests in the content. */
export function exportPage({ snapshot, messages, version }: ExportedSession): string {
  const results = new Map(
    messages
      .filter(({ role }) => role === 'toolResult')
      .map((message) => [stringOf(message.toolCallId), message]),
  );
  const title = snapshot.settings.name ?? firstLine(messages) ?? 'Session';
  const body = messages.map((message) => messageHtml(message, results)).join('\n');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>${escaped(title)}</h1>
${factsHtml(snapshot)}
</header>
<main>
${body}
</main>
<footer>Exported by Polypod ${escaped(version)}</footer>
</body>
</html>
`;
}

function factsHtml({ id, cwd, createdAt, model, stats }: Snapshot): string {
  const { inputTokens, outputTokens, cacheReadInputTokens, turns, toolCalls, cost } = stats.totals;
  const facts: readonly (readonly [string, string])[] = [
    ['Session', id],
    ['Directory', cwd],
    ['Started', createdAt],
    ['Model', `${model.provider}/${model.modelId}`],
    ['Turns', String(turns)],
    ['Tool calls', String(toolCalls)],
    ['Tokens in', `${inputTokens} (${cacheReadInputTokens} cached)`],
    ['Tokens out', String(outputTokens)],
    ['Cost', cost === undefined ? 'not known' : `$${cost.toFixed(4)}`],
  ];
  const rows = facts.map(([name, value]) => `<div><dt>${name}</dt><dd>${escaped(value)}</dd></div>`);
  return `<dl>${rows.join('')}</dl>`;
}

function messageHtml(message: AgentMessage, results: ReadonlyMap<string, AgentMessage>): string {
  switch (message.role) {
    case 'user':
    case 'developer':
      return articleHtml(message, message.role === 'user' ? 'You' : 'System', contentHtml(message.content));
    case 'assistant':
      return articleHtml(
        message,
        `${stringOf(message.provider)}/${stringOf(message.model)}`,
        answerHtml(message, results),
      );
    case 'toolResult':
      // Rendered with its call.
      return '';
    case 'bashExecution':
      return articleHtml(message, 'Command', commandHtml(message));
    case 'compactionSummary':
    case 'branchSummary':
      return articleHtml(message, 'Summary of the earlier conversation', textHtml(stringOf(message.summary)));
    default:
      return articleHtml(message, message.role, contentHtml(message.content));
  }
}

function articleHtml({ role, timestamp }: AgentMessage, title: string, body: string): string {
  const at = numberOf(timestamp);
  const time =
    at === undefined ? '' : `<time>${new Date(at).toISOString().slice(0, 19).replace('T', ' ')}</time>`;
  return `<article class="${role === 'user' ? 'user' : 'other'}"><h2>${time}${escaped(title)}</h2>${body}</article>`;
}

function answerHtml(message: AgentMessage, results: ReadonlyMap<string, AgentMessage>): string {
  const blocks = arrayOf(message.content).map((block) => blockHtml(objectOf(block), results));
  const error = stringOf(message.errorMessage);
  return `${blocks.join('')}${error === '' ? '' : `<p class="error">${escaped(error)}</p>`}`;
}

function blockHtml(block: JsonObject, results: ReadonlyMap<string, AgentMessage>): string {
  switch (block.type) {
    case 'text':
      return textHtml(stringOf(block.text));
    case 'thinking':
      return thinkingHtml(stringOf(block.thinking));
    case 'toolCall':
      return callHtml(block, results.get(stringOf(block.id)));
    default:
      return '';
  }
}

function commandHtml({ command, output, exitCode }: AgentMessage): string {
  const end =
    numberOf(exitCode) === undefined || exitCode === 0
      ? ''
      : ` <span class="failed">exit code ${String(exitCode)}</span>`;
  return `<details><summary><code>${escaped(stringOf(command))}</code>${end}</summary>${diffHtml(stringOf(output))}</details>`;
}

function firstLine(messages: readonly AgentMessage[]): string | undefined {
  const first = messages.find(({ role }) => role === 'user');
  const text = arrayOf(first?.content)
    .map((part) => stringOf(objectOf(part).text))
    .join(' ');
  const [line = ''] = text.trim().split('\n');
  return line === '' ? undefined : line.slice(0, 120);
}
