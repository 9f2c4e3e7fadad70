import { messageOf, onAbort } from '../../base/index.ts';
import type { PodHandle } from '../../control/index.ts';
import { EXIT, type ExitCode, type CommandContext } from '../command.ts';
import {
  chord,
  type EditorState,
  type Key,
  newEditor,
  openTerminal,
  paintFor,
  type PickerItem,
  REAL_TIMER,
  Screen,
  setText,
  submittedInput,
  type Terminal,
  textWidth,
  updateEditor,
  updateMenu,
} from '../../terminal/index.ts';
import type { ApprovalAnswer } from './screen/approval-dialog.ts';
import { completionOf, type Known } from './slash/completions.ts';
import { mentionBefore } from './slash/file-completion.ts';
import { foldedImage, mentioningFiles } from './view/content.ts';
import { editText } from './edit-text.ts';
import type { HistoryFile } from './history-file.ts';
import { MentionableFiles } from './mentionable-files.ts';
import { chatArea } from './screen/live-area.ts';
import type { PodLocation } from '../hosting/index.ts';
import { Attention } from '../output/attention.ts';
import { remainingBackground } from '../output/remaining-background.ts';
import type { Config } from '../../setup/index.ts';
import { newsBetween, sessionLabel, workState } from './view/news.ts';
import { Presenter } from './screen/presenter.ts';
import { PickerBox } from './screen/picker-box.ts';
import { notice, type Print } from './view/print.ts';
import { QuestionBox } from './screen/question-box.ts';
import { type UserInput, ChatSession } from './chat-session.ts';
import { isBusy, type View } from './view/view.ts';

export interface ChatOptions {
  readonly location: PodLocation;
  /** The session to continue; a new session if undefined. */
  readonly pod: PodHandle | undefined;
  /** The first prompt. */
  readonly prompt: string | undefined;
  /** The file that stores prompts; undefined if nothing is stored. */
  readonly history: HistoryFile | undefined;
  readonly settings: Pick<Config, 'notify' | 'titles'>;
}

const PROMPT = '> ';

/** Runs a chat on a terminal until the user leaves. */
export async function terminalChat(options: ChatOptions, context: CommandContext): Promise<ExitCode> {
  const chat = new TerminalChat(options, context);
  return chat.run();
}

/** Connects the parts of the terminal: keys become commands, and the view is drawn. */
class TerminalChat {
  readonly #options: ChatOptions;
  readonly #context: CommandContext;
  readonly #screen: Screen;
  readonly #presenter: Presenter;
  readonly #left: Promise<void>;
  #leave: () => void = () => {};
  /** Keys arrive before the session is open: their actions wait for it and run one after the other. */
  #session: Promise<ChatSession> | undefined;
  #submitted: Promise<unknown> = Promise.resolve();
  #view: View | undefined;
  #isLost = false;
  #editor: EditorState = newEditor();
  readonly #questions = new QuestionBox();
  readonly #picker = new PickerBox();
  readonly #attention: Attention;
  #hint: { readonly chord: string; readonly text: string } | undefined;
  #known: Known;
  readonly #closing = new AbortController();

  constructor(options: ChatOptions, context: CommandContext) {
    this.#options = options;
    this.#context = context;
    this.#left = new Promise((resolve) => (this.#leave = resolve));
    const files = new MentionableFiles({
      env: context.env,
      signal: this.#closing.signal,
      now: () => REAL_TIMER.now(),
      onLoaded: () => this.#onFiles(),
    });
    this.#known = {
      cwd: '',
      commands: [],
      models: [],
      sessions: [],
      files: (cwd, isFirst) => files.list(cwd, isFirst),
    };
    this.#screen = new Screen({
      output: context.stdout,
      paint: paintFor(context.env),
      timer: REAL_TIMER,
      draw: (size) => this.#draw(size),
    });
    this.#attention = new Attention({
      write: (bytes) => context.stdout.write(bytes),
      env: context.env,
      settings: options.settings.notify,
      now: () => REAL_TIMER.now(),
    });
    this.#presenter = new Presenter({ width: () => this.#screen.size.columns, key: 'ctrl-o', marks: false });
  }

  async run(): Promise<ExitCode> {
    const { location, pod, prompt, history } = this.#options;
    this.#editor = newEditor(await history?.read());
    const terminal = openTerminal({
      input: this.#context.stdin,
      output: this.#context.stdout,
      program: process,
      timer: REAL_TIMER,
      onKey: (key) => this.#onKey(key, terminal),
      onFocus: (hasFocus) => this.#attention.focused(hasFocus),
      onResize: () => {
        this.#presenter.resized();
        this.#screen.resized();
      },
      onEnd: () => this.#leave(),
      onLeave: () => {
        this.#screen.pause();
        this.#attention.pause();
      },
      onContinue: () => {
        this.#screen.resume();
        this.#attention.resume();
      },
    });
    const forget = onAbort(this.#context.signal, () => this.#leave());
    this.#context.onHangUp(() => this.#leave());
    try {
      location.notices.listen((text) => this.#print([notice(text, 'warning')]));
      this.#session = ChatSession.open(location, pod, this.#stage());
      const session = await this.#session;
      void this.#loadCompletions();
      if (prompt !== undefined) this.#submit({ text: prompt, paths: [], whenBusy: 'steer' });
      await this.#left;
      if (!this.#isLost) this.#print(this.#closingLines(session.view));
      await session.close();
      await history?.written();
      if (this.#isLost) return EXIT.broken;
      return this.#context.signal.aborted ? EXIT.interrupted : EXIT.ok;
    } finally {
      forget();
      this.#closing.abort();
      terminal.close();
    }
  }

  #stage() {
    return {
      now: () => REAL_TIMER.now(),
      print: (prints: readonly Print[]) => this.#print(prints),
      onView: (view: View) => this.#onView(view),
      leave: () => this.#leave(),
      lost: () => {
        this.#isLost = true;
        this.#leave();
      },
      suggest: (text: string) => {
        // A text that the user is typing is not replaced.
        if (this.#editor.text === '') this.#onEditorKey({ type: 'text', text });
      },
      copy: (text: string) => {
        // OSC 52 copies to the clipboard in terminals that support it, also over ssh.
        this.#context.stdout.write(`\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`);
        return true;
      },
      pick: (title: string, items: readonly PickerItem[], current?: string) => {
        const picked = this.#picker.pick(title, items, current);
        this.#screen.refresh();
        return picked;
      },
      askAgain: () => {
        this.#questions.reopenAll();
        if (this.#view?.approvals.length === 0) this.#print([notice('there are no pending approvals')]);
        this.#showQuestion();
      },
    };
  }

  /** Loads the completions of sessions and models once, because that can take a moment. */
  async #loadCompletions(): Promise<void> {
    const { location } = this.#options;
    const [models, rows] = await Promise.all([
      location.models().catch(() => []),
      location.sessions().catch(() => []),
    ]);
    const sessions = rows
      .filter(({ archived, spawned = false }) => !archived && !spawned)
      .map(({ id, name, title, firstPrompt = '' }) => ({ word: name ?? id, about: title ?? firstPrompt }));
    this.#known = { ...this.#known, models, sessions };
  }

  async #loadCommands(cwd: string): Promise<void> {
    const commands = await this.#options.location.customCommands(cwd).catch(() => []);
    this.#known = { ...this.#known, commands };
  }

  #onView(view: View): void {
    const news = newsBetween(this.#view, view);
    this.#view = view;
    const label = sessionLabel(view, this.#options.settings.titles.source !== 'off');
    this.#attention.show(label, workState(view));
    if (news !== undefined) this.#attention.notify(`${label}: ${news}`);
    if (view.cwd !== this.#known.cwd) void this.#loadCommands(view.cwd);
    this.#known = { ...this.#known, cwd: view.cwd };
    this.#showQuestion();
    this.#screen.refresh();
  }

  #showQuestion(): void {
    this.#print(this.#questions.show(this.#view?.approvals ?? [], REAL_TIMER.now()));
    this.#screen.refresh();
  }

  #draw({ columns, rows }: { readonly columns: number; readonly rows: number }) {
    const view = this.#view;
    return chatArea(
      {
        view,
        open: this.#presenter.open(),
        question: this.#questions.draw(columns, rows) ?? this.#picker.draw(columns, rows),
        editor: this.#editor,
        prompt: PROMPT,
        hint: this.#hint?.text,
        defaultMode: this.#options.location.defaultMode,
      },
      { columns, rows },
      REAL_TIMER.now(),
    );
  }

  #onKey(key: Key, terminal: Pick<Terminal, 'suspend' | 'lend'>): void {
    const pressed = key.type === 'chord' ? key.chord : '';
    const before = this.#hint;
    this.#hint = undefined;
    this.#attention.attended();
    if (pressed === 'ctrl-z') terminal.suspend();
    else if (pressed === 'ctrl-l') this.#screen.redraw();
    else if (pressed === 'ctrl-o') this.#screen.print(this.#presenter.expanded());
    else if (this.#questions.isOpen) this.#onQuestionKey(key, pressed);
    else if (this.#picker.isOpen) this.#picker.press(key, this.#screen.size.columns);
    else if (this.#questions.ignores(key, REAL_TIMER.now())) this.#hint = before;
    else if (pressed === 'ctrl-r') void this.#searchHistory();
    else if (pressed === 'ctrl-g') void terminal.lend(() => this.#editInput());
    else if (pressed === 'alt-enter' && this.#isToWait()) this.#onEditorKey(chord('enter'), 'follow-up');
    else {
      const chordLeft = this.#onEditorKey(key);
      if (chordLeft !== undefined) this.#onChord(chordLeft, before?.chord === chordLeft);
    }
    this.#screen.refresh();
  }

  async #searchHistory(): Promise<void> {
    const { history } = this.#editor;
    const texts = history.map((text) => submittedInput({ ...this.#editor, text }).text);
    if (texts.length === 0) return this.#print([notice('there are no previous prompts')]);
    const newestFirst = [...new Set(texts.toReversed())];
    const items = newestFirst.map((text) => ({
      value: text,
      label: text.trim().replace(/\s+/g, ' '),
      detail: '',
    }));
    const text = await this.#picker.pick('Previous prompts', items);
    if (text !== undefined) this.#editor = setText(this.#editor, text);
    this.#screen.refresh();
  }

  async #editInput(): Promise<void> {
    try {
      const text = await editText(mentioningFiles(this.#editor), this.#context.env);
      this.#editor = setText(this.#editor, text);
    } catch (thrown) {
      this.#print([notice(messageOf(thrown), 'error')]);
    }
  }

  #isToWait(): boolean {
    return (
      this.#view !== undefined &&
      isBusy(this.#view) &&
      this.#editor.menu === undefined &&
      this.#editor.text.trim() !== ''
    );
  }

  readonly #complete = (text: string, cursor: number) => completionOf(text, cursor, this.#known);

  /** The files of the tree have been listed: a mention that is being typed can be completed with them. */
  #onFiles(): void {
    const { text, cursor } = this.#editor;
    if (mentionBefore(text.slice(0, cursor)) === undefined) return;
    this.#editor = updateMenu(this.#editor, this.#complete);
    this.#screen.refresh();
  }

  /** Returns the chord if the editor does not use it. */
  #onEditorKey(key: Key, whenBusy: UserInput['whenBusy'] = 'steer'): string | undefined {
    const width = textWidth({ width: this.#screen.size.columns, prompt: PROMPT });
    const { state, event } = updateEditor(this.#editor, key, {
      width,
      complete: this.#complete,
      recognise: (path) => foldedImage(path, this.#known.cwd),
    });
    this.#editor = state;
    this.#screen.refresh();
    if (event?.type === 'submit') this.#submit({ text: event.text, paths: event.paths, whenBusy });
    return event?.type === 'chord' ? event.chord : undefined;
  }

  #onChord(pressed: string, isAgain: boolean): void {
    const view = this.#view;
    // An unreachable pod cannot be cancelled.
    const busy = view !== undefined && !view.isAway && (isBusy(view) || view.shells.length > 0);
    const { survivesExit } = this.#options.location;
    if (busy && (pressed === 'ctrl-c' || (pressed === 'escape' && isAgain))) this.#cancel();
    else if (pressed === 'escape' && busy)
      this.#hint = {
        chord: pressed,
        text: 'Esc again cancels · Enter steers · Alt-Enter queues a follow-up',
      };
    else if (pressed === 'escape' && isAgain) this.#send({ text: '/rewind', paths: [], whenBusy: 'steer' });
    else if (pressed === 'escape' && view?.hasBegun === true && this.#editor.text === '')
      this.#hint = { chord: pressed, text: 'Esc again lists the points to return to (/rewind)' };
    else if (pressed === 'ctrl-c' && !isAgain) this.#hint = { chord: pressed, text: 'Ctrl-C again exits' };
    else if (pressed === 'ctrl-d' && busy && !survivesExit && !isAgain)
      this.#hint = { chord: pressed, text: 'Ctrl-D again cancels the run and exits' };
    else if (pressed === 'ctrl-c' || pressed === 'ctrl-d') this.#leave();
  }

  #onQuestionKey(key: Key, pressed: string): void {
    if (pressed === 'ctrl-c') {
      this.#questions.giveUp();
      return this.#cancel();
    }
    if (pressed === 'ctrl-d' && this.#questions.isChoosing) return this.#leave();
    const { answered, prints } = this.#questions.press(key, this.#screen.size.columns, REAL_TIMER.now());
    this.#print(prints);
    if (answered !== undefined) void this.#answer(answered.approvalId, answered.answer);
  }

  async #answer(approvalId: string, answer: ApprovalAnswer): Promise<void> {
    if (answer.type === 'later') this.#print([notice('deferred: /questions shows it again')]);
    else if ((await (await this.#session)?.decide(approvalId, answer)) !== true)
      this.#questions.reopen(approvalId);
    this.#showQuestion();
  }

  #submit(input: UserInput): void {
    this.#options.history?.add(input.text);
    this.#send(input);
  }

  #send(input: UserInput): void {
    this.#submitted = this.#submitted.then(async () => (await this.#session)?.submit(input)).catch(() => {});
  }

  #cancel(): void {
    void this.#session?.then((session) => session.cancel());
  }

  #print(prints: readonly Print[]): void {
    this.#screen.print(this.#presenter.lines(prints));
  }

  #closingLines({ podId, settings, hasBegun, isClosed, state, background }: View): readonly Print[] {
    const { location, history } = this.#options;
    // Without a history, nothing is stored that could be resumed.
    if (isClosed || !hasBegun || history === undefined) return [];
    const word = settings.name !== undefined && /^[\w.-]+$/.test(settings.name) ? settings.name : podId;
    if (location.survivesExit && isBusy({ state }))
      return [notice(`the run continues; polypod attach ${word} returns to it`)];
    const left = remainingBackground(background.length, location.survivesExit, word);
    return [
      ...(left === undefined ? [] : [notice(left)]),
      notice(`polypod chat --resume ${word} resumes this session`),
    ];
  }
}
