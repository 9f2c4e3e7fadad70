// Reads the fenced blocks of a page, and the annotations above them.

/** Comments that name the test of a block: `tested: NAME`, `transcript: NAME`, `screen: NAME` and `replayed`. */
const MARKER = /^(tested|transcript|screen): (\S.*)$|^(replayed)$/;

/** Annotations. The text in backticks is the beginning of a command of the block. */
const ANNOTATIONS = [
  ['not-run', /^not run(?: `(?<command>[^`]+)`)?:(?<reason>.*)$/],
  ['exit', /^exit (?<code>\d+) `(?<command>[^`]+)`:(?<reason>.*)$/],
  ['replace', /^replace `(?<from>[^`]+)` with `(?<to>[^`]+)`$/],
  ['before', /^before: (?<command>.+)$/],
  ['after', /^after: (?<command>.+)$/],
  ['save-as', /^save as: (?<path>\S+)$/],
];

/** Returns the blocks of a page in order, each with its line number, language, code, marker and annotations. */
export function blocksIn(page, text) {
  const lines = text.split('\n');
  const blocks = [];
  for (let at = 0; at < lines.length; at += 1) {
    const [, indent, fence, language] = /^( *)(```+)([\w-]*)/.exec(lines[at]) ?? [];
    if (fence === undefined) continue;
    const end = lines.findIndex((line, index) => index > at && line.trim() === fence);
    const code = lines.slice(at + 1, end).map((line) => line.slice(indent.length));
    blocks.push({ page, line: at + 1, language, lines: code, ...commentsAbove(lines, at) });
    at = end;
  }
  return blocks;
}

/** Returns the text of a page without its blocks and comments; lines keep their numbers. */
export function prose(text) {
  const blank = (part) => part.replaceAll(/[^\n]/g, '');
  return text.replaceAll(/^ *(```+)[^\n]*\n[^]*?^ *\1$/gm, blank).replaceAll(/<!--[^]*?-->/g, blank);
}

function commentsAbove(lines, at) {
  const found = { marker: undefined, annotations: [], problems: [] };
  for (let above = at - 1; above >= 0; above -= 1) {
    const [, comment] = /^ *<!-- (.*) -->$/.exec(lines[above]) ?? [];
    if (comment === undefined) break;
    const [, kind, name, replayed] = MARKER.exec(comment) ?? [];
    if (kind !== undefined || replayed !== undefined) found.marker = { kind: kind ?? replayed, name };
    else read(comment, found);
  }
  found.annotations.reverse();
  return found;
}

function read(comment, { annotations, problems }) {
  for (const [type, pattern] of ANNOTATIONS) {
    const groups = pattern.exec(comment)?.groups;
    if (groups === undefined) continue;
    if (groups.reason?.trim() === '') problems.push(`the annotation "${comment}" has no reason`);
    annotations.push({ type, ...groups, reason: groups.reason?.trim() });
    return;
  }
  problems.push(`unknown annotation "${comment}": CONTRIBUTING.md lists them`);
}

/**
 * Splits the code of a shell block into commands, each with its line number in the page. `isComplete` decides whether lines are a
 * command, for commands with several lines.
 */
export function commandsIn({ line, language, lines, annotations }, isComplete) {
  const commands = [];
  let open;
  for (const [index, text] of lines.entries()) {
    // In a console block, lines without a prompt are output.
    const typed = language === 'console' ? /^\$ (.*)$/.exec(text)?.[1] : text;
    if (typed === undefined || (open === undefined && /^\s*(?:#|$)/.test(typed))) continue;
    open = {
      line: open?.line ?? line + 1 + index,
      text: open === undefined ? typed : `${open.text}\n${typed}`,
    };
    if (!isComplete(open.text)) continue;
    commands.push(open);
    open = undefined;
  }
  if (open !== undefined) commands.push(open);
  return commands.map((command) => ({
    ...command,
    text: command.text,
    ...annotationOf(command, annotations),
  }));
}

function annotationOf({ text }, annotations) {
  const matches = ({ command }) => command === undefined || text.startsWith(command);
  return {
    notRun: annotations.find((each) => each.type === 'not-run' && matches(each))?.reason,
    exit: Number(annotations.find((each) => each.type === 'exit' && matches(each))?.code ?? 0),
  };
}

/** The annotations that match no command or text of their block. */
export function unusedAnnotations({ lines, annotations }, commands) {
  return annotations.flatMap(({ type, command, from }) => {
    if (type === 'replace')
      return lines.some((line) => line.includes(from)) ? [] : [`the block does not contain "${from}"`];
    if (type !== 'not-run' && type !== 'exit') return [];
    if (command === undefined || commands.some(({ text }) => text.startsWith(command))) return [];
    return [`no command of the block starts with "${command}"`];
  });
}
