import { expect, test } from 'vitest';
import { TextBlockCollector, Timeline } from '../../src/timeline/index.ts';
import {
  abort,
  cancelled,
  completed,
  failed,
  start,
  started,
  stop,
  TEXT,
  text,
  THINKING,
  thinking,
} from './events.ts';

function attached() {
  const timeline = new Timeline();
  return { timeline, texts: new TextBlockCollector().attach(timeline) };
}

test('the text of each completed block is collected', () => {
  const { timeline, texts } = attached();
  expect(texts.hasContent()).toBe(false);

  timeline.dispatchAll([started, start(0, TEXT), text(0, 'Hel'), text(0, 'lo'), stop(0, TEXT)]);
  timeline.dispatchAll([start(1, THINKING), thinking(1, 'hm'), stop(1, THINKING)]);
  timeline.dispatchAll([start(2, TEXT), text(2, 'world'), stop(2, TEXT), completed]);

  expect(texts.hasContent()).toBe(true);
  expect(texts.collected()).toStrictEqual(['Hello', 'world']);
  expect(texts.takeCollected()).toStrictEqual(['Hello', 'world']);
  expect(texts.hasContent()).toBe(false);
  expect(texts.takeCollected()).toStrictEqual([]);
});

test('a returned list does not change when more is collected or the collector is cleared', () => {
  const { timeline, texts } = attached();
  timeline.dispatchAll([start(0, TEXT), text(0, 'a'), stop(0, TEXT)]);
  const before = texts.collected();

  timeline.dispatchAll([start(1, TEXT), text(1, 'b'), stop(1, TEXT)]);
  expect(texts.collected()).toStrictEqual(['a', 'b']);
  texts.clear();

  expect(before).toStrictEqual(['a']);
  expect(texts.collected()).toStrictEqual([]);
});

test('an empty block is not collected', () => {
  const { timeline, texts } = attached();

  timeline.dispatchAll([start(0, TEXT), stop(0, TEXT), start(1, TEXT), text(1, ''), stop(1, TEXT)]);

  expect(texts.hasContent()).toBe(false);
});

test('tool results are not collected as text of the model', () => {
  const { timeline, texts } = attached();
  const result = { blockType: 'tool-result', toolUseId: 'c1' } as const;

  timeline.dispatchAll([start(0, result), text(0, '42'), stop(0, result)]);

  expect(texts.hasContent()).toBe(false);
});

test('an aborted block is not collected', () => {
  const { timeline, texts } = attached();

  timeline.dispatchAll([start(0, TEXT), text(0, 'a'), abort(0, 'text', 'cut off')]);

  expect(texts.hasContent()).toBe(false);
});

test('texts are returned in block order, whichever block ended first', () => {
  const { timeline, texts } = attached();

  timeline.dispatchAll([start(0, TEXT), start(1, TEXT), text(0, 'first'), text(1, 'second')]);
  timeline.dispatchAll([stop(1, TEXT), stop(0, TEXT)]);

  expect(texts.takeCollected()).toStrictEqual(['first', 'second']);
});

test('the completed text of a failed request stays until the next one starts', () => {
  const { timeline, texts } = attached();

  timeline.dispatchAll([
    started,
    start(0, TEXT),
    text(0, 'done'),
    stop(0, TEXT),
    start(1, TEXT),
    text(1, 'half'),
  ]);
  timeline.dispatch(failed);
  expect(texts.collected()).toStrictEqual(['done']);

  timeline.dispatch(started);
  expect(texts.collected()).toStrictEqual([]);
});

test('the text of a cancelled request is dropped immediately', () => {
  const { timeline, texts } = attached();

  timeline.dispatchAll([started, start(0, TEXT), text(0, 'done'), stop(0, TEXT), cancelled]);

  expect(texts.hasContent()).toBe(false);
});

test('a collector registered as a plain handler is not cleared between requests', () => {
  const texts = new TextBlockCollector();
  const timeline = new Timeline().onTextBlock(texts);

  timeline.dispatchAll([started, start(0, TEXT), text(0, 'a'), stop(0, TEXT), cancelled, started]);

  expect(texts.takeCollected()).toStrictEqual(['a']);
});
