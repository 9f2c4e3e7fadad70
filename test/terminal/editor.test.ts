import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Choice,
  type Completion,
  chord,
  type EditorContext,
  type EditorEvent,
  type EditorState,
  type Folded,
  type Key,
  menuLines,
  newEditor,
  type CursorPosition,
  renderEditor,
  lineText,
  textWidth,
  updateEditor,
  lineWidth,
} from '../../src/terminal/index.ts';
import { fragment, graphemes } from './samples.ts';

const COMMANDS = ['/help', '/history', '/model'];

const CONTEXT: EditorContext = {
  width: 20,
  complete: (text, cursor): Completion | undefined => {
    const typed = text.slice(0, cursor);
    if (!/^\/\w*$/.test(typed)) return undefined;
    const choices = COMMANDS.filter((name) => name.startsWith(typed)).map((name) => ({
      label: name,
      detail: `about ${name}`,
      insert: `${name} `,
    }));
    return { from: 0, choices, eager: false };
  },
  recognise: (path): Folded | undefined =>
    path.endsWith('.png') ? { label: `[image ${path.split('/').at(-1)}]`, text: path, path } : undefined,
};

/** Types a script: plain text, with keys in angle brackets; the cursor is shown as `|`. */
function after(
  script: string,
  from = newEditor(),
  context = CONTEXT,
): { state: EditorState; events: EditorEvent[]; shown: string } {
  let state = from;
  const events: EditorEvent[] = [];
  for (const key of script.split(/(<[^>]+>)/).filter((part) => part !== '')) {
    const updated = updateEditor(state, keyOf(key), context);
    state = updated.state;
    if (updated.event !== undefined) events.push(updated.event);
  }
  return { state, events, shown: `${state.text.slice(0, state.cursor)}|${state.text.slice(state.cursor)}` };
}

function keyOf(part: string): Key {
  const name = /^<([^>]+)>$/.exec(part)?.[1];
  return name === undefined ? { type: 'text', text: part } : chord(name);
}

function paste(text: string, from = newEditor()): EditorState {
  return updateEditor(from, { type: 'paste', text }, CONTEXT).state;
}

describe('the input editor', () => {
  it.each([
    ['abc<left><left>X', 'aX|bc'],
    ['a👩‍💻🇹🇭<left><left>X', 'aX|👩‍💻🇹🇭'],
    ['a👩‍💻e\u0301<backspace><backspace>', 'a|'],
    ['\u0301x<home>e', 'e\u0301|x'],
    ['語น้ำ<left><delete>', '語|'],
    ['one two three<alt-b><alt-b>X', 'one X|two three'],
    ['one two<home><ctrl-right>X', 'oneX| two'],
    ['a b/c d<ctrl-w>', 'a b/c |'],
    ['a b/c<alt-backspace>', 'a b/|'],
    ['一二三 四<alt-b>X', '一二三 X|四'],
    ['ab<alt-enter>cd<ctrl-a>X', 'ab\nX|cd'],
    ['ab<shift-enter>cd<up>X', 'abX|\ncd'],
    ['ab<ctrl-j>cd<home><ctrl-u>', 'ab|cd'],
    ['ab\\<enter>c', 'ab\nc|'],
    ['abcd<left><left><ctrl-k><ctrl-y><ctrl-y>', 'abcdcd|'],
    ['one two<ctrl-w><ctrl-w><ctrl-y>', 'one two|'],
    ['one<ctrl-d><home><ctrl-d>', '|ne'],
    ['a<ctrl-end><ctrl-home>b', 'b|a'],
    ['text<ctrl-c>', '|'],
  ])('%s gives %s', (script, shown) => {
    expect(after(script).shown).toBe(shown);
  });

  it('undoes typing word by word', () => {
    const typed = 'one two'.split('').reduce((state, letter) => after(letter, state).state, newEditor());
    expect(after('<ctrl-_>', typed).shown).toBe('one|');
    expect(after('<ctrl-_><ctrl-_>', typed).shown).toBe('|');
  });

  it('submits with enter, but not an empty input', () => {
    const { events, shown } = after('hello<enter><enter>  <enter>');
    expect(events).toEqual([{ type: 'submit', text: 'hello', paths: [] }]);
    expect(shown).toBe('  |');
  });

  it('returns keys that it does not use', () => {
    expect(after('<escape><ctrl-c><ctrl-d><ctrl-z><ctrl-o>').events).toEqual(
      ['escape', 'ctrl-c', 'ctrl-d', 'ctrl-z', 'ctrl-o'].map((name) => ({ type: 'chord', chord: name })),
    );
  });

  it('moves through the history and back to the draft', () => {
    const { state } = after('first<enter>second<enter>dra<up>');
    expect(state.text).toBe('second');
    expect(after('<up>', state).state.text).toBe('first');
    expect(after('<up><up><down><down>', state).shown).toBe('dra|');
    expect(after('<up><enter>', state).events).toEqual([{ type: 'submit', text: 'first', paths: [] }]);
  });

  it('moves the cursor inside a recalled entry of several lines first', () => {
    const { state } = after('<up>', newEditor(['older', 'a\nb']));
    expect(after('<up>', state).shown).toBe('a|\nb');
    expect(after('<up><up>', state).shown).toBe('older|');
  });

  it('folds a long paste and submits it in full', () => {
    const text = Array.from({ length: 120 }, (_, index) => `line ${index}`).join('\n');
    const state = after(' please', paste(text, after('see ').state)).state;
    expect(rendered(state, 40)).toEqual(['> see [pasted 120 lines] please']);
    expect(after('<enter>', state).events).toEqual([
      { type: 'submit', text: `see ${text} please`, paths: [] },
    ]);
    expect(after('<ctrl-a><alt-f><right><delete>', state).shown).toBe('see | please');
  });

  it('inserts a short paste with its line breaks and without control characters', () => {
    expect(paste('a\r\nb\rc\u001b[31m\td').text).toBe('a\nb\nc[31m\td');
  });

  it.each([
    ["'/tmp/a b.png'", ['/tmp/a b.png']],
    ['/tmp/a\\ b.png', ['/tmp/a b.png']],
    ['"/tmp/ü.png" /tmp/c.png ', ['/tmp/ü.png', '/tmp/c.png']],
    ['file:///tmp/a%20b.png', ['/tmp/a b.png']],
    ['~/x.png', ['~/x.png']],
  ])('recognises the dragged file %s', (text, paths) => {
    const state = paste(text);
    expect(after('<enter>', state).events).toEqual([{ type: 'submit', text: paths.join(' '), paths }]);
    expect(rendered(state, 60)[0]).toContain(`[image ${paths[0]?.split('/').at(-1)}]`);
  });

  it.each(["it's in /tmp/a.png", 'see /tmp/a.png', '/tmp/a.txt', "'/tmp/a.png"])(
    'treats %j as text',
    (text) => {
      expect(paste(text).text).toBe(text);
    },
  );

  it('inserts the only completion at once and offers several in a menu', () => {
    expect(after('/m<tab>').shown).toBe('/model |');
    const { state } = after('/h<tab>');
    expect(menuLines(state, 40, 5).map(lineText)).toEqual([
      '❯ /help     about /help',
      '  /history  about /history',
    ]);
    expect(after('<down><enter>', state).shown).toBe('/history |');
    expect(after('<up><enter>', state).shown).toBe('/history |');
    expect(after('e', state).state.menu?.completion.choices.map(({ label }) => label)).toEqual(['/help']);
    expect(after('<escape>', state).state.menu).toBeUndefined();
    expect(after('<escape>', state).events).toEqual([]);
    expect(after('/x<tab>').shown).toBe('/x|');
  });

  it('Tab accepts the selected entry of the menu, and arrow keys move the selection', () => {
    const { state } = after('/h<tab>');
    expect(after('<tab>', state).shown).toBe('/help |');
    expect(after('<down><tab>', state).shown).toBe('/history |');
    expect(after('<ctrl-n><tab>', state).shown).toBe('/history |');
    expect(after('<down><shift-tab><tab>', state).shown).toBe('/help |');
    expect(after('<tab>', state).state.menu).toBeUndefined();
  });

  it('Tab on an entry that can be continued offers what follows it', () => {
    const tree: EditorContext = {
      ...CONTEXT,
      complete: (text, cursor) => {
        const paths = text === 'src/' ? ['src/a.ts ', 'src/b.ts '] : text === 's' ? ['src/'] : [];
        const choices = paths.map((path) => ({ label: path, detail: '', insert: path }));
        return cursor === 0 ? undefined : { from: 0, choices, eager: true };
      },
    };
    const { state, shown } = after('s<tab>', newEditor(), tree);
    expect(shown).toBe('src/|');
    expect(state.menu?.completion.choices.map(({ label }) => label)).toEqual(['src/a.ts ', 'src/b.ts ']);
    expect(after('<down><tab>', state, tree)).toMatchObject({
      shown: 'src/b.ts |',
      state: { menu: undefined },
    });
  });

  it('opens the menu automatically if the completion requests it, and enter submits a complete text', () => {
    const eager: EditorContext = {
      ...CONTEXT,
      complete: (text, cursor) => {
        const found = CONTEXT.complete(text, cursor);
        return found && { ...found, eager: true };
      },
    };
    expect(after('/h', newEditor(), eager).state.menu).toBeDefined();
    expect(after('/help<enter>', newEditor(), eager).events).toEqual([
      { type: 'submit', text: '/help', paths: [] },
    ]);
  });

  it('scrolls a menu that is longer than its space', () => {
    const choices = Array.from(
      { length: 9 },
      (_, index): Choice => ({
        label: `c${index}`,
        detail: '',
        insert: `c${index}`,
      }),
    );
    const state = { ...newEditor(), menu: { completion: { from: 0, choices, eager: false }, selected: 8 } };
    expect(menuLines(state, 40, 3).map((line) => lineText(line).trimEnd())).toEqual([
      '  c6',
      '  c7',
      '❯ c8',
      '  … 6 more',
    ]);
  });

  it('shows long labels completely where short details leave space', () => {
    const label = 'a-file-with-a-name-of-forty-characters.t';
    const shown = (detail: string, width: number) => {
      const completion = { from: 0, choices: [{ label, detail, insert: label }], eager: false };
      const [line = []] = menuLines({ ...newEditor(), menu: { completion, selected: 0 } }, width, 3);
      return lineText(line).trimEnd();
    };
    expect(shown('src', 80)).toBe(`❯ ${label}  src`);
    expect(shown('', 44)).toBe(`❯ ${label}`);
    expect(shown('a detail of more than fifty characters, which is cut', 60)).toBe(
      '❯ a-file-with-a-name-of-forty-cha…  a detail of more than f…',
    );
  });
});

describe('the rendered input', () => {
  it('places the cursor after wide characters, and on the next row if one is full', () => {
    const style = { width: 8, rows: 9, prompt: '> ', placeholder: '' };
    const cursorOf = (script: string): CursorPosition => renderEditor(after(script).state, style).cursor;
    expect(textWidth(style)).toBe(6);
    expect(cursorOf('日本')).toEqual({ row: 0, column: 6 });
    expect(cursorOf('日本語')).toEqual({ row: 1, column: 2 });
    expect(cursorOf('abcde日')).toEqual({ row: 1, column: 4 });
    expect(cursorOf('abcdefg<left>')).toEqual({ row: 1, column: 2 });
    expect(cursorOf('a<alt-enter>')).toEqual({ row: 1, column: 2 });
  });

  it('shows a placeholder while the input is empty', () => {
    expect(renderEditor(newEditor(), { width: 30, rows: 3, prompt: '> ', placeholder: 'Ask' })).toMatchObject(
      {
        lines: [[{ text: '> ' }, { text: 'Ask' }]],
        cursor: { row: 0, column: 2 },
      },
    );
  });

  it('scrolls to keep the cursor visible', () => {
    const { state } = after('a<ctrl-j>b<ctrl-j>c<ctrl-j>d<ctrl-j>e');
    const style = { width: 10, rows: 2, prompt: '> ', placeholder: '' };
    expect(renderEditor(state, style)).toMatchObject({ cursor: { row: 1, column: 3 } });
    expect(renderEditor(after('<ctrl-home>', state).state, style).lines.map(lineText)).toEqual([
      '> a',
      '  b',
    ]);
  });
});

describe('for any keys', () => {
  const key = fc.oneof(
    {
      weight: 3,
      arbitrary: fc
        .array(fragment, { minLength: 1, maxLength: 4 })
        .map((parts): Key => ({ type: 'text', text: parts.join('') })),
    },
    fc.array(fragment, { maxLength: 30 }).map((parts): Key => ({ type: 'paste', text: parts.join('\n') })),
    fc
      .constantFrom(
        ...[
          'left',
          'right',
          'up',
          'down',
          'home',
          'end',
          'alt-b',
          'alt-f',
          'backspace',
          'delete',
          'ctrl-w',
          'ctrl-k',
          'ctrl-u',
        ],
        ...['ctrl-y', 'ctrl-_', 'alt-enter', 'enter', 'tab', 'alt-d', 'alt-backspace', 'ctrl-c', 'escape'],
      )
      .map(chord),
  );

  it('the cursor is never inside a character, and no row is wider than the terminal', () => {
    fc.assert(
      fc.property(fc.array(key, { maxLength: 40 }), fc.integer({ min: 6, max: 30 }), (pressed, width) => {
        const style = { width, rows: 50, prompt: '> ', placeholder: '' };
        let state = newEditor(['older']);
        for (const each of pressed) {
          state = updateEditor(state, each, { ...CONTEXT, width: textWidth(style) }).state;
          const before = graphemes(state.text.slice(0, state.cursor));
          expect(graphemes(state.text).slice(0, before.length)).toEqual(before);
          const { lines, cursor } = renderEditor(state, style);
          for (const line of lines) expect(lineWidth(line)).toBeLessThanOrEqual(width);
          expect(cursor.column).toBeLessThan(width);
          expect(cursor.row).toBeLessThan(lines.length);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('undo restores the previous text', () => {
    fc.assert(
      fc.property(
        fc.array(
          key.filter((each) => each.type !== 'chord' || !/enter|up|down|ctrl-c|ctrl-_/.test(each.chord)),
          { maxLength: 20 },
        ),
        (pressed) => {
          let state = newEditor();
          for (const each of pressed) state = updateEditor(state, each, CONTEXT).state;
          while (state.undo.length > 0) state = updateEditor(state, chord('ctrl-_'), CONTEXT).state;
          expect(state.text).toBe('');
        },
      ),
    );
  });
});

function rendered(state: EditorState, width: number): string[] {
  return renderEditor(state, { width, rows: 10, prompt: '> ', placeholder: '' }).lines.map(lineText);
}
