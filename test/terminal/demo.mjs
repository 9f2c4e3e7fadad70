// A conversation with nobody, on the real terminal that it is started in: what the tests with tmux drive.
// `md`, `card`, `tall`, `ask` and `crash` do what they say; everything else is answered by its own words.
// Its first argument is the directory with the compiled sources.
const {
  COLOURED,
  MarkdownStream,
  line,
  menuLines,
  newEditor,
  openTerminal,
  REAL_TIMER,
  renderEditor,
  Screen,
  stackLive,
  staticLive,
  textWidth,
  updateEditor,
} = await import(`${process.argv[2]}/src/terminal/index.js`);
const chatPart = (name) => import(`${process.argv[2]}/src/cli/chat/${name}.js`);
const { activityLine, FRAME_MS, statusLine } = await chatPart('screen/activity');
const { newApproval, updateApproval } = await chatPart('screen/approval-dialog');
const { approvalWidth, questionLines, renderApproval } = await chatPart('screen/approval-lines');
const { messageLines, noticeLines } = await chatPart('screen/cards');
const { FoldedCards } = await chatPart('screen/folded-cards');

const SAMPLE = `# 見出し

これは**強調**された長い日本語の文章です。折り返しても文字の途中では切れません。

- one
- two with \`code\`

| a | b |
|---|---|
| 語 | 2 |

\`\`\`ts
const x = 1;
\`\`\`
`;
const PROMPT = '> ';
const CARD_STYLE = { key: 'ctrl-o' };

let editor = newEditor();
let approval;
let stream;
let startedAt = 0;
let tall = [];
const cards = new FoldedCards();

const screen = new Screen({ output: process.stdout, paint: COLOURED, timer: REAL_TIMER, draw });
const terminal = openTerminal({
  input: process.stdin,
  output: process.stdout,
  program: process,
  timer: REAL_TIMER,
  onKey,
  onResize: () => {
    stream?.resize(screen.size.columns);
    screen.resized();
  },
  onEnd: () => terminal.close(),
  onLeave: () => screen.pause(),
  onContinue: () => screen.resume(),
});
screen.print(noticeLines('ready', 'quiet', screen.size.columns));

function draw({ columns, rows }) {
  const input =
    approval === undefined
      ? renderEditor(editor, {
          width: columns,
          rows: Math.ceil(rows / 3),
          prompt: PROMPT,
          placeholder: 'say something',
        })
      : renderApproval(approval, { width: columns, rows });
  const elapsedMs = REAL_TIMER.now() - startedAt;
  const busy =
    stream === undefined ? [] : [activityLine({ text: 'answering', elapsedMs, notes: [] }, columns)];
  return {
    ...stackLive([
      staticLive([...(stream?.open() ?? []), ...tall, ...busy]),
      input,
      staticLive([...menuLines(editor, columns, 4), statusLine('demo', `${columns}x${rows}`, columns)]),
    ]),
    redrawAfterMs: stream === undefined ? undefined : FRAME_MS,
  };
}

function onKey(key) {
  const { columns } = screen.size;
  if (approval !== undefined) onApprovalKey(key, columns);
  else {
    const width = textWidth({ width: columns, prompt: PROMPT });
    const updated = updateEditor(editor, key, { width, complete, recognise: () => undefined });
    editor = updated.state;
    if (updated.event?.type === 'submit') submit(updated.event.text, columns);
    if (updated.event?.type === 'chord') onChord(updated.event.chord, columns);
  }
  screen.refresh();
}

function onApprovalKey(key, columns) {
  const updated = updateApproval(approval, key, {
    width: approvalWidth(approval, columns),
    now: REAL_TIMER.now(),
  });
  approval = updated.answer === undefined ? updated.state : undefined;
  if (updated.answer !== undefined)
    screen.print(noticeLines(`answered ${JSON.stringify(updated.answer)}`, 'quiet', columns));
}

function onChord(chord, columns) {
  if (chord === 'ctrl-d') terminal.close();
  if (chord === 'ctrl-z') terminal.suspend();
  if (chord === 'ctrl-o') screen.print(cards.expand({ ...CARD_STYLE, width: columns }) ?? []);
}

function submit(text, columns) {
  screen.print(messageLines(text, columns));
  tall = [];
  if (text === 'md') answer(SAMPLE, columns);
  else if (text === 'tall') tall = Array.from({ length: 60 }, (_, index) => line(`tall ${index}`));
  else if (text === 'ask') ask(columns);
  else if (text === 'card') screen.print(cards.print(card(), { ...CARD_STYLE, width: columns }));
  else if (text === 'crash') setTimeout(() => JSON.parse('{'), 0);
  else answer(`You said **${text.length}** characters: ${text}\n`, columns);
}

function answer(text, width) {
  stream = new MarkdownStream({ width, base: {}, marks: false });
  startedAt = REAL_TIMER.now();
  const deltas = text.match(/[^]{1,5}/gu) ?? [];
  const next = () => {
    const delta = deltas.shift();
    screen.print(delta === undefined ? stream.end() : stream.push(delta));
    if (delta === undefined) {
      stream = undefined;
      screen.print(noticeLines('finished', 'quiet', screen.size.columns));
    } else setTimeout(next, 2);
    screen.refresh();
  };
  next();
}

function ask(columns) {
  const question = {
    title: 'bash wants to run',
    name: 'bash rm -rf build',
    more: [],
    reason: 'Nobody allowed it.',
    detail: { type: 'command', text: 'rm -rf build' },
    arguments: { command: 'rm -rf build' },
    rule: 'bash rm *',
    findProblem: () => undefined,
  };
  screen.print(questionLines(question, columns));
  approval = newApproval(question, REAL_TIMER.now() - 1000);
}

function card() {
  const output = Array.from({ length: 30 }, (_, index) => `output ${index}`).join('\n');
  return {
    type: 'tool',
    title: 'bash make',
    status: 'done',
    durationMs: 2000,
    summary: '',
    diff: '',
    output,
  };
}

function complete(text, cursor) {
  const typed = text.slice(0, cursor);
  if (!/^\/\w*$/.test(typed)) return undefined;
  const names = ['/help', '/model', '/quit'].filter((name) => name.startsWith(typed));
  return {
    from: 0,
    eager: true,
    choices: names.map((name) => ({ label: name, detail: 'a command', insert: `${name} ` })),
  };
}
