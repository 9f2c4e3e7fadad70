import { lex, type Opaque, type Operator, type Redirector, type Token, type Word } from './lexer.ts';

/** One program with its arguments, without the operators around it. */
export interface SimpleCommand {
  readonly assignments: readonly Word[];
  readonly words: readonly Word[];
  readonly redirections: readonly Redirection[];
}

/** A file that the shell opens for a program. */
export interface Redirection {
  readonly access: 'read' | 'write' | 'neither';
  readonly target: Word;
  /** The content of a heredoc. */
  readonly body: string | undefined;
}

/** Every simple command of a line, whether it would run or not; or why they are unknown. */
export type Script = { readonly commands: readonly SimpleCommand[] } | Opaque;

/**
 * Parses lists, pipelines and subshells. Loops, conditions, functions and brace groups are opaque: they are
 * complex enough to deserve a question.
 */
export function parseScript(text: string): Script {
  const tokens = lex(text);
  if ('opaque' in tokens) return tokens;
  const parser = new Parser();
  for (const token of tokens) parser.take(token);
  parser.end();
  return parser.trouble === undefined ? { commands: parser.commands } : { opaque: parser.trouble };
}

const RESERVED = new Set(
  'if then else elif fi do done case esac while until for in function select coproc { } [[ ]]'.split(' '),
);

const ACCESS: Readonly<Record<Redirector, Redirection['access']>> = {
  '<': 'read',
  '<>': 'write',
  '<&': 'neither',
  '>': 'write',
  '>>': 'write',
  '>|': 'write',
  '>&': 'write',
  '&>': 'write',
  '&>>': 'write',
  '<<': 'neither',
  '<<-': 'neither',
  '<<<': 'neither',
};

/** `>&1`, `2>&-`: another name for an open file. */
const DESCRIPTOR = /^(?:\d+-?|-)$/;

const PLAIN = /^[\w./-]+$/;

interface CommandDraft {
  readonly assignments: Word[];
  readonly words: Word[];
  readonly redirections: Redirection[];
}

class Parser {
  readonly commands: SimpleCommand[] = [];
  trouble: string | undefined;
  #draft: CommandDraft | undefined;
  #pending: Extract<Token, { type: 'redirection' }> | undefined;
  #depth = 0;
  /** What may come next: a command is required, a command is possible, or only what follows a closed subshell. */
  #location: 'required' | 'possible' | 'after-group' = 'possible';
  /** `!` and `time` are keywords only at the start of a pipeline. */
  #isPipelineStart = true;

  take(token: Token): void {
    if (this.trouble !== undefined) return;
    if (this.#pending !== undefined && token.type !== 'word') return this.#refuse();
    if (token.type === 'word') this.#word(token.word);
    else if (token.type === 'redirection') this.#pending = token;
    else this.#operator(token.operator);
  }

  end(): void {
    if (this.#pending !== undefined || this.#depth > 0) this.#refuse();
    this.#close();
    if (this.#location === 'required') this.#refuse();
  }

  #refuse(reason = 'it is not a complete command line'): void {
    this.trouble ??= reason;
  }

  #word(word: Word): void {
    if (this.#pending !== undefined) return this.#redirect(word);
    if (this.#location === 'after-group') return this.#refuse();
    if (this.#draft === undefined && this.#isPrefix(word)) return;
    const draft = (this.#draft ??= { assignments: [], words: [], redirections: [] });
    if (draft.words.length > 0) draft.words.push(word);
    else if (isAssignment(word)) draft.assignments.push(word);
    else if (RESERVED.has(word.text)) this.#refuse(`it uses ${word.text}`);
    else if (word.text === 'time' || word.text === '!') this.#refuse(`it uses ${word.text} in its middle`);
    else draft.words.push(word);
  }

  #isPrefix(word: Word): boolean {
    const isPrefix = this.#isPipelineStart && !word.quoted && (word.text === '!' || word.text === 'time');
    if (isPrefix) this.#location = 'required';
    return isPrefix;
  }

  #redirect(target: Word): void {
    if (this.#pending === undefined) return;
    const { operator, body } = this.#pending;
    this.#pending = undefined;
    const draft = (this.#draft ??= { assignments: [], words: [], redirections: [] });
    const duplicates = operator === '>&' || operator === '<&';
    // Bash expands this target a second time: `ls >&'$(rm x)'` runs rm.
    if (duplicates && (target.quoted || !PLAIN.test(target.text)))
      return this.#refuse(`what follows ${operator} is not plain`);
    const isDescriptor = duplicates && DESCRIPTOR.test(target.text);
    if (operator === '<&' && !isDescriptor) return this.#refuse();
    const access = isDescriptor ? 'neither' : ACCESS[operator];
    draft.redirections.push({ access, target, body });
  }

  #operator(operator: Operator): void {
    if (operator === '(') return this.#openSubshell();
    const isClosed = this.#close();
    if (operator === 'newline') return;
    if (operator === ')') return this.#closeSubshell();
    if (!isClosed) return this.#refuse();
    const isOptional = operator === ';' || operator === '&';
    this.#location = isOptional ? 'possible' : 'required';
    this.#isPipelineStart = operator !== '|' && operator !== '|&';
  }

  #openSubshell(): void {
    if (this.#draft !== undefined || this.#location === 'after-group')
      return this.#refuse('it defines a function');
    this.#depth += 1;
    this.#location = 'required';
    this.#isPipelineStart = true;
  }

  #closeSubshell(): void {
    this.#depth -= 1;
    if (this.#depth < 0 || this.#location === 'required') this.#refuse();
    this.#location = 'after-group';
  }

  /** Ends the current command; returns false if a required command is missing. */
  #close(): boolean {
    const draft = this.#draft;
    if (draft === undefined && this.#location !== 'after-group') return false;
    if (draft !== undefined) this.commands.push(draft);
    this.#draft = undefined;
    this.#location = 'possible';
    this.#isPipelineStart = true;
    return true;
  }
}

function isAssignment(word: Word): boolean {
  const [start] = /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=/.exec(word.text) ?? [];
  return start !== undefined && start.length <= word.bare;
}
