import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Row } from '../../../src/pod/catalogue/index.ts';
import { temporaryDirectory } from '../../store/fixture.ts';
import { at, idsOf, opened, rowOf } from './catalogue-fixture.ts';

/** Later rows have later change times. */
const ROWS: readonly Partial<Row>[] = [
  { id: '0001-english', name: 'Fix the Build', model: 'anthropic/claude-sonnet-4-5' },
  { id: '0002-japanese', name: 'ビルドを直す', firstPrompt: '東京の天気を調べて' },
  { id: '0003-chinese', name: '修复构建', lastText: '我检查了东京的天气。' },
  { id: '0004-thai', name: 'แก้ไขการสร้าง', firstPrompt: 'ทำไมมันช้า' },
  { id: '0005-german', name: 'Straße nach GRÖẞE', cwd: '/home/Jürgen/Arbeit' },
  { id: '0006-greek', name: 'Ὀδυσσεύς', cwd: '/ΔΡΌΜΟΣ' },
  { id: '0007-emoji', name: '🚀 launch 👩‍👩‍👧', state: 'running' },
  { id: '0008-plain', firstPrompt: 'please fix it and build it', cwd: '/projects/fix' },
  { id: 'fix-9', lastText: 'nothing to do', archived: true },
];

async function catalogue() {
  const made = await opened(join(temporaryDirectory(), 'catalogue.jsonl'));
  for (const [minute, row] of ROWS.entries())
    made.put(rowOf('', { updatedAt: at(minute), cwd: '/projects', ...row }));
  return made;
}

describe('catalogue search', () => {
  it.each([
    ['the name, whatever its case', 'fIX THE build', ['0001-english']],
    ['words in any order and in any field', 'build please', ['0008-plain']],
    [
      'the name first, then the id from its start, then the rest',
      'fix',
      ['0001-english', 'fix-9', '0008-plain'],
    ],
    ['the name first only if it has all words', 'fix build', ['0001-english', '0008-plain']],
    ['no row that lacks a word', 'fix rocket', []],
    ['the model', 'sonnet', ['0001-english']],
    ['the directory', 'arbeit', ['0005-german']],
    ['an id from its start', '0003', ['0003-chinese']],
    ['Japanese', '東京 天気', ['0002-japanese']],
    ['Japanese with a wide space between', '東京　天気', ['0002-japanese']],
    ['kana of half width', 'ﾋﾞﾙﾄﾞ', ['0002-japanese']],
    ['Chinese, inside a sentence', '东京', ['0003-chinese']],
    ['Thai, inside a sentence', 'การสร้าง', ['0004-thai']],
    ['Thai with a vowel of two parts', 'ท\u0e4d\u0e32ไม', ['0004-thai']],
    ['Latin letters of full width', 'ｆｉｘ　ｔｈｅ', ['0001-english']],
    ['composed and decomposed letters alike', 'ju\u0308rgen', ['0005-german']],
    ['ß as ss', 'STRASSE grösse', ['0005-german']],
    ['a sigma at a word’s end', 'δρόμος ὈΔΥΣΣΕΎΣ', ['0006-greek']],
    ['emoji', '🚀', ['0007-emoji']],
    ['the newest first for no word at all', '  ', ['fix-9', '0008-plain', '0007-emoji']],
  ])('finds %s: %s', async (_, text, expected) => {
    expect(idsOf((await catalogue()).search(text, { limit: 3 }))).toEqual(expected);
  });

  it('does not match across two fields', async () => {
    const made = await catalogue();
    made.put(rowOf('split', { name: 'alpha', firstPrompt: 'beta' }));
    expect(made.search('alphabeta')).toEqual([]);
  });

  it('accepts the filters of a list', async () => {
    const made = await catalogue();
    expect(idsOf(made.search('0', { state: 'running' }))).toEqual(['0007-emoji']);
    expect(idsOf(made.search('fix', { archived: false, limit: 1 }))).toEqual(['0001-english']);
    expect(idsOf(made.search('fix', { cwd: '/projects/fix' }))).toEqual(['0008-plain']);
  });
});
