/** Appends the files that a prompt refers to, for the model. */
export function withFiles(prompt: string, files: readonly string[]): string {
  return files.length === 0 ? prompt : `${prompt}${HEADING}${files.map((file) => `- ${file}`).join('\n')}`;
}

/** Extracts the prompt again, for lists. */
export function promptIn(text: string): string {
  return text.split(`${HEADING}- `)[0] ?? text;
}

const HEADING = '\n\nFiles:\n';
