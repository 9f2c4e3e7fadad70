import { arrayOf, type JsonObject, objectOf, stringOf } from '../../base/index.ts';
import { type Content, type Item, type ItemOf, textContent } from '../../llm/index.ts';
import { summaryItem } from '../../worker/index.ts';
import { readContent } from './content.ts';
import type { AgentMessage } from './agent-message.ts';

/** A message to the model. */
export function userItem(content: readonly Content[]): ItemOf<'message'> {
  return { type: 'message', role: 'user', content };
}

/** The content for the model of messages that only pi and xcsh write; nothing for an unknown role. */
export function foreignItems(message: AgentMessage): readonly Item[] {
  switch (message.role) {
    case 'bashExecution':
      return executed(message, `Ran \`${stringOf(message.command)}\``);
    case 'pythonExecution':
      return executed(message, `Ran this Python code:\n\`\`\`python\n${stringOf(message.code)}\n\`\`\``);
    case 'custom':
    case 'hookMessage':
      return [userItem(readContent(message.content))];
    case 'branchSummary':
      return branchSummaryItems(stringOf(message.summary));
    case 'compactionSummary':
      return [summaryItem(stringOf(message.summary))];
    case 'fileMention':
      return arrayOf(message.files).map((file) => userItem(mentioned(objectOf(file))));
    default:
      return [];
  }
}

/** The summary of an abandoned branch; nothing if it is empty. */
export function branchSummaryItems(summary: string): readonly Item[] {
  if (summary === '') return [];
  const before = 'The following is a summary of a branch that this conversation came back from:';
  return [userItem(textContent(`${before}\n\n<summary>\n${summary}</summary>`))];
}

/** A person's shell command, in pi's wording. */
function executed(message: AgentMessage, ran: string): readonly Item[] {
  if (message.excludeFromContext === true) return [];
  const { exitCode, fullOutputPath } = message;
  // The final newline does not start another line.
  const output = stringOf(message.output).replace(/\n$/, '');
  let text = `${ran}\n${output === '' ? '(no output)' : `\`\`\`\n${output}\n\`\`\``}`;
  if (message.cancelled === true) text += '\n\n(command cancelled)';
  else if (typeof exitCode === 'number' && exitCode !== 0) text += `\n\nCommand exited with code ${exitCode}`;
  if (message.truncated === true && typeof fullOutputPath === 'string')
    text += `\n\n[Output truncated. Full output: ${fullOutputPath}]`;
  return [userItem(textContent(text))];
}

function mentioned({ path, content, skippedReason, image }: JsonObject): readonly Content[] {
  const body = skippedReason === undefined ? stringOf(content) : '[left out: too large]';
  const text = `<file path="${stringOf(path)}">\n${body}\n</file>`;
  return [...textContent(text), ...readContent([image])];
}
